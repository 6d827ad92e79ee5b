/* SPDX-License-Identifier: Apache-2.0 */
/* client/git_status: parses the output of `git status --porcelain=v1 -z --branch`. No I/O. */
#pragma once

#include "base/str.h"
#include "client/atoll.h"

struct atoll_git_status *git_status_parse(struct str text); /* NULL if memory runs out */

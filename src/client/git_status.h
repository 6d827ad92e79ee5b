/* SPDX-License-Identifier: Apache-2.0 */
/* client/git_status: what `git status --porcelain=v1 -z --branch` wrote. No I/O. */
#pragma once

#include "base/str.h"
#include "client/atoll.h"

struct atoll_git_status *git_status_parse(struct str text); /* NULL: no memory */

/* SPDX-License-Identifier: Apache-2.0 */
/* etc: the few files of a sandbox's /etc that differ per sandbox. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct slot;

#define ETC_HOSTNAME "e2b.local"

/* Writes resolv.conf, machine-id and hostname below the directory root. The template's links are not followed. */
int etc_write(int root, const struct slot *s, bool no_internet, struct err *e);

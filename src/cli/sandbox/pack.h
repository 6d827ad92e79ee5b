/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/pack: a directory of this machine as an archive, read piece by piece. Names in it are below "./". */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct pack;

int pack_new(const char *dir, struct pack **ret, struct err *e);
void pack_free(struct pack *p);

/* Fills `to`: the number of bytes, 0 at the end, or a negative errno. What cannot be read is said and left out. */
ssize_t pack_read(struct pack *p, void *to, size_t n, struct err *e);
size_t pack_skipped(const struct pack *p);

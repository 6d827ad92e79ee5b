/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/pack: reads a local directory as an archive, piece by piece. Names in it begin with "./". */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct pack;

int pack_new(const char *dir, struct pack **ret, struct err *e);
void pack_free(struct pack *p);

/* Fills `to`. Returns the number of bytes, 0 at the end, or a negative errno value. Files that cannot be read are
 * skipped with a message. */
ssize_t pack_read(struct pack *p, void *to, size_t n, struct err *e);
size_t pack_skipped(const struct pack *p);

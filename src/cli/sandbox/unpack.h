/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/unpack: an archive that came out of a sandbox, as files of this machine.
 *
 * The sandbox may have made it up. Everything is made below one directory, which no name and no link can leave; no link
 * is ever followed; owners, set-id bits and devices are not taken over. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct unpack;

int unpack_new(const char *dir, struct unpack **ret, struct err *e); /* the directory has to be there */
void unpack_free(struct unpack *u);
int unpack_put(struct unpack *u, const void *p, size_t n, struct err *e);
bool unpack_done(const struct unpack *u);      /* the archive was complete */
size_t unpack_skipped(const struct unpack *u); /* what was left out and said: devices, links that lead out */

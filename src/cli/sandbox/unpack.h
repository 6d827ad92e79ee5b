/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/unpack: extracts an archive from a sandbox to local files.
 *
 * The archive is untrusted. Everything is created below one directory, which no name and no link can leave. Links are
 * never followed. Owners, set-id bits and devices are not restored. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct unpack;

int unpack_new(const char *dir, struct unpack **ret, struct err *e); /* the directory must exist */
void unpack_free(struct unpack *u);
int unpack_put(struct unpack *u, const void *p, size_t n, struct err *e);
bool unpack_done(const struct unpack *u);      /* true if the archive was complete */
size_t unpack_skipped(const struct unpack *u); /* entries skipped with a message: devices, links that lead outside */

/* SPDX-License-Identifier: Apache-2.0 */
/* cli/packed/unpack: makes a template of the cache from blocks that have been verified. */
#pragma once

#include "base/err.h"
#include "cli/packed/manifest.h"

/* Called with the bytes that were unpacked so far. */
typedef void unpack_told(void *user, const struct packed *p, uint64_t done);

/* Unpacks beside the templates of the cache and renames the result, so there is all of it or nothing. Each block is
 * verified again. blocks: the directory of the blocks. */
int packed_unpack(const struct packed *p, const char *cache, int blocks, unpack_told *told, void *user, struct err *e);

/* Removes what an interrupted build or fetch has left in the cache. The caller has its lock. */
int packed_tidy(const char *cache, struct err *e);

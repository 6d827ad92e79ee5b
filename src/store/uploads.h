/* SPDX-License-Identifier: Apache-2.0 */
/* store/uploads: archives that clients have uploaded for builds of templates, in a file of their own.
 *
 * The front may not open files once it serves, so the archives are rows of a database: pieces that are written
 * as they arrive and read as they are needed. It is a cache: a missing archive is uploaded again. Nothing is
 * synced to disk. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct store;

#define UPLOAD_HASH_SIZE 65 /* 64 hex digits */
#define UPLOAD_OVERHEAD 512 /* bytes that each upload counts in addition: its row and that of its piece */

int uploads_open(const char *path, struct store **ret, struct err *e); /* closed by store_close() */

/* Starts a new upload with an id of its own, which uploads_find() returns once it is finished. */
int uploads_begin(struct store *s, const char *team, const char *hash, uint64_t now_ms, uint64_t *ret_id,
    struct err *e);
/* n: 0, 1, ... */
int uploads_put(struct store *s, uint64_t id, uint64_t n, const void *p, size_t size, struct err *e);
/* replaces the previous one of that name */
int uploads_finish(struct store *s, uint64_t id, uint64_t bytes, struct err *e);
int uploads_drop(struct store *s, uint64_t id, struct err *e);

int uploads_find(struct store *s, const char *team, const char *hash, uint64_t now_ms, uint64_t *ret_id,
    uint64_t *ret_bytes, struct err *e); /* -ENOENT; updates its time of use */
/* -ENOENT: no such piece */
int uploads_read(struct store *s, uint64_t id, uint64_t n, struct buf *ret, struct err *e);

/* of all, including unfinished ones */
int uploads_sum(struct store *s, uint64_t *ret_bytes, struct err *e);
int uploads_trim(struct store *s, uint64_t max_bytes, struct err *e); /* least recently used first; how many */
/* trims; -ENOSPC: the unfinished ones alone exceed the maximum */
int uploads_fit(struct store *s, uint64_t max_bytes, struct err *e);

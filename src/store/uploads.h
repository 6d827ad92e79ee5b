/* SPDX-License-Identifier: Apache-2.0 */
/* store/uploads: archives that clients have sent for the builds of templates, in a file of their own.
 *
 * The front may open no file once it serves, so they are rows of a database: pieces that are written as they come and
 * read as they are needed. It is a cache: what is not there is sent again. Nothing in it is written through to the
 * disk. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct store;

#define UPLOAD_HASH_SIZE 65 /* 64 hex digits */
#define UPLOAD_OVERHEAD 512 /* bytes that each counts besides its own: its row and that of its piece */

int uploads_open(const char *path, struct store **ret, struct err *e); /* store_close() ends it */

/* A new one, which is to be found when it is finished. Takes the place of none: ids are its own. */
int uploads_begin(struct store *s, const char *team, const char *hash, uint64_t now_ms, uint64_t *ret_id,
    struct err *e);
/* n: 0, 1, ... */
int uploads_put(struct store *s, uint64_t id, uint64_t n, const void *p, size_t size, struct err *e);
/* the one before of that name goes */
int uploads_finish(struct store *s, uint64_t id, uint64_t bytes, struct err *e);
int uploads_drop(struct store *s, uint64_t id, struct err *e);

int uploads_find(struct store *s, const char *team, const char *hash, uint64_t now_ms, uint64_t *ret_id,
    uint64_t *ret_bytes, struct err *e); /* -ENOENT; notes its use */
/* -ENOENT: no such piece */
int uploads_read(struct store *s, uint64_t id, uint64_t n, struct buf *ret, struct err *e);

/* of all, also of what has come of unfinished ones */
int uploads_sum(struct store *s, uint64_t *ret_bytes, struct err *e);
int uploads_trim(struct store *s, uint64_t max_bytes, struct err *e); /* those used longest ago go; how many went */
/* trims; -ENOSPC: the unfinished ones alone are too many */
int uploads_fit(struct store *s, uint64_t max_bytes, struct err *e);

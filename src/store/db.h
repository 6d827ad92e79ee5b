/* SPDX-License-Identifier: Apache-2.0 */
/* store/db: the front's SQLite file: opening, schema versions, prepared statements.
 *
 * A single process with a single thread writes the file (other threads send it what to write), so nothing here locks or
 * retries. WAL with synchronous=NORMAL: a crash of the front loses nothing; a crash of the machine ends the sandboxes,
 * too. */
#pragma once

#include <stddef.h>

#include "base/err.h"

struct store;

/* Expired rows are deleted in batches of this size: a statement is not interrupted, and the caller has other
 * clients to serve. */
#define STORE_BATCH 100
#define STORE_BATCH_LOGS 10 /* each may be megabytes */

int store_open(const char *path, struct store **ret, struct err *e);

/* Opens a separate file whose loss does no harm: it is not synced, and is created anew if it is damaged.
 * `schema` runs at each open, so it must be idempotent. Large rows have megabytes: their file gets large pages,
 * if it is new, and a page cache that holds a whole row. With small pages, or a cache that spills half of a row
 * to disk and reads it back later, a row takes several times as long, and all clients wait for that. */
enum store_rows { STORE_ROWS_SMALL, STORE_ROWS_LARGE };
int store_open_cache(const char *path, enum store_rows rows, const char *schema, struct store **ret, struct err *e);
void store_trim(struct store *s, size_t above); /* frees the memory of unused pages if it is more than that */
int store_open_read(const char *path, struct store **ret, struct err *e); /* read-only, without migration; -ENOENT */
void store_close(struct store *s);                                        /* NULL is allowed */
int store_version(struct store *s);                                       /* of the schema, for tests and `doctor` */

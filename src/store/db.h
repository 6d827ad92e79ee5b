/* SPDX-License-Identifier: Apache-2.0 */
/* store/db: the front's SQLite file: opening, schema versions, statements that are prepared once.
 *
 * One process writes, and that process is single-threaded, so nothing here locks or retries. WAL with
 * synchronous=NORMAL: a crash of the front loses nothing; a crash of the machine ends the sandboxes too. */
#pragma once

#include "base/err.h"

struct store;

/* What is too old is forgotten that many rows at a time: a statement is not interrupted, and the caller has others to
 * serve. */
#define STORE_BATCH 100
#define STORE_BATCH_LOGS 10 /* each may be megabytes */

int store_open(const char *path, struct store **ret, struct err *e);

/* A file of its own whose loss harms nobody: not written through, made anew if it is damaged. schema must be right to
 * run each time. Large rows are of megabytes: they get large pages, if the file is new, and there is room in memory for
 * a whole one. In small pages, and with half of it written out to make room for the rest and read back later, it takes
 * several times as long, and everybody waits for that. */
enum store_rows { STORE_ROWS_SMALL, STORE_ROWS_LARGE };
int store_open_cache(const char *path, enum store_rows rows, const char *schema, struct store **ret, struct err *e);
void store_trim(struct store *s); /* gives back the memory of pages that are not in use */
int store_open_read(const char *path, struct store **ret, struct err *e); /* only to read it, as it is; -ENOENT */
void store_close(struct store *s);                                        /* NULL is fine */
int store_version(struct store *s);                                       /* of the schema, for tests and `doctor` */

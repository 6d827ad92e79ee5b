/* SPDX-License-Identifier: Apache-2.0 */
/* store/db: the front's SQLite file: opening, schema versions, statements that are prepared once.
 *
 * One process writes, and that process is single-threaded, so nothing here locks or retries. WAL with
 * synchronous=NORMAL: a crash of the front loses nothing; a crash of the machine ends the sandboxes too. */
#pragma once

#include "base/err.h"

struct store;

/* What is too old is forgotten that many rows at a time: a statement is not interrupted, and the caller has others to serve. */
#define STORE_BATCH 100
#define STORE_BATCH_LOGS 10		/* each may be megabytes */

int store_open(const char *path, struct store **ret, struct err *e);

/* A file of its own whose loss harms nobody: not written through, made anew if it is damaged. schema must be right to run each time. */
int store_open_cache(const char *path, const char *schema, struct store **ret, struct err *e);
int store_open_read(const char *path, struct store **ret, struct err *e);	/* only to read it, as it is; -ENOENT */
void store_close(struct store *s);		/* NULL is fine */
int store_version(struct store *s);		/* of the schema, for tests and `doctor` */

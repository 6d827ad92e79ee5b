/* SPDX-License-Identifier: Apache-2.0 */
/* store/db: the front's SQLite file: opening, schema versions, statements that are prepared once.
 *
 * One process writes, and that process is single-threaded, so nothing here locks or retries. WAL with
 * synchronous=NORMAL: a crash of the front loses nothing; a crash of the machine ends the sandboxes too. */
#pragma once

#include "base/err.h"

struct store;

int store_open(const char *path, struct store **ret, struct err *e);
void store_close(struct store *s);		/* NULL is fine */
int store_version(struct store *s);		/* of the schema, for tests and `doctor` */

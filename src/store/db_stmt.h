/* SPDX-License-Identifier: Apache-2.0 */
/* store/db_stmt: shared by the files of the tables; not for other folders. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "store/db.h"

/* A number as text in a statement. */
#define STMT_TEXT(n) STMT_TEXT_(n)
#define STMT_TEXT_(n) #n

/* Returns the prepared statement for that text, reset and unbound. `sql` must be a constant with static
 * lifetime: its address is the key of the cache. */
int stmt_get(struct store *s, const char *sql, sqlite3_stmt **ret, struct err *e);

/* Parameters count from 1; NULL text binds SQL NULL. Failures are reported when the statement is run. */
void stmt_text(sqlite3_stmt *st, int at, const char *z);
void stmt_u64(sqlite3_stmt *st, int at, uint64_t v);
void stmt_blob(sqlite3_stmt *st, int at, const void *p, size_t n);

/* Runs a statement without rows: returns the number of changed rows, or -errno. */
int stmt_run(struct store *s, sqlite3_stmt *st, struct err *e);
int stmt_next(struct store *s, sqlite3_stmt *st, struct err *e); /* 1: a row, 0: no more, or -errno */

/* While on, a change and all changes before it are on disk when stmt_run() returns, so that they survive a crash
 * of the machine. Other changes survive a crash of the process only. */
int store_durable(struct store *s, bool on, struct err *e);
int stmt_run_durably(struct store *s, sqlite3_stmt *st, struct err *e);

/* NULL for SQL NULL; valid until the next step */
const char *stmt_col_text(sqlite3_stmt *st, int col);
uint64_t stmt_col_u64(sqlite3_stmt *st, int col);

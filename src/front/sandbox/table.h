/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/table: the sandboxes by id, until they are ENDING. */
#pragma once

#include <stddef.h>

#include "base/str.h"
#include "ipc/msg.h"

struct sandbox;
struct sandbox_table;

struct sandbox_table *sandbox_table_new(void);
void sandbox_table_free(struct sandbox_table *t);                    /* must be empty */
void sandbox_table_put(struct sandbox_table *t, struct sandbox *sb); /* the caller makes sure that the id is unique */
void sandbox_table_drop(struct sandbox_table *t, struct sandbox *sb);
struct sandbox *sandbox_table_find(const struct sandbox_table *t, struct str id); /* borrowed, or NULL */
size_t sandbox_table_count(const struct sandbox_table *t);

/* Iterates over all; start with NULL. Get the next sandbox before dropping the current one. */
struct sandbox *sandbox_table_next(const struct sandbox_table *t, const struct sandbox *sb);

void sandbox_table_make_id(const struct sandbox_table *t, char id[ID_SIZE]); /* a new id, which no sandbox has */

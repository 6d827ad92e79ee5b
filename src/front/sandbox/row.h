/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/row: a sandbox to and from its row in the store. */
#pragma once

#include "base/err.h"
#include "store/sandboxes.h"

struct front;
struct sandbox;

int row_add(struct sandbox *sb, enum row_state state, struct err *e);
int row_load(struct sandbox *sb, const struct sandbox_row *row); /* -EINVAL: damaged */

/* With its times, and what is saved of it. */
int row_try(struct sandbox *sb, enum row_state state, struct err *e);

/* A failed write is logged and survived: the sandbox is real even if the record of it lags. rows_tick() tries again. */
void row_set(struct sandbox *sb, enum row_state state);
void row_save(struct sandbox *sb); /* state and times as they are */
void row_set_limits(const struct sandbox *sb);
void row_set_network(const struct sandbox *sb);
void row_note_active(struct sandbox *sb); /* when it was used last, if that is news */
void row_end(const struct sandbox *sb, const char *reason);
void row_end_id(struct front *f, const char *id, const char *reason); /* of one that is there as a row only */

struct row_ends; /* of sandboxes that are no more, and whose rows do not know it yet */

void rows_are_of(struct front *f, const char *boot_id); /* from now on; "": not known */
void rows_tick(struct front *f);                        /* once a second */
void rows_free(struct front *f);

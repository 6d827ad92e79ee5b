/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox_row: a sandbox to and from its row in the store. */
#pragma once

#include "base/err.h"
#include "store/sandboxes.h"

struct sandbox;

int row_add(struct sandbox *sb, enum row_state state, struct err *e);
int row_load(struct sandbox *sb, const struct sandbox_row *row);	/* -EINVAL: damaged */

/* A failed write is logged and survived: the sandbox is real even if the record of it lags. */
void row_set(const struct sandbox *sb, enum row_state state);		/* with its times, and what is kept of it */
void row_set_limits(const struct sandbox *sb);
void row_save(const struct sandbox *sb);				/* state and times as they are */
void row_set_network(const struct sandbox *sb);
void row_note_active(struct sandbox *sb);				/* when it was used last, if that is news */
void row_end(const struct sandbox *sb, const char *reason);

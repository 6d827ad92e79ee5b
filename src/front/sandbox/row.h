/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/row: converts between a sandbox and its row in the store. */
#pragma once

#include "base/err.h"
#include "store/sandboxes.h"

struct sandboxes;
struct sandbox;

int row_add(struct sandbox *sb, enum row_state state, struct err *e);
int row_load(struct sandbox *sb, const struct sandbox_row *row); /* -EINVAL: the row is damaged */

/* Writes the state with the times and the saved state. */
int row_try(struct sandbox *sb, enum row_state state, struct err *e);

/* Like row_try(), but a failed write is only logged: the sandbox exists even if its row is outdated. rows_tick()
 * retries. */
void row_set(struct sandbox *sb, enum row_state state);
void row_save(struct sandbox *sb); /* writes the current state and times */
void row_set_limits(const struct sandbox *sb);
void row_set_network(const struct sandbox *sb);
void row_note_active(struct sandbox *sb); /* writes the time of last use, if it has changed */
void row_end(const struct sandbox *sb, const char *reason);
void row_end_id(struct sandboxes *all, const char *id,
    const char *reason); /* for a sandbox that exists only as a row */

struct row_ends; /* ends of sandboxes that could not be written to the store yet */

/* records the boot id of the host that the rows belong to; "": not known */
void rows_are_of(struct sandboxes *all, const char *boot_id);
void rows_tick(struct sandboxes *all); /* once a second */
void rows_free(struct sandboxes *all);

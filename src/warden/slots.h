/* SPDX-License-Identifier: Apache-2.0 */
/* slots: the table of all sandboxes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct engine_pair;
struct unit;
struct warden;

struct unit *unit_find(struct warden *w, const char *id); /* any state; NULL: unknown */

/* Puts a unit with an id and a slot into the table, and takes it out. */
void slot_give(struct warden *w, struct unit *sb);
void slot_clear(struct unit *sb);

/* Finds a slot for a start. pair_of: a template; if a network is prepared for it, *ret_pair and its slot are taken.
 * NULL: without. Prepared networks never stand in the way of a sandbox: they give way when no other slot is left. The
 * very last slot may be that of a network that is being prepared; no builder may use it until that is done
 * (pairs_makes()). -EMFILE: there is none. */
int slot_take(struct warden *w, const char *pair_of, uint32_t *ret, struct engine_pair *ret_pair);

/* For a queued start whose slot has a network in the making: gives it another one, after leave(). False: there is none.
 */
bool slot_change(struct warden *w, struct unit *sb, void (*leave)(struct unit *sb));

/* SPDX-License-Identifier: Apache-2.0 */
/* pairs: the store of prepared networks (docs/internals/prepared-networks.md).
 *
 * Each waiting pair has a slot that no unit has. It leaves the store before a builder learns of it, and never comes
 * back: nothing that a sandbox may have touched is given to another. The store holds nothing but fds, so it ends with
 * the warden, however that ends. At most one pair is being made at a time, by a helper of the engine.
 *
 * All functions accept NULL, which is a store without places. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"

struct pairs;
struct warden;

/* made: called when a pair was made, or could not be; a start may have waited for its slot. Returns NULL if
 * prepared_networks is 0, or out of memory. */
struct pairs *pairs_new(struct warden *w, void (*made)(struct warden *w));

/* Takes a pair of that template and its slot out of the store. False: there is none. */
bool pairs_take(struct pairs *p, const char *key, uint32_t *ret_slot, struct engine_pair *ret);

bool pairs_has(const struct pairs *p, uint32_t slot);     /* a pair waits there */
bool pairs_makes(const struct pairs *p, uint32_t slot);   /* one is being made there: no builder may use the slot yet */
bool pairs_give_way(struct pairs *p, uint32_t *ret_slot); /* ends a waiting pair for its slot; false: there is none */

void pairs_used(struct pairs *p, const char *key); /* a sandbox of that template has started: more may follow */
void pairs_run(struct pairs *p);                   /* begins the next pair if one is wanted and no start waits */
void pairs_tick(struct pairs *p);                  /* about once a second */

void pairs_let_go(const struct pairs *p); /* in a child: closes the fds */
void pairs_free(struct pairs *p);

/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/expiry: many deadlines on one timer (a binary heap; the entries live in their owners). */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct loop;
struct expiry;

struct expiry_entry {
	uint64_t at_ms; /* monotonic */
	size_t pos;     /* position in the heap, from 1; 0: not set */
};

/* fn gets each entry that is due; the entry has been cleared by then. */
struct expiry *expiry_new(struct loop *l, void (*fn)(void *user, struct expiry_entry *en), void *user);
void expiry_free(struct expiry *x);
void expiry_set(struct expiry *x, struct expiry_entry *en, uint64_t at_mono_ms); /* sets or moves */
void expiry_clear(struct expiry *x, struct expiry_entry *en);                    /* does nothing if not set */

/* The heap alone, for the timer above and for tests. */
struct expiry_heap {
	struct expiry_entry **v; /* v[0] has position 1 */
	size_t n, cap;
};

void expiry_heap_put(struct expiry_heap *h, struct expiry_entry *en, uint64_t at_ms);
void expiry_heap_drop(struct expiry_heap *h, struct expiry_entry *en);
struct expiry_entry *expiry_heap_first(const struct expiry_heap *h); /* NULL when empty */

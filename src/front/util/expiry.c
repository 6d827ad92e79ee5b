/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/expiry: a binary heap of deadlines and the timer for the first of them. */
#include "front/util/expiry.h"

#include <stdlib.h>

#include "base/clock.h"
#include "front/util/mem.h"
#include "loop/loop.h"

#define SLEEP_MAX_MS (60 * 1000) /* upper bound, in case timers lag after a suspend of the host */

struct expiry {
	struct expiry_heap heap;
	struct timer *timer;
	void (*fn)(void *user, struct expiry_entry *en);
	void *user;
};

static void place(struct expiry_heap *h, size_t at, struct expiry_entry *en)
{
	h->v[at] = en;
	en->pos = at + 1;
}

static void sift_up(struct expiry_heap *h, size_t at)
{
	struct expiry_entry *en = h->v[at];

	while (at > 0 && h->v[(at - 1) / 2]->at_ms > en->at_ms) {
		place(h, at, h->v[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	place(h, at, en);
}

static void sift_down(struct expiry_heap *h, size_t at)
{
	struct expiry_entry *en = h->v[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= h->n)
			break;
		if (child + 1 < h->n && h->v[child + 1]->at_ms < h->v[child]->at_ms)
			child++;
		if (h->v[child]->at_ms >= en->at_ms)
			break;
		place(h, at, h->v[child]);
		at = child;
	}
	place(h, at, en);
}

void expiry_heap_put(struct expiry_heap *h, struct expiry_entry *en, uint64_t at_ms)
{
	expiry_heap_drop(h, en);
	if (h->n == h->cap) {
		h->cap = h->cap ? 2 * h->cap : 64;
		h->v = must_grow(h->v, h->cap * sizeof(struct expiry_entry *));
	}
	en->at_ms = at_ms;
	place(h, h->n++, en);
	sift_up(h, h->n - 1);
}

void expiry_heap_drop(struct expiry_heap *h, struct expiry_entry *en)
{
	if (en->pos == 0)
		return;

	size_t at = en->pos - 1;
	struct expiry_entry *last = h->v[--h->n];

	en->pos = 0;
	if (last == en)
		return;
	place(h, at, last);
	sift_up(h, at);
	sift_down(h, last->pos - 1);
}

struct expiry_entry *expiry_heap_first(const struct expiry_heap *h)
{
	return h->n ? h->v[0] : NULL;
}

static void rearm(struct expiry *x)
{
	const struct expiry_entry *en = expiry_heap_first(&x->heap);

	if (!en) {
		timer_disarm(x->timer);
		return;
	}

	uint64_t now = clock_mono_ms();
	uint64_t after = en->at_ms > now ? en->at_ms - now : 0;

	timer_arm(x->timer, after < SLEEP_MAX_MS ? after : SLEEP_MAX_MS);
}

static void on_timer(void *user)
{
	struct expiry *x = user;
	struct expiry_entry *en;
	uint64_t now = clock_mono_ms();

	while ((en = expiry_heap_first(&x->heap)) && en->at_ms <= now) {
		expiry_heap_drop(&x->heap, en);
		x->fn(x->user, en);
	}
	rearm(x);
}

struct expiry *expiry_new(struct loop *l, void (*fn)(void *user, struct expiry_entry *en), void *user)
{
	struct expiry *x = must_alloc(sizeof *x);

	x->fn = fn;
	x->user = user;
	x->timer = timer_new(l, on_timer, x);
	if (!x->timer) {
		free(x);
		return NULL;
	}
	return x;
}

void expiry_free(struct expiry *x)
{
	if (!x)
		return;
	timer_free(x->timer);
	free(x->heap.v);
	free(x);
}

void expiry_set(struct expiry *x, struct expiry_entry *en, uint64_t at_mono_ms)
{
	expiry_heap_put(&x->heap, en, at_mono_ms);
	if (expiry_heap_first(&x->heap) == en)
		rearm(x);
}

void expiry_clear(struct expiry *x, struct expiry_entry *en)
{
	expiry_heap_drop(&x->heap, en); /* the timer may fire early once; then it is armed again */
}

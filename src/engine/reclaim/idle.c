/* SPDX-License-Identifier: Apache-2.0 */
/* idle: a hash table per round, so that a sandbox that is gone needs no removal. */
#include "engine/reclaim/idle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

/* A sandbox that uses less than this part of a processor is idle: a program that waits, with a timer or two. */
#define BUSY_PART 1000

int idle_open(struct idle_table *t, size_t most)
{
	*t = (struct idle_table) { .size = 1 };
	while (t->size < 2 * most)
		t->size *= 2;
	t->now = calloc(t->size, sizeof *t->now);
	t->old = calloc(t->size, sizeof *t->old);
	return t->now && t->old ? 0 : -ENOMEM;
}

void idle_close(struct idle_table *t)
{
	free(t->now);
	free(t->old);
	*t = (struct idle_table) { 0 };
}

void idle_round(struct idle_table *t)
{
	struct idle_unit *was = t->old;

	t->old = t->now;
	t->n_old = t->n;
	t->now = was;
	t->n = 0;
	memset(t->now, 0, t->size * sizeof *t->now);
}

/* The place of the id, or the free one where it belongs. There is always a free one: the table is half full at most. */
static struct idle_unit *place(struct idle_unit *units, size_t size, const char *id)
{
	uint64_t h = 14695981039346656037ull; /* FNV-1a; ids are the server's own and random */

	for (const char *c = id; *c; c++)
		h = (h ^ (unsigned char)*c) * 1099511628211ull;
	size_t i = h & (size - 1);

	while (units[i].id[0] && strcmp(units[i].id, id) != 0)
		i = (i + 1) & (size - 1);
	return &units[i];
}

bool idle_used(struct idle_unit *u, uint64_t now_ms, uint64_t cpu_ns)
{
	uint64_t used_ns = cpu_ns > u->cpu_ns ? cpu_ns - u->cpu_ns : 0, ms = now_ms - u->seen_ms;
	bool busy = used_ns * BUSY_PART > ms * 1000000;

	u->cpu_ns = cpu_ns;
	u->seen_ms = now_ms;
	if (busy)
		u->busy_ms = now_ms;
	return busy;
}

struct idle_unit *idle_see(struct idle_table *t, const char *id, uint64_t now_ms, uint64_t cpu_ns)
{
	if (!id[0] || strlen(id) >= IDLE_ID_SIZE || 2 * t->n >= t->size)
		return NULL;
	struct idle_unit *u = place(t->now, t->size, id);

	if (u->id[0])
		return u;
	t->n++;
	*u = *place(t->old, t->size, id);
	if (u->id[0]) {
		(void)idle_used(u, now_ms, cpu_ns);
		return u;
	}
	*u = (struct idle_unit) { .cpu_ns = cpu_ns, .seen_ms = now_ms, .busy_ms = now_ms };
	(void)str_copy(u->id, sizeof u->id, str_of(id));
	return u;
}

struct idle_unit *idle_next(struct idle_table *t, size_t *at)
{
	while (*at < t->size) {
		struct idle_unit *u = &t->now[(*at)++];

		if (u->id[0])
			return u;
	}
	return NULL;
}

bool idle_is_due(const struct idle_unit *u, uint64_t now_ms, uint64_t after_ms, uint64_t mem_bytes)
{
	uint64_t ago_ms = now_ms - u->given_ms;

	if (now_ms - u->busy_ms < after_ms)
		return false;
	if (!u->given_ms || ago_ms < after_ms)
		return !u->given_ms;
	return mem_bytes > u->left_bytes + IDLE_AGAIN_BYTES ||
	    (mem_bytes > IDLE_MUCH_BYTES && ago_ms >= after_ms * IDLE_LONGER);
}

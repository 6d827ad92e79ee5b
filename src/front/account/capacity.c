/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/capacity: maxima of the current hour, written to the store every minute. */
#include "front/account/capacity.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "front/account/accounts.h"
#include "front/account/metrics.h"
#include "front/link/links.h"
#include "front/util/mem.h"
#include "store/capacity.h"

#define HOUR_MS 3600000ull
#define SAVE_EVERY_S 60
#define LOOK_EVERY_S 5 /* as often as sandboxes are sampled */

struct capacity {
	struct accounts *accounts;
	void (*look)(void *user, struct capacity_now *ret);
	void *user;
	struct capacity_row hour;      /* maxima since the last write */
	uint64_t starts, hits, misses; /* already written */
	uint32_t ticks;
};

struct capacity *capacity_new(struct accounts *a, void (*look)(void *user, struct capacity_now *ret), void *user)
{
	struct capacity *c = must_alloc(sizeof *c);

	c->accounts = a;
	c->look = look;
	c->user = user;
	c->hour.at = clock_wall_ms() / HOUR_MS;
	return c;
}

static void save(struct capacity *c, uint64_t now_ms)
{
	struct capacity_now now = { 0 };
	struct err e;

	c->look(c->user, &now);
	c->hour.starts = c->accounts->metrics->starts_ok - c->starts;
	c->hour.pool_hits = now.pool_hits - c->hits;
	c->hour.pool_misses = now.pool_misses - c->misses;
	c->starts += c->hour.starts;
	c->hits = now.pool_hits;
	c->misses = now.pool_misses;
	if ((c->hour.sandboxes || c->hour.starts) && capacity_add(c->accounts->link->store, &c->hour, &e) < 0)
		log_warn("could not record the capacity in use", "err=%s", e.text);
	c->hour = (struct capacity_row) { .at = now_ms / HOUR_MS };
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void look(struct capacity *c)
{
	struct capacity_now now = { 0 };

	c->look(c->user, &now);
	c->hour.sandboxes = most(c->hour.sandboxes, now.sandboxes);
	c->hour.limit_bytes = most(c->hour.limit_bytes, now.limit_bytes);
	c->hour.cpu_permille = most(c->hour.cpu_permille, (uint64_t)(now.cpu_pct * 10));
	c->hour.mem_bytes = most(c->hour.mem_bytes, now.mem_bytes);
}

void capacity_tick(struct capacity *c)
{
	uint64_t now_ms = clock_wall_ms();

	if (c->ticks % LOOK_EVERY_S == 0)
		look(c);
	if (++c->ticks % SAVE_EVERY_S == 0 || now_ms / HOUR_MS != c->hour.at)
		save(c, now_ms);
}

void capacity_save(struct capacity *c)
{
	look(c);
	save(c, clock_wall_ms());
}

void capacity_free(struct capacity *c)
{
	if (!c)
		return;
	capacity_save(c);
	free(c);
}

const char *capacity_bound_name(enum capacity_bound b)
{
	static const char *const names[BOUNDS] = {
		[BOUND_SANDBOXES] = "max_sandboxes",
		[BOUND_ADDRESSES] = "addresses",
		[BOUND_MEMORY] = "memory",
		[BOUND_PROCESSES] = "processes",
		[BOUND_DISK] = "disk",
	};

	return names[b];
}

static uint64_t left(uint64_t all, uint64_t used)
{
	return all > used ? all - used : 0;
}

enum capacity_bound capacity_fits(const struct capacity_room *r, uint64_t ret[BOUNDS])
{
	enum capacity_bound least = 0;

	ret[BOUND_SANDBOXES] = left(r->places, r->places_used);
	ret[BOUND_ADDRESSES] = left(r->addresses, r->addresses_used);
	ret[BOUND_MEMORY] = r->mem_left_bytes / (r->each_mem_bytes ? r->each_mem_bytes : 1);
	ret[BOUND_PROCESSES] = left(r->pids, r->pids_used) / (r->each_pids ? r->each_pids : 1);
	ret[BOUND_DISK] = r->disk_left_bytes == UINT64_MAX
	    ? UINT64_MAX
	    : r->disk_left_bytes / (r->each_disk_bytes ? r->each_disk_bytes : 1);
	for (enum capacity_bound b = 0; b < BOUNDS; b++) {
		if (ret[b] < ret[least])
			least = b;
	}
	return least;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/capacity: maxima of the hour that is going on, which go to the store each minute. */
#include "front/account/capacity.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "front/account/metrics.h"
#include "front/front.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/table.h"
#include "front/sandbox/warm_pool.h"
#include "front/util/mem.h"
#include "store/capacity.h"

#define HOUR_MS 3600000ull
#define SAVE_EVERY_S 60
#define LOOK_EVERY_S 5 /* as often as sandboxes are sampled */

struct capacity {
	struct front *front;
	struct capacity_row hour;      /* since the last time that it was saved */
	uint64_t starts, hits, misses; /* that were counted before */
	uint32_t ticks;
};

struct capacity *capacity_new(struct front *f)
{
	struct capacity *c = must_alloc(sizeof *c);

	c->front = f;
	c->hour.at = clock_wall_ms() / HOUR_MS;
	return c;
}

static void save(struct capacity *c, uint64_t now_ms)
{
	uint64_t hits = 0, misses = 0;
	struct err e;

	warm_pool_counts(c->front->sandbox.warm_pool, &hits, &misses, NULL);
	c->hour.starts = c->front->account.metrics->starts_ok - c->starts;
	c->hour.pool_hits = hits - c->hits;
	c->hour.pool_misses = misses - c->misses;
	c->starts += c->hour.starts;
	c->hits = hits;
	c->misses = misses;
	if ((c->hour.sandboxes || c->hour.starts) && capacity_add(c->front->link.store, &c->hour, &e) < 0)
		log_warn("could not record the capacity in use", "err=%s", e.text);
	c->hour = (struct capacity_row) { .at = now_ms / HOUR_MS };
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void look(struct capacity *c)
{
	struct capacity_row now = { 0 };
	double cpu_pct = 0;

	for (struct sandbox *sb = sandbox_table_next(c->front->sandbox.table, NULL); sb;
	    sb = sandbox_table_next(c->front->sandbox.table, sb)) {
		const struct usage_sample *s = usage_get(&sb->usage, sb->usage.n - 1);

		if (sb->state != SANDBOX_RUNNING)
			continue;
		now.sandboxes++;
		now.limit_bytes += sb->spec.limits.mem_bytes;
		cpu_pct += s ? s->cpu_pct : 0;
	}
	c->hour.sandboxes = most(c->hour.sandboxes, now.sandboxes);
	c->hour.limit_bytes = most(c->hour.limit_bytes, now.limit_bytes);
	c->hour.cpu_permille = most(c->hour.cpu_permille, (uint64_t)(cpu_pct * 10));
	c->hour.mem_bytes = most(c->hour.mem_bytes, now.sandboxes ? c->front->sandbox.memory.used_bytes : 0);
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

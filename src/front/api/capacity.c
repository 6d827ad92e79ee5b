/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/capacity: what the machine runs, has run and could run. For the operator. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "front/account/accounts.h"
#include "front/account/capacity.h"
#include "front/account/metrics.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/table.h"
#include "front/sandbox/warm_pool.h"
#include "front/util/mem.h"
#include "front/util/memory.h"
#include "front/util/time_json.h"
#include "http/server.h"
#include "http/url.h"
#include "store/capacity.h"

#define HOUR_MS 3600000ull
#define DAYS_DEFAULT 7
#define EACH_MEM_LEAST (16ull << 20) /* minimum to assume per sandbox, even if the current ones use less */
#define EACH_PIDS_LEAST 8
#define EACH_DISK_LEAST (1ull << 20)

struct asked {
	uint64_t days;
	bool by_day;
};

struct now {
	uint64_t running, paused, limit_bytes, mem_bytes, disk_bytes, pids, samples;
	double cpu_pct;
};

static struct now count(const struct api *a)
{
	struct now n = { 0 };

	for (struct sandbox *sb = sandbox_table_next(a->sandbox->table, NULL); sb;
	    sb = sandbox_table_next(a->sandbox->table, sb)) {
		const struct usage_sample *s = usage_get(&sb->usage, sb->usage.n - 1);

		n.paused += sb->state == SANDBOX_PAUSED;
		if (sb->state != SANDBOX_RUNNING)
			continue;
		n.running++;
		n.limit_bytes += sb->spec.limits.mem_bytes;
		if (!s)
			continue;
		n.samples++;
		n.mem_bytes += s->mem_bytes;
		n.disk_bytes += s->disk_bytes;
		n.pids += s->pids;
		n.cpu_pct += s->cpu_pct;
	}
	return n;
}

static uint64_t average(uint64_t sum, uint64_t n, uint64_t least)
{
	uint64_t v = n ? sum / n : 0;

	return v > least ? v : least;
}

static struct capacity_room room_of(const struct api *a, const struct now *n, const struct msg_room *m)
{
	uint64_t total = a->link->opt.mem_total_mb * 1024ull * 1024, host = memory_left_bytes(&a->sandbox->memory);
	uint64_t share = total > m->mem_bytes ? total - m->mem_bytes : 0;

	return (struct capacity_room) {
		.places = a->sandbox->max_sandboxes,
		.places_used = sandbox_table_count(a->sandbox->table),
		.addresses = m->slots,
		.addresses_used = m->slots_used,
		.mem_left_bytes = total && share < host ? share : host,
		.pids = m->pids,
		.pids_used = m->pids_used,
		.disk_left_bytes = m->storage_bytes ? m->storage_free_bytes + m->storage_grow_bytes : UINT64_MAX,
		.each_mem_bytes = average(n->mem_bytes, n->samples, EACH_MEM_LEAST),
		.each_pids = average(n->pids, n->samples, EACH_PIDS_LEAST),
		.each_disk_bytes = average(n->disk_bytes, n->samples, EACH_DISK_LEAST),
	};
}

static json_t *fits_json(const struct api *a, const struct capacity_room *r)
{
	struct capacity_room full = *r;
	uint64_t by[BOUNDS], worst[BOUNDS];
	enum capacity_bound bound = capacity_fits(r, by);
	json_t *each = json_object();

	full.each_mem_bytes = a->account->defaults.mem_bytes;
	full.each_disk_bytes = a->account->defaults.disk_bytes;
	full.each_pids = a->account->defaults.pids;
	enum capacity_bound full_bound = capacity_fits(&full, worst);

	for (enum capacity_bound b = 0; b < BOUNDS; b++)
		(void)json_object_set_new(each, capacity_bound_name(b),
		    by[b] == UINT64_MAX ? json_null() : json_integer((json_int_t)by[b]));
	return json_pack("{s:I,s:s,s:o,s:{s:I,s:I,s:I},s:I,s:s}", "more", (json_int_t)by[bound], "bound",
	    capacity_bound_name(bound), "by", each, "assuming", "memoryBytes", (json_int_t)r->each_mem_bytes,
	    "processes", (json_int_t)r->each_pids, "diskBytes", (json_int_t)r->each_disk_bytes, "moreAtFullUse",
	    (json_int_t)worst[full_bound], "boundAtFullUse", capacity_bound_name(full_bound));
}

static json_t *now_json(const struct api *a, const struct now *n, const struct capacity_room *r,
    const struct msg_room *m)
{
	uint64_t hits = 0, misses = 0, ready = 0;

	warm_pool_counts(a->sandbox->warm_pool, &hits, &misses, &ready);
	return json_pack("{s:{s:I,s:I,s:I},s:{s:I,s:I,s:I},s:{s:f,s:I},s:{s:I,s:I},s:{s:I,s:I,s:I},s:{s:I,s:I,s:I}}",
	    "sandboxes", "running", (json_int_t)n->running, "paused", (json_int_t)n->paused, "max",
	    (json_int_t)r->places, "memory", "usedBytes", (json_int_t)m->mem_bytes, "leftBytes",
	    (json_int_t)r->mem_left_bytes, "limitBytes", (json_int_t)n->limit_bytes, "cpu", "usedCores",
	    n->cpu_pct / 100, "cores", (json_int_t)a->account->metrics->host_cpus, "processes", "used",
	    (json_int_t)r->pids_used, "max", (json_int_t)r->pids, "disk", "poolBytes", (json_int_t)m->storage_bytes,
	    "freeBytes", (json_int_t)m->storage_free_bytes, "growBytes", (json_int_t)m->storage_grow_bytes, "pool",
	    "ready", (json_int_t)ready, "hits", (json_int_t)hits, "misses", (json_int_t)misses);
}

struct peaks {
	json_t *all;
	uint64_t unit_ms;
};

static void on_row(void *user, const struct capacity_row *row)
{
	struct peaks *p = user;

	(void)json_array_append_new(p->all,
	    json_pack("{s:o,s:I,s:I,s:I,s:f,s:I,s:I,s:I}", "from", time_json(row->at * p->unit_ms), "sandboxes",
		(json_int_t)row->sandboxes, "memoryBytes", (json_int_t)row->mem_bytes, "limitBytes",
		(json_int_t)row->limit_bytes, "cpuCores", (double)row->cpu_permille / 1000, "starts",
		(json_int_t)row->starts, "poolHits", (json_int_t)row->pool_hits, "poolMisses",
		(json_int_t)row->pool_misses));
}

static void on_room(void *user, const struct warden_reply *re)
{
	struct req *r = user;
	struct api *a = r->api;
	const struct asked *asked = r->work;
	struct peaks peaks = { json_array(), asked->by_day ? 24 * HOUR_MS : HOUR_MS };
	uint64_t now_hour = clock_wall_ms() / HOUR_MS;
	struct err e;

	capacity_save(a->account->capacity);
	if (re->no || re->msg->type != RE_ROOM) {
		json_decref(peaks.all);
		reply_error(r, 500, "could not ask the warden: %s", re->no ? re->text : "unexpected answer");
	} else if (capacity_each(a->link->store, now_hour - now_hour % 24 - (asked->days - 1) * 24, asked->by_day,
		       on_row, &peaks, &e) < 0) {
		json_decref(peaks.all);
		reply_err(r, &e);
	} else {
		const struct msg_room *m = (const struct msg_room *)re->msg;
		struct now n = count(a);
		struct capacity_room room = room_of(a, &n, m);

		reply_json(r, 200,
		    json_pack("{s:o,s:o,s:o}", "now", now_json(a, &n, &room, m), "fits", fits_json(a, &room), "peaks",
			peaks.all),
		    NULL);
	}
	req_unref(r);
}

/* On failure sends 400. */
static int read_query(struct req *r, struct asked *a)
{
	autofree char *days = NULL, *by = NULL;
	int no_days = query_get(r->http->query, "days", &days), no_by = query_get(r->http->query, "by", &by);

	*a = (struct asked) { DAYS_DEFAULT, true };
	if (no_days != -ENOENT &&
	    (no_days < 0 || str_to_u64(str_of(days), CAPACITY_KEPT_DAYS, &a->days) < 0 || a->days == 0)) {
		reply_error(r, 400, "query parameter 'days' must be an integer from 1 to %d", CAPACITY_KEPT_DAYS);
		return -EINVAL;
	}
	a->by_day = no_by == -ENOENT || (no_by == 0 && strcmp(by, "day") == 0);
	if (!a->by_day && (no_by < 0 || strcmp(by, "hour") != 0)) {
		reply_error(r, 400, "query parameter 'by' must be day or hour");
		return -EINVAL;
	}
	return 0;
}

void admin_capacity(struct req *r)
{
	struct msg_list m = { 0 };
	struct asked a;

	if (read_query(r, &a) < 0)
		return;
	r->work = must_alloc(sizeof a);
	memcpy(r->work, &a, sizeof a);
	(void)warden_ask(r->api->link->warden, OP_ROOM, &m, sizeof m, on_room, req_ref(r));
}

/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/warm_pool: how many members to hold, which requests get one, and when to start the next.
 *
 * The target of a template is the configured number, or more if bursts of the last hours needed more
 * (front/util/demand.h). What is beyond the configured number takes at most a quarter of the memory that is left.
 *
 * As many members are started at a time as there are processors, except for those that clients need: one for each
 * client that waits for a start, two after a request, one until there was none for CALM_MS. On two processors nothing
 * is started right after a request, then. If requests come without a pause, one member is started in between after
 * PATIENCE_MS. */
#include "front/sandbox/warm_pool.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/account/limits.h"
#include "front/link/links.h"
#include "front/link/start_queue.h"
#include "front/sandbox/catalog.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/spec.h"
#include "front/sandbox/table.h"
#include "front/sandbox/warm_member.h"
#include "front/util/demand.h"
#include "front/util/mem.h"
#include "loop/loop.h"

#define QUIET_MS 20     /* a pause in requests: none for this long */
#define PATIENCE_MS 250 /* after this long a member is started without such a pause */
#define CALM_MS 1000    /* no requests for this long: all processors are free */
#define AFTER_REQUEST 2 /* processors that a client needs who has just asked, */
#define BEFORE_CALM 1   /* ... and for the rest of CALM_MS */
#define CALM_WIDTH 2    /* at least so many at a time when it is calm: a start also waits */
/* Members beyond the configured number: their part of the memory that is left, and of the places for sandboxes that
 * stays free of them. */
#define MEMORY_PART 4
#define PLACES_PART 8
#define MEMBER_BYTES (8u << 20)       /* of a member, until one has been measured */
#define MEMBER_EXTRA_BYTES (2u << 20) /* kernel memory of a member that its cgroup does not count */
#define FIRST_START_MS 100            /* time of a start, until one has been measured */
#define SHORT_PART 4                  /* part of the members that end each second while memory is short */
/* wait while the template is being warmed: a member started now would be slow and large */
#define WARMING_MS 250
/* a built template that was not requested for this long gets no members, unless for bursts of the last hours */
#define BUILT_IDLE_MS 600000
#define BUILT_FULL_MS 60000 /* up to this age: as many as the server's own; after it, one */
#define BUILT_BUSY_MS 1000
#define KINDS_BUILT 32
#define RETRY_MIN_MS 1000 /* after a failed start */
#define RETRY_MAX_MS 60000

struct kind { /* the members of one image or saved state */
	struct warm_pool *warm_pool;
	struct template tpl; /* its first name; key "": this entry is free */
	struct member_start start;
	bool built;                 /* a template built by a team: has members only while it is in use */
	uint64_t used_ms;           /* if built: time of the last request */
	struct member_list members; /* oldest first */
	uint32_t ready, starting;
	struct demand demand;
	uint64_t member_bytes; /* memory of the member measured last */
	uint64_t hits, misses;
	uint64_t retry_at_ms, retry_ms;
};

struct warm_pool {
	struct sandboxes *all;
	struct timer *timer;
	struct kind kinds[TEMPLATES_ALL + KINDS_BUILT];
	size_t n_kinds;
	uint32_t members;
	uint64_t gone_hits, gone_misses; /* of kinds whose entries were reused */
	uint64_t asked_ms;               /* time of the last request for a sandbox */
	uint64_t made_ms;                /* time of the last start of a member */
	uint64_t start_ms;               /* how long a start of a member takes, on average */
	uint64_t left_bytes;             /* memory that is left, as of the last tick */
	bool stopped;
};

static void warm_pool_kick(struct warm_pool *p);

/* --- kinds --- */

static void forget(struct kind *k, struct member *m)
{
	TAILQ_REMOVE(&k->members, m, link);
	*(m->ready ? &k->ready : &k->starting) -= 1;
	k->warm_pool->members--;
}

static void drop(struct kind *k, struct member *m, bool wait)
{
	forget(k, m);
	member_kill(m, wait);
}

static void drop_all(struct kind *k, bool wait)
{
	struct member *m;

	while ((m = TAILQ_FIRST(&k->members)))
		drop(k, m, wait);
}

static struct kind *kind_of(struct warm_pool *p, const char *key, const char *from)
{
	for (size_t i = 0; i < p->n_kinds; i++) {
		struct kind *k = &p->kinds[i];

		if (strcmp(k->tpl.key, key) == 0 && strcmp(k->start.from, from) == 0)
			return k;
	}
	return NULL;
}

/* Finds an entry for one more kind: a free one, or the least recently used one without members, or one whose members
 * are there only because of an earlier burst; NULL: all are in use. */
static struct kind *kind_place(struct warm_pool *p, uint64_t now_ms)
{
	struct kind *oldest = NULL, *idle = NULL;

	for (size_t i = 0; i < p->n_kinds; i++) {
		struct kind *k = &p->kinds[i];

		if (k->built && !k->tpl.key[0])
			return k;
		if (!k->built || now_ms - k->used_ms <= BUILT_BUSY_MS)
			continue;
		if (TAILQ_EMPTY(&k->members) && (!oldest || k->used_ms < oldest->used_ms))
			oldest = k;
		if (now_ms - k->used_ms > BUILT_IDLE_MS && (!idle || k->used_ms < idle->used_ms))
			idle = k;
	}
	if (p->n_kinds < ARRAY_LEN(p->kinds))
		return &p->kinds[p->n_kinds++];
	if (!oldest && idle)
		drop_all(idle, false);
	return oldest ? oldest : idle;
}

/* The kind that sp asks for. A built template gets its entry when it is first requested. */
static struct kind *kind_for(struct warm_pool *p, const struct spec *sp)
{
	struct kind *k = kind_of(p, sp->tpl.key, sp->from);

	if (k || !sp->from_built)
		return k;
	k = kind_place(p, clock_mono_ms());
	if (!k)
		return NULL;
	p->gone_hits += k->hits;
	p->gone_misses += k->misses;
	*k = (struct kind) { .warm_pool = p, .tpl = sp->tpl, .built = true, .used_ms = clock_mono_ms() };
	k->start = (struct member_start) { .limits = sp->limits,
		.restore = sp->from_what & SAVED_MEMORY,
		.run_start = sp->from_what & SAVED_START };
	memcpy(k->start.from, sp->from, sizeof k->start.from);
	TAILQ_INIT(&k->members);
	return k;
}

/* --- targets --- */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t member_bytes(const struct kind *k)
{
	return k->member_bytes ? k->member_bytes + MEMBER_EXTRA_BYTES : MEMBER_BYTES;
}

/* The configured number; those of built templates are all beyond it, since anybody may build many. */
static uint32_t base_size(const struct kind *k)
{
	return k->built ? 0 : k->warm_pool->all->link->opt.warm_pool_size;
}

/* Memory of the members that the kind has beyond the configured number. */
static uint64_t extra_bytes(const struct kind *k)
{
	uint32_t n = k->ready + k->starting, size = base_size(k);

	return n > size ? (n - size) * member_bytes(k) : 0;
}

/* The largest number that the kind may have because of memory, beyond the configured one. Its own members do not
 * change it: what they take is missing in left_bytes. */
static uint64_t extra_max(const struct kind *k)
{
	return (k->warm_pool->left_bytes + extra_bytes(k)) / MEMORY_PART / member_bytes(k);
}

static uint32_t kind_target(struct kind *k, uint64_t now_ms)
{
	const struct front_options *opt = &k->warm_pool->all->link->opt;
	uint32_t level = demand_level(&k->demand, now_ms);
	uint64_t idle_ms = k->built ? now_ms - k->used_ms : 0;
	uint32_t usual = idle_ms > BUILT_IDLE_MS ? 0 : idle_ms > BUILT_FULL_MS ? 1 : opt->warm_pool_size;

	if (k->warm_pool->all->memory.is_short || opt->warm_pool_size == 0 || !k->tpl.key[0])
		return 0;
	if (level <= usual || level < 2) /* a single request is no burst */
		return usual;
	return (uint32_t)least(least(level, opt->warm_pool_max), base_size(k) + extra_max(k));
}

/* Memory that sandboxes may still take: of the machine, and of the limit of all sandboxes together. */
static uint64_t memory_left(const struct sandboxes *all)
{
	uint64_t left = memory_left_bytes(&all->memory), total = all->link->opt.mem_total_mb * 1024ull * 1024;

	if (!total)
		return left;
	return total > all->memory.used_bytes ? least(left, total - all->memory.used_bytes) : 0;
}

static uint32_t processors(const struct warm_pool *p)
{
	uint32_t builders = start_queue_builders(p->all->link->starts); /* two per processor */

	return builders > 2 ? builders / 2 : 1;
}

/* Members that can be made in a second. Half of what the processors could do: clients use them, too. */
static double refilled_per_s(const struct warm_pool *p)
{
	return processors(p) * 1000.0 / (double)p->start_ms / 2;
}

/* --- starting and ending members --- */

static void on_member(struct member *m, const struct err *e)
{
	struct kind *k = m->owner;

	if (!e) {
		uint64_t took_ms = clock_mono_ms() - m->began_ms;

		k->starting--;
		k->ready++;
		k->retry_ms = 0;
		k->member_bytes = m->mem_bytes;
		k->warm_pool->start_ms = (k->warm_pool->start_ms * 7 + took_ms + 7) / 8;
		log_info("warm sandbox ready", "id=%s template=%s ready=%u", m->box.id, k->tpl.name, k->ready);
	} else if (e->no == EAGAIN) {
		k->retry_at_ms = clock_mono_ms() + WARMING_MS;
		drop(k, m, false);
	} else {
		k->retry_ms = k->retry_ms ? k->retry_ms * 2 : RETRY_MIN_MS;
		if (k->retry_ms > RETRY_MAX_MS)
			k->retry_ms = RETRY_MAX_MS;
		k->retry_at_ms = clock_mono_ms() + k->retry_ms;
		log_warn("could not start a warm sandbox, retrying later", "id=%s template=%s err=%s again_ms=%" PRIu64,
		    m->box.id, k->tpl.name, e->text, k->retry_ms);
		drop(k, m, false);
	}
	warm_pool_kick(k->warm_pool);
}

/* Whether one more member beyond the configured number fits: all such members together have one part of the memory,
 * and they leave places for sandboxes that cannot come from the pool. */
static bool extra_fits(const struct warm_pool *p, const struct kind *one)
{
	const struct sandboxes *all = p->all;
	uint64_t bytes = 0;

	if (one->ready + one->starting < base_size(one))
		return true;
	for (size_t i = 0; i < p->n_kinds; i++)
		bytes += extra_bytes(&p->kinds[i]);
	return bytes + member_bytes(one) <= (p->left_bytes + bytes) / MEMORY_PART &&
	    sandbox_table_count(all->table) + p->members < all->max_sandboxes - all->max_sandboxes / PLACES_PART;
}

/* The kind that lacks most members; NULL: none lacks any, or there is no room. */
static struct kind *neediest(struct warm_pool *p, uint64_t now_ms)
{
	const struct sandboxes *all = p->all;
	struct kind *found = NULL;
	int64_t most = 0;

	if (sandbox_table_count(all->table) + p->members >= all->max_sandboxes ||
	    p->members >= links_max_idle(all->link))
		return NULL;
	for (size_t i = 0; i < p->n_kinds; i++) {
		struct kind *k = &p->kinds[i];
		int64_t lacks = (int64_t)kind_target(k, now_ms) - k->ready - k->starting;

		if (lacks > most && now_ms >= k->retry_at_ms && extra_fits(p, k)) {
			most = lacks;
			found = k;
		}
	}
	return found;
}

static uint32_t starting(const struct warm_pool *p)
{
	uint32_t n = 0;

	for (size_t i = 0; i < p->n_kinds; i++)
		n += p->kinds[i].starting;
	return n;
}

/* How many members may be started at a time now. */
static uint32_t width(const struct warm_pool *p, uint64_t now_ms)
{
	uint64_t since_ms = now_ms - p->asked_ms;
	uint32_t all = processors(p), busy = p->all->starts;

	if (since_ms >= CALM_MS && busy == 0)
		return all > CALM_WIDTH ? all : CALM_WIDTH;
	busy += since_ms < QUIET_MS ? AFTER_REQUEST : BEFORE_CALM;
	if (busy < all)
		return all - busy;
	/* several starts at once: the processors are busy */
	return p->all->starts <= 1 && now_ms - p->made_ms >= PATIENCE_MS ? 1 : 0;
}

/* Starts one member; its completion kicks the pool again. */
static void fill(void *user)
{
	struct warm_pool *p = user;
	uint64_t now_ms = clock_mono_ms();
	struct kind *k = p->stopped ? NULL : neediest(p, now_ms);

	if (!k)
		return;
	if (starting(p) >= width(p, now_ms)) {
		timer_arm(p->timer, QUIET_MS);
		return;
	}
	struct member *m = member_new(p->all, &k->tpl, &k->start, on_member, k);

	m->began_ms = now_ms;
	TAILQ_INSERT_TAIL(&k->members, m, link);
	k->starting++;
	p->members++;
	p->made_ms = now_ms;
	warm_pool_kick(p);
}

static void warm_pool_kick(struct warm_pool *p)
{
	if (!p->stopped)
		timer_arm(p->timer, 1);
}

static struct member *oldest_ready(struct kind *k)
{
	struct member *m = TAILQ_FIRST(&k->members);

	while (m && !m->ready)
		m = TAILQ_NEXT(m, link);
	return m;
}

/* One per second, since the next burst may be near; more while memory is short. */
static void shrink(struct kind *k, uint64_t now_ms)
{
	uint32_t target = kind_target(k, now_ms);
	uint32_t n = k->warm_pool->all->memory.is_short ? k->ready / SHORT_PART + 1 : 1;

	for (struct member *m; n > 0 && k->ready > target && (m = oldest_ready(k)); n--) {
		log_info("warm sandbox killed: fewer are needed", "id=%s template=%s ready=%u", m->box.id, k->tpl.name,
		    k->ready - 1);
		drop(k, m, false);
	}
}

void warm_pool_tick(struct warm_pool *p)
{
	if (!p || p->stopped)
		return;
	p->left_bytes = memory_left(p->all);
	for (size_t i = 0; i < p->n_kinds; i++)
		shrink(&p->kinds[i], clock_mono_ms());
	warm_pool_kick(p);
}

/* --- taking members --- */

/* Everything in OP_START that a client can influence must have its default value. */
static bool is_plain(const struct kind *k, const struct spec *sp)
{
	return !sp->volumes && !(sp->flags & SPEC_NO_INTERNET) && !sp->policy && spec_engine(sp) == ENGINE_NAMESPACES &&
	    limits_equal(&sp->limits, &k->start.limits);
}

bool warm_pool_take(struct warm_pool *p, const struct spec *sp, struct warm_pool_gift *ret)
{
	struct kind *k = p ? kind_for(p, sp) : NULL;

	if (!k || p->stopped)
		return false;
	p->asked_ms = clock_mono_ms();
	k->used_ms = p->asked_ms;
	warm_pool_kick(p);
	if (!is_plain(k, sp))
		return false;
	demand_note(&k->demand, p->asked_ms, refilled_per_s(p));

	struct member *m = oldest_ready(k);

	if (!m) {
		k->misses++;
		return false;
	}
	*ret = (struct warm_pool_gift) { .fd = upstream_take_fd(&m->conn), .cpu_ns = m->cpu_ns };
	memcpy(ret->id, m->box.id, sizeof ret->id);
	forget(k, m);
	member_free(m);
	return true;
}

void warm_pool_taken(struct warm_pool *p, const struct spec *sp, bool good)
{
	struct kind *k = p ? kind_of(p, sp->tpl.key, sp->from) : NULL;

	if (k)
		*(good ? &k->hits : &k->misses) += 1;
}

bool warm_pool_exited(struct warm_pool *p, const char *id)
{
	for (size_t i = 0; p && i < p->n_kinds; i++) {
		struct kind *k = &p->kinds[i];
		struct member *m;

		TAILQ_FOREACH(m, &k->members, link)
		{
			if (strcmp(m->box.id, id) != 0)
				continue;
			log_warn("a warm sandbox has exited, replacing it", "id=%s template=%s", id, k->tpl.name);
			forget(k, m);
			member_free(m);
			warm_pool_kick(p);
			return true;
		}
	}
	return false;
}

void warm_pool_make_room(struct warm_pool *p)
{
	struct kind *most = NULL;

	if (!p || sandbox_table_count(p->all->table) + p->members <= p->all->max_sandboxes)
		return;
	for (size_t i = 0; i < p->n_kinds; i++) {
		struct kind *k = &p->kinds[i];

		if (!TAILQ_EMPTY(&k->members) && (!most || k->ready + k->starting > most->ready + most->starting))
			most = k;
	}
	if (most)
		drop(most, TAILQ_FIRST(&most->members), false);
}

void warm_pool_prime(struct warm_pool *p, const struct spec *sp)
{
	struct kind *k = p && !p->stopped ? kind_for(p, sp) : NULL;

	if (!k)
		return;
	k->used_ms = clock_mono_ms() - BUILT_FULL_MS - 1; /* makes the target 1: no client has requested it yet */
	warm_pool_kick(p);
}

void warm_pool_forget(struct warm_pool *p, const char *from)
{
	for (size_t i = 0; p && i < p->n_kinds; i++) {
		struct kind *k = &p->kinds[i];

		if (!k->built || strcmp(k->start.from, from) != 0)
			continue;
		drop_all(k, false);
		k->tpl.key[0] = '\0';
		k->start.from[0] = '\0';
	}
}

/* --- the pool --- */

struct warm_pool *warm_pool_new(struct sandboxes *all)
{
	struct warm_pool *p = must_alloc(sizeof *p);

	p->all = all;
	p->start_ms = FIRST_START_MS;
	p->left_bytes = memory_left(all);
	for (size_t i = 0; i < all->templates.n; i++) {
		struct kind *k = &p->kinds[p->n_kinds];

		if (kind_of(p, all->templates.v[i].key, ""))
			continue;
		struct limits_range made;

		limits_of_template(all, &all->templates.v[i], &made);
		*k = (struct kind) { .warm_pool = p, .tpl = all->templates.v[i], .start = { .limits = made.defaults } };
		TAILQ_INIT(&k->members);
		p->n_kinds++;
	}
	p->timer = timer_new(all->link->loop, fill, p);
	if (!p->timer) {
		warm_pool_free(p);
		return NULL;
	}
	return p;
}

void warm_pool_free(struct warm_pool *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_kinds; i++) {
		struct kind *k = &p->kinds[i];
		struct member *m;

		while ((m = TAILQ_FIRST(&k->members))) {
			forget(k, m);
			member_free(m);
		}
	}
	timer_free(p->timer);
	free(p);
}

void warm_pool_begin(struct warm_pool *p)
{
	warm_pool_kick(p);
}

void warm_pool_stop(struct warm_pool *p)
{
	if (!p || p->stopped)
		return;
	p->stopped = true;
	for (size_t i = 0; i < p->n_kinds; i++)
		drop_all(&p->kinds[i], true);
}

static void put(struct warm_pool *p, struct buf *out, const char *name, const char *type, const char *help,
    uint64_t (*value)(struct kind *k))
{
	buf_fmt(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
	for (size_t i = 0; i < p->n_kinds; i++)
		if (p->kinds[i].tpl.key[0])
			buf_fmt(out, "%s{template=\"%s\"} %" PRIu64 "\n", name, p->kinds[i].tpl.name,
			    value(&p->kinds[i]));
}

static uint64_t get_ready(struct kind *k)
{
	return k->ready;
}
static uint64_t get_starting(struct kind *k)
{
	return k->starting;
}
static uint64_t get_target(struct kind *k)
{
	return kind_target(k, clock_mono_ms());
}
static uint64_t get_hits(struct kind *k)
{
	return k->hits;
}
static uint64_t get_misses(struct kind *k)
{
	return k->misses;
}

void warm_pool_counts(const struct warm_pool *p, uint64_t *hits, uint64_t *misses, uint64_t *ready)
{
	if (!p)
		return;
	*hits = p->gone_hits;
	*misses = p->gone_misses;
	for (size_t i = 0; i < p->n_kinds; i++) {
		*hits += p->kinds[i].hits;
		*misses += p->kinds[i].misses;
		if (ready)
			*ready += p->kinds[i].ready;
	}
}

void warm_pool_put_metrics(struct warm_pool *p, struct buf *out)
{
	if (!p)
		return;
	put(p, out, "atoll_pool_ready", "gauge", "finished sandboxes that nobody has used yet", get_ready);
	put(p, out, "atoll_pool_starting", "gauge", "sandboxes that are being made for the pool", get_starting);
	put(p, out, "atoll_pool_target", "gauge", "how many there should be now", get_target);
	put(p, out, "atoll_pool_hits_total", "counter", "sandboxes that came out of the pool", get_hits);
	put(p, out, "atoll_pool_misses_total", "counter", "sandboxes that would have, had there been one", get_misses);
}

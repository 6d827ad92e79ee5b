/* SPDX-License-Identifier: Apache-2.0 */
/* unit: slots, the queue for builders, and the end of sandboxes. */
#include "warden/unit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "loop/loop.h"
#include "warden/aside.h"
#include "warden/builder.h"
#include "warden/front_send.h"
#include "warden/keeper.h"
#include "warden/oom.h"
#include "warden/pairs.h"
#include "warden/policy.h"
#include "warden/records.h"
#include "warden/service/egress.h"
#include "warden/service/refusals.h"
#include "warden/slots.h"
#include "warden/unit/bell.h"
#include "warden/unit/freeze.h"
#include "warden/unit/join.h"
#include "warden/unit/limit.h"
#include "warden/unit/network.h"
#include "warden/warden.h"

#define REAP_FIRST_MS 2
#define REAP_STEP_MAX_MS 50
#define REAP_LATE_MS 30000 /* then it is logged, and retried once a second */
#define REAP_LATE_STEP_MS 1000

#define BIT(n) (1u << (n))

static const char *const state_name[] = {
	[UNIT_QUEUED] = "queued",
	[UNIT_BUILDING] = "building",
	[UNIT_RUNNING] = "running",
	[UNIT_ENDING] = "ending",
};

static const unsigned may_follow[] = {
	[UNIT_QUEUED] = BIT(UNIT_BUILDING) | BIT(UNIT_RUNNING) | BIT(UNIT_ENDING),
	[UNIT_BUILDING] = BIT(UNIT_RUNNING) | BIT(UNIT_ENDING),
	[UNIT_RUNNING] = BIT(UNIT_ENDING),
	[UNIT_ENDING] = 0,
};

static void unit_end(struct unit *sb);
static void start_failed(struct unit *sb, int no, const char *text);
static builder_done on_built;

static void unit_set_state(struct unit *sb, enum unit_state to)
{
	assert(may_follow[sb->state] & BIT(to));
	log_debug("sandbox state", "id=%s to=%s", sb->er.spec.id, state_name[to]);
	sb->state = to;
}

static struct unit *unit_new(struct warden *w, const char *id, uint32_t slot)
{
	struct unit *sb = calloc(1, sizeof *sb);

	if (!sb)
		return NULL;
	sb->w = w;
	sb->pidfd = -1;
	sb->oom.fd = -1;
	sb->bell.fd = sb->bell.seed = -1;
	sb->pair = ENGINE_PAIR_NONE;
	sb->er.spec.slot = slot;
	(void)str_copy(sb->er.spec.id, sizeof sb->er.spec.id, str_of(id));
	slot_give(w, sb);
	return sb;
}

static void pair_drop(struct engine_pair *p)
{
	fd_close(take_fd(&p->user));
	fd_close(take_fd(&p->net));
}

/* Frees memory and fds, and the slot. */
static void unit_free(struct unit *sb)
{
	struct warden *w = sb->w;

	refusals_blocked(w);
	slot_clear(sb);
	refusals_slot_free(w, sb->er.spec.slot);
	egress_settled(sb);
	builder_free(sb->builder);
	keeper_free(sb->keeper);
	pair_drop(&sb->pair);
	oom_end(sb);
	bell_close(sb);
	watch_free(sb->watch);
	timer_free(sb->timer);
	unit_freeze_end(sb);
	unit_network_end(sb);
	unit_join_end(sb);
	fd_close(sb->pidfd);
	free(sb->policy);
	free(sb);
}

static void unit_free_later(void *user)
{
	struct unit *sb = user;
	struct warden *w = sb->w;

	unit_free(sb);
	units_run_queue(w); /* one may wait for a slot */
	warden_settle(w);
}

/* --- end --------------------------------------------------------------------------------------------------- */

static void reap_later(struct unit *sb, int r, const char *why)
{
	uint64_t waited = clock_mono_ms() - sb->ending_since_ms;

	if (!sb->late && (waited > REAP_LATE_MS || r != -EAGAIN)) {
		log_warn("could not remove what is left of a sandbox, retrying", "id=%s after_ms=%llu err=%s",
		    sb->er.spec.id, (unsigned long long)waited, why);
		sb->late = true;
	}
	sb->delay_ms = sb->delay_ms ? sb->delay_ms * 2 : REAP_FIRST_MS;
	if (sb->delay_ms > REAP_STEP_MAX_MS)
		sb->delay_ms = REAP_STEP_MAX_MS;
	timer_arm(sb->timer, waited > REAP_LATE_MS ? REAP_LATE_STEP_MS : sb->delay_ms);
}

static void on_reap(void *user);

/* In a child: without the btrfs storage a sandbox's files are removed one by one. */
static void sweep(void *user)
{
	struct unit *sb = user;
	uint64_t end = clock_mono_ms() + REAP_LATE_MS;
	struct err e = ERR_INIT;

	while (sb->w->ops->reap(sb->w->engine, &sb->er, &e) < 0 && clock_mono_ms() < end)
		(void)usleep(REAP_FIRST_MS * 1000);
}

static void on_reap(void *user)
{
	struct unit *sb = user;
	struct warden *w = sb->w;
	struct err e = ERR_INIT;

	if (sb->networking || sb->limiting) { /* a child uses the chains, cgroup and link of this slot */
		reap_later(sb, -EAGAIN,
		    sb->networking ? "its network is being changed" : "its limits are being changed");
		return;
	}
	if (w->cfg.no_pool && !sb->swept) {
		sb->swept = true;
		if (aside_run(w->loop, sweep, on_reap, sb) == 0)
			return;
	}
	int r = w->ops->reap(w->engine, &sb->er, &e);

	if (r < 0) {
		reap_later(sb, r, e.text);
		if (sb->pidfd < 0) /* a builder's child may have been forked after the first kill */
			(void)w->ops->kill(w->engine, &sb->er, -1, &e);
		return;
	}
	record_remove(w->records_dir, sb->er.spec.id);
	egress_forget(sb);
	log_info("sandbox ended", "id=%s reason=%u cpu_ms=%llu ms=%llu", sb->er.spec.id, sb->reason,
	    (unsigned long long)(sb->last.cpu_ns / 1000000),
	    (unsigned long long)(clock_mono_ms() - sb->ending_since_ms));
	if (sb->announced)
		front_exited(w, sb);
	loop_defer(w->loop, unit_free_later, sb);
}

/* The kernel removes the link with its counters when the last process has exited, possibly before the warden is
 * notified. The last values read are then the final usage. */
void unit_used(struct unit *sb, const struct engine_usage *us)
{
	if (us->cpu_ns > sb->last.cpu_ns)
		sb->last.cpu_ns = us->cpu_ns;
	if (us->sent_bytes > sb->last.sent_bytes)
		sb->last.sent_bytes = us->sent_bytes;
}

static void unit_look(struct unit *sb, struct engine_usage *ret)
{
	struct err e = ERR_INIT;

	if (sb->w->ops->usage(sb->w->engine, &sb->er, ret, &e) == 0)
		unit_used(sb, ret);
}

/* The first process has exited or was never created: removes what is left of the sandbox. */
static void unit_end(struct unit *sb)
{
	struct warden *w = sb->w;
	struct engine_usage us = { 0 };

	unit_look(sb, &us);
	if (!sb->reason)
		sb->reason = us.oom_kills > 0 ? EXIT_OOM : EXIT_DIED;
	unit_set_state(sb, UNIT_ENDING);
	if (sb->seq && sb->announced) /* it ended before atoll-egress had its policy */
		start_failed(sb, ECANCELED, "it ended");
	if (sb->telling.front_seq)
		front_error(w, sb->telling.life, sb->telling.front_seq, ENOENT, "the sandbox has ended");
	unit_network_end(sb);
	unit_join_end(sb);
	watch_free(take_ptr(&sb->watch));
	oom_end(sb);
	bell_close(sb);
	sb->ending_since_ms = clock_mono_ms();
	on_reap(sb);
}

static void on_pidfd(void *user, int events)
{
	(void)events;
	unit_end(user);
}

/* A start that failed: removes whatever a builder left behind, without an event for the front. */
static void unit_undo(struct unit *sb)
{
	struct err e = ERR_INIT;

	sb->reason = EXIT_KILLED;
	if (sb->w->ops->kill(sb->w->engine, &sb->er, sb->pidfd, &e) < 0 && e.no != ESRCH && e.no != ENOENT)
		log_warn("could not kill a half-made sandbox", "id=%s err=%s", sb->er.spec.id, e.text);
	unit_end(sb);
}

static bool unit_watch(struct unit *sb, int pidfd)
{
	sb->pidfd = unit_fd(pidfd);
	sb->watch = watch_new(sb->w->loop, sb->pidfd, WATCH_IN, on_pidfd, sb);
	return sb->watch != NULL;
}

void unit_kill(struct unit *sb)
{
	struct engine_usage us = { 0 };
	struct err e = ERR_INIT;

	if (sb->state == UNIT_QUEUED || sb->state == UNIT_BUILDING) {
		sb->unwanted = true;
		return;
	}
	if (sb->state != UNIT_RUNNING)
		return;
	unit_look(sb, &us);
	sb->reason = EXIT_KILLED;
	if (sb->w->ops->kill(sb->w->engine, &sb->er, sb->pidfd, &e) < 0 && e.no != ESRCH)
		log_warn("could not kill a sandbox", "id=%s err=%s", sb->er.spec.id, e.text);
}

/* --- start ------------------------------------------------------------------------------------------------- */

static void start_failed(struct unit *sb, int no, const char *text)
{
	/* A cancelled start is not a failure: a server that stops cancels the starts for its warm pool. */
	if (no == ECANCELED)
		log_info("sandbox start cancelled", "id=%s request=%s", sb->er.spec.id, sb->request);
	else
		log_warn("sandbox not started", "id=%s err=%s request=%s", sb->er.spec.id, text, sb->request);
	front_error(sb->w, sb->life, sb->seq, no, text);
	sb->seq = 0;
}

static void queue_push(struct unit *sb)
{
	struct warden *w = sb->w;

	*w->last_queued = sb;
	w->last_queued = &sb->next_queued;
}

/* Whether a builder may begin: no network is being prepared for its slot. If one is, it gets another slot that is free
 * by now. */
static bool can_begin(struct unit *sb)
{
	struct warden *w = sb->w;

	if (sb->unwanted || !pairs_makes(w->pairs, sb->er.spec.slot))
		return true;
	if (!slot_change(w, sb, egress_forget)) /* the slot decides the address */
		return false;
	if (held_policy_proxied(sb->policy))
		egress_tell(sb, false);
	return true;
}

/* The first that can begin; NULL: none. */
static struct unit *queue_pop(struct warden *w)
{
	struct unit **at = &w->first_queued;

	while (*at && !can_begin(*at))
		at = &(*at)->next_queued;
	struct unit *sb = *at;

	if (!sb)
		return NULL;
	*at = sb->next_queued;
	sb->next_queued = NULL;
	if (!*at)
		w->last_queued = at;
	return sb;
}

/* The record is written before anything is created, so that a warden that takes over knows what to look for. */
static int build(struct unit *sb, struct err *e)
{
	struct record rec = { .stage = RECORD_STARTING, .er = sb->er, .policy = sb->policy };

	if (record_write(sb->w->records_dir, &rec, e) < 0)
		return -e->no;
	if (builder_new(sb, on_built, &sb->builder, e) < 0) {
		record_remove(sb->w->records_dir, sb->er.spec.id);
		return -e->no;
	}
	pair_drop(&sb->pair); /* the builder has it now, and its end is that of the pair */
	unit_set_state(sb, UNIT_BUILDING);
	sb->w->n_builders++;
	return 0;
}

void units_run_queue(struct warden *w)
{
	struct unit *sb;

	while (w->n_builders < w->max_builders && (sb = queue_pop(w))) {
		struct err e = ERR_INIT;

		if (sb->unwanted)
			start_failed(sb, ECANCELED, "cancelled");
		else if (build(sb, &e) == 0)
			continue;
		else
			start_failed(sb, e.no, e.text);
		egress_forget(sb);
		loop_defer(w->loop, unit_free_later, sb);
	}
}

/* Copies the checked policy that follows the message. */
static int take_policy(struct unit *sb, const void *bytes, size_t n)
{
	if (n == 0)
		return 0;
	sb->policy = held_policy_new(bytes, n);
	sb->er.spec.ruled = true;
	return sb->policy ? 0 : -ENOMEM;
}

static void take_mounts(struct engine_spec *sp, const char *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct msg_mount m;

		memcpy(&m, p + i * sizeof m, sizeof m);
		memcpy(sp->volumes[i].name, m.name, sizeof m.name);
		memcpy(sp->volumes[i].path, m.path, sizeof m.path);
	}
	sp->n_volumes = n;
}

int unit_start(struct warden *w, const struct msg_start *m, struct err *e)
{
	struct engine_pair pair = ENGINE_PAIR_NONE;
	bool restores = m->flags & START_RESTORE;
	uint32_t slot;

	if (w->stopping)
		return err_set(e, ESHUTDOWN, "the server is stopping");
	if (unit_find(w, m->id))
		return err_set(e, EEXIST, "sandbox '%s' exists", m->id);
	if (slot_take(w, restores || m->engine != ENGINE_NAMESPACES ? NULL : m->template_key, &slot, &pair) < 0)
		return err_set(e, EMFILE, "all %u places for sandboxes are taken", (unsigned)w->cfg.max_sandboxes);
	struct unit *sb = unit_new(w, m->id, slot);

	if (sb) {
		sb->pair = pair;
		sb->timer = timer_new(w->loop, on_reap, sb);
	} else {
		pair_drop(&pair);
	}
	if (!sb || !sb->timer || take_policy(sb, m + 1, m->n_policy) < 0) {
		if (sb)
			unit_free(sb);
		return err_set(e, ENOMEM, "out of memory");
	}
	struct engine_spec *sp = &sb->er.spec;

	memcpy(sp->template_key, m->template_key, sizeof sp->template_key);
	memcpy(sp->from, m->from, sizeof sp->from);
	sp->kind = m->engine;
	sb->restoring = restores;
	sp->needs = (m->flags & START_DOCKER ? ENGINE_NEEDS_DOCKER : 0) |
	    (m->flags & START_FUSE ? ENGINE_NEEDS_FUSE : 0);
	sp->no_internet = m->flags & START_NO_INTERNET;
	take_mounts(sp, (const char *)(m + 1) + m->n_policy, m->n_mounts);
	sp->limits = limits_from_msg(&m->limits);
	sb->seq = m->head.seq;
	memcpy(sb->request, m->request, sizeof sb->request);
	sb->life = w->life;
	sb->asked_ms = clock_mono_ms();
	if (held_policy_proxied(sb->policy))
		egress_tell(sb, false); /* meanwhile it is being built */
	queue_push(sb);
	units_run_queue(w);
	return 0;
}

/* Takes the engine's record, except for the spec, which stays as it was requested and checked. */
static int settle_built(struct unit *sb, const struct engine_record *er, int pidfd, struct err *e)
{
	struct engine_spec asked = sb->er.spec;

	sb->er = *er;
	sb->er.spec = asked;
	if (!unit_watch(sb, pidfd))
		return err_set(e, ENOMEM, "watch the sandbox: out of memory");
	struct record rec = { .stage = RECORD_LIVE, .er = sb->er, .policy = sb->policy };

	return record_write(sb->w->records_dir, &rec, e);
}

static void on_built(struct unit *sb, int r, const struct engine_record *er, int pidfd, const struct err *e)
{
	struct warden *w = sb->w;
	struct err own = ERR_INIT;

	w->n_builders--;
	if (r == 0 && !sb->restoring && sb->er.spec.kind == ENGINE_NAMESPACES)
		pairs_used(w->pairs, sb->er.spec.template_key);
	if (r < 0) {
		start_failed(sb, -r, e->text);
		unit_undo(sb);
	} else if (settle_built(sb, er, pidfd, &own) < 0) {
		start_failed(sb, own.no, own.text);
		unit_undo(sb);
	} else if (sb->unwanted || sb->life != w->life) {
		start_failed(sb, ECANCELED, "the start was cancelled");
		unit_undo(sb);
	} else {
		unit_set_state(sb, UNIT_RUNNING);
		sb->announced = true;
		oom_begin(sb);
		bell_open(sb);
		log_info("sandbox started", "id=%s slot=%u pid=%d request=%s ms=%llu", sb->er.spec.id, sb->er.spec.slot,
		    (int)sb->er.pid, sb->request, (unsigned long long)(clock_mono_ms() - sb->asked_ms));
		if (!sb->telling.seq) /* otherwise the answer waits for atoll-egress */
			unit_told(sb);
	}
	units_run_queue(w);
	pairs_run(w->pairs);
}

/* Restores the egress limits, because the firewall was loaded anew. */
static void put_back_cap(struct unit *sb)
{
	const struct engine_limits *l = &sb->er.spec.limits;
	struct err e = ERR_INIT;

	if ((l->egress_bytes || l->egress_bytes_s) && sb->w->ops->limit(sb->w->engine, &sb->er, l, &e) < 0)
		log_error("could not restore the egress limit of a sandbox", "id=%s err=%s", sb->er.spec.id, e.text);
}

void unit_adopt(struct warden *w, const struct record *r)
{
	struct unit *sb = unit_new(w, r->er.spec.id, r->er.spec.slot);
	struct err e = ERR_INIT;
	int pidfd = -1;

	if (sb)
		sb->timer = timer_new(w->loop, on_reap, sb);
	if (!sb || !sb->timer) {
		log_error("could not adopt a sandbox: out of memory", "id=%s", r->er.spec.id);
		return;
	}
	sb->er = r->er;
	sb->frozen = r->frozen;
	sb->policy = r->policy;
	if (r->stage == RECORD_STARTING) {
		log_info("removing a sandbox whose start was interrupted", "id=%s", sb->er.spec.id);
		unit_undo(sb);
	} else if (w->ops->adopt(w->engine, &sb->er, &pidfd, &e) < 0 || !unit_watch(sb, pidfd)) {
		log_info("a sandbox is gone, removing what is left of it", "id=%s err=%s", sb->er.spec.id, e.text);
		unit_undo(sb);
	} else {
		unit_set_state(sb, UNIT_RUNNING);
		sb->announced = true;
		oom_begin(sb);
		put_back_cap(sb);
		/* The earlier warden may have died between doing this and recording it, or while a CPU quota was
		 * lifted (oom.c). */
		(void)w->ops->hurry(w->engine, &sb->er, false);
		if (w->ops->freeze(w->engine, &sb->er, sb->frozen, &e) < 0 && e.no != EAGAIN)
			log_error("could not freeze or thaw a sandbox", "id=%s err=%s", sb->er.spec.id, e.text);
		bell_open(sb);
		if (sb->policy && unit_enforce(sb, &e) < 0)
			log_error("could not restore a network policy: the sandbox has no network", "id=%s err=%s",
			    sb->er.spec.id, e.text);
		log_info("sandbox adopted", "id=%s slot=%u pid=%d", sb->er.spec.id, sb->er.spec.slot, (int)sb->er.pid);
	}
}

/* --- all of them -------------------------------------------------------------------------------------------- */

void units_kill_all(struct warden *w)
{
	struct unit *sb;

	LIST_FOREACH(sb, &w->units, all)
	{
		if (!sb->reason)
			unit_kill(sb);
	}
}

bool units_kill_running(struct warden *w)
{
	struct unit *sb;
	bool left = false;

	LIST_FOREACH(sb, &w->units, all)
	{
		if (sb->state == UNIT_RUNNING && sb->frozen && !sb->reason)
			left = true;
		else
			unit_kill(sb);
	}
	return left;
}

void units_cancel_queue(struct warden *w)
{
	while (w->first_queued) {
		w->first_queued->unwanted = true;
		struct unit *sb = queue_pop(w);

		start_failed(sb, ESHUTDOWN, "the server is stopping");
		loop_defer(w->loop, unit_free_later, sb);
	}
}

void units_disown(struct warden *w)
{
	struct unit *sb;

	LIST_FOREACH(sb, &w->units, all)
	{
		if (sb->state == UNIT_QUEUED || sb->state == UNIT_BUILDING)
			sb->unwanted = true;
	}
}

void units_free(struct warden *w)
{
	while (!LIST_EMPTY(&w->units))
		unit_free(LIST_FIRST(&w->units));
}

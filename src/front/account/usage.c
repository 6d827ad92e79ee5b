/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/usage: a ring of samples per sandbox. */
#include "front/account/usage.h"

#include <stdlib.h>

#include "base/clock.h"
#include "front/account/meter.h"
#include "front/account/quota.h"
#include "front/front.h"
#include "front/link/warden_link.h"
#include "front/sandbox/sandbox.h"
#include "front/util/mem.h"

void usage_init(struct usage_ring *r, uint64_t now_mono_ms)
{
	r->next_mono_ms = now_mono_ms + USAGE_FIRST_MS;
	r->last_mono_ms = now_mono_ms;
}

void usage_renew(struct usage_ring *r, uint64_t now_mono_ms)
{
	usage_init(r, now_mono_ms);
	r->last_cpu_ns = r->last_sent = 0;
}

void usage_adopt(struct usage_ring *r, const struct msg_usage *m)
{
	r->last_cpu_ns = m->cpu_ns;
}

void usage_done(struct usage_ring *r)
{
	free(r->v);
	r->v = NULL;
	r->n = 0;
}

void usage_add(struct usage_ring *r, const struct msg_usage *m, uint64_t now_mono_ms, uint64_t now_wall_ms)
{
	uint64_t ms = now_mono_ms > r->last_mono_ms ? now_mono_ms - r->last_mono_ms : 1;
	uint64_t ns = m->cpu_ns > r->last_cpu_ns ? m->cpu_ns - r->last_cpu_ns : 0;

	if (!r->v)
		r->v = must_alloc(USAGE_KEPT * sizeof *r->v);
	r->v[r->at] = (struct usage_sample) {
		.at_ms = now_wall_ms,
		.mem_bytes = m->mem_bytes,
		.mem_cache_bytes = m->mem_cache_bytes,
		.disk_bytes = m->disk_bytes,
		.cpu_pct = (float)ns / (float)ms / 1e4f, /* ns per ms, in percent */
		.pids = m->pids,
	};
	r->at = (r->at + 1) % USAGE_KEPT;
	if (r->n < USAGE_KEPT)
		r->n++;
	r->last_cpu_ns = m->cpu_ns;
	r->last_sent = m->sent_bytes;
	r->last_mono_ms = now_mono_ms;
	r->last.mem_limit_bytes = m->mem_limit_bytes;
	r->last.disk_limit_bytes = m->disk_limit_bytes;
}

const struct usage_sample *usage_get(const struct usage_ring *r, size_t i)
{
	return i < r->n ? &r->v[(r->at + USAGE_KEPT - r->n + i) % USAGE_KEPT] : NULL;
}

uint32_t usage_cpus(const struct msg_limits *lim)
{
	return (lim->cpu_permille + 999) / 1000;
}

double usage_cpu_pct(const struct usage_sample *s, const struct msg_limits *lim)
{
	uint32_t n = usage_cpus(lim);

	/* upwards: little is not nothing */
	return (double)(int64_t)(s->cpu_pct * 100.0 / (n ? n : 1) + 0.999) / 100;
}

/* The first one may be of a few milliseconds, and has all that its start took: more than its limit says nothing. */
static void clamp_first(struct usage_ring *r, const struct msg_limits *lim)
{
	float most = (float)lim->cpu_permille / 10;

	if (r->n == 1 && r->v[0].cpu_pct > most)
		r->v[0].cpu_pct = most;
}

const struct msg_usage *usage_take(struct sandbox *sb, const struct warden_reply *re)
{
	const struct msg_usage *m = re->no == 0 && re->msg->type == RE_USAGE ? (const struct msg_usage *)re->msg : NULL;

	if (!m)
		return NULL;
	sb->front->sandbox.memory.used_bytes = m->all_bytes;
	if (sandbox_gone(sb))
		return NULL;
	if (!sb->paid.known)
		usage_adopt(&sb->usage, m);
	quota_account(sb, m->cpu_ns, m->sent_bytes);
	meter_sent(sb, m->sent_bytes);
	usage_add(&sb->usage, m, clock_mono_ms(), clock_wall_ms());
	clamp_first(&sb->usage, &sb->spec.limits);
	return m;
}

static void on_usage(void *user, const struct warden_reply *re)
{
	struct sandbox *sb = user;
	const struct msg_usage *m = usage_take(sb, re);

	sb->usage.asked = false;
	if (m && sb->state == SANDBOX_RUNNING)
		alerts_look(sb, m);
	sandbox_unref(sb);
}

void usage_tick(struct sandbox *sb, uint64_t now_mono_ms)
{
	struct usage_ring *r = &sb->usage;

	if (sb->state != SANDBOX_RUNNING || r->asked || now_mono_ms < r->next_mono_ms ||
	    warden_silent(sb->front->link.warden))
		return;
	r->asked = true;
	r->next_mono_ms = now_mono_ms + USAGE_EVERY_MS;
	(void)warden_ask_id(sb->front->link.warden, OP_USAGE, sb->id, "", on_usage, sandbox_ref(sb));
}

struct first {
	struct sandbox *sb;
	void (*then)(void *user);
	void *user;
};

static void on_first(void *user, const struct warden_reply *re)
{
	struct first *first = user;

	(void)usage_take(first->sb, re);
	sandbox_unref(first->sb);
	first->then(first->user);
	free(first);
}

bool usage_lacks_first(const struct sandbox *sb)
{
	return sb->usage.n == 0 && sb->state == SANDBOX_RUNNING && !warden_silent(sb->front->link.warden);
}

void usage_first(struct sandbox *sb, void (*then)(void *user), void *user)
{
	struct first *first = must_alloc(sizeof *first);

	*first = (struct first) { .sb = sandbox_ref(sb), .then = then, .user = user };
	(void)warden_ask_id(sb->front->link.warden, OP_USAGE, sb->id, "", on_first, first);
}

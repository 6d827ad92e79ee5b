/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/sample: asks the warden and passes the sample on to quotas, meter and alerts. */
#include "front/sandbox/sample.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "front/account/accounts.h"
#include "front/account/alerts.h"
#include "front/account/metrics.h"
#include "front/account/usage.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "front/record/audit.h"
#include "front/sandbox/charge.h"
#include "front/sandbox/facts.h"
#include "front/sandbox/meter.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/table.h"
#include "front/util/mem.h"
#include "ipc/msg.h"

#define QUIET_ASKS 200 /* per second, of idle sandboxes */
#define BUSY_PCT 1     /* of a core */
#define BUSY_MS 60000  /* since its last request */

/* The first sample may span a few milliseconds and includes the CPU time of the start, so it is capped at the
 * limit. */
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
	sb->all->memory.used_bytes = m->all_bytes;
	if (sandbox_gone(sb))
		return NULL;
	if (!sb->paid.known)
		usage_adopt(&sb->usage, m);
	charge_used(sb, m->cpu_ns, m->sent_bytes);
	meter_sent(sb, m->sent_bytes);
	usage_add(&sb->usage, m, clock_mono_ms(), clock_wall_ms());
	clamp_first(&sb->usage, &sb->spec.limits);
	return m;
}

static void tell_alert(struct sandbox *sb, enum alert a, double used, double limit)
{
	uint32_t threshold = alert_percent(&sb->all->link->opt, a);
	int percent = (int)(used * 100 / limit);

	sb->all->account->metrics->alerts[a]++;
	log_warn("sandbox is near a limit", "id=%s resource=%s percent=%d threshold=%u", sb->id, alert_name(a), percent,
	    threshold);
	sandbox_note(sb, LOG_LVL_WARN, JOURNAL_SECURITY, "near a limit", "resource=%s percent=%d threshold=%u",
	    alert_name(a), percent, threshold);
	(void)audit_add(sb->all->record, "resource.threshold",
	    &(struct audit_who) { .team = sb->team, .key = sb->key, .sandbox = sb->id },
	    json_pack("{s:s,s:i,s:i}", "resource", alert_name(a), "percent", percent, "threshold", (int)threshold));
	sandbox_event(sb, EVENT_THRESHOLD,
	    json_pack("{s:s,s:i,s:i,s:I,s:I}", "resource", alert_name(a), "percent", percent, "threshold",
		(int)threshold, "used", (json_int_t)used, "limit", (json_int_t)limit));
}

static void look_for_alerts(struct sandbox *sb, const struct msg_usage *m)
{
	const struct usage_sample *s = usage_get(&sb->usage, sb->usage.n - 1);
	const struct msg_limits *lim = &sb->spec.limits;
	const double use[ALERTS][2] = {
		[ALERT_MEMORY] = { s ? (double)s->mem_bytes : 0, (double)m->mem_limit_bytes },
		[ALERT_CPU] = { s ? s->cpu_pct : 0, lim->cpu_permille / 10.0 },
		[ALERT_DISK] = { s ? (double)s->disk_bytes : 0, (double)m->disk_limit_bytes },
		[ALERT_PROCESSES] = { s ? s->pids : 0, lim->pids },
		[ALERT_EGRESS] = { (double)(sb->sent_before + m->sent_bytes), (double)lim->egress_bytes },
	};

	for (enum alert a = 0; a < ALERTS; a++) {
		if (alert_crossed(&sb->alerts, a, alert_percent(&sb->all->link->opt, a), use[a][0], use[a][1]))
			tell_alert(sb, a, use[a][0], use[a][1]);
	}
}

static void on_usage(void *user, const struct warden_reply *re)
{
	struct sandbox *sb = user;
	const struct msg_usage *m = usage_take(sb, re);

	sb->usage.asked = false;
	if (m && sb->state == SANDBOX_RUNNING)
		look_for_alerts(sb, m);
	sandbox_unref(sb);
}

/* A sample costs some 0.1 ms. While there are few sandboxes, or in one that does anything, it is taken every
 * USAGE_EVERY_MS; idle ones share what is left of QUIET_ASKS samples a second. */
static uint64_t interval_ms(const struct sandbox *sb)
{
	const struct usage_sample *last = sb->usage.n ? usage_get(&sb->usage, sb->usage.n - 1) : NULL;
	uint64_t ms = sandbox_table_count(sb->all->table) * 1000 / QUIET_ASKS;
	bool busy = !last || last->cpu_pct >= BUSY_PCT || clock_wall_ms() - sandbox_active_ms(sb) < BUSY_MS;

	return busy || ms < USAGE_EVERY_MS ? USAGE_EVERY_MS : ms;
}

void usage_ticks(struct sandboxes *all)
{
	all->asks_left = (uint32_t)sandbox_table_count(all->table) / 4 + QUIET_ASKS;
}

void usage_tick(struct sandbox *sb, uint64_t now_mono_ms)
{
	struct usage_ring *r = &sb->usage;

	if (sb->state != SANDBOX_RUNNING || r->asked || now_mono_ms < r->next_mono_ms || !sb->all->asks_left ||
	    warden_silent(sb->all->link->warden))
		return;
	sb->all->asks_left--;
	r->asked = true;
	r->next_mono_ms = now_mono_ms + interval_ms(sb);
	(void)warden_ask_id(sb->all->link->warden, OP_USAGE, sb->id, "", on_usage, sandbox_ref(sb));
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
	return sb->usage.n == 0 && sb->state == SANDBOX_RUNNING && !warden_silent(sb->all->link->warden);
}

void usage_first(struct sandbox *sb, void (*then)(void *user), void *user)
{
	struct first *first = must_alloc(sizeof *first);

	*first = (struct first) { .sb = sandbox_ref(sb), .then = then, .user = user };
	(void)warden_ask_id(sb->all->link->warden, OP_USAGE, sb->id, "", on_first, first);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/charge: charges the use of sandboxes to their team and key. */
#include "front/sandbox/charge.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "front/account/quota.h"
#include "front/front.h"
#include "front/record/audit_acts.h"
#include "front/sandbox/meter.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/table.h"
#include "front/sandbox/warm_pool.h"
#include "front/util/mem.h"
#include "store/meter.h"

#define LOOK_EVERY 2 /* seconds */
#define DEPARTED_MAX 4096

/* A sandbox that has left the table while it was being killed: EV_EXITED reports its final use. */
struct departed {
	LIST_ENTRY(departed) link;
	char id[ID_SIZE], team[TEAM_ID_SIZE], key[TEAM_ID_SIZE];
	uint64_t cpu_ns, sent_bytes; /* charged already */
	uint64_t metered;            /* bytes of this run that are in the usage report */
};

/* Returns the whole units that are not charged yet; the remainder is charged the next time. */
static uint64_t due(uint64_t now, uint64_t *paid, uint64_t unit)
{
	uint64_t d = now > *paid ? (now - *paid) / unit * unit : 0;

	*paid += d;
	return d;
}

void charge_used(struct sandbox *sb, uint64_t cpu_ns, uint64_t sent_bytes)
{
	if (!sb->paid.known) { /* first value after a restart of the front: the earlier front has charged it */
		sb->paid.cpu_ns = cpu_ns;
		sb->paid.sent_bytes = sent_bytes;
		sb->paid.known = true;
		return;
	}
	uint64_t cpu = due(cpu_ns, &sb->paid.cpu_ns, 1000000), sent = due(sent_bytes, &sb->paid.sent_bytes, 1);

	if (cpu || sent)
		quota_charge(&sb->front->account, sb->team, sb->key, cpu, sent);
}

void charge_leaves(struct sandbox *sb)
{
	struct front *f = sb->front;

	if (!sandbox_live(sb) || !sb->paid.known || f->sandbox.n_departed >= DEPARTED_MAX)
		return;
	struct departed *d = must_alloc(sizeof *d);

	memcpy(d->id, sb->id, sizeof d->id);
	memcpy(d->team, sb->team, sizeof d->team);
	memcpy(d->key, sb->key, sizeof d->key);
	d->cpu_ns = sb->paid.cpu_ns;
	d->sent_bytes = sb->paid.sent_bytes;
	d->metered = sb->sent_noted > sb->sent_before ? sb->sent_noted - sb->sent_before : 0;
	LIST_INSERT_HEAD(&f->sandbox.departed, d, link);
	f->sandbox.n_departed++;
}

static void departed_free(struct front *f, struct departed *d)
{
	LIST_REMOVE(d, link);
	f->sandbox.n_departed--;
	free(d);
}

void charge_exited(struct front *f, const struct msg_exited *m)
{
	struct sandbox *sb = sandbox_table_find(f->sandbox.table, str_of(m->id));
	struct departed *d;
	struct err e;

	if (sb && (sandbox_live(sb) || sb->paid.known)) { /* known: the last count of its life is still to come */
		charge_used(sb, m->cpu_ns, m->sent_bytes);
		audit_used(f, sb->team, sb->key, m);
		meter_sent(sb, m->sent_bytes);
		sb->usage.last_sent = m->sent_bytes; /* added to sent_before at the next start */
		sb->paid.known = false;              /* this was the final report of this run */
		return;
	}
	LIST_FOREACH(d, &f->sandbox.departed, link)
	{
		if (strcmp(d->id, m->id) == 0)
			break;
	}
	if (!d)
		return;
	audit_used(f, d->team, d->key, m);
	quota_charge(&f->account, d->team, d->key, due(m->cpu_ns, &d->cpu_ns, 1000000),
	    due(m->sent_bytes, &d->sent_bytes, 1));
	if (m->sent_bytes > d->metered && meter_add_sent(f->link.store, d->id, m->sent_bytes - d->metered, &e) < 0)
		log_warn("could not record the egress of a sandbox", "id=%s err=%s", d->id, e.text);
	departed_free(f, d);
}

/* Pauses the sandboxes whose team or key has used up a daily quota. */
static void hold_up(struct front *f)
{
	struct sandbox *sb, *next;
	struct quota_hit h;

	for (sb = sandbox_table_next(f->sandbox.table, NULL); sb; sb = next) {
		next = sandbox_table_next(f->sandbox.table, sb);
		if (sb->state != SANDBOX_RUNNING || sandbox_being_saved(sb) ||
		    quota_check_resume(&f->account, sb->team, sb->key, &h) == 0)
			continue;
		log_info("pausing a sandbox: a quota is exhausted", "id=%s scope=%s what=%s limit=%lld", sb->id,
		    h.scope, h.what, (long long)h.limit);
		sandbox_by(sb, "");
		sandbox_note(sb, LOG_LVL_WARN, JOURNAL_LIFECYCLE, "paused, a quota is used up",
		    "error=QUOTA scope=%s what=%s limit=%lld", h.scope, h.what, (long long)h.limit);
		sandbox_pause(sb, true);
	}
}

void charge_tick(struct front *f)
{
	if (f->link.ticks % LOOK_EVERY == 0 && quota_any_daily(&f->account))
		hold_up(f);
}

void charge_key_moved(struct front *f, const char *from_key, const char *to_key)
{
	for (struct sandbox *sb = sandbox_table_next(f->sandbox.table, NULL); sb;
	    sb = sandbox_table_next(f->sandbox.table, sb)) {
		if (strcmp(sb->key, from_key) == 0)
			(void)str_copy(sb->key, sizeof sb->key, str_of(to_key));
	}
}

size_t charge_count_of_key(void *user, const char *key)
{
	const struct front *f = user;
	size_t n = 0;

	for (const struct sandbox *sb = sandbox_table_next(f->sandbox.table, NULL); sb;
	    sb = sandbox_table_next(f->sandbox.table, sb))
		n += strcmp(sb->key, key) == 0;
	return n;
}

void charge_look(void *user, struct capacity_now *ret)
{
	const struct front *f = user;

	for (const struct sandbox *sb = sandbox_table_next(f->sandbox.table, NULL); sb;
	    sb = sandbox_table_next(f->sandbox.table, sb)) {
		const struct usage_sample *s = usage_get(&sb->usage, sb->usage.n - 1);

		if (sb->state != SANDBOX_RUNNING)
			continue;
		ret->sandboxes++;
		ret->limit_bytes += sb->spec.limits.mem_bytes;
		ret->cpu_pct += s ? s->cpu_pct : 0;
	}
	ret->mem_bytes = ret->sandboxes ? f->sandbox.memory.used_bytes : 0;
	warm_pool_counts(f->sandbox.warm_pool, &ret->pool_hits, &ret->pool_misses, NULL);
}

void charge_free(struct front *f)
{
	struct departed *d;

	while ((d = LIST_FIRST(&f->sandbox.departed)))
		departed_free(f, d);
}

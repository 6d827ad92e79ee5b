/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/charge: charges the use of sandboxes to their team and key. */
#include "front/sandbox/charge.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "front/account/quota.h"
#include "front/link/links.h"
#include "front/record/audit_acts.h"
#include "front/sandbox/meter.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/table.h"
#include "front/sandbox/warm_pool.h"
#include "front/util/mem.h"
#include "store/meter.h"

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
		quota_charge(sb->all->account, sb->team, sb->key, cpu, sent);
}

void charge_leaves(struct sandbox *sb)
{
	struct sandboxes *all = sb->all;

	if (!sandbox_live(sb) || !sb->paid.known || all->n_departed >= DEPARTED_MAX)
		return;
	struct departed *d = must_alloc(sizeof *d);

	memcpy(d->id, sb->id, sizeof d->id);
	memcpy(d->team, sb->team, sizeof d->team);
	memcpy(d->key, sb->key, sizeof d->key);
	d->cpu_ns = sb->paid.cpu_ns;
	d->sent_bytes = sb->paid.sent_bytes;
	d->metered = sb->sent_noted > sb->sent_before ? sb->sent_noted - sb->sent_before : 0;
	LIST_INSERT_HEAD(&all->departed, d, link);
	all->n_departed++;
}

static void departed_free(struct sandboxes *all, struct departed *d)
{
	LIST_REMOVE(d, link);
	all->n_departed--;
	free(d);
}

void charge_exited(struct sandboxes *all, const struct msg_exited *m)
{
	struct sandbox *sb = sandbox_table_find(all->table, str_of(m->id));
	struct departed *d;
	struct err e;

	if (sb && (sandbox_live(sb) || sb->paid.known)) { /* known: the last count of its life is still to come */
		charge_used(sb, m->cpu_ns, m->sent_bytes);
		audit_used(all->record, sb->team, sb->key, m);
		meter_sent(sb, m->sent_bytes);
		sb->usage.last_sent = m->sent_bytes; /* added to sent_before at the next start */
		sb->paid.known = false;              /* this was the final report of this run */
		return;
	}
	LIST_FOREACH(d, &all->departed, link)
	{
		if (strcmp(d->id, m->id) == 0)
			break;
	}
	if (!d)
		return;
	audit_used(all->record, d->team, d->key, m);
	quota_charge(all->account, d->team, d->key, due(m->cpu_ns, &d->cpu_ns, 1000000),
	    due(m->sent_bytes, &d->sent_bytes, 1));
	if (m->sent_bytes > d->metered && meter_add_sent(all->link->store, d->id, m->sent_bytes - d->metered, &e) < 0)
		log_warn("could not record the egress of a sandbox", "id=%s err=%s", d->id, e.text);
	departed_free(all, d);
}

void charge_key_moved(struct sandboxes *all, const char *from_key, const char *to_key)
{
	for (struct sandbox *sb = sandbox_table_next(all->table, NULL); sb; sb = sandbox_table_next(all->table, sb)) {
		if (strcmp(sb->key, from_key) == 0)
			(void)str_copy(sb->key, sizeof sb->key, str_of(to_key));
	}
}

size_t charge_count_of_key(void *user, const char *key)
{
	const struct sandboxes *all = user;
	size_t n = 0;

	for (const struct sandbox *sb = sandbox_table_next(all->table, NULL); sb;
	    sb = sandbox_table_next(all->table, sb))
		n += strcmp(sb->key, key) == 0;
	return n;
}

void charge_look(void *user, struct capacity_now *ret)
{
	const struct sandboxes *all = user;

	for (const struct sandbox *sb = sandbox_table_next(all->table, NULL); sb;
	    sb = sandbox_table_next(all->table, sb)) {
		const struct usage_sample *s = usage_get(&sb->usage, sb->usage.n - 1);

		if (sb->state != SANDBOX_RUNNING)
			continue;
		ret->sandboxes++;
		ret->limit_bytes += sb->spec.limits.mem_bytes;
		ret->cpu_pct += s ? s->cpu_pct : 0;
	}
	ret->mem_bytes = ret->sandboxes ? all->memory.used_bytes : 0;
	warm_pool_counts(all->warm_pool, &ret->pool_hits, &ret->pool_misses, NULL);
}

void charge_free(struct sandboxes *all)
{
	struct departed *d;

	while ((d = LIST_FIRST(&all->departed)))
		departed_free(all, d);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/quota_use: what sandboxes use goes on the account of their team and key, which the store keeps. */
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/account/keyring.h"
#include "front/account/meter.h"
#include "front/account/quota.h"
#include "front/front.h"
#include "front/record/audit_acts.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/table.h"
#include "front/util/mem.h"
#include "http/json.h"
#include "store/meter.h"

#define DAY_S 86400u
#define TEXT_MAX 4096
#define SAVE_EVERY 10 /* seconds */
#define LOOK_EVERY 2
#define DEPARTED_MAX 4096

/* One that has been asked to end: its last count comes with word of its end. */
struct departed {
	LIST_ENTRY(departed) link;
	char id[ID_SIZE], team[TEAM_ID_SIZE], key[TEAM_ID_SIZE];
	uint64_t cpu_ns, sent_bytes; /* that are on the account already */
	uint64_t metered;            /* bytes of this life that are in the report of usage */
};

static struct tally *tally_of_key(const struct front *f, const char *id)
{
	for (struct key *k = *id ? keyring_next_key(f->account.keyring, NULL) : NULL; k;
	    k = keyring_next_key(f->account.keyring, k)) {
		if (strcmp(k->id, id) == 0)
			return &k->tally;
	}
	return NULL;
}

static void charge(struct front *f, const char *team, const char *key, uint64_t cpu_ns, uint64_t sent)
{
	uint64_t day = clock_wall_ms() / 1000 / DAY_S;
	struct team *t = keyring_team(f->account.keyring, str_of(team));
	struct tally *k = tally_of_key(f, key);

	if (t)
		tally_add(&t->tally, day, cpu_ns / 1000000, sent);
	if (k)
		tally_add(k, day, cpu_ns / 1000000, sent);
}

/* Whole milliseconds; the rest is on the next bill. */
static uint64_t due(uint64_t now, uint64_t *paid, uint64_t unit)
{
	uint64_t d = now > *paid ? (now - *paid) / unit * unit : 0;

	*paid += d;
	return d;
}

void quota_account(struct sandbox *sb, uint64_t cpu_ns, uint64_t sent_bytes)
{
	if (!sb->paid.known) { /* of an earlier front, which has counted it */
		sb->paid.cpu_ns = cpu_ns;
		sb->paid.sent_bytes = sent_bytes;
		sb->paid.known = true;
		return;
	}
	uint64_t cpu = due(cpu_ns, &sb->paid.cpu_ns, 1000000), sent = due(sent_bytes, &sb->paid.sent_bytes, 1);

	if (cpu || sent)
		charge(sb->front, sb->team, sb->key, cpu, sent);
}

void quota_leaves(struct sandbox *sb)
{
	struct front *f = sb->front;

	if (!sandbox_live(sb) || !sb->paid.known || f->account.n_departed >= DEPARTED_MAX)
		return;
	struct departed *d = must_alloc(sizeof *d);

	memcpy(d->id, sb->id, sizeof d->id);
	memcpy(d->team, sb->team, sizeof d->team);
	memcpy(d->key, sb->key, sizeof d->key);
	d->cpu_ns = sb->paid.cpu_ns;
	d->sent_bytes = sb->paid.sent_bytes;
	d->metered = sb->sent_noted > sb->sent_before ? sb->sent_noted - sb->sent_before : 0;
	LIST_INSERT_HEAD(&f->account.departed, d, link);
	f->account.n_departed++;
}

static void departed_free(struct front *f, struct departed *d)
{
	LIST_REMOVE(d, link);
	f->account.n_departed--;
	free(d);
}

void quota_exited(struct front *f, const struct msg_exited *m)
{
	struct sandbox *sb = sandbox_table_find(f->sandbox.table, str_of(m->id));
	struct departed *d;
	struct err e;

	if (sb && sandbox_live(sb)) {
		quota_account(sb, m->cpu_ns, m->sent_bytes);
		audit_used(f, sb->team, sb->key, m);
		meter_sent(sb, m->sent_bytes);
		sb->usage.last_sent = m->sent_bytes; /* the next life adds it to those before */
		sb->paid.known = false;              /* that was the last count of this life */
		return;
	}
	LIST_FOREACH(d, &f->account.departed, link)
	{
		if (strcmp(d->id, m->id) == 0)
			break;
	}
	if (!d)
		return;
	audit_used(f, d->team, d->key, m);
	charge(f, d->team, d->key, due(m->cpu_ns, &d->cpu_ns, 1000000), due(m->sent_bytes, &d->sent_bytes, 1));
	if (m->sent_bytes > d->metered && meter_add_sent(f->link.store, d->id, m->sent_bytes - d->metered, &e) < 0)
		log_warn("could not record the egress of a sandbox", "id=%s err=%s", d->id, e.text);
	departed_free(f, d);
}

/* --- the store ------------------------------------------------------------------------------------------------- */

static void on_quota(void *user, bool of_key, const char *id, const char *text)
{
	struct front *f = user;
	autojson json_t *o = text ? json_loads(text, 0, NULL) : NULL;
	struct quota q = { 0 };
	struct err e = ERR_INIT;

	/* The maxima may be above those of today: they were checked when they were set, and are narrowed by today's. */
	if (!o ||
	    quota_read(o, of_key,
		&(struct msg_limits) { UINT64_MAX, UINT64_MAX, UINT32_MAX, UINT32_MAX, .swap_bytes = UINT64_MAX,
		    .open_files = UINT32_MAX },
		&q, &e) < 0) {
		log_error("ignoring the damaged quota of a team or key", "id=%s err=%s", id, e.text);
		return;
	}
	for (struct key *k = of_key ? keyring_next_key(f->account.keyring, NULL) : NULL; k;
	    k = keyring_next_key(f->account.keyring, k)) {
		if (strcmp(k->id, id) == 0)
			k->quota = q;
	}
	struct team *t = of_key ? NULL : keyring_team(f->account.keyring, str_of(id));

	if (t)
		t->quota = q;
}

static void on_use(void *user, const char *owner, const struct quota_use *u)
{
	struct front *f = user;
	struct team *t = keyring_team(f->account.keyring, str_of(owner));
	struct tally *k = tally_of_key(f, owner);

	if (t && strcmp(t->id, owner) == 0)
		t->tally.use = *u;
	else if (k)
		k->use = *u;
}

int quota_open(struct front *f, struct err *e)
{
	LIST_INIT(&f->account.departed);
	if (quotas_each(f->link.store, on_quota, f, e) < 0 ||
	    quota_use_each(f->link.store, clock_wall_ms() / 1000 / DAY_S, on_use, f, e) < 0)
		return -e->no;
	return 0;
}

int quota_set(struct front *f, bool of_key, const char *id, struct quota *at, const struct quota *q, struct err *e)
{
	autojson json_t *j = quota_json(q, of_key);
	autobuf struct buf text = BUF_INIT(TEXT_MAX);

	json_put(&text, j);
	if (quotas_set(f->link.store, of_key, id, json_is_null(j) ? NULL : buf_cstr(&text), e) < 0)
		return -e->no;
	*at = *q;
	return 0;
}

void quota_move(struct front *f, const char *from_key, const char *to_key)
{
	struct tally *from = tally_of_key(f, from_key), *to = tally_of_key(f, to_key);

	if (from && to) {
		*to = *from;
		to->dirty = true;
	}
	for (struct sandbox *sb = sandbox_table_next(f->sandbox.table, NULL); sb;
	    sb = sandbox_table_next(f->sandbox.table, sb)) {
		if (strcmp(sb->key, from_key) == 0)
			(void)str_copy(sb->key, sizeof sb->key, str_of(to_key));
	}
}

static void save(struct front *f, const char *owner, struct tally *t)
{
	struct err e;

	if (!t->dirty)
		return;
	t->dirty = false;
	if (quota_use_put(f->link.store, owner, &t->use, &e) < 0)
		log_warn("could not record the usage, retrying", "owner=%s err=%s", owner, e.text);
}

void quota_save(struct front *f)
{
	for (struct team *t = keyring_next_team(f->account.keyring, NULL); t;
	    t = keyring_next_team(f->account.keyring, t))
		save(f, t->id, &t->tally);
	for (struct key *k = keyring_next_key(f->account.keyring, NULL); k; k = keyring_next_key(f->account.keyring, k))
		save(f, k->id, &k->tally);
}

/* Whoever is beyond what his day allows. */
static void hold_up(struct front *f)
{
	struct sandbox *sb, *next;
	struct quota_hit h;

	for (sb = sandbox_table_next(f->sandbox.table, NULL); sb; sb = next) {
		next = sandbox_table_next(f->sandbox.table, sb);
		if (sb->state != SANDBOX_RUNNING || sandbox_being_saved(sb) ||
		    quota_check_resume(f, sb->team, sb->key, &h) == 0)
			continue;
		log_info("pausing a sandbox: a quota is exhausted", "id=%s scope=%s what=%s limit=%lld", sb->id,
		    h.scope, h.what, (long long)h.limit);
		sandbox_by(sb, "");
		sandbox_note(sb, LOG_LVL_WARN, JOURNAL_LIFECYCLE, "paused, a quota is used up",
		    "error=QUOTA scope=%s what=%s limit=%lld", h.scope, h.what, (long long)h.limit);
		sandbox_pause(sb, true);
	}
}

static bool any_daily(const struct front *f)
{
	for (struct team *t = keyring_next_team(f->account.keyring, NULL); t;
	    t = keyring_next_team(f->account.keyring, t)) {
		if (t->quota.cpu_s_per_day || t->quota.egress_mb_per_day)
			return true;
	}
	for (struct key *k = keyring_next_key(f->account.keyring, NULL); k;
	    k = keyring_next_key(f->account.keyring, k)) {
		if (k->quota.cpu_s_per_day || k->quota.egress_mb_per_day)
			return true;
	}
	return false;
}

void quota_tick(struct front *f)
{
	if (f->link.ticks % SAVE_EVERY == 0)
		quota_save(f);
	if (f->link.ticks % LOOK_EVERY == 0 && any_daily(f))
		hold_up(f);
}

void quota_free(struct front *f)
{
	struct departed *d;

	while ((d = LIST_FIRST(&f->account.departed)))
		departed_free(f, d);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/quota_use: charges use to teams and keys, and writes it to the store. */
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/account/accounts.h"
#include "front/account/keyring.h"
#include "front/account/quota.h"
#include "front/link/links.h"
#include "http/json.h"

#define DAY_S 86400u
#define TEXT_MAX 4096
#define SAVE_EVERY 10 /* seconds */

static struct tally *tally_of_key(const struct accounts *a, const char *id)
{
	for (struct key *k = *id ? keyring_next_key(a->keyring, NULL) : NULL; k; k = keyring_next_key(a->keyring, k)) {
		if (strcmp(k->id, id) == 0)
			return &k->tally;
	}
	return NULL;
}

void quota_charge(struct accounts *a, const char *team, const char *key, uint64_t cpu_ns, uint64_t sent_bytes)
{
	uint64_t day = clock_wall_ms() / 1000 / DAY_S;
	struct team *t = keyring_team(a->keyring, str_of(team));
	struct tally *k = tally_of_key(a, key);

	if (t)
		tally_add(&t->tally, day, cpu_ns / 1000000, sent_bytes);
	if (k)
		tally_add(k, day, cpu_ns / 1000000, sent_bytes);
}

/* --- the store ------------------------------------------------------------------------------------------------- */

static void on_quota(void *user, bool of_key, const char *id, const char *text)
{
	struct accounts *a = user;
	autojson json_t *o = text ? json_loads(text, 0, NULL) : NULL;
	struct quota q = { 0 };
	struct err e = ERR_INIT;

	/* The maxima may exceed the current ones: they were checked when they were set, and are lowered when used. */
	if (!o ||
	    quota_read(o, of_key,
		&(struct msg_limits) { UINT64_MAX, UINT64_MAX, UINT32_MAX, UINT32_MAX, .swap_bytes = UINT64_MAX,
		    .open_files = UINT32_MAX },
		&q, &e) < 0) {
		log_error("ignoring the damaged quota of a team or key", "id=%s err=%s", id, e.text);
		return;
	}
	for (struct key *k = of_key ? keyring_next_key(a->keyring, NULL) : NULL; k;
	    k = keyring_next_key(a->keyring, k)) {
		if (strcmp(k->id, id) == 0)
			k->quota = q;
	}
	struct team *t = of_key ? NULL : keyring_team(a->keyring, str_of(id));

	if (t)
		t->quota = q;
}

static void on_use(void *user, const char *owner, const struct quota_use *u)
{
	struct accounts *a = user;
	struct team *t = keyring_team(a->keyring, str_of(owner));
	struct tally *k = tally_of_key(a, owner);

	if (t && strcmp(t->id, owner) == 0)
		t->tally.use = *u;
	else if (k)
		k->use = *u;
}

int quota_open(struct accounts *a, struct err *e)
{
	if (quotas_each(a->link->store, on_quota, a, e) < 0 ||
	    quota_use_each(a->link->store, clock_wall_ms() / 1000 / DAY_S, on_use, a, e) < 0)
		return -e->no;
	return 0;
}

int quota_set(struct accounts *a, bool of_key, const char *id, struct quota *at, const struct quota *q, struct err *e)
{
	autojson json_t *j = quota_json(q, of_key);
	autobuf struct buf text = BUF_INIT(TEXT_MAX);

	json_put(&text, j);
	if (quotas_set(a->link->store, of_key, id, json_is_null(j) ? NULL : buf_cstr(&text), e) < 0)
		return -e->no;
	*at = *q;
	return 0;
}

void quota_move(struct accounts *a, const char *from_key, const char *to_key)
{
	struct tally *from = tally_of_key(a, from_key), *to = tally_of_key(a, to_key);

	if (from && to) {
		*to = *from;
		to->dirty = true;
	}
}

static void save(struct accounts *a, const char *owner, struct tally *t)
{
	struct err e;

	if (!t->dirty)
		return;
	t->dirty = false;
	if (quota_use_put(a->link->store, owner, &t->use, &e) < 0)
		log_warn("could not record the usage, retrying", "owner=%s err=%s", owner, e.text);
}

void quota_save(struct accounts *a)
{
	for (struct team *t = keyring_next_team(a->keyring, NULL); t; t = keyring_next_team(a->keyring, t))
		save(a, t->id, &t->tally);
	for (struct key *k = keyring_next_key(a->keyring, NULL); k; k = keyring_next_key(a->keyring, k))
		save(a, k->id, &k->tally);
}

bool quota_any_daily(const struct accounts *a)
{
	for (struct team *t = keyring_next_team(a->keyring, NULL); t; t = keyring_next_team(a->keyring, t)) {
		if (t->quota.cpu_s_per_day || t->quota.egress_mb_per_day)
			return true;
	}
	for (struct key *k = keyring_next_key(a->keyring, NULL); k; k = keyring_next_key(a->keyring, k)) {
		if (k->quota.cpu_s_per_day || k->quota.egress_mb_per_day)
			return true;
	}
	return false;
}

void quota_tick(struct accounts *a)
{
	if (a->link->ticks % SAVE_EVERY == 0)
		quota_save(a);
}

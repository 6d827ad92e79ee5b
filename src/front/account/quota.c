/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/quota: parsing, counting and checking. */
#include "front/account/quota.h"

#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "front/account/accounts.h"
#include "front/account/keyring.h"
#include "front/account/limits.h"
#include "front/link/links.h"
#include "http/json.h"

#define DAY_S 86400u
#define MOST (INT64_C(1) << 40)

/* --- as JSON --------------------------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	size_t at;
	bool of_key; /* for keys only */
} fields[] = {
	{ "maxSandboxes", offsetof(struct quota, max_sandboxes), true },
	{ "createsPerMinute", offsetof(struct quota, creates_per_min), false },
	{ "cpuSecondsPerDay", offsetof(struct quota, cpu_s_per_day), false },
	{ "egressMBPerDay", offsetof(struct quota, egress_mb_per_day), false },
};

static int64_t *field(const struct quota *q, size_t i)
{
	return (int64_t *)((char *)q + fields[i].at);
}

static int check_names(const json_t *o, bool of_key, struct err *e)
{
	const char *name;
	json_t *v;

	json_object_foreach((json_t *)o, name, v)
	{
		size_t i = 0;

		while (i < ARRAY_LEN(fields) && (strcmp(fields[i].name, name) != 0 || (fields[i].of_key && !of_key)))
			i++;
		if (i == ARRAY_LEN(fields) && strcmp(name, "limits") != 0 && strcmp(name, "engine") != 0 &&
		    strcmp(name, "requireEngine") != 0)
			return err_set(e, EINVAL, "field 'quota.%.40s' is not known", name);
	}
	return 0;
}

/* null removes it, and with it requireEngine. */
static int read_engine(const json_t *o, struct quota *q, struct err *e)
{
	const json_t *name = json_object_get(o, "engine"), *require = json_object_get(o, "requireEngine");
	uint32_t kind = 0;

	if (name && !json_is_null(name)) {
		if (!json_is_string(name) || engine_kind_of(json_string_value(name), &kind) < 0)
			return err_set(e, EINVAL, "field 'quota.engine' must be " ENGINES_TEXT ", or null");
		q->engine = (int64_t)kind + 1;
	} else if (name) {
		q->engine = 0;
		q->require_engine = false;
	}
	if (require && !json_is_boolean(require) && !json_is_null(require))
		return err_set(e, EINVAL, "field 'quota.requireEngine' must be a boolean or null");
	if (require)
		q->require_engine = json_is_true(require);
	if (q->require_engine && !q->engine)
		return err_set(e, EINVAL, "field 'quota.requireEngine' needs 'quota.engine'");
	return 0;
}

int quota_read(const json_t *o, bool of_key, const struct msg_limits *most, struct quota *q, struct err *e)
{
	struct quota to = *q;
	json_t *limits = NULL;

	if (check_names(o, of_key, e) < 0)
		return -e->no;
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const json_t *v = json_object_get(o, fields[i].name);
		json_int_t n = json_integer_value(v);

		if (!v)
			continue;
		if (!json_is_null(v) && (!json_is_integer(v) || n < 1 || n > MOST))
			return err_set(e, EINVAL, "field 'quota.%s' must be an integer from 1 to %lld, or null",
			    fields[i].name, (long long)MOST);
		*field(&to, i) = json_is_null(v) ? 0 : n;
	}
	if (json_get_obj(o, "limits", &limits, e) < 0)
		return err_set(e, EINVAL, "field 'quota.limits' must be an object or null");
	if (!limits && json_object_get(o, "limits"))
		to.maxima = (struct msg_limits) { 0 };
	if (limits && limits_read_maxima(limits, "quota.limits.", most, &to.maxima, e) < 0)
		return -e->no;
	if (read_engine(o, &to, e) < 0)
		return -e->no;
	*q = to;
	return 0;
}

bool quota_is_none(const struct quota *q)
{
	const struct msg_limits none = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (*field(q, i))
			return false;
	}
	return !q->engine && limits_equal(&q->maxima, &none);
}

json_t *quota_json(const struct quota *q, bool of_key)
{
	const struct msg_limits none = { 0 };

	if (quota_is_none(q))
		return json_null();
	json_t *o = json_object();

	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (of_key || !fields[i].of_key)
			(void)json_object_set_new(o, fields[i].name,
			    *field(q, i) ? json_integer(*field(q, i)) : json_null());
	}
	(void)json_object_set_new(o, "limits",
	    limits_equal(&q->maxima, &none) ? json_null() : limits_maxima_json(&q->maxima));
	if (q->engine) {
		(void)json_object_set_new(o, "engine", json_string(engine_kind_name((uint32_t)q->engine - 1)));
		(void)json_object_set_new(o, "requireEngine", json_boolean(q->require_engine));
	}
	return o;
}

/* --- counting -------------------------------------------------------------------------------------------------- */

/* Clears the seconds that have passed. */
static void forget_made(struct tally *t, uint64_t now_s)
{
	if (now_s - t->made_s >= QUOTA_MINUTE || now_s < t->made_s)
		memset(t->made, 0, sizeof t->made);
	else
		for (uint64_t s = t->made_s + 1; s <= now_s; s++)
			t->made[s % QUOTA_MINUTE] = 0;
	t->made_s = now_s;
}

void tally_create(struct tally *t, uint64_t now_s)
{
	forget_made(t, now_s);
	t->made[now_s % QUOTA_MINUTE]++;
}

uint32_t tally_creates(struct tally *t, uint64_t now_s)
{
	uint32_t n = 0;

	forget_made(t, now_s);
	for (size_t i = 0; i < QUOTA_MINUTE; i++)
		n += t->made[i];
	return n;
}

/* Seconds until the oldest creation of the last minute no longer counts. */
static uint32_t next_place_s(const struct tally *t, uint64_t now_s)
{
	for (uint32_t s = 1; s <= QUOTA_MINUTE; s++) {
		if (t->made[(now_s + s) % QUOTA_MINUTE])
			return s;
	}
	return 1;
}

static void begin_day(struct tally *t, uint64_t day)
{
	if (t->use.day != day)
		t->use = (struct quota_use) { .day = day };
}

void tally_add(struct tally *t, uint64_t day, uint64_t cpu_ms, uint64_t sent_bytes)
{
	begin_day(t, day);
	t->use.cpu_ms += cpu_ms;
	t->use.sent_bytes += sent_bytes;
	t->dirty = t->dirty || cpu_ms || sent_bytes;
}

json_t *tally_json(struct tally *t, uint64_t now_wall_ms)
{
	begin_day(t, now_wall_ms / 1000 / DAY_S);
	return json_pack("{s:I,s:I,s:I}", "cpuSecondsToday", (json_int_t)(t->use.cpu_ms / 1000), "egressMBToday",
	    (json_int_t)(t->use.sent_bytes >> 20), "createsLastMinute",
	    (json_int_t)tally_creates(t, clock_mono_ms() / 1000));
}

/* --- checking -------------------------------------------------------------------------------------------------- */

static int hit(struct quota_hit *ret, const char *what, int64_t limit, int64_t used, uint32_t retry_s)
{
	ret->what = what;
	ret->limit = limit;
	ret->used = used;
	ret->retry_s = retry_s;
	return -EDQUOT;
}

static int check_day(const struct quota *q, struct tally *t, struct quota_hit *ret)
{
	uint64_t now_s = clock_wall_ms() / 1000;
	uint32_t rest_s = (uint32_t)(DAY_S - now_s % DAY_S);

	begin_day(t, now_s / DAY_S);
	if (q->cpu_s_per_day && t->use.cpu_ms >= (uint64_t)q->cpu_s_per_day * 1000)
		return hit(ret, "cpuSecondsPerDay", q->cpu_s_per_day, (int64_t)(t->use.cpu_ms / 1000), rest_s);
	if (q->egress_mb_per_day && t->use.sent_bytes >> 20 >= (uint64_t)q->egress_mb_per_day)
		return hit(ret, "egressMBPerDay", q->egress_mb_per_day, (int64_t)(t->use.sent_bytes >> 20), rest_s);
	return 0;
}

static int check_minute(const struct quota *q, struct tally *t, struct quota_hit *ret)
{
	uint64_t now_s = clock_mono_ms() / 1000;
	uint32_t n = q->creates_per_min ? tally_creates(t, now_s) : 0;

	if (q->creates_per_min && n >= q->creates_per_min)
		return hit(ret, "createsPerMinute", q->creates_per_min, n, next_place_s(t, now_s));
	return 0;
}

struct owner { /* team and key of a sandbox; either may be NULL */
	struct team *team;
	struct key *key;
};

static struct owner owner_of(const struct accounts *a, const char *team, const char *key)
{
	struct owner o = { .team = keyring_team(a->keyring, str_of(team)) };

	for (struct key *k = *key ? keyring_next_key(a->keyring, NULL) : NULL; k; k = keyring_next_key(a->keyring, k)) {
		if (strcmp(k->id, key) == 0)
			o.key = k;
	}
	return o;
}

int quota_check_resume(struct accounts *a, const char *team, const char *key, struct quota_hit *ret)
{
	struct owner o = owner_of(a, team, key);

	ret->scope = "team";
	if (o.team && check_day(&o.team->quota, &o.team->tally, ret) < 0)
		return -EDQUOT;
	ret->scope = "key";
	return o.key ? check_day(&o.key->quota, &o.key->tally, ret) : 0;
}

int quota_check_create(struct accounts *a, const char *team, const char *key, struct quota_hit *ret)
{
	struct owner o = owner_of(a, team, key);

	if (quota_check_resume(a, team, key, ret) < 0)
		return -EDQUOT;
	ret->scope = "team";
	if (o.team && check_minute(&o.team->quota, &o.team->tally, ret) < 0)
		return -EDQUOT;
	ret->scope = "key";
	if (!o.key)
		return 0;
	int64_t most = o.key->quota.max_sandboxes, n = most ? (int64_t)a->count_of_key(a->count_user, key) : 0;

	if (most && n >= most)
		return hit(ret, "maxSandboxes", most, n, 0);
	return check_minute(&o.key->quota, &o.key->tally, ret);
}

void quota_note_create(struct accounts *a, const char *team, const char *key)
{
	struct owner o = owner_of(a, team, key);
	uint64_t now_s = clock_mono_ms() / 1000;

	if (o.team)
		tally_create(&o.team->tally, now_s);
	if (o.key)
		tally_create(&o.key->tally, now_s);
}

void quota_text(const struct quota_hit *h, struct err *ret)
{
	(void)err_set(ret, EDQUOT, "the quota %s of this %s is used up: %lld of %lld", h->what, h->scope,
	    (long long)h->used, (long long)h->limit);
}

void quota_narrow(const struct accounts *a, const char *team, const char *key, struct limits_range *range)
{
	struct owner o = owner_of(a, team, key);

	if (o.team)
		limits_narrow(range, &o.team->quota.maxima);
	if (o.key)
		limits_narrow(range, &o.key->quota.maxima);
}

/* What is required by the server cannot be changed by a team, and what a team requires not by its keys. */
static void apply_engine(struct engine_rule *rule, const struct quota *q)
{
	if (rule->required || !q->engine)
		return;
	rule->kind = (uint32_t)q->engine - 1;
	rule->required = q->require_engine;
}

struct engine_rule quota_engine(const struct accounts *a, const char *team, const char *key)
{
	struct owner o = owner_of(a, team, key);
	struct engine_rule rule = { .kind = a->link->opt.engine, .required = a->link->opt.require_engine };

	if (o.team)
		apply_engine(&rule, &o.team->quota);
	if (o.key)
		apply_engine(&rule, &o.key->quota);
	return rule;
}

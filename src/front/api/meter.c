/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/meter: the usage report: running time and egress of sandboxes, grouped by key, template, day, label
 * and others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/prices.h"
#include "front/account/accounts.h"
#include "front/account/keyring.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/link/links.h"
#include "front/sandbox/meter.h"
#include "http/json.h"
#include "http/server.h"
#include "http/url.h"
#include "store/meter.h"

#define DAY_MS (24ull * 3600 * 1000)
#define DAYS_DEFAULT 30
#define BY_MAX 4
/* rows read for one report: a few tenths of a second, in which the loop is blocked */
#define ROWS_MAX 100000
#define LABEL_MAX 256
#define GROUP_MAX (64 * 1024)

enum dim { BY_DAY, BY_KEY, BY_TEMPLATE, BY_SANDBOX, BY_TEAM, BY_METADATA };

static const char *const dim_name[] = {
	[BY_DAY] = "day",
	[BY_KEY] = "key",
	[BY_TEMPLATE] = "template",
	[BY_SANDBOX] = "sandbox",
	[BY_TEAM] = "team",
};

struct by {
	enum dim dim;
	char name[LABEL_MAX + 16]; /* as in the query */
	const char *label;         /* metadata label: points into name */
};

struct sum {
	uint64_t sandboxes, running_ms, cpu_permille_ms, mib_ms, sent_bytes;
};

struct group {
	struct sum sum;
	json_t *of; /* the values that its rows share */
	char *last; /* the sandbox counted last: the rows are ordered by sandbox */
};

struct report {
	struct keyring *keyring;
	const struct prices *prices;
	const char *team; /* NULL: all teams */
	struct by by[BY_MAX];
	size_t n_by;
	uint64_t first, last; /* days */
	size_t rows;
	json_t *index; /* key of a group -> its index */
	struct group *v;
	size_t n, cap;
	bool bad; /* out of memory, or a name is too long */
};

static void day_text(uint64_t day, char out[CLOCK_RFC3339_SIZE])
{
	clock_rfc3339(day * DAY_MS, out);
	out[10] = '\0'; /* 2026-11-15 */
}

static const char *label_of(const char *metadata, const char *label, json_t **keep)
{
	const char *z;

	*keep = metadata ? json_loads(metadata, 0, NULL) : NULL;
	z = json_string_value(json_object_get(*keep, label));
	return z ? z : "";
}

static const char *value_of(const struct meter_row *row, const struct by *by, json_t **keep,
    char day[CLOCK_RFC3339_SIZE])
{
	switch (by->dim) {
	case BY_DAY:
		day_text(row->day, day);
		return day;
	case BY_KEY:
		return row->key;
	case BY_TEMPLATE:
		return row->template;
	case BY_SANDBOX:
		return row->sandbox;
	case BY_TEAM:
		return row->team;
	case BY_METADATA:
		break;
	}
	return label_of(row->metadata, by->label, keep);
}

/* The values that the rows of a group share: as text, the key of the group, and as JSON for the answer. */
static void put_group(const struct report *rp, const struct meter_row *row, struct buf *text, json_t *of)
{
	char day[CLOCK_RFC3339_SIZE];

	for (size_t i = 0; i < rp->n_by; i++) {
		autojson json_t *keep = NULL;
		const char *value = value_of(row, &rp->by[i], &keep, day);

		buf_fmt(text, "%zu:", strlen(value));
		buf_z(text, value);
		if (of)
			(void)json_object_set_new(of, rp->by[i].name, json_string(value));
	}
}

static struct group *group_new(struct report *rp)
{
	if (rp->n == rp->cap) {
		size_t cap = rp->cap ? 2 * rp->cap : 64;
		struct group *v = reallocarray(rp->v, cap, sizeof *v);

		if (!v)
			return NULL;
		rp->v = v;
		rp->cap = cap;
	}
	rp->v[rp->n] = (struct group) { .of = json_object() };
	return &rp->v[rp->n++];
}

static struct group *group_find(struct report *rp, const struct meter_row *row)
{
	autobuf struct buf text = BUF_INIT(GROUP_MAX);

	put_group(rp, row, &text, NULL);

	const json_t *at = text.bad ? NULL : json_object_get(rp->index, buf_cstr(&text));
	struct group *g = at ? &rp->v[json_integer_value(at)] : text.bad ? NULL : group_new(rp);

	rp->bad |= !g;
	if (!g || at)
		return g;
	(void)json_object_set_new(rp->index, buf_cstr(&text), json_integer(g - rp->v));
	buf_clear(&text);
	put_group(rp, row, &text, g->of);
	return g;
}

static void add(struct sum *s, const struct meter_row *row)
{
	s->running_ms += row->running_ms;
	s->cpu_permille_ms += row->cpu_permille_ms;
	s->mib_ms += row->mib_ms;
	s->sent_bytes += row->sent_bytes;
}

static void on_row(void *user, const struct meter_row *row)
{
	struct report *rp = user;
	struct group *g = rp->bad ? NULL : group_find(rp, row);

	rp->rows++;
	if (!g)
		return;
	add(&g->sum, row);
	if (!g->last || strcmp(g->last, row->sandbox) != 0) {
		free(g->last);
		g->last = strdup(row->sandbox);
		g->sum.sandboxes++;
	}
}

static double cost(const struct sum *s, const struct prices *p)
{
	return (double)s->cpu_permille_ms / 1e6 / 3600 * p->vcpu_hour +
	    (double)s->mib_ms / 1e3 / 1024 / 3600 * p->gib_hour + (double)s->sent_bytes / (1 << 30) * p->egress_gib;
}

static void sum_json(json_t *o, const struct sum *s, const struct prices *p)
{
	(void)json_object_set_new(o, "sandboxes", json_integer((json_int_t)s->sandboxes));
	(void)json_object_set_new(o, "seconds", json_real((double)s->running_ms / 1000));
	(void)json_object_set_new(o, "vcpuSeconds", json_real((double)s->cpu_permille_ms / 1e6));
	(void)json_object_set_new(o, "gibSeconds", json_real((double)s->mib_ms / 1000 / 1024));
	(void)json_object_set_new(o, "egressBytes", json_integer((json_int_t)s->sent_bytes));
	if (p->set)
		(void)json_object_set_new(o, "cost", json_real(cost(s, p)));
}

/* Adds the name of the key for people; a deleted key has none. */
static void name_key(const struct report *rp, json_t *of, json_t *o)
{
	struct str id = str_of(json_string_value(json_object_get(of, "key")));

	for (struct key *k = keyring_next_key(rp->keyring, NULL); k; k = keyring_next_key(rp->keyring, k)) {
		if (str_is(id, k->id)) {
			(void)json_object_set_new(o, "keyName", json_string(k->name));
			return;
		}
	}
	(void)json_object_set_new(o, "keyName", json_null());
}

static json_t *report_json(struct report *rp)
{
	char first[CLOCK_RFC3339_SIZE], last[CLOCK_RFC3339_SIZE];
	json_t *rows = json_array(), *by = json_array(), *all = json_object();
	struct sum total = { 0 };
	bool keys = false;

	for (size_t i = 0; i < rp->n_by; i++) {
		(void)json_array_append_new(by, json_string(rp->by[i].name));
		keys |= rp->by[i].dim == BY_KEY;
	}
	for (size_t i = 0; i < rp->n; i++) {
		const struct group *g = &rp->v[i];
		json_t *o = json_pack("{s:O}", "by", g->of);

		if (keys)
			name_key(rp, g->of, o);
		sum_json(o, &g->sum, rp->prices);
		(void)json_array_append_new(rows, o);
		total.running_ms += g->sum.running_ms;
		total.cpu_permille_ms += g->sum.cpu_permille_ms;
		total.mib_ms += g->sum.mib_ms;
		total.sent_bytes += g->sum.sent_bytes;
	}
	sum_json(all, &total, rp->prices);
	(void)json_object_del(all, "sandboxes"); /* one sandbox may be in several rows */
	day_text(rp->first, first);
	day_text(rp->last, last);
	json_t *j = json_pack("{s:s,s:s,s:o,s:o,s:o}", "from", first, "to", last, "by", by, "rows", rows, "total", all);

	if (rp->prices->set)
		(void)json_object_set_new(j, "prices",
		    json_pack("{s:s,s:f,s:f,s:f}", "currency", rp->prices->currency, "vcpuHour", rp->prices->vcpu_hour,
			"gibHour", rp->prices->gib_hour, "egressGib", rp->prices->egress_gib));
	return j;
}

static int most_first(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return x->sum.running_ms == y->sum.running_ms ? 0 : x->sum.running_ms < y->sum.running_ms ? 1 : -1;
}

static int oldest_first(const void *a, const void *b)
{
	int days = strcmp(json_string_value(json_object_get(((const struct group *)a)->of, "day")),
	    json_string_value(json_object_get(((const struct group *)b)->of, "day")));

	return days ? days : most_first(a, b);
}

static void report_done(struct report *rp)
{
	for (size_t i = 0; i < rp->n; i++) {
		json_decref(rp->v[i].of);
		free(rp->v[i].last);
	}
	free(rp->v);
	json_decref(rp->index);
}

/* --- the query --- */

static int read_dim(struct str s, bool all_teams, struct by *ret)
{
	size_t n = str_starts(s, "metadata.") ? 9 : str_starts(s, "tag:") ? 4 : 0; /* synonyms */

	if (!str_copy(ret->name, sizeof ret->name, s))
		return -EINVAL;
	for (enum dim d = BY_DAY; d <= BY_TEAM; d++) {
		ret->dim = d;
		if (str_is(s, dim_name[d]))
			return d != BY_TEAM || all_teams ? 0 : -EINVAL;
	}
	ret->dim = BY_METADATA;
	ret->label = ret->name + n;
	return n > 0 && s.n > n && s.n - n <= LABEL_MAX ? 0 : -EINVAL;
}

static int read_by(struct req *r, struct report *rp)
{
	autofree char *text = NULL;
	int got = query_get(r->http->query, "by", &text);
	struct str rest = got == 0 ? str_of(text) : STR_LIT("key");

	while (got != -EINVAL && rest.p) {
		struct str one = str_cut(&rest, ',');

		if (rp->n_by == BY_MAX || read_dim(one, !rp->team, &rp->by[rp->n_by]) < 0)
			break;
		for (size_t i = 0; i < rp->n_by; i++) {
			if (strcmp(rp->by[i].name, rp->by[rp->n_by].name) == 0)
				goto refuse;
		}
		rp->n_by++;
		if (!rest.p)
			return 0;
	}
refuse:
	reply_error(r, 400,
	    "query parameter 'by' must be up to %d different ones of day, key, template, sandbox%s and tag:NAME",
	    BY_MAX, rp->team ? "" : ", team");
	return -EINVAL;
}

static int read_day(struct req *r, const char *name, uint64_t *ret)
{
	autofree char *text = NULL, *full = NULL;
	int got = query_get(r->http->query, name, &text);
	uint64_t us;

	if (got == -ENOENT)
		return 0;
	full = got == 0 && strlen(text) == 10 ? str_fmt("%sT00:00:00Z", text) : NULL;
	if (!full || clock_parse_rfc3339(str_of(full), &us) < 0) {
		reply_error(r, 400, "query parameter '%s' must be a day as in 2026-11-15", name);
		return -EINVAL;
	}
	*ret = us / 1000 / DAY_MS;
	return 0;
}

static void answer(struct req *r, const char *team)
{
	struct prices prices = { .set = false };
	struct report rp = { .keyring = r->api->account->keyring,
		.prices = &prices,
		.team = team,
		.index = json_object(),
		.last = clock_wall_ms() / DAY_MS };
	struct err e = ERR_INIT;

	if (r->api->link->opt.prices[0])
		(void)prices_parse(str_of(r->api->link->opt.prices), &prices); /* the warden has checked them */
	rp.first = rp.last - (DAYS_DEFAULT - 1);
	if (read_by(r, &rp) < 0 || read_day(r, "from", &rp.first) < 0 || read_day(r, "to", &rp.last) < 0) {
		report_done(&rp);
		return;
	}
	meter_note_all(r->api->sandbox, team);
	if (rp.last < rp.first)
		reply_error(r, 400, "query parameter 'to' must not be before 'from'");
	else if (meter_each(r->api->link->store, team, rp.first, rp.last, ROWS_MAX + 1, on_row, &rp, &e) < 0)
		reply_err(r, &e);
	else if (rp.rows > ROWS_MAX)
		reply_error(r, 400, "there were more than %d sandboxes in these days: ask for fewer of them", ROWS_MAX);
	else if (rp.bad)
		reply_error(r, 500, "answer is too large");
	else {
		if (rp.n > 0)
			qsort(rp.v, rp.n, sizeof *rp.v, rp.by[0].dim == BY_DAY ? oldest_first : most_first);
		reply_json(r, 200, report_json(&rp), NULL);
	}
	report_done(&rp);
}

void api_meter(struct req *r)
{
	answer(r, r->caller.team);
}

void admin_meter(struct req *r)
{
	answer(r, NULL);
}

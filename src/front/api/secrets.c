/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/secrets: creates, changes, lists and deletes the secrets of a team. Values are never shown. */
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/rand.h"
#include "front/account/secrets.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/link/links.h"
#include "front/sandbox/rules.h"
#include "front/util/mem.h"
#include "front/util/time_json.h"
#include "http/json.h"
#include "http/server.h"
#include "http/url.h"
#include "store/secrets.h"

#define NO_STORE "Cache-Control: no-store\r\n"
#define LIMIT_MAX 100
#define METADATA_MAX (16 * 1024)
#define SECRET_ID_SIZE 40
#define SEALED_MAX (SECRET_VALUE_MAX + 64)

static json_t *row_json(const struct secret_row *s)
{
	json_t *metadata = s->metadata ? json_loads(s->metadata, 0, NULL) : NULL;

	return json_pack("{s:s,s:s,s:I,s:o,s:o,s:o}", "secretID", s->id, "name", s->name, "currentVersion",
	    (json_int_t)s->version, "metadata", metadata ? metadata : json_object(), "createdAt",
	    time_json(s->created_ms), "updatedAt", time_json(s->updated_ms));
}

static int on_row(void *user, const struct secret_row *s)
{
	*(json_t **)user = row_json(s);
	return 0;
}

static void fail(struct req *r, const struct err *e)
{
	log_error("secrets: cannot use the state database", "request=%s err=%s", r->id, e->text);
	reply_error(r, 500, "could not use the state file");
}

/* The secret in the path: a name in any case, or an id. */
static const char *which(struct req *r, char out[SECRET_NAME_MAX + 1])
{
	struct str text = str_trim(str_of(r->param));

	if (secret_name(text, out) == 0 || (str_starts(text, "sec_") && str_copy(out, SECRET_NAME_MAX + 1, text)))
		return out;
	reply_error(r, 400, "'%.60s' is neither the name nor the id of a secret", r->param);
	return NULL;
}

/* Parses the value of a new secret or version, and its metadata as JSON text (NULL if absent). On failure sends an
 * answer. */
static int read_body(struct req *r, const json_t *body, const char **ret_value, struct buf *metadata, bool *ret_has)
{
	json_t *map = NULL;
	struct err e;

	if (json_need_str(body, "value", ret_value, &e) < 0 || json_get_obj(body, "metadata", &map, &e) < 0 ||
	    (map && json_check_str_map(map, "metadata", &e) < 0)) {
		reply_err(r, &e);
		return -EINVAL;
	}
	if (!secret_value_ok(str_of(*ret_value))) {
		reply_error(r, 400,
		    "field 'value' must have 1 to %d bytes without control characters, and no blanks at its ends",
		    SECRET_VALUE_MAX);
		return -EINVAL;
	}
	*ret_has = map;
	if (map)
		json_put(metadata, map);
	if (metadata->bad || !buf_cstr(metadata)) {
		reply_error(r, 400, "field 'metadata' must have at most %d bytes", METADATA_MAX);
		return -EINVAL;
	}
	return 0;
}

static void add(struct req *r, const char *name, const char *value, const char *metadata)
{
	struct api *a = r->api;
	autobuf struct buf sealed = BUF_INIT(SEALED_MAX);
	char id[SECRET_ID_SIZE] = "sec_";
	struct err e = ERR_INIT;

	rand_label(id + 4, 24);
	secret_seal(a->link, r->caller.team, id, str_of(value), &sealed);
	uint64_t now = clock_wall_ms();
	struct secret_row row = {
		.id = id,
		.team = r->caller.team,
		.name = name,
		.version = 1,
		.sealed = sealed.p,
		.n_sealed = sealed.n,
		.metadata = metadata,
		.created_ms = now,
		.updated_ms = now,
	};
	int64_t n = secrets_count(a->link->store, r->caller.team, &e);

	if (n >= SECRETS_PER_TEAM) {
		reply_error(r, 409, "the team has %d secrets, which is as many as there may be", SECRETS_PER_TEAM);
	} else if (n < 0 || sealed.bad) {
		fail(r, &e);
	} else if (secrets_add(a->link->store, &row, &e) < 0) {
		if (e.no == EEXIST)
			reply_error(r, 409, "there is a secret '%s'", name);
		else
			fail(r, &e);
	} else {
		log_info("secret created", "request=%s secret=%s team=%s", r->id, id, row.team);
		rules_refresh(a->sandbox, r->caller.team);
		reply_json(r, 201, row_json(&row), NO_STORE);
	}
}

void api_secret_add(struct req *r)
{
	autojson json_t *body = req_json(r, false);
	autobuf struct buf metadata = BUF_INIT(METADATA_MAX);
	const char *name = NULL, *value = NULL;
	char clean[SECRET_NAME_MAX + 1];
	bool has;
	struct err e;

	if (!body)
		return;
	if (json_need_str(body, "name", &name, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	if (secret_name(str_of(name), clean) < 0) {
		reply_error(r, 400,
		    "field 'name' must have 1 to %d letters, digits, '_' and '-', and not begin with 'sec_'",
		    SECRET_NAME_MAX);
		return;
	}
	if (read_body(r, body, &value, &metadata, &has) == 0)
		add(r, clean, value, has ? buf_cstr(&metadata) : "{}");
}

struct page {
	json_t *all;
	size_t limit;
	char last[SECRET_NAME_MAX + 1];
	bool more;
};

static int on_listed(void *user, const struct secret_row *s)
{
	struct page *p = user;

	if (json_array_size(p->all) == p->limit) {
		p->more = true;
		return 0;
	}
	(void)str_copy(p->last, sizeof p->last, str_of(s->name));
	(void)json_array_append_new(p->all, row_json(s));
	return 0;
}

void api_secrets(struct req *r)
{
	autofree char *limit = NULL, *token = NULL;
	autobuf struct buf headers = BUF_INIT(512);
	struct page p = { .limit = LIMIT_MAX };
	char after[SECRET_NAME_MAX + 1] = "";
	struct err e = ERR_INIT;
	uint64_t n = LIMIT_MAX;

	int no_limit = query_get(r->http->query, "limit", &limit),
	    no_token = query_get(r->http->query, "nextToken", &token);

	if ((no_limit < 0 && no_limit != -ENOENT) ||
	    (limit && (str_to_u64(str_of(limit), LIMIT_MAX, &n) < 0 || n == 0))) {
		reply_error(r, 400, "query 'limit' must be a number from 1 to %d", LIMIT_MAX);
		return;
	}
	if ((no_token < 0 && no_token != -ENOENT) || (token && secret_name(str_of(token), after) < 0)) {
		reply_error(r, 400, "query 'nextToken' is not one of ours");
		return;
	}
	p.limit = (size_t)n;
	p.all = json_array();
	if (secrets_each(r->api->link->store, r->caller.team, after, n + 1, on_listed, &p, &e) < 0) {
		json_decref(p.all);
		fail(r, &e);
		return;
	}
	buf_z(&headers, NO_STORE);
	if (p.more)
		buf_fmt(&headers, "X-Next-Token: %s\r\n", p.last);
	reply_json(r, 200, p.all, buf_cstr(&headers));
}

/* The row of the secret in the path. If there is none, sends an answer and returns NULL. */
static json_t *find(struct req *r)
{
	char name[SECRET_NAME_MAX + 1];
	const char *key = which(r, name);
	struct err e = ERR_INIT;
	json_t *j = NULL;

	if (!key)
		return NULL;
	int no = secrets_find(r->api->link->store, r->caller.team, key, on_row, &j, &e);

	if (no == -ENOENT)
		reply_error(r, 404, "secret '%s' not found", key);
	else if (no < 0)
		fail(r, &e);
	return j;
}

void api_secret(struct req *r)
{
	json_t *j = find(r);

	if (j)
		reply_json(r, 200, j, NO_STORE);
}

void api_secret_set(struct req *r)
{
	autojson json_t *body = req_json(r, false);
	autobuf struct buf metadata = BUF_INIT(METADATA_MAX), sealed = BUF_INIT(SEALED_MAX),
			   kept = BUF_INIT(METADATA_MAX);
	const char *value = NULL;
	struct err e = ERR_INIT;
	bool has;

	if (!body || read_body(r, body, &value, &metadata, &has) < 0)
		return;
	json_t *j = find(r);

	if (!j)
		return;
	const char *id = json_string_value(json_object_get(j, "secretID"));

	secret_seal(r->api->link, r->caller.team, id, str_of(value), &sealed);
	json_put(&kept, json_object_get(j, "metadata"));
	struct secret_row row = {
		.id = id,
		.team = r->caller.team,
		.version = (uint64_t)json_integer_value(json_object_get(j, "currentVersion")) + 1,
		.sealed = sealed.p,
		.n_sealed = sealed.n,
		.metadata = has ? buf_cstr(&metadata) : buf_cstr(&kept),
		.updated_ms = clock_wall_ms(),
	};
	if (sealed.bad || !row.metadata || secrets_set(r->api->link->store, &row, &e) < 0) {
		json_decref(j);
		fail(r, &e);
		return;
	}
	log_info("secret changed", "request=%s secret=%s version=%llu", r->id, id, (unsigned long long)row.version);
	rules_refresh(r->api->sandbox, r->caller.team);
	json_decref(j);
	api_secret(r);
}

void api_secret_drop(struct req *r)
{
	json_t *j = find(r);
	struct err e = ERR_INIT;

	if (!j)
		return;
	const char *id = json_string_value(json_object_get(j, "secretID"));

	if (secrets_drop(r->api->link->store, r->caller.team, id, &e) < 0 && e.no != ENOENT) {
		fail(r, &e);
	} else {
		log_info("secret destroyed", "request=%s secret=%s", r->id, id);
		rules_refresh(r->api->sandbox, r->caller.team);
		reply_empty(r, 204);
	}
	json_decref(j);
}

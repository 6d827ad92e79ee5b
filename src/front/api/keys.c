/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/keys: keys of the caller's team, and of any team for admins. */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "front/account/accounts.h"
#include "front/account/keyring.h"
#include "front/account/quota.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/api/team.h"
#include "front/sandbox/charge.h"
#include "front/sandbox/spec.h"
#include "front/util/time_json.h"
#include "http/json.h"

#define GRACE_MAX_S (7 * 24 * 3600)

static json_t *key_json(struct key *k)
{
	return json_pack("{s:s,s:s,s:{s:s,s:i,s:s,s:s},s:o,s:n,s:o,s:b,s:o,s:o,s:o}", "id", k->id, "name", k->name,
	    "mask", "prefix", KEY_PREFIX, "valueLength", (int)k->length, "maskedValuePrefix", k->head,
	    "maskedValueSuffix", k->tail, "createdAt", time_json(k->created_ms), "createdBy", "lastUsed",
	    time_or_null(k->used_ms), "admin", k->admin, "expiresAt", time_or_null(k->expires_ms), "quota",
	    quota_json(&k->quota, true), "usage", tally_json(&k->tally, clock_wall_ms()));
}

static struct team *own_team(struct req *r)
{
	return keyring_team(r->api->account->keyring, str_of(r->caller.team));
}

static struct key *find_key(struct req *r, const struct team *t, const char *id)
{
	struct key *k = keyring_key(r->api->account->keyring, t, str_of(id));

	if (!k)
		reply_error(r, 404, "API key '%.64s' not found", id);
	return k;
}

/* 1 to 63 printable characters. Otherwise sends 400. */
static int read_name(struct req *r, const json_t *body, const char **ret)
{
	struct err e;

	if ((*ret ? json_get_str(body, "name", ret, &e) : json_need_str(body, "name", ret, &e)) < 0) {
		reply_err(r, &e);
		return -EINVAL;
	}
	for (const char *c = *ret; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f) {
			reply_error(r, 400, "field 'name' must not have control characters");
			return -EINVAL;
		}
	}
	if (!**ret || strlen(*ret) >= KEY_NAME_SIZE) {
		reply_error(r, 400, "field 'name' must have 1 to %d bytes", KEY_NAME_SIZE - 1);
		return -EINVAL;
	}
	return 0;
}

static void list(struct req *r, const struct team *t)
{
	json_t *all = json_array();

	for (struct key *k = keyring_next_key(r->api->account->keyring, NULL); k;
	    k = keyring_next_key(r->api->account->keyring, k)) {
		if (k->team == t)
			(void)json_array_append_new(all, key_json(k));
	}
	reply_json(r, 200, all, NULL);
}

/* Returns the new key, or sends an answer. */
static struct key *make(struct req *r, struct team *t, const char *name, bool admin, char secret[KEY_TEXT_SIZE])
{
	struct key *k;
	struct err e;

	if (keyring_add_key(r->api->account->keyring, t, name, admin, secret, &k, &e) < 0) {
		log_error("could not create a key", "request=%s err=%s", r->id, e.text);
		reply_error(r, 500, "could not record the key");
		return NULL;
	}
	log_info("key created", "request=%s key=%s team=%s admin=%d", r->id, k->id, t->id, admin);
	return k;
}

static void reply_made(struct req *r, struct key *k, char secret[KEY_TEXT_SIZE])
{
	json_t *j = key_json(k);

	(void)json_object_set_new(j, "key", json_string(secret));
	explicit_bzero(secret, KEY_TEXT_SIZE);
	reply_json(r, 201, j, "Cache-Control: no-store\r\n");
}

/* With another key a client could bypass the quota of this one. */
static bool may_manage(struct req *r)
{
	if (!req_has_quota(r))
		return true;
	reply_error(r, 403, "a key with a quota cannot make or change keys");
	return false;
}

static void add(struct req *r, struct team *t)
{
	autojson json_t *body = req_json(r, false);
	char secret[KEY_TEXT_SIZE];
	const char *name = NULL;
	bool admin = false;
	struct quota q = { 0 };
	struct err e;

	if (!body || read_name(r, body, &name) < 0)
		return;
	if (json_get_bool(body, "admin", &admin, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	if (admin && !r->caller.admin) {
		reply_error(r, 403, "field 'admin' needs an admin key");
		return;
	}
	if (read_quota(r->api, body, true, &q, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	if (!quota_is_none(&q) && !r->caller.admin) {
		reply_error(r, 403, "field 'quota' needs an admin key");
		return;
	}
	if (!may_manage(r))
		return;

	struct key *k = make(r, t, name, admin, secret);

	if (k && !quota_is_none(&q) && quota_set(r->api->account, true, k->id, &k->quota, &q, &e) < 0)
		log_error("could not record the quota of a key", "request=%s err=%s", r->id, e.text);
	if (k)
		reply_made(r, k, secret);
}

/* Only an admin key may change an admin key. */
static bool may_rename(struct req *r, const struct key *k)
{
	if (!may_manage(r))
		return false;
	if (k->admin && !r->caller.admin) {
		reply_error(r, 403, "this needs an admin key");
		return false;
	}
	return true;
}

/* Likewise, and a key that comes from a file of the server cannot be revoked. */
static bool may_change(struct req *r, const struct key *k)
{
	if (!may_manage(r))
		return false;
	if (k->local) {
		reply_error(r, 409, "this is the server's own key: it is replaced by changing its file");
		return false;
	}
	return may_rename(r, k);
}

static void drop(struct req *r, const struct team *t, const char *id)
{
	struct key *k = find_key(r, t, id);
	struct err e;

	if (!k || !may_change(r, k))
		return;
	log_info("key revoked", "request=%s key=%s team=%s", r->id, k->id, t->id);
	if (keyring_drop_key(r->api->account->keyring, k, &e) < 0)
		reply_err(r, &e);
	else
		reply_empty(r, 204);
}

/* Creates the new key first: if revoking the old one fails, there are two, which is better than none. */
static void rotate(struct req *r, struct team *t, const char *id)
{
	struct key *old = find_key(r, t, id);
	autojson json_t *body = old ? req_json(r, true) : NULL;
	const char *name = old ? old->name : NULL;
	char secret[KEY_TEXT_SIZE];
	int64_t grace_s = 0;
	bool given;
	struct err e;

	if (!body || read_name(r, body, &name) < 0 || !may_change(r, old))
		return;
	if (field_int(body, "grace_s", 0, GRACE_MAX_S, &grace_s, &given, &e) < 0) {
		reply_err(r, &e);
		return;
	}

	struct key *k = make(r, t, name, old->admin, secret);

	if (!k)
		return;
	if (!quota_is_none(&old->quota) && quota_set(r->api->account, true, k->id, &k->quota, &old->quota, &e) < 0)
		log_error("could not record the quota of a key", "request=%s err=%s", r->id, e.text);
	quota_move(r->api->account, old->id, k->id);
	charge_key_moved(r->api->sandbox, old->id, k->id);
	log_info("key rotated", "request=%s key=%s to=%s grace_s=%lld", r->id, old->id, k->id, (long long)grace_s);

	int no = grace_s
	    ? keyring_expire_key(r->api->account->keyring, old, clock_wall_ms() + (uint64_t)grace_s * 1000, &e)
	    : keyring_drop_key(r->api->account->keyring, old, &e);

	if (no < 0)
		log_error("could not revoke the old key", "request=%s err=%s", r->id, e.text);
	reply_made(r, k, secret);
}

void api_keys(struct req *r)
{
	list(r, own_team(r));
}

void api_key_add(struct req *r)
{
	add(r, own_team(r));
}

void api_key_rename(struct req *r)
{
	struct key *k = find_key(r, own_team(r), r->param);
	autojson json_t *body = k ? req_json(r, false) : NULL;
	const char *name = NULL;
	struct err e;

	if (!body || read_name(r, body, &name) < 0 || !may_rename(r, k))
		return;
	if (keyring_rename_key(r->api->account->keyring, k, name, &e) < 0)
		reply_err(r, &e);
	else
		reply_empty(r, 200);
}

void api_key_drop(struct req *r)
{
	drop(r, own_team(r), r->param);
}

void api_key_rotate(struct req *r)
{
	rotate(r, own_team(r), r->param);
}

void admin_keys(struct req *r)
{
	const struct team *t = req_team(r);

	if (t)
		list(r, t);
}

void admin_key_add(struct req *r)
{
	struct team *t = req_team(r);

	if (t)
		add(r, t);
}

void admin_key_drop(struct req *r)
{
	const struct team *t = req_team(r);

	if (t)
		drop(r, t, r->param2);
}

void admin_key_set(struct req *r)
{
	const struct team *t = req_team(r);
	struct key *k = t ? find_key(r, t, r->param2) : NULL;
	autojson json_t *body = k ? req_json(r, false) : NULL;
	const char *name = k ? k->name : NULL;
	struct err e;

	if (!body || read_name(r, body, &name) < 0)
		return;
	struct quota q = k->quota;

	if (read_quota(r->api, body, true, &q, &e) < 0 ||
	    (json_object_get(body, "quota") && quota_set(r->api->account, true, k->id, &k->quota, &q, &e) < 0) ||
	    (name != k->name && keyring_rename_key(r->api->account->keyring, k, name, &e) < 0))
		reply_err(r, &e);
	else
		reply_json(r, 200, key_json(k), NULL);
}

void admin_key_rotate(struct req *r)
{
	struct team *t = req_team(r);

	if (t)
		rotate(r, t, r->param2);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* client/keys: manages the API keys of a team. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"

static void fill_key(struct kept *k, void *item, json_t *o)
{
	struct atoll_key *key = item;
	const json_t *mask = json_object_get(o, "mask");

	(void)k;
	*key = (struct atoll_key) {
		.id = json_text(o, "id"),
		.name = json_text(o, "name"),
		.prefix = json_text(mask, "maskedValuePrefix"),
		.suffix = json_text(mask, "maskedValueSuffix"),
		.created_at = json_text(o, "createdAt"),
		.last_used = json_text_or_null(o, "lastUsed"),
		.expires_at = json_text_or_null(o, "expiresAt"),
		.admin = json_is_true(json_object_get(o, "admin")),
		.secret = json_text_or_null(o, "key"),
	};
}

static int keys_of(json_t *root, struct atoll_keys **ret, struct atoll_error *e)
{
	struct kept *k;

	if (kept_new(root, sizeof(struct atoll_key), fill_key, NULL, &k, e) < 0)
		return -e->no;
	*ret = &k->keys;
	return 0;
}

/* Returns the path of a team's keys, followed by id and tail, which may be "". */
static char *keys_path(const char *team, const char *id, const char *tail)
{
	autofree char *all = team ? api_path("/admin/teams/", team, "/api-keys") : str_dup(STR_LIT("/api-keys"));
	autofree char *slash = all && *id ? str_fmt("%s/", all) : NULL;

	if (!all)
		return NULL;
	return *id ? slash ? api_path(slash, id, tail) : NULL : take_ptr(&all);
}

static int about(struct atoll_error *e, const char *team, const char *id)
{
	if (e->status == 404 && *id)
		return client_fail(e, ENOENT, 404, "there is no key '%s'", id);
	if (e->status == 404 && team)
		return client_fail(e, ENOENT, 404, "there is no team '%s'", team);
	return -e->no;
}

int atoll_keys_list(struct atoll *a, const char *team, struct atoll_keys **ret, struct atoll_error *e)
{
	NEED(e, a && ret);
	autofree char *path = keys_path(team, "", "");
	autocall struct call c = CALL_INIT("GET", a->api_url, path);
	json_t *root;

	if (api_call(a, &c, e) < 0)
		return about(e, team, "");
	if (call_json(&c, JSON_ARRAY, &root, e) < 0)
		return -e->no;
	return keys_of(root, ret, e);
}

static int make_key(struct atoll *a, const char *team, const char *id, const char *tail, const json_t *body,
    struct atoll_keys **ret, struct atoll_error *e)
{
	autofree char *path = keys_path(team, id, tail);
	autocall struct call c = CALL_INIT("POST", a->api_url, path);
	json_t *root;

	if (api_send(a, &c, body, e) < 0)
		return about(e, team, id);
	int rc = call_json(&c, JSON_OBJECT, &root, e);
	if (c.answer.p)
		explicit_bzero(c.answer.p, c.answer.n);
	return rc < 0 ? rc : keys_of(root, ret, e);
}

int atoll_key_create(struct atoll *a, const char *team, const char *name, bool admin, struct atoll_keys **ret,
    struct atoll_error *e)
{
	NEED(e, a && name && ret);
	autojson json_t *body = json_pack("{s:s}", "name", name);

	if (!body)
		return client_fail(e, EINVAL, 0, "the name of the key is not valid UTF-8");
	if (admin)
		(void)json_object_set_new(body, "admin", json_true());
	return make_key(a, team, "", "", body, ret, e);
}

int atoll_key_rotate(struct atoll *a, const char *team, const char *id, unsigned grace_s, struct atoll_keys **ret,
    struct atoll_error *e)
{
	NEED(e, a && id && ret);
	autojson json_t *body = json_pack("{s:I}", "grace_s", (json_int_t)grace_s);

	if (*id == '\0')
		return client_fail(e, EINVAL, 0, "the id of the key is empty");
	return make_key(a, team, id, "/rotate", body, ret, e);
}

int atoll_key_revoke(struct atoll *a, const char *team, const char *id, struct atoll_error *e)
{
	NEED(e, a && id);
	autofree char *path = keys_path(team, id, "");
	autocall struct call c = CALL_INIT("DELETE", a->api_url, path);

	if (*id == '\0')
		return client_fail(e, EINVAL, 0, "the id of the key is empty");
	return api_call(a, &c, e) < 0 ? about(e, team, id) : 0;
}

void atoll_keys_free(struct atoll_keys *k)
{
	kept_free((struct kept *)k);
}

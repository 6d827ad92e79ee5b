/* SPDX-License-Identifier: Apache-2.0 */
/* client/teams: teams, their limits, and the server's log level. */
#include <errno.h>
#include <stdlib.h>

#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"

static void fill_team(struct kept *k, void *item, json_t *o)
{
	struct atoll_team *t = item;

	(void)k;
	*t = (struct atoll_team) {
		.id = json_text(o, "teamID"),
		.name = json_text(o, "name"),
		.created_at = json_text(o, "createdAt"),
		.is_default = json_is_true(json_object_get(o, "isDefault")),
		.blocked = json_is_true(json_object_get(o, "blocked")),
		.max_sandboxes = json_number(o, "maxSandboxes", ATOLL_DEFAULT),
		.rate_limit = json_number(o, "rateLimit", ATOLL_DEFAULT),
		.sandboxes = json_number(o, "runningSandboxes", 0),
		.keys = json_number(o, "keys", 0),
	};
}

static int teams_of(json_t *root, struct atoll_teams **ret, struct atoll_error *e)
{
	struct kept *k;

	if (kept_new(root, sizeof(struct atoll_team), fill_team, NULL, &k, e) < 0)
		return -e->no;
	*ret = &k->teams;
	return 0;
}

static int about(struct atoll_error *e, const char *team)
{
	if (e->status == 404)
		return client_fail(e, ENOENT, 404, "there is no team '%s'", team);
	return -e->no;
}

static int put_limit(json_t *o, const char *field, int64_t n)
{
	if (n == ATOLL_KEEP)
		return 0;
	return json_object_set_new(o, field, n < 0 ? json_null() : json_integer(n));
}

static json_t *change_json(const struct atoll_team_change *t)
{
	json_t *o = json_object();

	if (!o || (t->name && json_object_set_new(o, "name", json_string(t->name)) < 0) ||
	    put_limit(o, "maxSandboxes", t->max_sandboxes) < 0 || put_limit(o, "rateLimit", t->rate_limit) < 0 ||
	    (t->blocked >= 0 && json_object_set_new(o, "blocked", json_boolean(t->blocked)) < 0)) {
		json_decref(o);
		return NULL;
	}
	return o;
}

int atoll_teams_list(struct atoll *a, struct atoll_teams **ret, struct atoll_error *e)
{
	NEED(e, a && ret);
	autocall struct call c = CALL_INIT("GET", a->api_url, "/admin/teams");
	json_t *root;

	if (api_call(a, &c, e) < 0 || call_json(&c, JSON_ARRAY, &root, e) < 0)
		return -e->no;
	return teams_of(root, ret, e);
}

static int send_team(struct atoll *a, struct call *c, const struct atoll_team_change *t, struct atoll_teams **ret,
    struct atoll_error *e)
{
	autojson json_t *body = change_json(t);
	json_t *root;

	if (!body)
		return client_fail(e, EINVAL, 0, "the name of the team is not valid UTF-8");
	if (api_send(a, c, body, e) < 0 || call_json(c, JSON_OBJECT, &root, e) < 0)
		return -e->no;
	return teams_of(root, ret, e);
}

int atoll_team_create(struct atoll *a, const struct atoll_team_change *t, struct atoll_teams **ret,
    struct atoll_error *e)
{
	NEED(e, a && t && ret);
	struct atoll_team_change own;

	if (TAKE_IN(&own, t, e) < 0)
		return -e->no;
	t = &own;
	autocall struct call c = CALL_INIT("POST", a->api_url, "/admin/teams");

	if (!t->name)
		return client_fail(e, EINVAL, 0, "a team needs a name");
	return send_team(a, &c, t, ret, e);
}

int atoll_team_change(struct atoll *a, const char *team, const struct atoll_team_change *t, struct atoll_teams **ret,
    struct atoll_error *e)
{
	NEED(e, a && team && t && ret);
	struct atoll_team_change own;

	if (TAKE_IN(&own, t, e) < 0)
		return -e->no;
	t = &own;
	autofree char *path = api_path("/admin/teams/", team, "");
	autocall struct call c = CALL_INIT("PATCH", a->api_url, path);

	return send_team(a, &c, t, ret, e) < 0 ? about(e, team) : 0;
}

int atoll_team_remove(struct atoll *a, const char *team, struct atoll_error *e)
{
	NEED(e, a && team);
	autofree char *path = api_path("/admin/teams/", team, "");
	autocall struct call c = CALL_INIT("DELETE", a->api_url, path);

	if (*team == '\0')
		return client_fail(e, EINVAL, 0, "the name of the team is empty");
	return api_call(a, &c, e) < 0 ? about(e, team) : 0;
}

static int purged_of(const struct call *c, struct atoll_purged *ret, struct atoll_error *e)
{
	autojson json_t *answer = NULL;

	if (call_json(c, JSON_OBJECT, &answer, e) < 0)
		return -e->no;
	*ret = (struct atoll_purged) {
		.sandboxes = json_number(answer, "sandboxes", 0),
		.snapshots = json_number(answer, "snapshots", 0),
		.volumes = json_number(answer, "volumes", 0),
		.templates = json_number(answer, "templates", 0),
		.secrets = json_number(answer, "secrets", 0),
		.records = json_number(answer, "records", 0),
		.logs = json_number(answer, "logs", 0),
	};
	return 0;
}

int atoll_purge(struct atoll *a, const char *team, struct atoll_purged *ret, struct atoll_error *e)
{
	NEED(e, a && ret);
	autocall struct call c = CALL_INIT("POST", a->api_url, "/purge");
	autojson json_t *body = json_object();

	if (!body || (team && call_header(&c, "X-Team-ID: %s", team) < 0))
		return client_no_memory(e);
	if (api_send(a, &c, body, e) < 0)
		return team ? about(e, team) : -e->no;
	return purged_of(&c, ret, e);
}

int atoll_purge_key(struct atoll *a, const char *key_id, struct atoll_purged *ret, struct atoll_error *e)
{
	NEED(e, a && key_id && ret);
	autocall struct call c = CALL_INIT("POST", a->api_url, "/purge");
	autojson json_t *body = json_pack("{s:s}", "key", key_id);

	if (!body)
		return client_fail(e, EINVAL, 0, "the id of the key is not valid UTF-8");
	if (api_send(a, &c, body, e) < 0)
		return -e->no;
	return purged_of(&c, ret, e);
}

void atoll_teams_free(struct atoll_teams *t)
{
	kept_free((struct kept *)t);
}

int atoll_log_level(struct atoll *a, const char *set, char ret[ATOLL_LEVEL_SIZE], struct atoll_error *e)
{
	NEED(e, a && ret);
	autocall struct call c = CALL_INIT(set ? "PUT" : "GET", a->api_url, "/admin/log-level");
	autojson json_t *body = set ? json_pack("{s:s}", "level", set) : NULL;
	autojson json_t *answer = NULL;

	if (set && !body)
		return client_fail(e, EINVAL, 0, "the level is not valid UTF-8");
	if ((set ? api_send(a, &c, body, e) : api_call(a, &c, e)) < 0 || call_json(&c, JSON_OBJECT, &answer, e) < 0)
		return -e->no;
	if (!str_copy(ret, ATOLL_LEVEL_SIZE, str_of(json_text(answer, "level"))))
		return client_fail(e, EPROTO, c.status, "the response of %s is not that of an atoll server", c.base);
	return 0;
}

int atoll_console_link(struct atoll *a, const char *role, unsigned seconds, char ret_url[ATOLL_LINK_SIZE],
    struct atoll_error *e)
{
	NEED(e, a && ret_url);
	autocall struct call c = CALL_INIT("POST", a->api_url, "/console/api/links");
	autojson json_t *body = json_object(), *answer = NULL;

	if ((role && json_object_set_new(body, "role", json_string(role)) < 0) ||
	    (seconds && json_object_set_new(body, "seconds", json_integer(seconds)) < 0))
		return client_fail(e, EINVAL, 0, "the role is not valid UTF-8");
	if (api_send(a, &c, body, e) < 0 || call_json(&c, JSON_OBJECT, &answer, e) < 0)
		return -e->no;
	const char *path = json_text(answer, "path");
	int n = path ? snprintf(ret_url, ATOLL_LINK_SIZE, "%s%s", a->api_url, path) : -1;

	if (n < 0 || n >= ATOLL_LINK_SIZE)
		return client_fail(e, EPROTO, c.status, "the response of %s is not that of an atoll server", c.base);
	return 0;
}

int atoll_snapshot_adopt(struct atoll *a, const char *body, char *ret_id, size_t size, struct atoll_error *e)
{
	NEED(e, a && body && ret_id);
	autocall struct call c = CALL_INIT("POST", a->api_url, "/admin/snapshots");
	autojson json_t *sent = json_loads(body, 0, NULL), *answer = NULL;

	if (!sent)
		return client_no_memory(e);
	if (api_send(a, &c, sent, e) < 0 || call_json(&c, JSON_OBJECT, &answer, e) < 0)
		return -e->no;
	const char *id = json_string_value(json_object_get(answer, "snapshotID"));

	(void)snprintf(ret_id, size, "%s", id ? id : "");
	return 0;
}

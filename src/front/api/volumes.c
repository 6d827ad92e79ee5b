/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/volumes: creates, lists, resizes and deletes volumes. Their files: volume_content.c. */
#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/api/sandboxes.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/spec.h"
#include "front/sandbox/volumes.h"
#include "front/util/mem.h"
#include "front/util/time_json.h"
#include "http/json.h"

#define MIB (1024ull * 1024)

static json_t *volume_json(const struct req *r, const struct volume *v, bool with_token)
{
	size_t n;
	json_t *j = json_pack("{s:s,s:s,s:I,s:o}", "volumeID", v->id, "name", v->name, "sizeMB",
	    (json_int_t)(v->bytes / MIB), "createdAt", time_json(v->created_ms));

	(void)volume_user(v, &n);
	(void)json_object_set_new(j, "sandboxes", json_integer((json_int_t)n));
	if (with_token && req_sees_tokens(r))
		(void)json_object_set_new(j, "token", json_string(v->token));
	if (with_token)
		(void)json_object_set_new(j, "domain", domain_json(r));
	return j;
}

/* Parses the field sizeMB, in bytes; on failure sends 400. */
static int read_size(struct req *r, const json_t *body, bool needed, uint64_t *ret)
{
	const struct front_options *o = &r->api->link->opt;
	int64_t mb = o->volume_size_mb;
	bool given;
	struct err e;

	if (field_int(body, "sizeMB", 1, o->volume_max_mb, &mb, &given, &e) < 0) {
		reply_err(r, &e);
		return -EINVAL;
	}
	if (needed && !given) {
		reply_error(r, 400, "field 'sizeMB' is required");
		return -EINVAL;
	}
	*ret = (uint64_t)mb * MIB;
	return 0;
}

static void reply_not_set(struct req *r, const struct err *e)
{
	if (e->no == ENOSPC || e->no == EDQUOT)
		reply_error(r, 507, "%s", e->text);
	else
		reply_err(r, e);
}

static void on_made(void *user, struct volume *v, const struct err *e)
{
	struct req *r = user;

	if (e->no)
		reply_not_set(r, e);
	else
		reply_json(r, 201, volume_json(r, v, true), NULL);
	req_unref(r);
}

static size_t count_of(const struct api *a, const char *team)
{
	const struct volume *v;
	size_t n = 0;

	LIST_FOREACH(v, &a->sandbox->volumes, link)
	n += strcmp(v->team, team) == 0;
	return n;
}

void api_volume_add(struct req *r)
{
	struct api *a = r->api;
	autojson json_t *body = req_json(r, false);
	const char *name = NULL;
	uint64_t bytes = 0;
	struct err e = ERR_INIT;

	if (!body)
		return;
	if (json_need_str(body, "name", &name, &e) < 0) {
		reply_err(r, &e);
	} else if (!volume_name_valid(str_of(name))) {
		reply_error(r, 400, "field 'name' must have 1 to %d letters, digits, '-' and '_'",
		    VOLUME_NAME_SIZE - 1);
	} else if (read_size(r, body, false, &bytes) < 0) {
		return;
	} else if (count_of(a, r->caller.team) >= a->link->opt.team_max_volumes) {
		(void)err_set(&e, EDQUOT, "the team's maximum of %u volumes is reached", a->link->opt.team_max_volumes);
		reply_err(r, &e);
	} else if (volume_make(a->sandbox, r->caller.team, name, bytes, r->id, on_made, req_ref(r), &e) < 0) {
		req_unref(r);
		if (e.no == EEXIST)
			reply_error(r, 400, "Volume with name '%s' already exists", name);
		else
			reply_not_set(r, &e);
	}
}

void api_volumes(struct req *r)
{
	json_t *all = json_array();
	const struct volume *v;

	LIST_FOREACH(v, &r->api->sandbox->volumes, link)
	{
		if (v->ready && strcmp(v->team, r->caller.team) == 0)
			(void)json_array_append_new(all, volume_json(r, v, false));
	}
	reply_json(r, 200, all, NULL);
}

/* If there is none, sends 404. */
static struct volume *find(struct req *r)
{
	struct volume *v = volume_find(r->api->sandbox, r->caller.team, r->param);

	if (!v)
		reply_error(r, 404, "volume '%.130s' not found", r->param);
	return v;
}

struct look {
	struct req *r;
	struct volume *v;
	uint64_t used_bytes;
};

static void on_usage(void *user, const struct warden_reply *re)
{
	struct look *l = user;
	const struct msg_volume_item *m = (const struct msg_volume_item *)re->msg;

	if (re->more) {
		if (memcmp(m->name, l->v->id, sizeof m->name) == 0)
			l->used_bytes = m->used_bytes;
		return;
	}
	if (l->v->gone) {
		reply_error(l->r, 404, "volume '%.130s' not found", l->r->param);
	} else {
		json_t *j = volume_json(l->r, l->v, true);

		(void)json_object_set_new(j, "usedBytes", json_integer((json_int_t)l->used_bytes));
		reply_json(l->r, 200, j, NULL);
	}
	volume_unref(l->v);
	req_unref(l->r);
	free(l);
}

void api_volume(struct req *r)
{
	struct volume *v = find(r);
	struct msg_list m = { 0 };
	struct look *l;

	if (!v)
		return;
	l = must_alloc(sizeof *l);
	*l = (struct look) { .r = req_ref(r), .v = volume_ref(v) };
	(void)warden_ask(r->api->link->warden, OP_VOLUMES, &m, sizeof m, on_usage, l);
}

static void on_resized(void *user, struct volume *v, const struct err *e)
{
	struct req *r = user;

	if (e->no)
		reply_not_set(r, e);
	else
		reply_json(r, 200, volume_json(r, v, true), NULL);
	req_unref(r);
}

void api_volume_set(struct req *r)
{
	struct volume *v = find(r);
	autojson json_t *body = v ? req_json(r, false) : NULL;
	uint64_t bytes;

	if (body && read_size(r, body, true, &bytes) == 0)
		volume_resize(v, bytes, r->id, on_resized, req_ref(r));
}

void api_volume_drop(struct req *r)
{
	struct volume *v = find(r);
	const struct sandbox *sb;
	struct err e = ERR_INIT;
	size_t n;

	if (!v)
		return;
	sb = volume_user(v, &n);
	if (sb)
		reply_error(r, 409,
		    "volume '%s' is mounted in %zu sandbox%s, among them '%s', which is %s: kill %s first", v->name, n,
		    n > 1 ? "es" : "", sb->id, sandbox_state_name(sb), n > 1 ? "them" : "it");
	else if (volume_drop(v, r->id, &e) < 0)
		reply_not_set(r, &e);
	else
		reply_empty(r, 204);
}

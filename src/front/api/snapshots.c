/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/snapshots: creates, lists and deletes snapshots. */
#include "front/api/snapshots.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/rand.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/link/saved.h"
#include "front/sandbox/facts.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/save.h"
#include "front/sandbox/snapshots.h"
#include "front/util/mem.h"
#include "front/util/time_json.h"
#include "http/json.h"
#include "http/server.h"
#include "http/url.h"

#define LIMIT_MAX 100

static json_t *snapshot_json(const struct api *a, const struct snapshot *sn)
{
	char id[SNAPSHOT_NAME_SIZE], name[SNAPSHOT_NAME_SIZE];

	snapshot_names(a->sandbox, sn, id, name);
	json_t *names = json_array();

	if (name[0])
		(void)json_array_append_new(names, json_string(name));
	return json_pack("{s:s,s:o,s:b,s:s,s:o}", "snapshotID", id, "names", names, "memory",
	    (sn->what & SAVED_MEMORY) != 0, "sandboxID", sn->source, "createdAt", time_json(sn->created_ms));
}

/* --- create ------------------------------------------------------------------------------------------------- */

struct making {
	struct req *r;
	struct sandbox *sb;
	struct snapshot_ref ref; /* name "": not given */
};

static void reply_not_kept(struct req *r, const struct sandbox *sb, const struct err *e)
{
	if (e->no == ENOENT)
		reply_no_sandbox(r, str_of(sb->id));
	else
		reply_error(r, e->no == ENOTSUP ? 400 : 503, "sandbox '%s' could not be kept: %s", sb->id, e->text);
}

static void on_saved(void *user, const struct save_result *re)
{
	struct making *mk = user;
	struct sandbox *sb = mk->sb;
	struct api *a = mk->r->api;
	struct err e = re->e;

	if (!e.no) {
		struct snapshot *sn = must_alloc(sizeof *sn);

		*sn = (struct snapshot) { .what = re->what,
			.base = sb->spec.tpl,
			.limits = sb->spec.limits,
			.created_ms = clock_wall_ms() };
		sn->volumes = spec_volumes_text(&sb->spec);
		memcpy(sn->saved, re->name, sizeof sn->saved);
		memcpy(sn->team, sb->team, sizeof sn->team);
		memcpy(sn->source, sb->id, sizeof sn->source);
		memcpy(sn->alias, mk->ref.name, sizeof sn->alias);
		memcpy(sn->tag, mk->ref.tag, sizeof sn->tag);
		snapshot_place(a->sandbox, sn);
		if (snapshot_add(a->sandbox, sn, &e) == 0) {
			sandbox_note(sb, LOG_LVL_INFO, JOURNAL_LIFECYCLE, "snapshot made", "snapshot=%s request=%s",
			    sn->template_id, mk->r->id);
			sandbox_event(sb, EVENT_CHECKPOINTED, json_pack("{s:s}", "snapshot_id", sn->template_id));
			reply_json(mk->r, 201, snapshot_json(a, sn), NULL);
		} else {
			saved_delete(a->link, re->name);
		}
	}
	if (e.no)
		reply_not_kept(mk->r, sb, &e);
	sandbox_unref(sb);
	req_unref(mk->r);
	free(mk);
}

/* On failure sends 400. */
static int read_name(struct req *r, const json_t *body, struct snapshot_ref *ret)
{
	const char *name = NULL;
	char ns[TEMPLATE_NAME_SIZE];
	struct err e = ERR_INIT;

	*ret = (struct snapshot_ref) { .tag = "default" };
	if (json_get_str(body, "name", &name, &e) < 0 || (name && snapshot_ref_parse(str_of(name), ret, &e) < 0)) {
		reply_err(r, &e);
		return -EINVAL;
	}
	snapshot_namespace(r->api->sandbox, r->caller.team, ns);
	if (ret->namespace[0] && strcmp(ret->namespace, ns) != 0) {
		reply_error(r, 400, "namespace '%s' is not yours, which is '%s'", ret->namespace, ns);
		return -EINVAL;
	}
	return 0;
}

void api_snapshot(struct req *r)
{
	struct sandbox *sb = req_sandbox(r);
	autojson json_t *body = sb ? req_json(r, true) : NULL;
	struct snapshot_ref ref;
	bool memory = true;
	struct err e;

	if (!body || read_name(r, body, &ref) < 0)
		return;
	if (json_get_bool(body, "memory", &memory, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	if (sandbox_being_saved(sb)) {
		reply_error(r, 409, "sandbox '%s' cannot be kept: a snapshot or a fork of it is being made", sb->id);
		return;
	}
	if (sb->state != SANDBOX_RUNNING) {
		reply_error(r, 409, "sandbox '%s' cannot be kept: it is not running", sb->id);
		return;
	}
	struct making *mk = must_alloc(sizeof *mk);

	*mk = (struct making) { .r = req_ref(r), .sb = sandbox_ref(sb), .ref = ref };
	sandbox_by(sb, r->id);
	sandbox_save(sb, memory ? SAVE_MEMORY_IF_POSSIBLE : SAVE_DISK, false, on_saved, mk);
}

/* --- list --------------------------------------------------------------------------------------------------- */

struct asked {
	char *sandbox, *token;
	bool by_name;
	struct snapshot_ref ref;
	uint64_t limit;
};

static int read_query(struct req *r, struct asked *a, struct err *e)
{
	struct str q = r->http->query;
	autofree char *name = NULL, *limit = NULL;
	char ns[TEMPLATE_NAME_SIZE];

	if (query_get(q, "sandboxID", &a->sandbox) == -EINVAL || query_get(q, "nextToken", &a->token) == -EINVAL ||
	    query_get(q, "name", &name) == -EINVAL || query_get(q, "limit", &limit) == -EINVAL)
		return err_set(e, EINVAL, "a query parameter is malformed");
	if (limit && (str_to_u64(str_of(limit), LIMIT_MAX, &a->limit) < 0 || a->limit == 0))
		return err_set(e, EINVAL, "query parameter 'limit' must be an integer from 1 to %d", LIMIT_MAX);
	a->by_name = name != NULL;
	if (name && snapshot_ref_parse(str_of(name), &a->ref, e) < 0)
		return -e->no;
	snapshot_namespace(r->api->sandbox, r->caller.team, ns);
	if (name && a->ref.namespace[0] && strcmp(a->ref.namespace, ns) != 0)
		return err_set(e, EINVAL, "namespace '%s' is not yours, which is '%s'", a->ref.namespace, ns);
	return 0;
}

/* A token names the last snapshot of a page. The next page continues after its place, even if it has been deleted. */
static int read_token(const char *token, uint64_t *ret_ms, char ret_id[TEMPLATE_ID_SIZE + SNAPSHOT_TAG_SIZE])
{
	struct str rest = str_of(token);
	struct str ms = str_cut(&rest, '.');

	return rest.p && str_to_u64(ms, UINT64_MAX, ret_ms) == 0 &&
		str_copy(ret_id, TEMPLATE_ID_SIZE + SNAPSHOT_TAG_SIZE, rest)
	    ? 0
	    : -EINVAL;
}

static bool is_behind(const struct snapshot *sn, uint64_t ms, const char *id)
{
	char own[TEMPLATE_ID_SIZE + SNAPSHOT_TAG_SIZE];

	(void)snprintf(own, sizeof own, "%s.%s", sn->template_id, sn->tag);
	return sn->created_ms != ms ? sn->created_ms < ms : strcmp(own, id) > 0;
}

static int newest_first(const void *a, const void *b)
{
	const struct snapshot *x = *(struct snapshot *const *)a, *y = *(struct snapshot *const *)b;

	if (x->created_ms != y->created_ms)
		return x->created_ms > y->created_ms ? -1 : 1;
	int r = strcmp(x->template_id, y->template_id);

	return r ? r : strcmp(x->tag, y->tag);
}

static void reply_page(struct req *r, const struct asked *a, struct snapshot **v, size_t n)
{
	json_t *all = json_array();
	char header[256] = "";
	size_t shown = n < a->limit ? n : (size_t)a->limit;

	for (size_t i = 0; i < shown; i++)
		(void)json_array_append_new(all, snapshot_json(r->api, v[i]));
	if (shown < n)
		(void)snprintf(header, sizeof header, "X-Next-Token: %" PRIu64 ".%s.%s\r\n", v[shown - 1]->created_ms,
		    v[shown - 1]->template_id, v[shown - 1]->tag);
	reply_json(r, 200, all, header);
}

void api_snapshots(struct req *r)
{
	struct asked a = { .limit = LIMIT_MAX };
	struct snapshot *sn, **v = NULL;
	char id[TEMPLATE_ID_SIZE + SNAPSHOT_TAG_SIZE];
	uint64_t ms = 0;
	size_t n = 0;
	struct err e = ERR_INIT;

	if (read_query(r, &a, &e) < 0) {
		reply_err(r, &e);
	} else if (a.token && read_token(a.token, &ms, id) < 0) {
		reply_error(r, 400, "Invalid next token");
	} else {
		LIST_FOREACH(sn, &r->api->sandbox->snapshots, link)
		{
			if (strcmp(sn->team, r->caller.team) != 0 ||
			    (a.sandbox && strcmp(sn->source, a.sandbox) != 0) ||
			    (a.by_name && !snapshot_matches(r->api->sandbox, sn, &a.ref)) ||
			    (a.token && !is_behind(sn, ms, id)))
				continue;
			v = must_grow(v, (n + 1) * sizeof(struct snapshot *));
			v[n++] = sn;
		}
		if (n > 1)
			qsort(v, n, sizeof(struct snapshot *), newest_first);
		if (n > 1 && a.by_name && !a.ref.has_tag)
			n = 1; /* only the newest of all tags of a name */
		reply_page(r, &a, v, n);
	}
	free(v);
	free(a.sandbox);
	free(a.token);
}

/* --- delete ------------------------------------------------------------------------------------------------- */

bool api_snapshot_drop(struct req *r)
{
	struct snapshot_ref ref;
	struct err e = ERR_INIT;
	struct snapshot *sn = snapshot_ref_parse(str_of(r->param), &ref, &e) < 0
	    ? NULL
	    : snapshot_find(r->api->sandbox, r->caller.team, &ref);

	if (!sn)
		return false;
	log_info("deleting a snapshot", "snapshot=%s request=%s", sn->template_id, r->id);
	if (snapshot_remove(r->api->sandbox, sn, &e) < 0)
		reply_err(r, &e);
	else
		reply_empty(r, 204);
	return true;
}

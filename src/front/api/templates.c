/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/templates: requests, lists, shows, publishes and deletes templates. */
#include "front/api/templates.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/engines.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/rand.h"
#include "front/account/accounts.h"
#include "front/account/keyring.h"
#include "front/account/limits.h"
#include "front/account/quota.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/api/snapshots.h"
#include "front/api/tags.h"
#include "front/link/links.h"
#include "front/sandbox/catalog.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/table.h"
#include "front/template/build.h"
#include "front/util/envd.h"
#include "front/util/mem.h"
#include "front/util/page.h"
#include "front/util/time_json.h"
#include "http/json.h"
#include "http/server.h"
#include "http/url.h"

#define MIB (1024 * 1024ull)
#define TAGS_MAX 16
#define PAGE_MAX 100
#define MEM_MIN_MB 128
#define DEFAULT_CPU 2
#define DEFAULT_MEM_MB 1024

/* --- as clients see them --------------------------------------------------------------------------------------- */

static json_t *template_json(const struct api *a, const struct template *tp)
{
	struct limits_range range;
	const struct msg_limits *lim = &range.defaults;

	limits_of_template(a->sandbox, tp, &range);
	return json_pack("{s:s,s:s,s:I,s:I,s:I,s:b,s:[s],s:[s],s:o,s:o,s:n,s:n,s:i,s:i,s:s,s:s,s:b}", "templateID",
	    tp->id, "buildID", tp->build, "cpuCount", (json_int_t)((lim->cpu_permille + 999) / 1000), "memoryMB",
	    (json_int_t)(lim->mem_bytes / MIB), "diskSizeMB", (json_int_t)(lim->disk_bytes / MIB), "public", 1,
	    "aliases", tp->name, "names", tp->name, "createdAt", time_json(tp->built_ms), "updatedAt",
	    time_json(tp->built_ms), "createdBy", "lastSpawnedAt", "spawnCount", 0, "buildCount", 1, "envdVersion",
	    ENVD_VERSION, "buildStatus", "ready", "isDefault", 1);
}

/* The build that represents the template: the one tagged default, else the newest. */
struct newest {
	struct build_row row;
	bool found;
};

static int on_newest(void *user, const struct build_row *r)
{
	struct newest *n = user;

	if (!n->found)
		n->row = *r;
	n->found = true;
	return 0;
}

static void shown_build(const struct api *a, const char *id, struct newest *ret)
{
	struct tag_row tag;
	struct err e;

	*ret = (struct newest) { 0 };
	if (tags_find(a->link->store, id, "default", &tag, &e) == 0 &&
	    builds_find(a->link->store, tag.build, &ret->row, &e) == 0)
		ret->found = true;
	else
		(void)builds_each(a->link->store, id, on_newest, ret, &e);
}

static json_t *row_json(const struct api *a, const struct template_row *t)
{
	char full[SNAPSHOT_NAME_SIZE];
	struct newest n;

	shown_build(a, t->id, &n);
	catalog_names(a->sandbox, t, full);
	return json_pack("{s:s,s:s,s:I,s:I,s:I,s:b,s:[s],s:[s],s:o,s:o,s:n,s:o,s:I,s:I,s:s,s:s,s:b}", "templateID",
	    t->id, "buildID", n.row.id, "cpuCount", (json_int_t)(n.row.cpu_permille / 1000), "memoryMB",
	    (json_int_t)(n.row.mem_bytes / MIB), "diskSizeMB", (json_int_t)(n.row.disk_bytes / MIB), "public",
	    (int)t->is_public, "aliases", t->name, "names", full, "createdAt", time_json(t->created_ms), "updatedAt",
	    time_json(t->updated_ms), "createdBy", "lastSpawnedAt", time_or_null(t->spawned_ms), "spawnCount",
	    (json_int_t)t->spawn_count, "buildCount", (json_int_t)t->build_count, "envdVersion", ENVD_VERSION,
	    "buildStatus", n.found ? n.row.status : "waiting", "isDefault", 0);
}

struct listing {
	const struct api *a;
	struct template_row *v; /* the team's own; GET /default-templates lists the server's */
	size_t n;
};

static int on_template(void *user, const struct template_row *r)
{
	struct listing *l = user;

	l->v = must_grow(l->v, (l->n + 1) * sizeof *l->v);
	l->v[l->n++] = *r;
	return 0;
}

static const char *listed_id(const void *list, size_t i)
{
	const struct listing *l = list;

	return l->v[i].id;
}

/* On failure sends an answer and returns -1. */
static int list_templates(struct req *r, struct listing *ret)
{
	autofree char *team = NULL;
	struct err e;

	*ret = (struct listing) { .a = r->api };
	if (query_get(r->http->query, "teamID", &team) == 0 && strcmp(team, r->caller.team) != 0) {
		reply_error(r, 400, "query parameter 'teamID' is not the team of the API key");
		return -1;
	}
	if (templates_each(r->api->link->store, r->caller.team, on_template, ret, &e) == 0)
		return 0;
	free(ret->v);
	reply_err(r, &e);
	return -1;
}

static void reply_templates(struct req *r, const struct listing *l, size_t from, size_t end)
{
	json_t *list = json_array();
	char header[PAGE_HEADER_SIZE] = "";

	for (size_t i = from; i < end; i++)
		(void)json_array_append_new(list, row_json(l->a, &l->v[i]));
	if (end > from)
		page_header(end, l->n, listed_id(l, end - 1), header);
	reply_json(r, 200, list, header);
}

void api_templates(struct req *r)
{
	struct listing l;

	if (list_templates(r, &l) < 0)
		return;
	reply_templates(r, &l, 0, l.n);
	free(l.v);
}

void api_templates_v2(struct req *r)
{
	struct listing l;
	struct page p;
	struct err e = ERR_INIT;

	if (page_read(r->http->query, PAGE_MAX, &p, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	if (list_templates(r, &l) < 0)
		return;
	size_t from = page_from(&p, l.n, listed_id, &l);

	reply_templates(r, &l, from, l.n - from > p.limit ? from + p.limit : l.n);
	free(l.v);
}

void api_default_templates(struct req *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->api->sandbox->templates.n; i++)
		(void)json_array_append_new(list, template_json(r->api, &r->api->sandbox->templates.v[i]));
	reply_json(r, 200, list, NULL);
}

void api_template_alias(struct req *r)
{
	struct template_row row;
	const struct template *tp;
	struct err e;
	int no = catalog_row(r->api->sandbox, r->caller.team, str_of(r->param), &row, NULL, &e);

	if (no == 0)
		reply_json(r, 200, json_pack("{s:s,s:b}", "templateID", row.id, "public", (int)row.is_public), NULL);
	else if (templates_find(&r->api->sandbox->templates, str_of(r->param), &tp, &e) < 0)
		reply_err(r, &e);
	else
		reply_json(r, 200, json_pack("{s:s,s:b}", "templateID", tp->id, "public", 1), NULL);
}

/* The caller's own template in the path. On failure sends an answer and returns -1. */
static int own_row(struct req *r, struct template_row *ret)
{
	const struct template *tp;
	struct err e;
	int no = catalog_row(r->api->sandbox, r->caller.team, str_of(r->param), ret, NULL, &e);

	if (no == 0 && strcmp(ret->team, r->caller.team) == 0)
		return 0;
	if (no == 0)
		reply_error(r, 403, "template '%.100s' belongs to another team", r->param);
	else if (templates_find(&r->api->sandbox->templates, str_of(r->param), &tp, &e) == 0)
		reply_error(r, 400, "template '%.100s' belongs to the server and cannot be changed", r->param);
	else
		reply_err(r, &e);
	return -1;
}

static int on_build(void *user, const struct build_row *b)
{
	(void)json_array_append_new(user,
	    json_pack("{s:s,s:s,s:I,s:I,s:I,s:s,s:o,s:o,s:o}", "buildID", b->id, "status", b->status, "cpuCount",
		(json_int_t)(b->cpu_permille / 1000), "memoryMB", (json_int_t)(b->mem_bytes / MIB), "diskSizeMB",
		(json_int_t)(b->disk_bytes / MIB), "envdVersion", ENVD_VERSION, "createdAt", time_json(b->created_ms),
		"updatedAt", time_json(b->finished_ms ? b->finished_ms : b->created_ms), "finishedAt",
		time_or_null(b->finished_ms)));
	return 0;
}

static const char *build_id(const void *list, size_t i)
{
	return json_string_value(json_object_get(json_array_get(list, i), "buildID"));
}

static void reply_server_template(struct req *r, const struct template *tp)
{
	json_t *whole = template_json(r->api, tp), *at = json_object_get(whole, "createdAt");

	(void)json_object_set_new(whole, "builds",
	    json_pack("[{s:s,s:s,s:O,s:O,s:O,s:s,s:O,s:O,s:O}]", "buildID", tp->build, "status", "ready", "cpuCount",
		json_object_get(whole, "cpuCount"), "memoryMB", json_object_get(whole, "memoryMB"), "diskSizeMB",
		json_object_get(whole, "diskSizeMB"), "envdVersion", ENVD_VERSION, "createdAt", at, "updatedAt", at,
		"finishedAt", at));
	reply_json(r, 200, whole, NULL);
}

void api_template(struct req *r)
{
	autojson json_t *all = json_array();
	const struct template *tp;
	struct template_row row;
	char header[PAGE_HEADER_SIZE] = "";
	struct page p;
	struct err e = ERR_INIT;

	if (page_read(r->http->query, PAGE_MAX, &p, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	if (catalog_row(r->api->sandbox, r->caller.team, str_of(r->param), &row, NULL, &e) == -ENOENT &&
	    templates_find(&r->api->sandbox->templates, str_of(r->param), &tp, &e) == 0) {
		reply_server_template(r, tp);
		return;
	}
	if (own_row(r, &row) < 0)
		return;
	if (builds_each(r->api->link->store, row.id, on_build, all, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	size_t n = json_array_size(all), from = page_from(&p, n, build_id, all),
	       end = n - from > p.limit ? from + p.limit : n;
	json_t *whole = row_json(r->api, &row), *builds = json_array();

	for (size_t i = from; i < end; i++)
		(void)json_array_append(builds, json_array_get(all, i));
	if (end > from)
		page_header(end, n, build_id(all, end - 1), header);
	(void)json_object_set_new(whole, "builds", builds);
	reply_json(r, 200, whole, header);
}

/* --- changes ----------------------------------------------------------------------------------------------------- */

void api_template_set(struct req *r)
{
	autojson json_t *body = req_json(r, true);
	struct template_row row;
	char full[SNAPSHOT_NAME_SIZE];
	bool is_public;
	struct err e = ERR_INIT;

	if (!body || own_row(r, &row) < 0)
		return;
	is_public = row.is_public;
	if (json_get_bool(body, "public", &is_public, &e) < 0 ||
	    templates_set_public(r->api->link->store, row.id, is_public, clock_wall_ms(), &e) < 0) {
		reply_err(r, &e);
		return;
	}
	catalog_names(r->api->sandbox, &row, full);
	reply_json(r, 200, json_pack("{s:[s]}", "names", full), NULL);
}

static bool is_used(const struct api *a, const char *id)
{
	for (const struct sandbox *sb = sandbox_table_next(a->sandbox->table, NULL); sb;
	    sb = sandbox_table_next(a->sandbox->table, sb)) {
		if (strcmp(sb->spec.tpl.id, id) == 0)
			return true;
	}
	return false;
}

struct kept_names {
	char (*v)[ID_SIZE];
	size_t n;
};

static int on_kept_build(void *user, const struct build_row *b)
{
	struct kept_names *k = user;

	if (!b->kept[0])
		return 0;
	k->v = must_grow(k->v, (k->n + 1) * sizeof *k->v);
	memcpy(k->v[k->n++], b->kept, ID_SIZE);
	return 0;
}

/* Deletes it with its builds and their saved states. */
static int drop_template(struct api *a, const char *id, struct err *e)
{
	struct kept_names k = { 0 };
	int no = 0;

	if (builds_each(a->link->store, id, on_kept_build, &k, e) < 0 || templates_drop(a->link->store, id, e) < 0)
		no = -e->no;
	for (size_t i = 0; no == 0 && i < k.n; i++)
		build_release(a->build, k.v[i]);
	free(k.v);
	return no;
}

struct own_ids {
	char (*v)[TPL_ID_SIZE];
	size_t n;
};

static int on_own(void *user, const struct template_row *row)
{
	struct own_ids *o = user;

	o->v = must_grow(o->v, (o->n + 1) * sizeof *o->v);
	memcpy(o->v[o->n++], row->id, TPL_ID_SIZE);
	return 0;
}

int64_t templates_purge(struct api *a, const char *team, int64_t *failed)
{
	struct own_ids o = { 0 };
	int64_t n = 0;
	struct err e = ERR_INIT;

	if (templates_each(a->link->store, team, on_own, &o, &e) < 0)
		++*failed;
	for (size_t i = 0; i < o.n; i++) {
		e = ERR_INIT;
		/* Other teams may be using a public template: then it stays. */
		if (is_used(a, o.v[i]) || build_of_template(a->build, o.v[i]) || drop_template(a, o.v[i], &e) < 0)
			++*failed;
		else
			n++;
	}
	free(o.v);
	return n;
}

void api_template_drop(struct req *r)
{
	struct api *a = r->api;
	struct template_row row;
	struct err e = ERR_INIT;

	if (api_snapshot_drop(r) || own_row(r, &row) < 0)
		return;
	if (is_used(a, row.id) || build_of_template(a->build, row.id)) {
		reply_error(r, 400, "template '%.100s' is in use: by %s", r->param,
		    is_used(a, row.id) ? "sandboxes, running or paused" : "a build");
		return;
	}
	if (drop_template(a, row.id, &e) < 0) {
		reply_err(r, &e);
	} else {
		log_info("template deleted", "template=%s name=%s request=%s", row.id, row.name, r->id);
		reply_empty(r, 204);
	}
}

/* --- a new build
 * --------------------------------------------------------------------------------------------------- */

struct wanted {
	struct snapshot_ref ref;
	int64_t cpu, mem_mb, free_mb;
	struct buf tags;  /* separated by blanks */
	json_t *tag_list; /* owned */
};

static void add_tag(struct wanted *w, const char *tag)
{
	json_t *v;
	size_t i;

	json_array_foreach(w->tag_list, i, v)
	{
		if (strcmp(json_string_value(v), tag) == 0)
			return;
	}
	(void)json_array_append_new(w->tag_list, json_string(tag));
	buf_fmt(&w->tags, "%s%s", w->tags.n ? " " : "", tag);
}

static int read_tags(const json_t *body, struct wanted *w, struct err *e)
{
	json_t *tags = NULL, *v;
	size_t i;
	char tag[TPL_TAG_SIZE];

	if (json_get_arr(body, "tags", &tags, e) < 0)
		return -e->no;
	if (json_array_size(tags) > TAGS_MAX)
		return err_set(e, EINVAL, "field 'tags' has more than %d tags", TAGS_MAX);
	if (w->ref.has_tag)
		add_tag(w, w->ref.tag);
	json_array_foreach(tags, i, v)
	{
		if (!json_is_string(v) || tag_parse(str_of(json_string_value(v)), tag) < 0)
			return err_set(e, EINVAL, "field 'tags' has a bad tag '%.60s'",
			    json_is_string(v) ? json_string_value(v) : "?");
		add_tag(w, tag);
	}
	if (json_array_size(w->tag_list) == 0)
		add_tag(w, "default");
	return 0;
}

static int read_limits(const struct api *a, const json_t *body, struct wanted *w, struct err *e)
{
	int64_t most_cpu = a->account->maxima.cpu_permille / 1000,
		most_mb = (int64_t)(a->account->maxima.mem_bytes / MIB);
	int64_t most_disk_mb = (int64_t)(a->account->maxima.disk_bytes / MIB);
	bool given;

	w->cpu = DEFAULT_CPU < most_cpu ? DEFAULT_CPU : most_cpu;
	w->mem_mb = DEFAULT_MEM_MB < most_mb ? DEFAULT_MEM_MB : most_mb;
	if (field_int(body, "cpuCount", 1, most_cpu, &w->cpu, &given, e) < 0 ||
	    field_int(body, "memoryMB", MEM_MIN_MB, most_mb, &w->mem_mb, &given, e) < 0 ||
	    field_int(body, "minFreeDiskMb", 0, most_disk_mb, &w->free_mb, &given, e) < 0)
		return -e->no;
	if (w->cpu != 1 && w->cpu % 2)
		return err_set(e, EINVAL, "field 'cpuCount' must be 1 or an even number");
	if (w->mem_mb % 2)
		return err_set(e, EINVAL, "field 'memoryMB' must be an even number");
	return 0;
}

static int read_wanted(struct req *r, const json_t *body, struct wanted *w, struct err *e)
{
	const char *name = NULL, *team = NULL;
	const struct template *tp;
	char ns[TEMPLATE_NAME_SIZE];

	if (json_get_str(body, "name", &name, e) < 0 || (!name && json_get_str(body, "alias", &name, e) < 0) ||
	    json_get_str(body, "teamID", &team, e) < 0)
		return -e->no;
	if (!name)
		return err_set(e, EINVAL, "field 'name' is missing");
	if (snapshot_ref_parse(str_of(name), &w->ref, e) < 0)
		return err_wrap(e, "field 'name'");
	if (team && *team && strcmp(team, r->caller.team) != 0)
		return err_set(e, EINVAL, "field 'teamID' is not the team of the API key");
	snapshot_namespace(r->api->sandbox, r->caller.team, ns);
	if (w->ref.namespace[0] && strcmp(w->ref.namespace, ns) != 0)
		return err_set(e, EPERM, "field 'name': namespace '%s' is not yours, which is '%s'", w->ref.namespace,
		    ns);
	if (templates_find(&r->api->sandbox->templates, str_of(w->ref.name), &tp, e) == 0)
		return err_set(e, EPERM, "field 'name': '%s' belongs to the server", w->ref.name);
	if (read_limits(r->api, body, w, e) < 0)
		return -e->no;
	return read_tags(body, w, e);
}

static int make_row(struct api *a, const char *team, const struct wanted *w, struct template_row *row, struct err *e)
{
	if (templates_by_name(a->link->store, team, w->ref.name, row, e) == 0 ||
	    (templates_by_id(a->link->store, w->ref.name, row, e) == 0 && strcmp(row->team, team) == 0))
		return 0;
	*row = (struct template_row) { .created_ms = clock_wall_ms(), .updated_ms = clock_wall_ms() };
	rand_label(row->id, 20);
	(void)str_copy(row->team, sizeof row->team, str_of(team));
	(void)str_copy(row->name, sizeof row->name, str_of(w->ref.name));
	return templates_add(a->link->store, row, e);
}

/* The size of the build is not known yet, so the default disk size is added to the free space that is requested. */
static uint64_t disk_for(const struct api *a, const struct wanted *w)
{
	uint64_t bytes = a->account->defaults.disk_bytes + (uint64_t)w->free_mb * MIB;

	return bytes < a->account->maxima.disk_bytes ? bytes : a->account->maxima.disk_bytes;
}

bool templates_may_build(struct req *r)
{
	const struct engine_rule rule = quota_engine(r->api->account, r->caller.team, r->caller.key);

	if (!rule.required || rule.kind == ENGINE_NAMESPACES)
		return true;
	reply_error(r, 400, "templates are built with the engine 'namespaces', and the engine '%s' is required here",
	    engine_kind_name(rule.kind));
	return false;
}

static void add_build(struct req *r, const struct wanted *w)
{
	struct api *a = r->api;
	struct template_row row;
	char full[SNAPSHOT_NAME_SIZE], id[TEAM_ID_SIZE];
	struct build_row b = {
		.mem_bytes = (uint64_t)w->mem_mb * MIB,
		.disk_bytes = disk_for(a, w),
		.cpu_permille = (uint32_t)w->cpu * 1000,
		.pids = a->account->defaults.pids,
		.created_ms = clock_wall_ms(),
		.status = "waiting",
	};
	struct err e = ERR_INIT;

	uuid_make(id);
	(void)str_copy(b.id, sizeof b.id, str_of(id));
	(void)str_copy(b.team, sizeof b.team, str_of(r->caller.team));
	if (!str_copy(b.tags, sizeof b.tags, buf_view(&w->tags))) {
		reply_error(r, 400, "field 'tags' is too long");
		return;
	}
	if (make_row(a, r->caller.team, w, &row, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	memcpy(b.template_id, row.id, sizeof row.id);
	if (builds_put(a->link->store, &b, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	log_info("build requested", "build=%s template=%s name=%s request=%s", b.id, row.id, row.name, r->id);
	catalog_names(a->sandbox, &row, full);
	reply_json(r, 202,
	    json_pack("{s:s,s:s,s:b,s:[s],s:O,s:[s]}", "templateID", row.id, "buildID", b.id, "public",
		(int)row.is_public, "names", full, "tags", w->tag_list, "aliases", row.name),
	    NULL);
}

void api_build_request(struct req *r)
{
	autojson json_t *body = req_json(r, false);
	struct wanted w = { .tags = BUF_INIT(1023), .tag_list = json_array() };
	struct err e = ERR_INIT;

	if (body && templates_may_build(r)) {
		if (read_wanted(r, body, &w, &e) < 0)
			reply_err(r, &e);
		else
			add_build(r, &w);
	}
	buf_done(&w.tags);
	json_decref(w.tag_list);
}

/* Version 1 of the API, in which the client builds an image with Docker and pushes it to a registry of the server. */
void api_build_request_v1(struct req *r)
{
	reply_error(r, 400,
	    "builds of the first kind, in which the client pushes an image that Docker has made, are not taken. The "
	    "same Dockerfile is built by "
	    "'atoll template build DIR -t NAME', or by 'e2b template create NAME' of @e2b/cli 2 or newer (npm install "
	    "-g @e2b/cli); an image of a registry by "
	    "'atoll template build IMAGE -t NAME'");
}

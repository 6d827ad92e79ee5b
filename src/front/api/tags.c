/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/tags: tags of template versions. */
#include "front/api/tags.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/link/links.h"
#include "front/sandbox/catalog.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/snapshots.h"
#include "front/util/time_json.h"
#include "http/json.h"

#define TAGS_MAX 16
#define DEFAULT_TAG "default"

int tag_parse(struct str text, char ret[TPL_TAG_SIZE])
{
	struct snapshot_ref ref;
	struct err e;
	char whole[TPL_TAG_SIZE + 2] = "x:";

	if (!str_copy(whole + 2, sizeof whole - 2, str_trim(text)) || strchr(whole + 2, ':') ||
	    snapshot_ref_parse(str_of(whole), &ref, &e) < 0 || is_build_id(ref.tag))
		return -EINVAL;
	memcpy(ret, ref.tag, TPL_TAG_SIZE);
	return 0;
}

/* Checked and in lower case. On failure sends an answer and returns NULL. */
static json_t *read_tags(struct req *r, const json_t *body)
{
	json_t *tags = NULL, *v, *out;
	char tag[TPL_TAG_SIZE];
	struct err e = ERR_INIT;
	size_t i;

	if (json_get_arr(body, "tags", &tags, &e) < 0 || json_array_size(tags) == 0 ||
	    json_array_size(tags) > TAGS_MAX) {
		reply_error(r, 400, "field 'tags' must be an array of 1 to %d tags", TAGS_MAX);
		return NULL;
	}
	out = json_array();
	json_array_foreach(tags, i, v)
	{
		if (json_is_string(v) && tag_parse(str_of(json_string_value(v)), tag) == 0) {
			(void)json_array_append_new(out, json_string(tag));
			continue;
		}
		reply_error(r, 400,
		    "field 'tags' has a bad tag '%.60s': a tag has letters, digits, '.', '-' and '_', and is no UUID",
		    json_is_string(v) ? json_string_value(v) : "?");
		json_decref(out);
		return NULL;
	}
	return out;
}

/* On failure sends an answer and returns -1. */
static int find_own(struct req *r, const char *name, struct template_row *row, struct snapshot_ref *ref)
{
	struct err e = ERR_INIT;
	int no = catalog_row(r->api->sandbox, r->caller.team, str_of(name), row, ref, &e);

	if (no == 0 && strcmp(row->team, r->caller.team) != 0)
		no = err_set(&e, EPERM, "template '%.100s' belongs to another team", name);
	if (no < 0)
		reply_err(r, &e);
	return no < 0 ? -1 : 0;
}

void api_tags_add(struct req *r)
{
	autojson json_t *body = req_json(r, false), *tags = NULL;
	const char *target = NULL;
	struct template_row row;
	struct snapshot_ref ref;
	struct build_row from;
	struct err e = ERR_INIT;
	json_t *v;
	size_t i;

	if (!body)
		return;
	if (json_need_str(body, "target", &target, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	tags = read_tags(r, body);
	if (!tags || find_own(r, target, &row, &ref) < 0)
		return;
	if (catalog_build(r->api->sandbox, &row, &ref, &from, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	json_array_foreach(tags, i, v)
	{
		struct tag_row to = { .created_ms = clock_wall_ms() };

		(void)str_copy(to.tag, sizeof to.tag, str_of(json_string_value(v)));
		memcpy(to.build, from.id, sizeof to.build);
		if (tags_put(r->api->link->store, row.id, &to, &e) < 0) {
			reply_err(r, &e);
			return;
		}
	}
	reply_json(r, 201, json_pack("{s:O,s:s}", "tags", tags, "buildID", from.id), NULL);
}

void api_tags_drop(struct req *r)
{
	autojson json_t *body = req_json(r, false), *tags = NULL;
	const char *name = NULL;
	struct template_row row;
	struct err e = ERR_INIT;
	int gone = 0;
	json_t *v;
	size_t i;

	if (!body)
		return;
	if (json_need_str(body, "name", &name, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	tags = read_tags(r, body);
	if (!tags || find_own(r, name, &row, NULL) < 0)
		return;
	json_array_foreach(tags, i, v)
	{
		if (strcmp(json_string_value(v), DEFAULT_TAG) == 0) {
			reply_error(r, 400, "the tag '" DEFAULT_TAG "' cannot be removed");
			return;
		}
	}
	json_array_foreach(tags, i, v)
	{
		int n = tags_drop(r->api->link->store, row.id, json_string_value(v), &e);

		if (n < 0) {
			reply_err(r, &e);
			return;
		}
		gone += n;
	}
	if (gone == 0)
		reply_error(r, 404, "template '%s' has no such tag", row.name);
	else
		reply_empty(r, 204);
}

static int on_tag(void *user, const struct tag_row *t)
{
	(void)json_array_append_new(user,
	    json_pack("{s:s,s:s,s:o}", "tag", t->tag, "buildID", t->build, "createdAt", time_json(t->created_ms)));
	return 0;
}

/* NULL: the caller has no snapshot of that name. */
static json_t *snapshot_tags(struct req *r)
{
	struct snapshot_ref ref;
	const struct snapshot *sn;
	char build[TPL_BUILD_SIZE];
	json_t *list = NULL;
	struct err e = ERR_INIT;

	if (snapshot_ref_parse(str_of(r->param), &ref, &e) < 0)
		return NULL;
	ref.has_tag = false; /* all tags, whichever the path names */
	LIST_FOREACH(sn, &r->api->sandbox->snapshots, link)
	{
		if (strcmp(sn->team, r->caller.team) != 0 || !snapshot_matches(r->api->sandbox, sn, &ref))
			continue;
		if (!list)
			list = json_array();
		snapshot_build_id(sn, build);
		(void)json_array_append_new(list,
		    json_pack("{s:s,s:s,s:o}", "tag", sn->tag, "buildID", build, "createdAt",
			time_json(sn->created_ms)));
	}
	return list;
}

void api_template_tags(struct req *r)
{
	struct template_row row;
	const struct template *tp;
	struct err e = ERR_INIT;
	int no = catalog_row(r->api->sandbox, r->caller.team, str_of(r->param), &row, NULL, &e);

	if (no == -ENOENT && templates_find(&r->api->sandbox->templates, str_of(r->param), &tp, &e) == 0) {
		reply_json(r, 200,
		    json_pack("[{s:s,s:s,s:o}]", "tag", DEFAULT_TAG, "buildID", tp->build, "createdAt",
			time_json(tp->built_ms)),
		    NULL);
		return;
	}
	json_t *list = no == -ENOENT ? snapshot_tags(r) : NULL;

	if (list) {
		reply_json(r, 200, list, NULL);
		return;
	}
	list = json_array();
	if (no == 0 && tags_each(r->api->link->store, row.id, on_tag, list, &e) == 0) {
		reply_json(r, 200, list, NULL);
		return;
	}
	json_decref(list);
	reply_err(r, &e);
}

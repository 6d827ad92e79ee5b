/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/tag_groups: lists the tags of a template page by page, with the build that each refers to. Earlier
 * builds of a tag are not recorded, so each tag has one assignment. Only builds that are ready are listed. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "front/account/keyring.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/api/tags.h"
#include "front/link/links.h"
#include "front/sandbox/catalog.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/snapshots.h"
#include "front/util/mem.h"
#include "front/util/time_json.h"
#include "front/util/token.h"
#include "http/json.h"
#include "http/server.h"
#include "http/url.h"

#define LIMIT_MAX 100
#define GROUPS_LIMIT 25
#define ASSIGNMENTS_LIMIT 50
#define GROUP_ASSIGNMENTS_LIMIT 6

enum order { LATEST_DESC, LATEST_ASC, NAME_ASC, NAME_DESC };

static const char *const order_names[] = { "latest_desc", "latest_asc", "name_asc", "name_desc" };

struct assignment {
	struct tag_row tag;
	uint64_t build_created_ms, build_finished_ms;
};

struct assignments {
	struct api *a;
	struct assignment *v; /* owned */
	size_t n;
};

static void add(struct assignments *all, const char *tag, const char *build, uint64_t at_ms, uint64_t created_ms,
    uint64_t finished_ms)
{
	all->v = must_grow(all->v, (all->n + 1) * sizeof *all->v);
	struct assignment *a = &all->v[all->n++];

	*a = (struct assignment) { .tag.created_ms = at_ms,
		.build_created_ms = created_ms,
		.build_finished_ms = finished_ms };
	(void)str_copy(a->tag.tag, sizeof a->tag.tag, str_of(tag));
	(void)str_copy(a->tag.build, sizeof a->tag.build, str_of(build));
}

static int on_tag(void *user, const struct tag_row *t)
{
	struct assignments *all = user;

	add(all, t->tag, t->build, t->created_ms, 0, 0);
	return 0;
}

/* Called after the tags have been read, because only one query of the store runs at a time. */
static void only_ready(struct assignments *all)
{
	struct build_row b;
	struct err e;
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		if (builds_find(all->a->link->store, all->v[i].tag.build, &b, &e) < 0 || strcmp(b.status, "ready") != 0)
			continue;
		all->v[n] = all->v[i];
		all->v[n].build_created_ms = b.created_ms;
		all->v[n++].build_finished_ms = b.finished_ms;
	}
	all->n = n;
}

static int of_snapshots(struct req *r, struct assignments *all)
{
	struct snapshot_ref ref;
	const struct snapshot *sn;
	char build[TPL_BUILD_SIZE];
	struct err e = ERR_INIT;

	if (snapshot_ref_parse(str_of(r->param), &ref, &e) < 0)
		return -ENOENT;
	ref.has_tag = false;
	LIST_FOREACH(sn, &r->api->sandbox->snapshots, link)
	{
		if (strcmp(sn->team, r->caller.team) != 0 || !snapshot_matches(r->api->sandbox, sn, &ref))
			continue;
		snapshot_build_id(sn, build);
		add(all, sn->tag, build, sn->created_ms, sn->created_ms, sn->created_ms);
	}
	return all->n ? 0 : -ENOENT;
}

/* Reads the tags of the template in the path: the caller's own, or the server's. On failure sends an answer and
 * returns -1. */
static int read_all(struct req *r, struct assignments *ret)
{
	struct template_row row;
	const struct template *tp;
	struct err e = ERR_INIT;
	int no = catalog_row(r->api->sandbox, r->caller.team, str_of(r->param), &row, NULL, &e);

	*ret = (struct assignments) { .a = r->api };
	if (no == 0 && strcmp(row.team, r->caller.team) == 0) {
		no = tags_each(r->api->link->store, row.id, on_tag, ret, &e);
		if (no == 0)
			only_ready(ret);
	} else if (no == -ENOENT && templates_find(&r->api->sandbox->templates, str_of(r->param), &tp, &e) == 0) {
		add(ret, "default", tp->build, tp->built_ms, tp->built_ms, tp->built_ms);
		no = 0;
	} else if (no == -ENOENT) {
		no = of_snapshots(r, ret);
	} else if (no == 0) {
		no = -ENOENT; /* do not reveal that it exists */
	}
	if (no == 0)
		return 0;
	if (no == -ENOENT)
		reply_error(r, 404, "template '%.100s' not found", r->param);
	else
		reply_err(r, &e);
	free(ret->v);
	return -1;
}

/* Assignments have no id of their own: derives one that stays the same until the tag moves. */
static json_t *assignment_json(const struct req *r, const struct assignment *a)
{
	autobuf struct buf of = BUF_INIT(1024);
	uint8_t hash[SHA256_SIZE];
	char id[TEAM_ID_SIZE];

	buf_fmt(&of, "%s %s %s %s %" PRIu64, r->caller.team, r->param, a->tag.tag, a->tag.build, a->tag.created_ms);
	sha256(buf_view(&of), hash);
	uuid_put(hash, 8, id);
	return json_pack("{s:s,s:s,s:o,s:o,s:o}", "assignmentId", id, "buildId", a->tag.build, "assignedAt",
	    time_json(a->tag.created_ms), "buildCreatedAt", time_json(a->build_created_ms), "buildFinishedAt",
	    time_or_null(a->build_finished_ms));
}

/* --- the query --------------------------------------------------------------------------------------------------- */

struct asked {
	char *search; /* owned; NULL: all */
	enum order order;
	uint64_t limit, each;
	bool has_cursor;
	struct tag_row cursor; /* last entry of the previous page: time and name */
};

static int read_limit(struct str q, const char *name, uint64_t *ret, struct err *e)
{
	autofree char *text = NULL;
	int no = query_get(q, name, &text);

	if (no == -ENOENT)
		return 0;
	if (no < 0 || str_to_u64(str_of(text), LIMIT_MAX, ret) < 0 || *ret == 0)
		return err_set(e, EINVAL, "query parameter '%s' must be an integer from 1 to %d", name, LIMIT_MAX);
	return 0;
}

static int read_cursor(struct str q, const char *name, struct asked *a, struct err *e)
{
	autofree char *text = NULL;
	int no = query_get(q, name, &text);

	if (no == -ENOENT)
		return 0;
	struct str rest = str_of(no == 0 ? text : "");
	struct str ms = str_cut(&rest, '.');

	if (!rest.p || str_to_u64(ms, UINT64_MAX, &a->cursor.created_ms) < 0 ||
	    !str_copy(a->cursor.tag, sizeof a->cursor.tag, rest))
		return err_set(e, EINVAL, "query parameter '%s' is not one that this server has given", name);
	a->has_cursor = true;
	return 0;
}

static int read_order(struct str q, enum order *ret, struct err *e)
{
	autofree char *text = NULL;
	int no = query_get(q, "sort", &text);

	for (size_t i = 0; no == 0 && i < ARRAY_LEN(order_names); i++) {
		if (strcmp(text, order_names[i]) == 0) {
			*ret = (enum order)i;
			return 0;
		}
	}
	return no == -ENOENT
	    ? 0
	    : err_set(e, EINVAL, "query parameter 'sort' must be latest_desc, latest_asc, name_asc or name_desc");
}

/* Converts the search text to lower case, as tags are stored. On failure sends an answer. */
static int read_groups_query(struct req *r, struct asked *a)
{
	struct str q = r->http->query;
	struct err e = ERR_INIT;
	int no = query_get(q, "search", &a->search);

	if (no < 0 && no != -ENOENT)
		(void)err_set(&e, EINVAL, "query parameter 'search' is malformed");
	if (e.no || read_limit(q, "tagsLimit", &a->limit, &e) < 0 ||
	    read_limit(q, "assignmentLimit", &a->each, &e) < 0 || read_order(q, &a->order, &e) < 0 ||
	    read_cursor(q, "tagsCursor", a, &e) < 0) {
		reply_err(r, &e);
		return -1;
	}
	for (char *c = a->search; c && *c; c++)
		*c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
	return 0;
}

static int compare(enum order o, const struct tag_row *a, const struct tag_row *b)
{
	int by_name = strcmp(a->tag, b->tag),
	    by_time = a->created_ms < b->created_ms ? -1 : a->created_ms > b->created_ms;

	switch (o) {
	case NAME_ASC:
		return by_name;
	case NAME_DESC:
		return -by_name;
	case LATEST_ASC:
		return by_time ? by_time : by_name;
	case LATEST_DESC:
		break;
	}
	return by_time ? -by_time : by_name;
}

static int compare_for_sort(const void *a, const void *b, void *order)
{
	return compare(*(enum order *)order, &((const struct assignment *)a)->tag,
	    &((const struct assignment *)b)->tag);
}

/* Selects and sorts the matching tags after the cursor. */
static void choose(struct assignments *all, struct asked *a)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		if ((!a->search || strstr(all->v[i].tag.tag, a->search)) &&
		    (!a->has_cursor || compare(a->order, &all->v[i].tag, &a->cursor) > 0))
			all->v[n++] = all->v[i];
	}
	all->n = n;
	if (n > 1)
		qsort_r(all->v, n, sizeof *all->v, compare_for_sort, &a->order);
}

/* Returns null after the last page. */
static json_t *next_cursor(const struct assignments *all, uint64_t limit)
{
	if (all->n <= limit)
		return json_null();
	const struct tag_row *last = &all->v[limit - 1].tag;

	return json_sprintf("%" PRIu64 ".%s", last->created_ms, last->tag);
}

/* --- the answers ------------------------------------------------------------------------------------------------- */

void api_tag_groups(struct req *r)
{
	struct asked a = { .limit = GROUPS_LIMIT, .each = GROUP_ASSIGNMENTS_LIMIT };
	struct assignments all;

	if (read_groups_query(r, &a) < 0 || read_all(r, &all) < 0) {
		free(a.search);
		return;
	}
	json_t *groups = json_array();

	choose(&all, &a);
	for (size_t i = 0; i < all.n && i < a.limit; i++)
		(void)json_array_append_new(groups,
		    json_pack("{s:s,s:[o],s:b}", "tag", all.v[i].tag.tag, "assignments", assignment_json(r, &all.v[i]),
			"hasMore", 0));
	reply_json(r, 200, json_pack("{s:o,s:o}", "tags", groups, "nextCursor", next_cursor(&all, a.limit)), NULL);
	free(all.v);
	free(a.search);
}

void api_tag_assignments(struct req *r)
{
	struct asked a = { .limit = ASSIGNMENTS_LIMIT };
	char tag[TPL_TAG_SIZE];
	struct assignments all;
	struct err e = ERR_INIT;

	if (tag_parse(str_of(r->param2), tag) < 0) {
		reply_error(r, 400, "'%.60s' is not a tag", r->param2);
		return;
	}
	if (read_limit(r->http->query, "limit", &a.limit, &e) < 0 ||
	    read_cursor(r->http->query, "cursor", &a, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	if (read_all(r, &all) < 0)
		return;
	json_t *list = json_array();

	choose(&all, &a);
	for (size_t i = 0; i < all.n; i++) {
		if (strcmp(all.v[i].tag.tag, tag) == 0)
			(void)json_array_append_new(list, assignment_json(r, &all.v[i]));
	}
	reply_json(r, 200, json_pack("{s:o,s:n}", "data", list, "nextCursor"), NULL);
	free(all.v);
}

void api_tags_count(struct req *r)
{
	struct assignments all;

	if (read_all(r, &all) < 0)
		return;
	reply_json(r, 200, json_pack("{s:I}", "total", (json_int_t)all.n), NULL);
	free(all.v);
}

void api_tag_exists(struct req *r)
{
	autofree char *text = NULL;
	char tag[TPL_TAG_SIZE];
	struct assignments all;
	bool there = false;

	if (query_get(r->http->query, "tag", &text) < 0 || tag_parse(str_of(text), tag) < 0) {
		reply_error(r, 400, "query parameter 'tag' must be a tag");
		return;
	}
	if (read_all(r, &all) < 0)
		return;
	for (size_t i = 0; i < all.n; i++)
		there |= strcmp(all.v[i].tag.tag, tag) == 0;
	reply_json(r, 200, json_pack("{s:b,s:s}", "exists", (int)there, "normalizedTag", tag), NULL);
	free(all.v);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/list: the lists of sandboxes.
 *
 * A list may have thousands of entries, and the loop is blocked meanwhile, so the JSON text is written directly. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "front/account/accounts.h"
#include "front/account/keyring.h"
#include "front/api/api.h"
#include "front/api/handlers.h"
#include "front/api/list_query.h"
#include "front/api/reply.h"
#include "front/api/request.h"
#include "front/api/sandboxes.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/table.h"
#include "front/util/mem.h"
#include "http/json.h"
#include "http/server.h"
#include "http/url.h"

#define LIST_MAX (48 * 1024 * 1024) /* fits into the send queue of a connection */

struct found {
	const struct sandbox **v;
	size_t n;
	size_t running; /* number of all that match, before paging */
};

static int by_order(const void *a, const void *b, void *query)
{
	const struct sandbox *const *x = a, *const *y = b;

	return list_query_compare(query, (*x)->started_us, (*x)->id, (*y)->started_us, (*y)->id);
}

/* team NULL: all teams. */
static struct found collect(struct req *r, struct list_query *q, const char *team)
{
	const struct sandbox_table *t = r->api->sandbox->table;
	struct found f = { .v = must_alloc((sandbox_table_count(t) + 1) * sizeof(struct sandbox *)) };

	for (const struct sandbox *sb = sandbox_table_next(t, NULL); sb; sb = sandbox_table_next(t, sb)) {
		bool is_paused = sb->state == SANDBOX_PAUSED || sb->state == SANDBOX_PAUSING;

		if (sb->state == SANDBOX_STARTING || (team && strcmp(sb->team, team) != 0) || !list_query_wants(q, sb))
			continue;
		if (!(is_paused ? q->paused : q->running))
			continue;
		f.running += !is_paused;
		if (list_query_is_behind_cursor(q, sb->started_us, sb->id))
			f.v[f.n++] = sb;
	}
	qsort_r(f.v, f.n, sizeof *f.v, by_order, q);
	return f;
}

static void put_entries(struct buf *out, const struct found *f, size_t n, bool with_team)
{
	buf_ch(out, '[');
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_ch(out, ',');
		sandbox_put_listed(out, f->v[i], with_team);
	}
	buf_ch(out, ']');
}

static void reply_entries(struct req *r, const struct found *f, size_t n, bool with_team, const char *headers)
{
	autobuf struct buf out = BUF_INIT(LIST_MAX);

	put_entries(&out, f, n, with_team);
	if (out.bad)
		reply_error(r, 500, "answer is too large");
	else
		reply_json_text(r, 200, buf_view(&out), headers);
}

/* Version 1 filters by metadata only, shows only running sandboxes, and has no pages. */
void api_list_v1(struct req *r)
{
	struct list_query q;
	struct err e;

	if (list_query_parse_v1(r->http->query, &q, &e) < 0) {
		reply_err(r, &e);
		return;
	}

	struct found f = collect(r, &q, r->caller.team);

	reply_entries(r, &f, f.n, false, NULL);
	free(f.v);
	list_query_done(&q);
}

static void list(struct req *r, const char *team, bool with_team)
{
	autobuf struct buf headers = BUF_INIT(512);
	struct list_query q;
	struct err e;

	if (list_query_parse(r->http->query, &q, &e) < 0) {
		reply_err(r, &e);
		return;
	}

	struct found f = collect(r, &q, team);
	size_t n = f.n < q.limit ? f.n : q.limit;

	if (q.running)
		buf_fmt(&headers, "X-Total-Running: %zu\r\n", f.running);
	if (n < f.n) {
		autofree char *cursor = list_query_cursor(&q, f.v[n - 1]->started_us, f.v[n - 1]->id);

		buf_fmt(&headers, "X-Next-Token: %s\r\n", cursor);
	}
	reply_entries(r, &f, n, with_team, buf_cstr(&headers));
	free(f.v);
	list_query_done(&q);
}

void api_list_v2(struct req *r)
{
	list(r, r->caller.team, false);
}

void admin_sandboxes(struct req *r)
{
	autofree char *name = NULL;
	int got = query_get(r->http->query, "team", &name);
	const struct team *t = NULL;

	if (got < 0 && got != -ENOENT) {
		reply_error(r, 400, "query parameter 'team' is malformed");
		return;
	}
	if (name && !(t = keyring_team(r->api->account->keyring, str_of(name)))) {
		reply_error(r, 404, "team '%.64s' not found", name);
		return;
	}
	list(r, t ? t->id : NULL, true);
}

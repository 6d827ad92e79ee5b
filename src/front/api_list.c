/* SPDX-License-Identifier: Apache-2.0 */
/* front/api_list: the lists of sandboxes. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "front/api.h"
#include "front/front.h"
#include "front/list_query.h"
#include "front/mem.h"
#include "front/reply.h"
#include "front/request.h"
#include "front/sandbox.h"
#include "front/sandbox_table.h"
#include "http/server.h"

struct found {
	const struct sandbox **v;
	size_t n;
	size_t running;			/* of all that match, before paging */
};

static int by_order(const void *a, const void *b, void *query)
{
	const struct sandbox *const *x = a, *const *y = b;

	return list_query_compare(query, (*x)->started_us, (*x)->id, (*y)->started_us, (*y)->id);
}

static struct found collect(struct req *r, struct list_query *q)
{
	const struct sandbox_table *t = r->front->sandboxes;
	struct found f = { .v = must_alloc((sandbox_table_count(t) + 1) * sizeof(struct sandbox *)) };

	for (const struct sandbox *sb = sandbox_table_next(t, NULL); sb; sb = sandbox_table_next(t, sb)) {
		bool is_paused = sb->state == SANDBOX_PAUSED || sb->state == SANDBOX_PAUSING;

		if (sb->state == SANDBOX_STARTING || strcmp(sb->team, r->team) != 0 || !list_query_wants(q, sb))
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

static json_t *to_json(const struct found *f, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		(void)json_array_append_new(list, sandbox_listed_json(f->v[i]));
	return list;
}

void api_list_v1(struct req *r)
{
	struct list_query q;
	struct err e;

	if (list_query_parse(r->http->query, &q, &e) < 0) {
		reply_err(r, &e);
		return;
	}
	q.running = true;
	q.paused = false;
	q.has_cursor = false;

	struct found f = collect(r, &q);

	reply_json(r, 200, to_json(&f, f.n), NULL);
	free(f.v);
	list_query_done(&q);
}

void api_list_v2(struct req *r)
{
	autobuf struct buf headers = BUF_INIT(512);
	struct list_query q;
	struct err e;

	if (list_query_parse(r->http->query, &q, &e) < 0) {
		reply_err(r, &e);
		return;
	}

	struct found f = collect(r, &q);
	size_t n = f.n < q.limit ? f.n : q.limit;

	if (q.running)
		buf_fmt(&headers, "X-Total-Running: %zu\r\n", f.running);
	if (n < f.n) {
		autofree char *cursor = list_query_cursor(&q, f.v[n - 1]->started_us, f.v[n - 1]->id);

		buf_fmt(&headers, "X-Next-Token: %s\r\n", cursor);
	}
	reply_json(r, 200, to_json(&f, n), buf_cstr(&headers));
	free(f.v);
	list_query_done(&q);
}

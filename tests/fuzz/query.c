/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the queries of lists and logs. What is taken is within its bounds, and a cursor leads back to itself. */
#include <string.h>

#include "base/buf.h"
#include "front/api/list_query.h"
#include "front/record/log_query.h"
#include "fuzz.h"
#include "http/url.h"

static void list(struct str in, int (*parse)(struct str query, struct list_query *ret, struct err *e))
{
	struct list_query q = { 0 };
	struct err e = { 0 };

	if (parse(in, &q, &e) < 0) {
		MUST(e.text[0]);
		return;
	}
	/* the old list has no pages */
	MUST(q.limit <= LIST_LIMIT_MAX && (q.limit >= 1 || parse == list_query_parse_v1));
	MUST(q.running || q.paused);
	MUST(q.n_pairs <= LIST_PAIRS_MAX);
	for (size_t i = 0; i < q.n_pairs; i++)
		MUST(q.pairs[i].name && q.pairs[i].value);
	if (q.has_cursor) {
		autobuf struct buf again = BUF_INIT(4096);
		char *cursor = list_query_cursor(&q, q.cursor_us, q.cursor_id);
		struct list_query next = { 0 };

		MUST(cursor);
		buf_z(&again, q.ascending ? "order=asc&nextToken=" : "nextToken=");
		url_encode(&again, str_of(cursor));
		MUST(list_query_parse(buf_view(&again), &next, &e) == 0);
		MUST(next.has_cursor && next.cursor_us == q.cursor_us && strcmp(next.cursor_id, q.cursor_id) == 0);
		list_query_done(&next);
		free(cursor);
	}
	list_query_done(&q);
}

static void logs(struct str in, int (*parse)(struct str query, struct log_query *ret, struct err *e))
{
	struct log_query q = { 0 };
	struct err e = { 0 };

	if (parse(in, &q, &e) < 0) {
		MUST(e.text[0]);
		return;
	}
	MUST(q.limit <= (parse == log_query_parse_v1 ? INT32_MAX : LOGS_LIMIT_MAX));
	MUST(memchr(q.search, '\0', sizeof q.search));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str in = { (const char *)data, size };

	list(in, list_query_parse);
	list(in, list_query_parse_v1);
	logs(in, log_query_parse_v1);
	logs(in, log_query_parse_v2);
	return 0;
}

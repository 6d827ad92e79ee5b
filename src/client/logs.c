/* SPDX-License-Identifier: Apache-2.0 */
/* client/logs: reads the log of a sandbox. */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"
#include "http/url.h"

#define LIMIT_MAX 1000

static void fill_log(struct kept *k, void *item, json_t *o)
{
	struct atoll_log *l = item;
	uint64_t us;

	*l = (struct atoll_log) {
		.at = json_text(o, "timestamp"),
		.level = json_text(o, "level"),
		.message = json_text(o, "message"),
	};
	if (clock_parse_rfc3339(str_of(l->at), &us) == 0)
		l->at_ms = (int64_t)(us / 1000);
	l->fields = kept_pairs(k, json_object_get(o, "fields"), &l->n_fields);
}

static void put_query(struct buf *b, const struct atoll_log_query *q)
{
	unsigned limit = q->limit == 0 || q->limit > LIMIT_MAX ? LIMIT_MAX : q->limit;

	buf_fmt(b, "/logs?limit=%u&direction=%s", limit, q->newest ? "backward" : "forward");
	/* Newest first, the cursor is the upper end, so turned() applies the lower bound. */
	if (!q->newest)
		buf_fmt(b, "&cursor=%lld", (long long)q->from_ms);
	if (q->level) {
		buf_z(b, "&level=");
		url_encode(b, str_of(q->level));
	}
	if (q->search) {
		buf_z(b, "&search=");
		url_encode(b, str_of(q->search));
	}
}

/* Reverses a list that is newest first, and drops entries before from_ms. */
static json_t *turned(const json_t *list, int64_t from_ms)
{
	json_t *out = json_array();

	for (size_t i = json_array_size(list); out && i-- > 0;) {
		json_t *o = json_array_get(list, i);
		uint64_t us;

		if (from_ms > 0 && clock_parse_rfc3339(str_of(json_text(o, "timestamp")), &us) == 0 &&
		    (int64_t)(us / 1000) < from_ms)
			continue;
		(void)json_array_append(out, o);
	}
	return out;
}

int atoll_logs(struct atoll *a, const char *id, const struct atoll_log_query *q, struct atoll_logs **ret,
    struct atoll_error *e)
{
	NEED(e, a && id && q && ret);
	struct atoll_log_query own;

	if (TAKE_IN(&own, q, e) < 0)
		return -e->no;
	q = &own;
	autobuf struct buf query = BUF_INIT(16 * 1024);
	autojson json_t *answer = NULL;
	struct kept *k;

	put_query(&query, q);
	autofree char *path = query.bad ? NULL : api_path("/v2/sandboxes/", id, buf_cstr(&query));
	autocall struct call c = CALL_INIT("GET", a->api_url, path);
	if (api_call(a, &c, e) < 0)
		return api_no_sandbox(e, id);
	if (call_json(&c, JSON_OBJECT, &answer, e) < 0)
		return -e->no;
	json_t *list = json_object_get(answer, "logs");
	json_t *root = q->newest ? turned(list, q->from_ms) : json_is_array(list) ? json_incref(list) : json_array();
	if (!root)
		return client_no_memory(e);
	if (kept_new(root, sizeof(struct atoll_log), fill_log, "fields", &k, e) < 0)
		return -e->no;
	*ret = &k->logs;
	return 0;
}

void atoll_logs_free(struct atoll_logs *l)
{
	kept_free((struct kept *)l);
}

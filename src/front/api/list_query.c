/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/list_query: filters, order and cursor of the list. */
#include "front/api/list_query.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "front/sandbox/sandbox.h"
#include "front/util/mem.h"
#include "http/json.h"
#include "http/url.h"
#include "ipc/check.h"

#define METADATA_MAX (64 * 1024)

/* The value of a parameter, or NULL if it is absent. Returns -EINVAL if it is malformed. */
static int get(struct str query, const char *name, char **ret, struct err *e)
{
	int r = query_get(query, name, ret);

	if (r < 0 && r != -ENOENT)
		return err_set(e, EINVAL, "query parameter '%s' is malformed", name);
	return 0;
}

static int decode(struct str in, char **ret)
{
	autobuf struct buf out = BUF_INIT(METADATA_MAX);

	if (url_decode(in, true, &out) < 0 || out.bad)
		return -EINVAL;
	*ret = must_dup_str(buf_view(&out));
	return 0;
}

/* Clients encode keys and values, then the pairs as a form, then the whole as a query value; the last encoding has
 * been removed already. */
static int parse_metadata(const char *once, struct list_query *q, struct err *e)
{
	autofree char *twice = NULL;

	if (decode(str_of(once), &twice) < 0)
		return err_set(e, EINVAL, "query parameter 'metadata' is malformed");

	struct str rest = str_of(twice);

	while (rest.n > 0) {
		struct str value = str_cut(&rest, '&');
		struct str name = str_cut(&value, '=');

		if (name.n == 0 && !value.p)
			continue;
		if (q->n_pairs == LIST_PAIRS_MAX)
			return err_set(e, EINVAL, "query parameter 'metadata' has more than %d pairs", LIST_PAIRS_MAX);
		if (decode(name, &q->pairs[q->n_pairs].name) < 0 || decode(value, &q->pairs[q->n_pairs].value) < 0) {
			q->n_pairs++; /* so that the pair is freed */
			return err_set(e, EINVAL, "query parameter 'metadata' is malformed");
		}
		q->n_pairs++;
	}
	return 0;
}

static int parse_states(const char *text, struct list_query *q, struct err *e)
{
	struct str rest = str_of(text);

	q->running = q->paused = false;
	while (rest.p) {
		struct str s = str_cut(&rest, ',');

		if (str_is(s, "running"))
			q->running = true;
		else if (str_is(s, "paused"))
			q->paused = true;
		else
			return err_set(e, EINVAL, "query parameter 'state' must be made of running and paused");
	}
	return 0;
}

/* "d:1700000000000000:i0abc..." in base64: includes the order. */
static int parse_cursor(const char *text, struct list_query *q, struct err *e)
{
	autobuf struct buf out = BUF_INIT(256);
	uint64_t us;

	if (base64_decode(str_of(text), &out) < 0 || out.bad)
		return err_set(e, EINVAL, "Invalid next token");

	struct str rest = buf_view(&out);
	struct str order = str_cut(&rest, ':');
	struct str at = str_cut(&rest, ':');

	if (!str_is(order, q->ascending ? "a" : "d") || str_to_u64(at, UINT64_MAX, &us) < 0 || !rest.p ||
	    !str_copy(q->cursor_id, sizeof q->cursor_id, rest) || !check_id(q->cursor_id))
		return err_set(e, EINVAL, "Invalid next token");
	q->cursor_us = us;
	q->has_cursor = true;
	return 0;
}

static int parse_all(struct str query, struct list_query *q, struct err *e)
{
	autofree char *metadata = NULL, *state = NULL, *order = NULL, *after = NULL, *limit = NULL, *token = NULL;
	uint64_t n = LIST_LIMIT_MAX;

	if (get(query, "metadata", &metadata, e) < 0 || get(query, "state", &state, e) < 0 ||
	    get(query, "order", &order, e) < 0 || get(query, "startedAfter", &after, e) < 0 ||
	    get(query, "limit", &limit, e) < 0 || get(query, "nextToken", &token, e) < 0 ||
	    get(query, "template", &q->template, e) < 0)
		return -e->no;
	if (metadata && parse_metadata(metadata, q, e) < 0)
		return -e->no;
	if (state && *state && parse_states(state, q, e) < 0)
		return -e->no;
	if (order && strcmp(order, "asc") != 0 && strcmp(order, "desc") != 0)
		return err_set(e, EINVAL, "query parameter 'order' must be asc or desc");
	q->ascending = order && strcmp(order, "asc") == 0;
	if (after && clock_parse_rfc3339(str_of(after), &q->started_after_us) < 0)
		return err_set(e, EINVAL, "query parameter 'startedAfter' must be a time as in RFC 3339");
	if (limit && (str_to_u64(str_of(limit), LIST_LIMIT_MAX, &n) < 0 || n == 0))
		return err_set(e, EINVAL, "query parameter 'limit' must be an integer from 1 to %d", LIST_LIMIT_MAX);
	q->limit = (uint32_t)n;
	return token && *token ? parse_cursor(token, q, e) : 0;
}

int list_query_parse(struct str query, struct list_query *ret, struct err *e)
{
	struct list_query q = { .running = true, .paused = true };

	if (parse_all(query, &q, e) < 0) {
		list_query_done(&q);
		return -e->no;
	}
	*ret = q;
	return 0;
}

int list_query_parse_v1(struct str query, struct list_query *ret, struct err *e)
{
	struct list_query q = { .running = true };
	autofree char *metadata = NULL;

	if (get(query, "metadata", &metadata, e) < 0 || (metadata && parse_metadata(metadata, &q, e) < 0)) {
		list_query_done(&q);
		return -e->no;
	}
	*ret = q;
	return 0;
}

void list_query_done(struct list_query *q)
{
	for (size_t i = 0; i < q->n_pairs; i++) {
		free(q->pairs[i].name);
		free(q->pairs[i].value);
	}
	free(q->template);
	*q = (struct list_query) { 0 };
}

static bool template_wanted(const struct list_query *q, const struct sandbox *sb)
{
	return !q->template || !*q->template || strcmp(q->template, sb->spec.tpl.id) == 0 ||
	    strcmp(q->template, sb->spec.tpl.name) == 0;
}

bool list_query_wants(const struct list_query *q, const struct sandbox *sb)
{
	if (sb->started_us < q->started_after_us || !template_wanted(q, sb))
		return false;
	for (size_t i = 0; i < q->n_pairs; i++) {
		const char *have = json_string_value(json_object_get(sb->spec.metadata, q->pairs[i].name));

		if (!have || strcmp(have, q->pairs[i].value) != 0)
			return false;
	}
	return true;
}

int list_query_compare(const struct list_query *q, uint64_t a_us, const char *a_id, uint64_t b_us, const char *b_id)
{
	int newest_first = a_us != b_us ? (a_us > b_us ? -1 : 1) : strcmp(a_id, b_id);

	return q->ascending ? -newest_first : newest_first;
}

bool list_query_is_behind_cursor(const struct list_query *q, uint64_t us, const char *id)
{
	return !q->has_cursor || list_query_compare(q, us, id, q->cursor_us, q->cursor_id) > 0;
}

char *list_query_cursor(const struct list_query *q, uint64_t us, const char *id)
{
	autobuf struct buf text = BUF_INIT(128);
	autobuf struct buf out = BUF_INIT(256);

	buf_fmt(&text, "%c:%" PRIu64 ":%s", q->ascending ? 'a' : 'd', us, id);
	base64_encode(&out, buf_view(&text), false);
	return must_dup_str(buf_view(&out));
}

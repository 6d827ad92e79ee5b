/* SPDX-License-Identifier: Apache-2.0 */
/* front/record/log_query: the queries of the two log routes. */
#include "front/record/log_query.h"

#include <string.h>

#include "base/fd.h"
#include "front/util/mem.h"
#include "http/url.h"

#define MS_MAX (INT64_MAX / 1000)

/* NULL if it is absent. */
static int get(struct str query, const char *name, char **ret, struct err *e)
{
	int r = query_get(query, name, ret);

	if (r < 0 && r != -ENOENT)
		return err_set(e, EINVAL, "query parameter '%s' is malformed", name);
	return 0;
}

static int get_number(struct str query, const char *name, uint64_t max, uint64_t *ret, struct err *e)
{
	autofree char *text = NULL;

	if (get(query, name, &text, e) < 0)
		return -e->no;
	if (text && str_to_u64(str_of(text), max, ret) < 0)
		return err_set(e, EINVAL, "query parameter '%s' must be an integer from 0 to %llu", name,
		    (unsigned long long)max);
	return 0;
}

int log_query_parse_v1(struct str query, struct log_query *ret, struct err *e)
{
	uint64_t limit = LOGS_LIMIT_MAX;

	*ret = (struct log_query) { .before_ms = UINT64_MAX };
	if (get_number(query, "start", MS_MAX, &ret->from_ms, e) < 0 ||
	    get_number(query, "limit", INT32_MAX, &limit, e) < 0)
		return -e->no;
	ret->limit = limit;
	return 0;
}

static int parse_words(struct str query, struct log_query *q, struct err *e)
{
	autofree char *direction = NULL, *level = NULL, *search = NULL;

	if (get(query, "direction", &direction, e) < 0 || get(query, "level", &level, e) < 0 ||
	    get(query, "search", &search, e) < 0)
		return -e->no;
	if (direction && strcmp(direction, "forward") != 0 && strcmp(direction, "backward") != 0)
		return err_set(e, EINVAL, "query parameter 'direction' must be forward or backward");
	q->newest_first = !direction || strcmp(direction, "backward") == 0;
	if (level && log_level_parse(level, &q->at_least) < 0)
		return err_set(e, EINVAL, "query parameter 'level' must be debug, info, warn or error");
	if (search && !str_copy(q->search, sizeof q->search, str_of(search)))
		return err_set(e, EINVAL, "query parameter 'search' must have at most %d bytes", LOGS_SEARCH_MAX);
	return 0;
}

int log_query_parse_v2(struct str query, struct log_query *ret, struct err *e)
{
	uint64_t limit = LOGS_LIMIT_MAX, cursor = UINT64_MAX;

	*ret = (struct log_query) { .before_ms = UINT64_MAX };
	if (parse_words(query, ret, e) < 0 || get_number(query, "limit", LOGS_LIMIT_MAX, &limit, e) < 0 ||
	    get_number(query, "cursor", MS_MAX, &cursor, e) < 0)
		return -e->no;
	ret->limit = limit;
	if (cursor != UINT64_MAX)
		*(ret->newest_first ? &ret->before_ms : &ret->from_ms) = cursor;
	return 0;
}

static bool wanted(const struct log_query *q, const struct journal_entry *en)
{
	return en->at_ms >= q->from_ms && en->at_ms < q->before_ms && en->level >= q->at_least &&
	    (!*q->search || memmem(en->message.p, en->message.n, q->search, strlen(q->search)));
}

/* Stores the positions of the matching entries, at most max; returns their number. */
static size_t select_entries(const struct log_query *q, const struct journal *j, size_t *at, size_t max)
{
	char room[JOURNAL_ENTRY_MAX];
	struct journal_entry en;
	size_t n = 0, pos = 0, here = 0;

	while (journal_next(j, &pos, room, &en)) {
		if (wanted(q, &en) && n < max)
			at[n++] = here;
		here = pos;
	}
	return n;
}

json_t *log_query_run(const struct log_query *q, const struct journal *j,
    json_t *(*to_json)(const struct journal_entry *en))
{
	const size_t max = j->n / 16 + 1; /* no entry is smaller than its head */
	autofree size_t *at = must_alloc(max * sizeof *at);
	size_t n = select_entries(q, j, at, max);
	json_t *list = json_array();

	for (size_t i = 0; i < n && i < q->limit; i++) {
		size_t pos = at[q->newest_first ? n - 1 - i : i];
		char room[JOURNAL_ENTRY_MAX];
		struct journal_entry en;

		if (journal_next(j, &pos, room, &en))
			(void)json_array_append_new(list, to_json(&en));
	}
	return list;
}

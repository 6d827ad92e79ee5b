/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/journal and front/log_query: what happened to a sandbox. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <stdio.h>

#include "front/record/journal.h"
#include "front/record/log_query.h"
#include "unit.h"

static void add(struct journal *j, uint64_t at_ms, enum log_level level, const char *message)
{
	struct journal_entry en = { .at_ms = at_ms,
		.level = level,
		.message = str_of(message),
		.n_fields = 1,
		.fields = { { STR_LIT("name"), STR_LIT("value") } } };

	journal_add(j, &en);
}

static size_t count(const struct journal *j, char *first, char *last)
{
	char room[JOURNAL_ENTRY_MAX];
	struct journal_entry en;
	size_t n = 0, pos = 0;

	while (journal_next(j, &pos, room, &en)) {
		if (n++ == 0)
			(void)snprintf(first, 64, "%.*s", STR_ARG(en.message));
		(void)snprintf(last, 64, "%.*s", STR_ARG(en.message));
		assert_int_equal(en.n_fields, 1);
		assert_true(str_is(en.fields[0].name, "name"));
		assert_true(str_is(en.fields[0].value, "value"));
	}
	return n;
}

static void the_newest_stay(void **state)
{
	struct journal j = { 0 };
	char first[64], last[64], text[64];

	(void)state;
	for (int i = 0; i < 5000; i++) {
		(void)snprintf(text, sizeof text, "entry %d %.*s", i, i % 40,
		    "........................................");
		add(&j, (uint64_t)i, LOG_LVL_INFO, text);
		assert_true(j.cap <= JOURNAL_MAX);
	}

	size_t n = count(&j, first, last);

	assert_true(n > 300 && n < 1500);
	(void)snprintf(text, sizeof text, "entry %d ", 5000 - (int)n);
	assert_int_equal(strncmp(first, text, strlen(text)), 0);
	assert_int_equal(strncmp(last, "entry 4999 ", 11), 0);
	journal_done(&j);
}

static void long_texts_are_cut_between_characters(void **state)
{
	struct journal j = { 0 };
	char room[JOURNAL_ENTRY_MAX], text[400];
	struct journal_entry en;
	size_t pos = 0;

	(void)state;
	for (size_t i = 0; i < sizeof text - 1; i += 3)
		memcpy(text + i, "\xe2\x82\xac", 3);
	text[399] = '\0';
	add(&j, 1, LOG_LVL_INFO, text);
	assert_true(journal_next(&j, &pos, room, &en));
	assert_int_equal(en.message.n, JOURNAL_TEXT_MAX / 3 * 3);
	journal_done(&j);
}

static json_t *message(const struct journal_entry *en)
{
	return json_stringn(en->message.p, en->message.n);
}

static void assert_finds(const struct journal *j, const char *query, bool v1, const char *want)
{
	struct log_query q;
	struct err e;

	assert_int_equal((v1 ? log_query_parse_v1 : log_query_parse_v2)(str_of(query), &q, &e), 0);

	json_t *list = log_query_run(&q, j, message);
	char *text = json_dumps(list, JSON_COMPACT);

	assert_string_equal(text, want);
	free(text);
	json_decref(list);
}

static void queries_select_and_order(void **state)
{
	struct journal j = { 0 };

	(void)state;
	add(&j, 10, LOG_LVL_INFO, "one");
	add(&j, 20, LOG_LVL_DEBUG, "two");
	add(&j, 30, LOG_LVL_WARN, "three");
	add(&j, 40, LOG_LVL_ERROR, "four");
	assert_finds(&j, "", true, "[\"one\",\"two\",\"three\",\"four\"]");
	assert_finds(&j, "start=20&limit=2", true, "[\"two\",\"three\"]");
	assert_finds(&j, "limit=0", true, "[]");
	assert_finds(&j, "", false, "[\"four\",\"three\",\"two\",\"one\"]");
	assert_finds(&j, "cursor=30", false, "[\"two\",\"one\"]");
	assert_finds(&j, "cursor=20&direction=forward", false, "[\"two\",\"three\",\"four\"]");
	assert_finds(&j, "level=warn&direction=forward", false, "[\"three\",\"four\"]");
	assert_finds(&j, "search=o", false, "[\"four\",\"two\",\"one\"]");
	assert_finds(&j, "search=o&limit=1", false, "[\"four\"]");
	journal_done(&j);
}

static void bad_queries_are_named(void **state)
{
	static const char *const bad[][2] = {
		{ "cursor=x", "cursor" },
		{ "cursor=-1", "cursor" },
		{ "limit=1001", "limit" },
		{ "limit=", "limit" },
		{ "direction=up", "direction" },
		{ "level=INFO", "level" },
		{ "search=%00", "search" },
		{ "search=%zz", "search" },
	};
	struct log_query q;
	struct err e;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(log_query_parse_v2(str_of(bad[i][0]), &q, &e), -EINVAL);
		assert_non_null(strstr(e.text, bad[i][1]));
	}
	assert_int_equal(log_query_parse_v1(str_of("start=1.5"), &q, &e), -EINVAL);
}

static void bytes_are_entries_again(void **state)
{
	struct journal j = { 0 }, back;
	struct buf b = BUF_INIT(JOURNAL_MAX);
	char first[64], last[64], text[64];

	(void)state;
	for (int i = 0; i < 2000; i++) { /* it has wrapped round by then */
		(void)snprintf(text, sizeof text, "entry %d", i);
		add(&j, (uint64_t)i, LOG_LVL_INFO, text);
	}
	size_t n = count(&j, first, last);

	journal_take(&j, &b);
	assert_int_equal(j.n, 0);
	assert_false(b.bad);
	assert_int_equal(journal_check(buf_view(&b)), b.n);
	back = (struct journal) { .p = b.p, .cap = b.n, .n = b.n };
	assert_int_equal(count(&back, first, last), n);
	assert_string_equal(last, "entry 1999");
	assert_int_equal(journal_check((struct str) { b.p, b.n - 1 }), b.n - b.n / n);
	buf_done(&b);
}

/* The file may be damaged, or of another version. */
static void damaged_bytes_end_it(void **state)
{
	struct journal j = { 0 };
	struct buf b = BUF_INIT(JOURNAL_MAX);

	(void)state;
	add(&j, 1, LOG_LVL_INFO, "one");
	add(&j, 2, LOG_LVL_INFO, "two");
	journal_take(&j, &b);
	size_t one = b.n / 2;

	assert_int_equal(journal_check(STR_NULL), 0);
	for (size_t i = one; i < b.n; i++) {
		for (int v = 0; v < 256; v++) {
			char was = b.p[i];

			b.p[i] = (char)v;
			size_t ok = journal_check(buf_view(&b));

			assert_true(ok == one || ok == b.n);
			struct journal k = { .p = b.p, .cap = ok, .n = ok };
			char room[JOURNAL_ENTRY_MAX];
			struct journal_entry en;
			size_t pos = 0, n = 0;

			while (journal_next(&k, &pos, room, &en))
				n += en.message.n > 0 || en.n_fields > 0;
			assert_true(n <= 2);
			b.p[i] = was;
		}
	}
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_stay),
		cmocka_unit_test(long_texts_are_cut_between_characters),
		cmocka_unit_test(queries_select_and_order),
		cmocka_unit_test(bad_queries_are_named),
		cmocka_unit_test(bytes_are_entries_again),
		cmocka_unit_test(damaged_bytes_end_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

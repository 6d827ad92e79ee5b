/* SPDX-License-Identifier: Apache-2.0 */
/* front/page: pages neither repeat nor leave out, and bad tokens are refused. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "front/util/page.h"
#include "unit.h"

static const char *const ids[] = { "a", "b.1", "c", "d", "e" };

static const char *id_of(const void *list, size_t i)
{
	return ((const char *const *)list)[i];
}

static void test_all_pages_make_the_list(void **state)
{
	char token[PAGE_HEADER_SIZE] = "", query[PAGE_HEADER_SIZE + 32], seen[64] = "";
	struct err e;
	struct page p;

	(void)state;
	for (size_t pages = 0;; pages++) {
		assert_in_range(pages, 0, 2);
		(void)snprintf(query, sizeof query, "limit=2%s%s", token[0] ? "&nextToken=" : "", token);
		assert_int_equal(page_read(str_of(query), 100, &p, &e), 0);
		size_t from = page_from(&p, ARRAY_LEN(ids), id_of, ids);
		size_t end = ARRAY_LEN(ids) - from > p.limit ? from + p.limit : ARRAY_LEN(ids);
		char header[PAGE_HEADER_SIZE];

		for (size_t i = from; i < end; i++)
			(void)strcat(seen, ids[i]);
		page_header(end, ARRAY_LEN(ids), ids[end - 1], header);
		if (!header[0])
			break;
		assert_int_equal(sscanf(header, "X-Next-Token: %127[^\r]", token), 1);
	}
	assert_string_equal(seen, "ab.1cde");
}

static void test_one_that_is_gone(void **state)
{
	struct err e;
	struct page p;

	(void)state;
	assert_int_equal(page_read(str_of("nextToken=2.gone"), 100, &p, &e), 0);
	assert_int_equal(page_from(&p, ARRAY_LEN(ids), id_of, ids), 1);
	assert_int_equal(page_read(str_of("nextToken=2000.gone"), 100, &p, &e), 0);
	assert_int_equal(page_from(&p, ARRAY_LEN(ids), id_of, ids), ARRAY_LEN(ids));
	assert_int_equal(page_from(&p, 0, id_of, ids), 0);
	assert_int_equal(page_read(str_of("nextToken=0.gone"), 100, &p, &e), 0);
	assert_int_equal(page_from(&p, ARRAY_LEN(ids), id_of, ids), 0);
}

static void test_bad(void **state)
{
	static const char *const bad[] = { "limit=0", "limit=101", "limit=", "limit=x", "limit=-1", "limit=%zz",
		"nextToken=", "nextToken=x", "nextToken=x.y", "nextToken=-1.y", "nextToken=99999999999999999999.y",
		"nextToken=1.%00", "nextToken=1.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" };
	struct err e;
	struct page p;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		e = ERR_INIT;
		if (page_read(str_of(bad[i]), 100, &p, &e) != -EINVAL)
			fail_msg("'%s' is taken", bad[i]);
	}
	assert_int_equal(page_read(str_of(""), 100, &p, &e), 0);
	assert_true(p.begins);
	assert_int_equal(p.limit, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_pages_make_the_list),
		cmocka_unit_test(test_one_that_is_gone),
		cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

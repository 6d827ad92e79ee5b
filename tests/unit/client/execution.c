/* SPDX-License-Identifier: Apache-2.0 */
/* client/execution: lines in any cut, all forms of a result, and what is refused. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/execution.h"
#include "unit.h"

static const char STREAM[] = "{\"type\":\"number_of_executions\",\"execution_count\":3}\n"
			     "{\"type\":\"stdout\",\"text\":\"a\\u0000b\\n\"}\n"
			     "{\"type\":\"stderr\",\"text\":\"oops\"}\n"
			     "{\"type\":\"keepalive\"}\n"
			     "{\"type\":\"result\",\"is_main_result\":false,\"png\":\"iVBO\",\"chart\":{\"type\":"
			     "\"line\",\"x_unit\":null}}\n"
			     "{\"type\":\"result\",\"is_main_result\":true,\"text\":\"T\",\"html\":\"<b>\",\"json\":{"
			     "\"a\":1},\"data\":\"s\",\"extra\":{\"a/b\":\"c\",\"d/e\":[1]}}\n"
			     "{\"type\":\"error\",\"name\":\"E\",\"value\":\"v\",\"traceback\":\"t\"}\n"
			     "{\"type\":\"end_of_execution\"}\n";

static void feed(struct execution *x, size_t step)
{
	for (size_t at = 0, n = sizeof(STREAM) - 1; at < n; at += step)
		assert_int_equal(execution_feed(x, STREAM + at, n - at < step ? n - at : step), 0);
}

static void all_of_it_in_any_cut(void **state)
{
	(void)state;
	for (size_t step = 1; step < sizeof(STREAM); step += 7) {
		struct execution *x = execution_new(NULL, 1000);

		feed(x, step);
		assert_true(execution_ended(x));
		struct atoll_execution *p = execution_public(x);
		assert_int_equal(p->count, 3);
		assert_int_equal(p->n_out, 4);
		assert_memory_equal(p->out, "a\0b\n", 5);
		assert_string_equal(p->err, "oops");
		assert_int_equal(p->n_results, 2);
		assert_string_equal(p->results[0]->png, "iVBO");
		assert_string_equal(p->results[0]->chart, "{\"type\":\"line\",\"x_unit\":null}");
		assert_string_equal(p->text, "T");
		assert_string_equal(p->results[1]->json, "{\"a\":1}");
		assert_string_equal(p->results[1]->data, "\"s\"");
		assert_int_equal(p->results[1]->n_extra, 2);
		assert_string_equal(p->results[1]->extra[1].value, "[1]");
		assert_string_equal(p->error->name, "E");
		atoll_execution_free(p);
	}
}

static void written_as_the_sdks_do(void **state)
{
	struct execution *x = execution_new(NULL, 1000);

	(void)state;
	feed(x, 1000);
	char *json = atoll_execution_json(execution_public(x));
	assert_non_null(strstr(json, "\"logs\":{\"stdout\":[\"a\\u0000b\\n\"],\"stderr\":[\"oops\"]}"));
	assert_non_null(strstr(json, "\"error\":{\"name\":\"E\",\"value\":\"v\",\"traceback\":\"t\"}"));
	assert_non_null(strstr(json, "\"x_unit\":null"));
	assert_null(strstr(json, "\"type\":\"result\""));
	free(json);
	execution_free(x);
	assert_null(atoll_execution_json(NULL));
}

static int stop(void *user, const struct atoll_result *r)
{
	(void)user, (void)r;
	return 1;
}

static void a_callback_ends_it(void **state)
{
	struct execution *x = execution_new(&(struct atoll_code_events) { .on_result = stop }, 1000);

	(void)state;
	assert_int_equal(execution_feed(x, STREAM, sizeof(STREAM) - 1), -ECANCELED);
	assert_int_equal(execution_results(x), 1);
	assert_false(execution_ended(x));
	execution_free(x);
}

static void other_lines_are_refused(void **state)
{
	static const char *const bad[] = { "no json\n", "[]\n", "{}\n", "{\"type\":1}\n", "{\"type\":\"stdout\"}\n",
		"{\"type\":\"stdout\",\"text\":1}\n", "{\"type\":\"x\"\n" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct execution *x = execution_new(NULL, 1000);

		assert_int_equal(execution_feed(x, bad[i], strlen(bad[i])), -EPROTO);
		execution_free(x);
	}
}

static void there_is_an_end_to_what_is_kept(void **state)
{
	static const char line[] = "{\"type\":\"stdout\",\"text\":\"0123456789\"}\n";
	struct execution *x = execution_new(NULL, 1000), *y = execution_new(NULL, 0);

	(void)state;
	for (int i = 0; i < 100; i++) {
		assert_int_equal(execution_feed(x, line, sizeof(line) - 1), 0);
		assert_int_equal(execution_feed(y, line, sizeof(line) - 1), 0);
	}
	assert_int_equal(execution_feed(x, line, sizeof(line) - 1), -EFBIG);
	assert_int_equal(execution_feed(y, line, sizeof(line) - 1), 0);
	assert_int_equal(execution_public(y)->n_out, 0);
	execution_free(x);
	execution_free(y);
}

static void streams_are_cut_and_say_so(void **state)
{
	static const char line[] = "{\"type\":\"stdout\",\"text\":\"012345678\xc3\xa9\"}\n",
			  other[] = "{\"type\":\"stderr\",\"text\":\"e\"}\n";
	struct execution *x = execution_new(NULL, 1000);

	(void)state;
	execution_limit(x, 2 * (11 + 32) + 10); /* two, and less than a whole character of the third */
	for (int i = 0; i < 1000; i++)
		assert_int_equal(execution_feed(x, line, sizeof(line) - 1), 0);
	assert_int_equal(execution_feed(x, other, sizeof(other) - 1), 0);
	const struct atoll_execution *pub = execution_public(x);

	assert_string_equal(pub->out,
	    "012345678\xc3\xa9"
	    "012345678\xc3\xa9"
	    "012345678\n[the output is too long and was truncated here]\n");
	assert_string_equal(pub->err, "e");
	execution_free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_are_cut_and_say_so),
		cmocka_unit_test(all_of_it_in_any_cut),
		cmocka_unit_test(written_as_the_sdks_do),
		cmocka_unit_test(a_callback_ends_it),
		cmocka_unit_test(other_lines_are_refused),
		cmocka_unit_test(there_is_an_end_to_what_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

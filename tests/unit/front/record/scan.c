/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/record/scan: events of code and processes are recognised by their members, not by how they begin. */
#include <stdint.h>

#include <stdio.h>
#include <string.h>

#include "front/record/scan.h"
#include "unit.h"

static struct cell_scan cell_of(const char *text)
{
	struct cell_scan s = { .n = 0 };

	cell_scan(&s, str_of(text));
	return s;
}

static struct process_scan process_of(const char *message)
{
	struct process_scan s = { .n = 0 };
	const unsigned char envelope[5] = { 0, 0, 0, (unsigned char)(strlen(message) >> 8),
		(unsigned char)strlen(message) };

	process_scan(&s, (struct str) { (const char *)envelope, sizeof envelope });
	process_scan(&s, str_of(message));
	return s;
}

static void events_of_code_are_counted(void **state)
{
	struct cell_scan s = cell_of("{\"type\":\"stdout\",\"text\":\"a\"}\n{\"type\":\"stderr\",\"text\":\"b\"}\n"
				     "{\"type\":\"result\",\"text\":\"3\"}\n{\"type\":\"end_of_execution\"}\n");

	(void)state;
	assert_int_equal(s.outputs, 2);
	assert_int_equal(s.results, 1);
	assert_true(s.ended);
	assert_string_equal(s.error, "");
}

static void order_and_spaces_do_not_matter(void **state)
{
	struct cell_scan s = cell_of(
	    "{ \"text\" : \"a \\\" \\\\\", \"type\" : \"result\" }\n"
	    "{\"list\":[1,{\"type\":\"stdout\"}],\"name\":\"ValueError\",\"type\":\"error\"}\n");
	struct process_scan p = process_of("{ \"event\": { \"end\": { \"status\": \"exit\", \"exitCode\": 7 } } }");

	(void)state;
	assert_int_equal(s.results, 1);
	assert_int_equal(s.outputs, 0);
	assert_string_equal(s.error, "ValueError");
	assert_true(p.ended);
	assert_int_equal(p.exit_code, 7);
}

static void text_that_looks_like_an_event_is_not_one(void **state)
{
	struct cell_scan s = cell_of(
	    "{\"type\":\"stdout\",\"text\":\"{\\\"type\\\":\\\"end_of_execution\\\"}\"}\n"
	    "{\"text\":\"\\\"type\\\":\\\"result\\\"\"}\nnonsense\n{\n{\"type\n{\"type\":1}\n");
	struct process_scan p = process_of("{\"event\":{\"data\":{\"stdout\":\"ZW5k\",\"end\":{\"exitCode\":1}}}}");

	(void)state;
	assert_int_equal(s.outputs, 1);
	assert_int_equal(s.results, 0);
	assert_false(s.ended);
	assert_false(p.started || p.ended);
}

static void a_long_message_is_read_by_its_first_bytes(void **state)
{
	char text[4 * SCAN_HEAD_MAX], line[sizeof text + 64];

	(void)state;
	memset(text, 'x', sizeof text);
	text[sizeof text - 1] = '\0';
	(void)snprintf(line, sizeof line, "{\"type\":\"result\",\"text\":\"%s\"}\n", text);
	assert_int_equal(cell_of(line).results, 1);
	(void)snprintf(line, sizeof line, "{\"type\":\"error\",\"name\":\"%s\"}\n", text);
	assert_int_equal(strlen(cell_of(line).error), SCAN_NAME_SIZE - 1);
}

static void processes_start_and_end(void **state)
{
	struct process_scan start = process_of("{\"event\":{\"start\":{\"pid\":12}}}");
	struct process_scan end = process_of("{\"event\":{\"end\":{\"exitCode\":-1,\"exited\":false}}}");
	struct process_scan zero = process_of("{\"event\":{\"end\":{\"exited\":true}}}");

	(void)state;
	assert_true(start.started && !start.ended);
	assert_true(end.ended);
	assert_int_equal(end.exit_code, -1);
	assert_true(zero.ended);
	assert_int_equal(zero.exit_code, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_of_code_are_counted),
		cmocka_unit_test(order_and_spaces_do_not_matter),
		cmocka_unit_test(text_that_looks_like_an_event_is_not_one),
		cmocka_unit_test(a_long_message_is_read_by_its_first_bytes),
		cmocka_unit_test(processes_start_and_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* client/event: what the stream of a process says. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "client/event.h"
#include "unit.h"

static int parse(uint8_t flags, const char *json, struct event *ev, struct buf *data)
{
	struct envelope env = { .flags = flags, .body = str_of(json) };

	return event_parse(&env, ev, data);
}

static void start_has_the_pid(void **state)
{
	autobuf struct buf data = BUF_INIT(100);
	struct event ev;

	(void)state;
	assert_int_equal(parse(0, "{\"event\":{\"start\":{\"pid\":42}}}", &ev, &data), 0);
	assert_int_equal(ev.kind, EVENT_START);
	assert_int_equal(ev.pid, 42);
	assert_int_equal(parse(0, "{\"event\":{\"start\":{\"pid\":\"43\"}}}", &ev, &data), 0);
	assert_int_equal(ev.pid, 43);
	assert_int_equal(parse(0, "{\"event\":{\"start\":{\"pid\":true}}}", &ev, &data), -EBADMSG);
}

static void output_is_decoded(void **state)
{
	autobuf struct buf data = BUF_INIT(100);
	struct event ev;

	(void)state;
	assert_int_equal(parse(0, "{\"event\":{\"data\":{\"stdout\":\"aGkK\"}}}", &ev, &data), 0);
	assert_int_equal(ev.kind, EVENT_DATA);
	assert_int_equal(ev.stream, ATOLL_STDOUT);
	assert_int_equal(data.n, 3);
	assert_memory_equal(data.p, "hi\n", 3);
	assert_int_equal(parse(0, "{\"event\":{\"data\":{\"stderr\":\"AAE=\"}}}", &ev, &data), 0);
	assert_int_equal(ev.stream, ATOLL_STDERR);
	assert_int_equal(data.n, 2);
	assert_int_equal(parse(0, "{\"event\":{\"data\":{\"stdout\":\"!!\"}}}", &ev, &data), -EBADMSG);
	assert_int_equal(parse(0, "{\"event\":{\"data\":{\"stdout\":7}}}", &ev, &data), -EBADMSG);
}

static void end_may_leave_out_a_zero(void **state)
{
	autobuf struct buf data = BUF_INIT(100);
	struct event ev;

	(void)state;
	assert_int_equal(parse(0, "{\"event\":{\"end\":{\"exited\":true,\"status\":\"exit status 0\"}}}", &ev, &data),
	    0);
	assert_int_equal(ev.kind, EVENT_END);
	assert_int_equal(ev.exit.code, 0);
	assert_true(ev.exit.exited);
	assert_int_equal(parse(0, "{\"event\":{\"end\":{\"exitCode\":-1,\"status\":\"signal: killed\"}}}", &ev, &data),
	    0);
	assert_int_equal(ev.exit.code, -1);
	assert_false(ev.exit.exited);
	assert_string_equal(ev.exit.status, "signal: killed");
}

static void end_of_stream_tells_an_error(void **state)
{
	autobuf struct buf data = BUF_INIT(100);
	struct event ev;

	(void)state;
	assert_int_equal(parse(ENVELOPE_END, "{}", &ev, &data), 0);
	assert_int_equal(ev.kind, EVENT_CLOSE);
	assert_int_equal(parse(ENVELOPE_END, "{\"error\":{\"code\":\"not_found\",\"message\":\"no\"}}", &ev, &data), 0);
	assert_int_equal(ev.kind, EVENT_ERROR);
	assert_string_equal(ev.message, "no");
	assert_int_equal(event_errno(&ev), ENOENT);
	assert_int_equal(parse(ENVELOPE_END, "{\"error\":{}}", &ev, &data), 0);
	assert_int_equal(ev.kind, EVENT_ERROR);
	assert_int_equal(event_errno(&ev), EIO);
}

static void output_of_a_terminal_is_standard_output(void **state)
{
	autobuf struct buf data = BUF_INIT(100);
	struct event ev;

	(void)state;
	assert_int_equal(parse(0, "{\"event\":{\"data\":{\"pty\":\"aGk=\"}}}", &ev, &data), 0);
	assert_int_equal(ev.kind, EVENT_DATA);
	assert_int_equal(ev.stream, ATOLL_STDOUT);
	assert_string_equal(buf_cstr(&data), "hi");
}

static void unknown_events_are_passed_over(void **state)
{
	autobuf struct buf data = BUF_INIT(100);
	struct event ev;

	(void)state;
	assert_int_equal(parse(0, "{\"event\":{\"keepalive\":{}}}", &ev, &data), 0);
	assert_int_equal(ev.kind, EVENT_OTHER);
	assert_int_equal(parse(0, "{}", &ev, &data), 0);
	assert_int_equal(ev.kind, EVENT_OTHER);
}

static void nonsense_is_refused(void **state)
{
	autobuf struct buf data = BUF_INIT(100);
	struct event ev;

	(void)state;
	assert_int_equal(parse(0, "", &ev, &data), -EBADMSG);
	assert_int_equal(parse(0, "[1]", &ev, &data), -EBADMSG);
	assert_int_equal(parse(0, "{\"event\"", &ev, &data), -EBADMSG);
	assert_int_equal(parse(ENVELOPE_COMPRESSED, "{}", &ev, &data), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(start_has_the_pid),
		cmocka_unit_test(output_is_decoded),
		cmocka_unit_test(end_may_leave_out_a_zero),
		cmocka_unit_test(end_of_stream_tells_an_error),
		cmocka_unit_test(output_of_a_terminal_is_standard_output),
		cmocka_unit_test(unknown_events_are_passed_over),
		cmocka_unit_test(nonsense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

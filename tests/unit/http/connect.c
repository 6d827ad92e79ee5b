/* SPDX-License-Identifier: Apache-2.0 */
/* Units of http/connect: envelopes and codes. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http/connect.h"
#include "unit.h"

static void envelope_needs_all_its_bytes(void **state)
{
	struct envelope ev;
	struct str in = STR_LIT("\0\0\0\0\5hell"); /* says 5, has 4 */

	(void)state;
	assert_int_equal(envelope_parse(&in, &ev), 0);
	assert_int_equal(in.n, 9); /* nothing consumed */
	in.n = 4;
	assert_int_equal(envelope_parse(&in, &ev), 0);
	in.n = 0;
	assert_int_equal(envelope_parse(&in, &ev), 0);
}

static void envelopes_follow_each_other(void **state)
{
	autobuf struct buf b = BUF_INIT(1000);
	struct envelope ev;

	(void)state;
	envelope_put(&b, 0, STR_LIT("one"));
	envelope_put(&b, ENVELOPE_END, STR_LIT(""));
	struct str in = buf_view(&b);
	assert_int_equal(envelope_parse(&in, &ev), 1);
	assert_int_equal(ev.flags, 0);
	assert_true(str_is(ev.body, "one"));
	assert_int_equal(envelope_parse(&in, &ev), 1);
	assert_int_equal(ev.flags, ENVELOPE_END);
	assert_int_equal(ev.body.n, 0);
	assert_int_equal(in.n, 0);
}

static void oversize_and_unknown_flags_are_refused(void **state)
{
	struct envelope ev;
	struct str big = STR_LIT("\0\1\0\0\1"); /* 16 MiB and one */
	struct str huge = STR_LIT("\0\xff\xff\xff\xff");
	struct str odd = STR_LIT("\x80\0\0\0\0");
	struct str most = STR_LIT("\0\1\0\0\0");

	(void)state;
	assert_int_equal(envelope_parse(&big, &ev), -EBADMSG);
	assert_int_equal(envelope_parse(&huge, &ev), -EBADMSG);
	assert_int_equal(envelope_parse(&odd, &ev), -EBADMSG);
	assert_int_equal(envelope_parse(&most, &ev), 0);
}

static void codes_have_names_and_statuses(void **state)
{
	(void)state;
	assert_string_equal(connect_code_name(CONNECT_NOT_FOUND), "not_found");
	assert_int_equal(connect_code_status(CONNECT_NOT_FOUND), 404);
	assert_string_equal(connect_code_name(CONNECT_UNAUTHENTICATED), "unauthenticated");
	assert_int_equal(connect_code_status(CONNECT_UNAUTHENTICATED), 401);
	assert_int_equal(connect_code_status((enum connect_code)99), 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(envelope_needs_all_its_bytes),
		cmocka_unit_test(envelopes_follow_each_other),
		cmocka_unit_test(oversize_and_unknown_flags_are_refused),
		cmocka_unit_test(codes_have_names_and_statuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

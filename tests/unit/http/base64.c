/* SPDX-License-Identifier: Apache-2.0 */
/* Units of http/base64. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http/json.h"
#include "unit.h"

static void vectors_go_both_ways(void **state)
{
	static const struct {
		const char *plain, *padded, *bare;
	} v[] = {
		{ "", "", "" },
		{ "f", "Zg==", "Zg" },
		{ "fo", "Zm8=", "Zm8" },
		{ "foo", "Zm9v", "Zm9v" },
		{ "foob", "Zm9vYg==", "Zm9vYg" },
		{ "user:", "dXNlcjo=", "dXNlcjo" },
		{ "\xff\xfe\xfd", "//79", "//79" },
	};
	autobuf struct buf b = BUF_INIT(100);

	(void)state;
	for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
		buf_clear(&b);
		base64_encode(&b, str_of(v[i].plain), true);
		assert_true(str_is(buf_view(&b), v[i].padded));
		buf_clear(&b);
		base64_encode(&b, str_of(v[i].plain), false);
		assert_true(str_is(buf_view(&b), v[i].bare));
		buf_clear(&b);
		assert_int_equal(base64_decode(str_of(v[i].padded), &b), 0);
		assert_true(str_is(buf_view(&b), v[i].plain));
		buf_clear(&b);
		assert_int_equal(base64_decode(str_of(v[i].bare), &b), 0);
		assert_true(str_is(buf_view(&b), v[i].plain));
	}
}

static void nonsense_is_refused_and_leaves_nothing(void **state)
{
	static const char *const bad[] = { "A", "Zg=", "Zg===", "Zm9v=", "Zm9v====", "Z g=", "Zm-v", "Zm_v", "=",
		"Zh==", "Zm9", "=Zg=" };
	autobuf struct buf b = BUF_INIT(100);

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(base64_decode(str_of(bad[i]), &b), -EINVAL);
		assert_int_equal(b.n, 0);
	}
}

static void a_full_buffer_says_so(void **state)
{
	autobuf struct buf b = BUF_INIT(2);

	(void)state;
	assert_int_equal(base64_decode(STR_LIT("Zm9v"), &b), -ENOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_go_both_ways),
		cmocka_unit_test(nonsense_is_refused_and_leaves_nothing),
		cmocka_unit_test(a_full_buffer_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

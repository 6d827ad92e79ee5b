/* SPDX-License-Identifier: Apache-2.0 */
/* Units of base/preamble: what is written is accepted, and every other byte is not. */
#include <errno.h>
#include <string.h>

#include "base/preamble.h"
#include "unit.h"

static const uint8_t token[PREAMBLE_TOKEN] = { 0xde, 0xad, 0xbe, 0xef, [31] = 1 };

static void is_laid_out_as_documented(void **state)
{
	uint8_t b[PREAMBLE_SIZE], want[PREAMBLE_SIZE] = { 0 };

	(void)state;
	preamble_write(&(struct preamble) { PREAMBLE_RELAY, 8080 }, token, b);
	memcpy(want, token, sizeof token);
	want[32] = 1;
	want[33] = 1;
	want[34] = 0x1f;
	want[35] = 0x90;
	assert_memory_equal(b, want, sizeof b);
}

static void is_read_as_written(void **state)
{
	static const struct preamble all[] = { { PREAMBLE_API, 0 }, { PREAMBLE_RELAY, 1 }, { PREAMBLE_RELAY, 65535 },
		{ PREAMBLE_RENEW, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		uint8_t b[PREAMBLE_SIZE];
		struct preamble got;

		preamble_write(&all[i], token, b);
		assert_int_equal(preamble_check(b, token, &got), 0);
		assert_int_equal(got.kind, all[i].kind);
		assert_int_equal(got.port, all[i].port);
	}
}

static void any_other_byte_is_refused(void **state)
{
	(void)state;
	for (size_t at = 0; at < PREAMBLE_SIZE; at++) {
		for (unsigned v = 1; v < 256; v++) {
			uint8_t b[PREAMBLE_SIZE];
			struct preamble got = { 77, 77 };

			preamble_write(&(struct preamble) { PREAMBLE_API, 0 }, token, b);
			b[at] ^= (uint8_t)v;
			if (b[33] == PREAMBLE_RENEW)
				continue;
			assert_int_equal(preamble_check(b, token, &got), at < PREAMBLE_TOKEN ? -EACCES : -EINVAL);
			assert_int_equal(got.kind, 77);
		}
	}
}

static void a_relay_needs_a_port(void **state)
{
	uint8_t b[PREAMBLE_SIZE];
	struct preamble got;

	(void)state;
	preamble_write(&(struct preamble) { PREAMBLE_RELAY, 0 }, token, b);
	assert_int_equal(preamble_check(b, token, &got), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_laid_out_as_documented),
		cmocka_unit_test(is_read_as_written),
		cmocka_unit_test(any_other_byte_is_refused),
		cmocka_unit_test(a_relay_needs_a_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

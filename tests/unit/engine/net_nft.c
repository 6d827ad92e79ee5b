/* SPDX-License-Identifier: Apache-2.0 */
/* Units of engine/net_nft: the text of the firewall. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/buf.h"
#include "engine/net_nft.h"

static void every_slot_is_pinned_once(void **state)
{
	autobuf struct buf b = BUF_INIT(1 << 20);
	const char *text;

	(void)state;
	nft_ruleset(&b, &(struct nft_config) { .instance = 2, .slots = 2000 });
	text = buf_cstr(&b);
	assert_non_null(text);
	assert_non_null(strstr(text, "\"at2s0\" . 02:a7:02:01:00:00 . 10.202.1.0,"));
	assert_non_null(strstr(text, "\"at2s1999\" . 02:a7:02:01:07:cf . 10.202.8.207\n"));
	assert_null(strstr(strstr(text, "\"at2s1999\"") + 1, "\"at2s1999\""));
	assert_null(strstr(text, "at2s2000"));
}

static void the_table_is_replaced_as_a_whole(void **state)
{
	autobuf struct buf b = BUF_INIT(1 << 20);

	(void)state;
	nft_ruleset(&b, &(struct nft_config) { .instance = 2, .slots = 1 });
	assert_int_equal(strncmp(buf_cstr(&b), "table inet atoll2\ndelete table inet atoll2\ntable inet atoll2 {\n", 60), 0);
	assert_non_null(strstr(buf_cstr(&b), "ip daddr 10.202.0.1 "));
}

static void silent_slots_stay_silent(void **state)
{
	autobuf struct buf b = BUF_INIT(1 << 20), none = BUF_INIT(1 << 20);
	uint32_t silent[] = { 5, 17 };

	(void)state;
	nft_ruleset(&b, &(struct nft_config) { .slots = 20, .silent = silent, .n_silent = 2 });
	assert_non_null(strstr(buf_cstr(&b), "elements = { \"at0s5\", \"at0s17\" }"));
	nft_ruleset(&none, &(struct nft_config) { .slots = 20 });
	assert_null(strstr(buf_cstr(&none), "{ \"at0s"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_slot_is_pinned_once),
		cmocka_unit_test(the_table_is_replaced_as_a_whole),
		cmocka_unit_test(silent_slots_stay_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

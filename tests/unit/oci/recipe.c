/* SPDX-License-Identifier: Apache-2.0 */
/* oci/recipe: what becomes an argument of mmdebstrap. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "oci/recipe.h"
#include "unit.h"

static void only_names_pass(void **state)
{
	static const char *const good[] = { "trixie", "bookworm,git", "sid,g++,libstdc++6,python3.11,a-b" };
	static const char *const bad[] = { "", ",", "trixie,", "--mode=root", "trixie,--hook", "a b", "trixie/x",
		"../x", "trixie,a b", "Trixie", "trixie,A", "tri+xie", "x,$(y)", "x,?y" };
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		assert_int_equal(recipe_check(good[i], &e), 0);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		if (recipe_check(bad[i], &e) != -EINVAL)
			fail_msg("'%s' was taken", bad[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_names_pass),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

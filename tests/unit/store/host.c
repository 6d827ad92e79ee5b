/* SPDX-License-Identifier: Apache-2.0 */
/* Units of store/host: one boot id, none at first, that stays. */
#include "store/host.h"

#include <stdint.h>

#include <errno.h>

#include "fixture.h"
#include "unit.h"

static const char *recorded(void)
{
	static char id[BOOT_ID_SIZE];

	assert_int_equal(host_boot_id(s, id, &e), 0);
	return id;
}

static void one_id_is_there_or_none(void **state)
{
	(void)state;
	assert_string_equal(recorded(), "");
	assert_int_equal(host_set_boot_id(s, "0f0e0d0c-0b0a-4909-8807-060504030201", &e), 0);
	assert_string_equal(recorded(), "0f0e0d0c-0b0a-4909-8807-060504030201");
	assert_int_equal(host_set_boot_id(s, "1f0e0d0c-0b0a-4909-8807-060504030201", &e), 0);
	store_close(s);
	assert_int_equal(store_open(path, &s, &e), 0);
	assert_string_equal(recorded(), "1f0e0d0c-0b0a-4909-8807-060504030201");
}

static void what_is_too_long_is_an_error(void **state)
{
	char id[BOOT_ID_SIZE], text[128] = { 0 };

	(void)state;
	memset(text, 'x', sizeof text - 1);
	assert_int_equal(host_set_boot_id(s, text, &e), 0);
	assert_int_equal(host_boot_id(s, id, &e), -EIO);
	assert_int_equal(host_set_boot_id(s, "short", &e), 0);
	assert_string_equal(recorded(), "short");
}

static void the_kernel_has_one_that_fits(void **state)
{
	char id[BOOT_ID_SIZE], again[BOOT_ID_SIZE];

	(void)state;
	assert_int_equal(boot_id_read(id, &e), 0);
	assert_int_equal(boot_id_read(again, &e), 0);
	assert_int_equal(strlen(id), 36);
	assert_string_equal(id, again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_id_is_there_or_none, open_new, remove_it),
		cmocka_unit_test_setup_teardown(what_is_too_long_is_an_error, open_new, remove_it),
		cmocka_unit_test(the_kernel_has_one_that_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Units of store/keys: teams and key hashes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "store/db.h"
#include "store/keys.h"

static struct store *s;
static struct err e;
static int n;
static struct key_row last;

static int count(void *user, const struct key_row *k)
{
	(void)user;
	last = *k;
	n++;
	return 0;
}

static void the_default_team_is_made_once(void **state)
{
	char a[TEAM_ID_SIZE], b[TEAM_ID_SIZE];

	(void)state;
	assert_int_equal(teams_default(s, "first", a, &e), 0);
	assert_int_equal(teams_default(s, "second", b, &e), 0);
	assert_string_equal(a, "first");
	assert_string_equal(b, "first");
}

static void a_key_replaces_its_namesake(void **state)
{
	const uint8_t one[KEY_HASH_SIZE] = { 1 }, two[KEY_HASH_SIZE] = { 2 };

	(void)state;
	assert_int_equal(keys_put(s, "first", "local", one, &e), 0);
	assert_int_equal(keys_put(s, "first", "local", two, &e), 0);
	assert_int_equal(keys_put(s, "first", "other", one, &e), 0);
	assert_int_equal(keys_put(s, "first", "local", two, &e), 0);
	n = 0;
	assert_int_equal(keys_each(s, count, NULL, &e), 0);
	assert_int_equal(n, 2);
	assert_true(keys_put(s, "no such team", "local", one, &e) < 0);
}

static int set_up(void **state)
{
	(void)state;
	return store_open(":memory:", &s, &e);
}

static int tear_down(void **state)
{
	(void)state;
	store_close(s);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_default_team_is_made_once),
		cmocka_unit_test(a_key_replaces_its_namesake),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

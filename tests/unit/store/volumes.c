/* SPDX-License-Identifier: Apache-2.0 */
/* Units of store/volumes: a row is there before the volume and after it. */
#include "store/volumes.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "fixture.h"
#include "unit.h"

static char seen[256];

static int look(void *user, const struct volume_row *r)
{
	size_t n = strlen(seen);

	(void)user;
	(void)snprintf(seen + n, sizeof seen - n, "%s=%s/%s,%s,%llu,%u;", r->id, r->team, r->name, r->token,
	    (unsigned long long)r->bytes, (unsigned)r->state);
	return 0;
}

static const char *all(void)
{
	seen[0] = '\0';
	assert_int_equal(volumes_each(s, look, NULL, &e), 0);
	return seen;
}

static void rows_come_change_and_go(void **state)
{
	struct volume_row a = { "v1", "t", "data", "tok1", 5, VOLUME_MAKING, 1 },
			  b = { "v2", "t", "other", "tok2", 6, VOLUME_READY, 2 };

	(void)state;
	assert_int_equal(volumes_add(s, &b, &e), 0);
	assert_int_equal(volumes_add(s, &a, &e), 0);
	assert_string_equal(all(), "v1=t/data,tok1,5,0;v2=t/other,tok2,6,1;");
	assert_int_equal(volumes_set(s, "v1", VOLUME_READY, 50, &e), 0);
	store_close(s);
	assert_int_equal(store_open(path, &s, &e), 0);
	assert_string_equal(all(), "v1=t/data,tok1,50,1;v2=t/other,tok2,6,1;");
	assert_int_equal(volumes_drop(s, "v2", &e), 0);
	assert_int_equal(volumes_drop(s, "v2", &e), -ENOENT);
	assert_int_equal(volumes_set(s, "v2", VOLUME_READY, 1, &e), -ENOENT);
	assert_string_equal(all(), "v1=t/data,tok1,50,1;");
}

static void a_name_is_taken_until_it_is_being_dropped(void **state)
{
	struct volume_row a = { "v1", "t", "data", "x", 5, VOLUME_READY, 1 },
			  b = { "v2", "t", "data", "y", 5, VOLUME_MAKING, 2 };

	(void)state;
	assert_int_equal(volumes_add(s, &a, &e), 0);
	assert_int_equal(volumes_add(s, &b, &e), -EEXIST);
	b.team = "u";
	assert_int_equal(volumes_add(s, &b, &e), 0);
	assert_int_equal(volumes_drop(s, "v2", &e), 0);
	b.team = "t";
	assert_int_equal(volumes_set(s, "v1", VOLUME_DROPPING, 5, &e), 0);
	assert_int_equal(volumes_add(s, &b, &e), 0);
	assert_string_equal(all(), "v1=t/data,x,5,2;v2=t/data,y,5,0;");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rows_come_change_and_go, open_new, remove_it),
		cmocka_unit_test_setup_teardown(a_name_is_taken_until_it_is_being_dropped, open_new, remove_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

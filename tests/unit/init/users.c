/* SPDX-License-Identifier: Apache-2.0 */
/* Units of init/users: passwd and group files that may say anything. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "init/users.h"
#include "unit.h"

static char passwd[] = "root:x:0:0:root:/root:/bin/bash\n"
		       "# a comment: with:colons:0:0:x:/:/bin/sh\n"
		       "broken:x:1000\n"
		       "neg:x:-1:0::/home/neg:/bin/sh\n"
		       "huge:x:4294967295:0::/home/huge:/bin/sh\n"
		       "\n"
		       "user:x:1000:1000:,,,:/home/user:/bin/bash\n"
		       "bare:x:1001:1001:::\n"
		       "last:x:1002:1002::/home/last:/bin/zsh"; /* no newline */
static char group[] = "root:x:0:\n"
		      "user:x:1000:\n"
		      "docker:x:999:user,other\n"
		      "users:x:100:otheruser\n"
		      "short:x:5\n"
		      "sudo:x:27:other,user\n";
static const struct userdb db = { passwd, group, sizeof(passwd) - 1, sizeof(group) - 1 };

static void users_are_found_by_name(void **state)
{
	struct user u;

	(void)state;
	assert_int_equal(userdb_find(&db, STR_LIT("user"), &u), 0);
	assert_int_equal(u.uid, 1000);
	assert_string_equal(u.home, "/home/user");
	assert_string_equal(u.shell, "/bin/bash");
	assert_int_equal(userdb_find(&db, STR_LIT("last"), &u), 0);
	assert_string_equal(u.shell, "/bin/zsh");
	assert_int_equal(userdb_find(&db, STR_LIT("bare"), &u), 0);
	assert_string_equal(u.home, "/");
	assert_string_equal(u.shell, "/bin/sh");
}

static void users_that_make_no_sense_do_not_exist(void **state)
{
	static const char *const names[] = { "", "broken", "neg", "huge", "# a comment", "use", "userx", "1000" };
	struct userdb empty = { 0 };
	struct user u;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_int_equal(userdb_find(&db, str_of(names[i]), &u), -ENOENT);
	assert_int_equal(userdb_find(&empty, STR_LIT("root"), &u), -ENOENT);
}

static void users_have_their_groups(void **state)
{
	struct user u;
	gid_t g[8];

	(void)state;
	assert_int_equal(userdb_find(&db, STR_LIT("user"), &u), 0);
	assert_int_equal(userdb_groups(&db, &u, g, 8), 3);
	assert_int_equal(g[0], 1000);
	assert_int_equal(g[1], 999);
	assert_int_equal(g[2], 27);
	assert_int_equal(userdb_groups(&db, &u, g, 2), 2);
}

static void ids_have_names(void **state)
{
	struct str name;

	(void)state;
	assert_true(userdb_uid_name(&db, 1000, &name) && str_is(name, "broken")); /* the first line counts */
	assert_true(userdb_uid_name(&db, 0, &name) && str_is(name, "root"));
	assert_true(userdb_gid_name(&db, 27, &name) && str_is(name, "sudo"));
	assert_false(userdb_gid_name(&db, 4242, &name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(users_are_found_by_name),
		cmocka_unit_test(users_that_make_no_sense_do_not_exist),
		cmocka_unit_test(users_have_their_groups),
		cmocka_unit_test(ids_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

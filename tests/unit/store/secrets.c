/* SPDX-License-Identifier: Apache-2.0 */
/* Units of store/secrets: by name and id, in pages, per team. */
#include <stdint.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "store/db.h"
#include "store/secrets.h"
#include "store/teams.h"
#include "unit.h"

static struct store *s;
static struct err e;
static char seen[256];
static uint64_t version;

static int look(void *user, const struct secret_row *r)
{
	size_t n = strlen(seen);

	(void)user;
	version = r->version;
	(void)snprintf(seen + n, sizeof seen - n, "%s=%.*s ", r->name, (int)r->n_sealed, (const char *)r->sealed);
	return 0;
}

static int add(const char *team, const char *id, const char *name, const char *value)
{
	struct secret_row r = { .id = id,
		.team = team,
		.name = name,
		.version = 1,
		.sealed = value,
		.n_sealed = strlen(value),
		.metadata = "{}",
		.created_ms = 1,
		.updated_ms = 1 };

	return secrets_add(s, &r, &e);
}

static int set_up(void **state)
{
	struct team_row t = { .id = "t1",
		.name = "one",
		.max_sandboxes = LIMIT_DEFAULT,
		.rate_limit = LIMIT_DEFAULT,
		.created_ms = 1 },
			u = t;

	(void)state;
	u.id = "t2";
	u.name = "two";
	seen[0] = '\0';
	return store_open(":memory:", &s, &e) == 0 && teams_add(s, &t, &e) == 0 && teams_add(s, &u, &e) == 0 &&
		add("t1", "sec_b", "b", "B") == 0 && add("t1", "sec_a", "a", "A") == 0 &&
		add("t1", "sec_c", "c", "C") == 0 && add("t2", "sec_x", "a", "X") == 0
	    ? 0
	    : -1;
}

static int tear_down(void **state)
{
	(void)state;
	store_close(s);
	return 0;
}

static void names_are_unique_within_a_team(void **state)
{
	(void)state;
	assert_int_equal(add("t1", "sec_z", "a", "Z"), -EEXIST);
	assert_int_equal(secrets_count(s, "t1", &e), 3);
	assert_int_equal(secrets_count(s, "t2", &e), 1);
}

static void they_are_found_by_name_and_by_id(void **state)
{
	(void)state;
	assert_int_equal(secrets_find(s, "t1", "a", look, NULL, &e), 0);
	assert_int_equal(secrets_find(s, "t1", "sec_c", look, NULL, &e), 0);
	assert_int_equal(secrets_find(s, "t2", "a", look, NULL, &e), 0);
	assert_string_equal(seen, "a=A c=C a=X ");
	assert_int_equal(secrets_find(s, "t2", "sec_c", look, NULL, &e), -ENOENT);
}

static void pages_follow_the_names(void **state)
{
	(void)state;
	assert_int_equal(secrets_each(s, "t1", "", 2, look, NULL, &e), 0);
	assert_int_equal(secrets_each(s, "t1", "b", 2, look, NULL, &e), 0);
	assert_string_equal(seen, "a=A b=B c=C ");
}

static void a_new_value_is_a_new_version(void **state)
{
	struct secret_row r = { .id = "sec_a",
		.team = "t1",
		.version = 2,
		.sealed = "AA",
		.n_sealed = 2,
		.metadata = "{}",
		.updated_ms = 2 };

	(void)state;
	assert_int_equal(secrets_set(s, &r, &e), 0);
	assert_int_equal(secrets_find(s, "t1", "a", look, NULL, &e), 0);
	assert_string_equal(seen, "a=AA ");
	assert_int_equal(version, 2);
	r.team = "t2";
	assert_int_equal(secrets_set(s, &r, &e), -ENOENT);
	assert_int_equal(secrets_drop(s, "t2", "sec_a", &e), -ENOENT);
	assert_int_equal(secrets_drop(s, "t1", "sec_a", &e), 0);
	assert_int_equal(secrets_find(s, "t1", "a", look, NULL, &e), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_are_unique_within_a_team, set_up, tear_down),
		cmocka_unit_test_setup_teardown(they_are_found_by_name_and_by_id, set_up, tear_down),
		cmocka_unit_test_setup_teardown(pages_follow_the_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_new_value_is_a_new_version, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

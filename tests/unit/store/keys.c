/* SPDX-License-Identifier: Apache-2.0 */
/* Units of store/keys and store/teams: hashes, masks, limits; what goes with a team. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>
#include <stdio.h>

#include "store/db.h"
#include "store/keys.h"
#include "store/teams.h"
#include "unit.h"

static struct store *s;
static struct err e;
static int n, n_local;
static struct key_row last;
static char last_id[16], last_name[16];

static int count(void *user, const struct key_row *k)
{
	(void)user;
	last = *k;
	(void)snprintf(last_id, sizeof last_id, "%s", k->id);
	(void)snprintf(last_name, sizeof last_name, "%s", k->name);
	n_local += k->local;
	n++;
	return 0;
}

static void count_keys(void)
{
	n = n_local = 0;
	assert_int_equal(keys_each(s, count, NULL, &e), 0);
}

static struct key_row key(const char *id, const char *team, uint8_t hash)
{
	return (struct key_row) { .id = id,
		.team = team,
		.name = "k",
		.hash = { hash },
		.head = "ab",
		.tail = "cdef",
		.length = 40,
		.created_ms = hash };
}

static int team(const char *id, const char *name)
{
	struct team_row t = { .id = id,
		.name = name,
		.max_sandboxes = LIMIT_DEFAULT,
		.rate_limit = 7,
		.created_ms = 1 };

	return teams_add(s, &t, &e);
}

static struct team_row found;
static int n_teams;

static int look(void *user, const struct team_row *t)
{
	if (strcmp(t->id, user) == 0)
		found = *t;
	n_teams++;
	return 0;
}

static void a_team_keeps_its_limits(void **state)
{
	struct team_row change = { .id = "t1",
		.name = "uno",
		.blocked = true,
		.max_sandboxes = 0,
		.rate_limit = LIMIT_DEFAULT };

	(void)state;
	assert_int_equal(team("t1", "one"), 0);
	assert_int_equal(teams_each(s, look, "t1", &e), 0);
	assert_int_equal(found.max_sandboxes, LIMIT_DEFAULT);
	assert_int_equal(found.rate_limit, 7);
	assert_int_equal(teams_set(s, &change, &e), 0);
	assert_int_equal(teams_each(s, look, "t1", &e), 0);
	assert_int_equal(found.max_sandboxes, 0);
	assert_int_equal(found.rate_limit, LIMIT_DEFAULT);
	assert_true(found.blocked);
}

static void a_name_is_given_once(void **state)
{
	(void)state;
	assert_int_equal(team("t2", "two"), 0);
	assert_int_equal(team("t3", "two"), -EEXIST);
	assert_int_equal(teams_drop(s, "t3", &e), -ENOENT);
}

static void keys_go_with_their_team(void **state)
{
	struct key_row k = key("k1", "t2", 1), nobody = key("k2", "no such team", 2);

	(void)state;
	assert_int_equal(keys_add(s, &k, &e), 0);
	assert_int_equal(keys_add(s, &k, &e), -EEXIST);
	assert_true(keys_add(s, &nobody, &e) < 0);
	count_keys();
	assert_int_equal(n, 1);
	assert_int_equal(teams_drop(s, "t2", &e), 0);
	count_keys();
	assert_int_equal(n, 0);
}

static void a_key_is_renamed_and_ends(void **state)
{
	struct key_row k = key("k3", "t1", 3);

	(void)state;
	assert_int_equal(keys_add(s, &k, &e), 0);
	assert_int_equal(keys_rename(s, "k3", "new", &e), 0);
	assert_int_equal(keys_expire(s, "k3", 99, &e), 0);
	assert_int_equal(keys_used(s, "k3", 77, &e), 0);
	count_keys();
	assert_string_equal(last_name, "new");
	assert_int_equal(last.expires_ms, 99);
	assert_int_equal(last.used_ms, 77);
	assert_int_equal(keys_drop(s, "k3", &e), 0);
	assert_int_equal(keys_drop(s, "k3", &e), -ENOENT);
	assert_int_equal(keys_rename(s, "k3", "x", &e), -ENOENT);
}

static void there_is_one_local_key(void **state)
{
	struct key_row a = key("l1", "t1", 10), b = key("l2", "t1", 11), c = key("l3", "t1", 12),
		       again = key("l4", "t1", 12);

	(void)state;
	a.local = b.local = again.local = true;
	assert_int_equal(keys_put_local(s, &a, &e), 0);
	assert_int_equal(keys_put_local(s, &b, &e), 0);
	assert_int_equal(keys_add(s, &c, &e), 0);
	count_keys();
	assert_int_equal(n, 2);
	assert_int_equal(n_local, 1);
	assert_int_equal(keys_put_local(s, &again, &e), 0); /* has the hash of c */
	count_keys();
	assert_int_equal(n, 1);
	assert_string_equal(last_id, "l4");
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
		cmocka_unit_test(a_team_keeps_its_limits),
		cmocka_unit_test(a_name_is_given_once),
		cmocka_unit_test(keys_go_with_their_team),
		cmocka_unit_test(a_key_is_renamed_and_ends),
		cmocka_unit_test(there_is_one_local_key),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/console/sessions and front/console/codes: when sessions end, how many there are, that codes work
 * once. */
#include "front/console/sessions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "front/console/codes.h"
#include "store/db.h"
#include "unit.h"

#define IDLE_MS 1000
#define LIFE_MS 5000

static char dir[] = "/tmp/atoll-unit-XXXXXX", path[64], key_path[64], db_path[64];
static struct store *file, *db;
static struct sessions *all;
static struct keyring *kr;
static struct team *team;
static struct err e;
static const char *basis = "";

static struct key *make_key(struct team *t)
{
	char secret[KEY_TEXT_SIZE];
	struct key *key;

	assert_int_equal(keyring_add_key(kr, t, "k", false, secret, &key, &e), 0);
	return key;
}

static struct session *make_session(struct team *t, struct key *key, uint64_t now_ms, char token[TOKEN_SIZE])
{
	struct session *se;

	assert_int_equal(session_make(all,
			     &(struct session_who) { .team = t, .key = key, .user = "", .role = ROLE_MEMBER }, now_ms,
			     token, &se, &e),
	    0);
	return se;
}

static void reload(void)
{
	console_sessions_free(all);
	assert_int_equal(console_sessions_new(file, IDLE_MS, LIFE_MS, basis, &all, &e), 0);
}

static int set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof path, "%s/console.db", dir);
	(void)snprintf(db_path, sizeof db_path, "%s/atoll.db", dir);
	(void)snprintf(key_path, sizeof key_path, "%s/key", dir);
	assert_int_equal(store_open(db_path, &db, &e), 0);
	assert_int_equal(keyring_open(db, key_path, &kr, &e), 0);
	assert_int_equal(sessions_store_open(path, &file, &e), 0);
	assert_int_equal(console_sessions_new(file, IDLE_MS, LIFE_MS, basis, &all, &e), 0);
	assert_int_equal(keyring_add_team(kr, "team", -1, -1, &team, &e), 0);
	return 0;
}

static int tear_down(void **state)
{
	char command[96];

	(void)state;
	console_sessions_free(all);
	keyring_free(kr);
	store_close(file);
	store_close(db);
	(void)snprintf(command, sizeof command, "rm -r %s", dir);
	return system(command);
}

static void it_ends_unused_and_at_its_time(void **state)
{
	struct key *key = make_key(team);
	char token[TOKEN_SIZE], bad[TOKEN_SIZE];
	struct session *se = make_session(team, key, 10000, token);

	(void)state;
	memcpy(bad, token, sizeof bad);
	bad[5] ^= 1;
	assert_null(session_find(all, str_of(bad), 10000));
	assert_null(session_find(all, STR_LIT(""), 10000));
	assert_ptr_equal(session_find(all, str_of(token), 10999), se);
	for (uint64_t now = 10900; now < 15000; now += 900) {
		assert_ptr_equal(session_find(all, str_of(token), now), se);
		session_touch(se, now);
	}
	assert_int_equal(session_ends_ms(all, se), 15000);
	assert_null(session_find(all, str_of(token), 15000));
	(void)make_session(team, key, 20000, token);
	assert_null(session_find(all, str_of(token), 21000));
	assert_int_equal(console_sessions_count(all), 0);
	assert_int_equal(keyring_drop_key(kr, key, &e), 0);
}

static void it_survives_a_restart_with_the_time_of_its_last_use(void **state)
{
	struct key *key = make_key(team);
	char token[TOKEN_SIZE], gone[TOKEN_SIZE];
	struct session *se = make_session(team, key, 10000, token);

	(void)state;
	session_end(all, make_session(team, key, 10000, gone), "test");
	session_touch(se, 10800);
	console_sessions_tidy(all, kr, 10900);
	reload();
	assert_null(session_find(all, str_of(gone), 10900));
	se = session_find(all, str_of(token), 11500);
	assert_non_null(se);
	assert_string_equal(se->key, key->id);
	assert_int_equal(se->role, ROLE_MEMBER);
	session_end(all, se, "test");
	assert_int_equal(keyring_drop_key(kr, key, &e), 0);
}

static void users_without_a_key_lose_their_sessions_with_other_rules(void **state)
{
	struct session_who who = { .team = team, .user = "ada@x", .role = ROLE_ADMIN, .life_ms = 2000 };
	struct key *key = make_key(team);
	char token[TOKEN_SIZE], of_key[TOKEN_SIZE];
	struct session *se;
	struct key *none;
	struct team *t;

	(void)state;
	(void)make_session(team, key, 10000, of_key);
	basis = "group:ops=admin";
	reload();
	assert_int_equal(session_make(all, &who, 10000, token, &se, &e), 0);
	reload();
	se = session_find(all, str_of(token), 10500);
	assert_non_null(se);
	assert_string_equal(se->user, "ada@x");
	assert_true(session_owner(all, se, kr, 10500, &t, &none) && t == team && !none);
	session_touch(se, 11900);
	assert_null(session_find(all, str_of(token), 12000)); /* its own life is shorter */
	for (int i = 0; i < SESSIONS_OF_KEY; i++) {           /* the number of one user's, not of all users' */
		who.user = i % 2 ? "bob@x" : "eve@x";
		assert_int_equal(session_make(all, &who, 12000, token, &se, &e), 0);
	}
	assert_int_equal(console_sessions_count(all), 1 + SESSIONS_OF_KEY);
	basis = "group:ops=viewer";
	reload();
	assert_null(session_find(all, str_of(token), 12000));
	assert_int_equal(console_sessions_count(all), 1);
	assert_non_null(session_find(all, str_of(of_key), 10500));
	basis = "";
	reload();
	assert_int_equal(keyring_drop_key(kr, key, &e), 0);
	console_sessions_tidy(all, kr, 10500);
}

static void it_ends_with_its_key_and_its_team(void **state)
{
	struct key *key = make_key(team), *later = make_key(team), *found;
	struct team *t, *other;
	char one[TOKEN_SIZE], two[TOKEN_SIZE], three[TOKEN_SIZE];
	struct session *a = make_session(team, key, 1, one), *b = make_session(team, later, 1, two), *c;

	(void)state;
	assert_true(session_owner(all, a, kr, 2, &t, &found));
	assert_ptr_equal(t, team);
	assert_ptr_equal(found, key);
	assert_int_equal(keyring_drop_key(kr, key, &e), 0);
	assert_false(session_owner(all, a, kr, 2, &t, &found));
	assert_null(session_find(all, str_of(one), 2));
	assert_int_equal(keyring_expire_key(kr, later, 100, &e), 0);
	assert_true(session_owner(all, b, kr, 99, &t, &found));
	console_sessions_tidy(all, kr, 100);
	assert_null(session_find(all, str_of(two), 100));
	assert_int_equal(keyring_add_team(kr, "other", -1, -1, &other, &e), 0);
	c = make_session(other, make_key(other), 1, three);
	other->blocked = true;
	assert_false(session_owner(all, c, kr, 2, &t, &found));
	other->blocked = false;
	c = make_session(other, make_key(other), 1, three);
	assert_int_equal(keyring_drop_team(kr, other, &e), 0);
	assert_false(session_owner(all, c, kr, 2, &t, &found));
	assert_int_equal(console_sessions_count(all), 0);
}

static void there_are_so_many_of_a_key_and_of_a_team(void **state)
{
	struct key *key = make_key(team), *busy = make_key(team);
	char kept[TOKEN_SIZE], first[TOKEN_SIZE], token[TOKEN_SIZE], others[TOKEN_SIZE];
	struct session *se = make_session(team, key, 100, kept);

	(void)state;
	(void)make_session(team, busy, 50, others);
	(void)make_session(team, key, 101, first);
	session_touch(se, 200);
	for (size_t i = 2; i < SESSIONS_OF_KEY; i++)
		(void)make_session(team, key, 150, token);
	assert_non_null(session_find(all, str_of(first), 300));
	(void)make_session(team, key, 250, token);
	assert_null(session_find(all, str_of(first), 300)); /* unused for longest */
	assert_non_null(session_find(all, str_of(kept), 300));
	assert_non_null(session_find(all, str_of(others), 300)); /* of another key */
	assert_int_equal(console_sessions_count(all), SESSIONS_OF_KEY + 1);
	for (int k = 0; console_sessions_count(all) < SESSIONS_OF_TEAM; k++) {
		struct key *more = make_key(team);

		for (size_t i = 0; i < SESSIONS_OF_KEY && console_sessions_count(all) < SESSIONS_OF_TEAM; i++)
			(void)make_session(team, more, 300, token);
	}
	(void)make_session(team, make_key(team), 300, token);
	assert_int_equal(console_sessions_count(all), SESSIONS_OF_TEAM);
	assert_null(session_find(all, str_of(others), 300));
	console_sessions_tidy(all, kr, 100000);
	assert_int_equal(console_sessions_count(all), 0);
}

static void a_code_works_once_and_for_its_time(void **state)
{
	struct login_codes *codes = login_codes_new();
	struct login_code of = { .team = "t", .key = "k", .role = ROLE_VIEWER }, got;
	char code[TOKEN_SIZE], late[TOKEN_SIZE], first[TOKEN_SIZE], other[TOKEN_SIZE];

	(void)state;
	login_code_make(codes, &of, 1000, code);
	login_code_make(codes, &of, 1000, late);
	assert_false(login_code_take(codes, STR_LIT(""), 1, &got));
	assert_true(login_code_take(codes, str_of(code), 999, &got));
	assert_string_equal(got.key, "k");
	assert_int_equal(got.role, ROLE_VIEWER);
	assert_false(login_code_take(codes, str_of(code), 999, &got));
	assert_false(login_code_take(codes, str_of(late), 1000, &got));
	assert_false(login_code_take(codes, str_of(late), 1, &got));
	login_code_make(codes, &(struct login_code) { .key = "other" }, 1000, other);
	login_code_make(codes, &of, 1000, first);
	for (int i = 0; i < CODES_OF_KEY; i++)
		login_code_make(codes, &of, 1000, code);
	assert_false(login_code_take(codes, str_of(first), 1, &got));
	assert_true(login_code_take(codes, str_of(code), 1, &got));
	assert_true(login_code_take(codes, str_of(other), 1, &got));
	login_codes_free(codes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_ends_unused_and_at_its_time),
		cmocka_unit_test(it_survives_a_restart_with_the_time_of_its_last_use),
		cmocka_unit_test(users_without_a_key_lose_their_sessions_with_other_rules),
		cmocka_unit_test(it_ends_with_its_key_and_its_team),
		cmocka_unit_test(there_are_so_many_of_a_key_and_of_a_team),
		cmocka_unit_test(a_code_works_once_and_for_its_time),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/keyring: teams, keys, the local key, after a restart too. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "front/account/keyring.h"
#include "store/db.h"
#include "unit.h"

static char dir[] = "/tmp/atoll-keyring-XXXXXX";
static char db[64], key_file[64];
static struct store *s;
static struct keyring *k;
static struct err e;

static void reopen(void)
{
	keyring_free(k);
	store_close(s);
	assert_int_equal(store_open(db, &s, &e), 0);
	assert_int_equal(keyring_open(s, key_file, &k, &e), 0);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	(void)snprintf(db, sizeof db, "%s/atoll.db", dir);
	(void)snprintf(key_file, sizeof key_file, "%s/key", dir);
	return store_open(db, &s, &e) < 0 || keyring_open(s, key_file, &k, &e) < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	keyring_free(k);
	store_close(s);
	(void)unlink(db);
	(void)unlink(key_file);
	return rmdir(dir);
}

static struct key *local(void)
{
	char text[128];
	ssize_t n = file_read(-1, key_file, text, sizeof text);

	assert_true(n > 1);
	return keyring_find(k, (struct str) { text, (size_t)n - 1 }, 0);
}

static void the_local_key_is_an_admin_of_the_default_team(void **state)
{
	char id[KEY_ID_SIZE];

	(void)state;
	assert_non_null(local());
	assert_true(local()->admin && local()->local && local()->team->is_default);
	assert_ptr_equal(local()->team, keyring_default(k));
	assert_int_equal(local()->length, KEY_DIGITS);
	memcpy(id, local()->id, sizeof id);
	reopen();
	assert_string_equal(local()->id, id);
}

static struct key *sdk(void)
{
	struct key *found = NULL;

	for (struct key *key = keyring_next_key(k, NULL); key; key = keyring_next_key(k, key)) {
		assert_false(found && key->local && !key->admin);
		found = key->local && !key->admin ? key : found;
	}
	return found;
}

/* W10 */
static void the_key_for_programs_is_no_admin_key(void **state)
{
	char id[KEY_ID_SIZE], file[80];

	(void)state;
	(void)snprintf(file, sizeof file, "%s/sdk-key", dir);
	assert_null(sdk());
	assert_int_equal(keyring_add_sdk_key(k, file, &e), 0);
	assert_non_null(sdk());
	assert_ptr_equal(sdk()->team, keyring_default(k));
	memcpy(id, sdk()->id, sizeof id);
	reopen();
	assert_int_equal(keyring_add_sdk_key(k, file, &e), 0);
	assert_string_equal(sdk()->id, id);
	assert_true(local()->admin);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(keyring_add_sdk_key(k, file, &e), 0);
	assert_string_not_equal(sdk()->id, id);
	assert_true(local()->admin);
	assert_int_equal(keyring_add_sdk_key(k, key_file, &e), -EEXIST);
	assert_true(local()->admin);
	assert_int_equal(keyring_drop_key(k, sdk(), &e), 0);
	assert_int_equal(unlink(file), 0);
}

static void a_changed_file_changes_the_key(void **state)
{
	static const char text[] = "e2b_0000000000000000000000000000000000000000";
	struct key *old = local();
	uint8_t hash[KEY_HASH_SIZE];
	FILE *f = fopen(key_file, "w");

	(void)state;
	memcpy(hash, old->hash, sizeof hash);
	assert_non_null(f);
	assert_true(fprintf(f, "%s\n", text) > 0);
	assert_int_equal(fclose(f), 0);
	reopen();
	assert_non_null(keyring_find(k, str_of(text), 0));
	assert_memory_not_equal(local()->hash, hash, sizeof hash);
	assert_int_equal(keyring_default(k)->n_keys, 1);
}

static void a_key_is_found_until_it_ends(void **state)
{
	char secret[KEY_TEXT_SIZE];
	struct team *t;
	struct key *key;

	(void)state;
	assert_int_equal(keyring_add_team(k, "red", 3, LIMIT_DEFAULT, &t, &e), 0);
	assert_int_equal(keyring_add_team(k, "red", 3, LIMIT_DEFAULT, &t, &e), -EEXIST);
	assert_int_equal(keyring_add_key(k, t, "one", false, secret, &key, &e), 0);
	assert_int_equal(strlen(secret), strlen(KEY_PREFIX) + KEY_DIGITS);
	assert_memory_equal(key->tail, secret + strlen(secret) - 4, 4);
	assert_ptr_equal(keyring_find(k, str_of(secret), 1000), key);
	assert_null(keyring_find(k, STR_LIT("e2b_x"), 1000));
	assert_null(keyring_find(k, STR_NULL, 1000));
	assert_int_equal(keyring_expire_key(k, key, 2000, &e), 0);
	reopen();
	key = keyring_find(k, str_of(secret), 1999);
	assert_non_null(key);
	assert_string_equal(key->team->name, "red");
	assert_int_equal(key->team->max_sandboxes, 3);
	assert_null(keyring_find(k, str_of(secret), 2000));
	keyring_tidy(k, 2000);
	assert_int_equal(keyring_team(k, STR_LIT("red"))->n_keys, 0);
}

static void use_is_noted(void **state)
{
	(void)state;
	local()->used = true;
	local()->used_ms = 4711;
	keyring_tidy(k, 1);
	assert_false(local()->used);
	reopen();
	assert_int_equal(local()->used_ms, 4711);
}

static void a_team_goes_with_its_keys(void **state)
{
	struct team *t = keyring_team(k, STR_LIT("red"));
	char secret[KEY_TEXT_SIZE];
	struct key *key;

	(void)state;
	assert_int_equal(keyring_add_key(k, t, "two", true, secret, &key, &e), 0);
	assert_null(keyring_key(k, keyring_default(k), str_of(key->id)));
	assert_ptr_equal(keyring_key(k, t, str_of(key->id)), key);
	assert_int_equal(keyring_drop_team(k, t, &e), 0);
	assert_null(keyring_find(k, str_of(secret), 0));
	reopen();
	assert_null(keyring_find(k, str_of(secret), 0));
	assert_null(keyring_team(k, STR_LIT("red")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_local_key_is_an_admin_of_the_default_team),
		cmocka_unit_test(the_key_for_programs_is_no_admin_key),
		cmocka_unit_test(a_changed_file_changes_the_key),
		cmocka_unit_test(a_key_is_found_until_it_ends),
		cmocka_unit_test(use_is_noted),
		cmocka_unit_test(a_team_goes_with_its_keys),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

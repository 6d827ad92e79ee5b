/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/util/vault: what is sealed is unsealed with the same key and label only. */
#include <stdint.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "front/util/vault.h"
#include "unit.h"

static char dir[] = "/tmp/atoll-unit-vault-XXXXXX";
static struct vault *v;
static struct err e;

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(dir) && vault_open(dir, &v, &e) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	char path[64];

	(void)state;
	vault_free(v);
	(void)snprintf(path, sizeof path, "%s/secrets.key", dir);
	(void)unlink(path);
	return rmdir(dir);
}

static void sealed_texts_are_bound_to_their_label(void **state)
{
	autobuf struct buf a = BUF_INIT(4096), b = BUF_INIT(4096), out = BUF_INIT(4096);

	(void)state;
	vault_seal(v, STR_LIT("one"), STR_LIT("the secret"), &a);
	vault_seal(v, STR_LIT("one"), STR_LIT("the secret"), &b);
	assert_false(a.bad);
	assert_null(memmem(a.p, a.n, "secret", 6));
	assert_true(a.n == b.n && memcmp(a.p, b.p, a.n) != 0);
	assert_int_equal(vault_unseal(v, STR_LIT("one"), buf_view(&a), &out), 0);
	assert_int_equal(out.n, 10);
	assert_memory_equal(out.p, "the secret", 10);
	assert_int_equal(vault_unseal(v, STR_LIT("two"), buf_view(&a), &out), -EBADMSG);
	for (size_t i = 0; i < a.n; i++) {
		a.p[i] ^= 1;
		assert_int_equal(vault_unseal(v, STR_LIT("one"), buf_view(&a), &out), -EBADMSG);
		a.p[i] ^= 1;
		assert_int_equal(vault_unseal(v, STR_LIT("one"), (struct str) { a.p, i }, &out), -EBADMSG);
	}
	buf_clear(&a);
	buf_clear(&out);
	vault_seal(v, STR_LIT("empty"), STR_LIT(""), &a);
	assert_int_equal(vault_unseal(v, STR_LIT("empty"), buf_view(&a), &out), 0);
	assert_int_equal(out.n, 0);
}

static void the_key_is_kept_and_for_its_owner_alone(void **state)
{
	uint8_t one[VAULT_SEED_SIZE], two[VAULT_SEED_SIZE], other[VAULT_SEED_SIZE];
	struct vault *again = NULL;
	struct stat st;
	char path[64];

	(void)state;
	(void)snprintf(path, sizeof path, "%s/secrets.key", dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(st.st_size, 32);
	assert_int_equal(vault_open(dir, &again, &e), 0);
	vault_derive(v, STR_LIT("x"), one);
	vault_derive(again, STR_LIT("x"), two);
	vault_derive(again, STR_LIT("y"), other);
	assert_memory_equal(one, two, sizeof one);
	assert_memory_not_equal(one, other, sizeof one);
	vault_free(again);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(vault_open(dir, &again, &e), -EINVAL);
	assert_int_equal(chmod(path, 0600), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sealed_texts_are_bound_to_their_label),
		cmocka_unit_test(the_key_is_kept_and_for_its_owner_alone),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

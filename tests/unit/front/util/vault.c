/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/vault and front/secrets: what is sealed is unsealed with the same key and label only; names, values,
 * placeholders. */
#include <stdint.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "front/account/secrets.h"
#include "front/front.h"
#include "front/util/vault.h"
#include "store/db.h"
#include "store/secrets.h"
#include "store/teams.h"
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

static void names_and_values_are_checked(void **state)
{
	static const char *const bad[] = { "", " ", "a b", "a.b", "sec_x", "SEC_x", "\xc3\xbc", "a{b", "a\n" };
	char name[SECRET_NAME_MAX + 1];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(secret_name(str_of(bad[i]), name), -EINVAL);
	assert_int_equal(secret_name(STR_LIT(" Api-Key_1 "), name), 0);
	assert_string_equal(name, "api-key_1");
	assert_true(secret_value_ok(STR_LIT("sk-123 x")));
	assert_false(secret_value_ok(STR_LIT("")));
	assert_false(secret_value_ok(STR_LIT(" x")));
	assert_false(secret_value_ok(STR_LIT("a\r\nb")));
}

static int fill(const struct front *f, const char *text, struct buf *out, bool *secret)
{
	buf_clear(out);
	e = ERR_INIT;
	return secrets_fill(f, "t", str_of(text), out, secret, &e);
}

static void placeholders_are_filled(void **state)
{
	autobuf struct buf out = BUF_INIT(8192), sealed = BUF_INIT(8192);
	struct front f = { .link.vault = v };
	struct team_row team = { .id = "t",
		.name = "t",
		.max_sandboxes = LIMIT_DEFAULT,
		.rate_limit = LIMIT_DEFAULT,
		.created_ms = 1 };
	bool secret;

	(void)state;
	assert_int_equal(store_open(":memory:", &f.link.store, &e), 0);
	assert_int_equal(teams_add(f.link.store, &team, &e), 0);
	secret_seal(&f, "t", "sec_1", STR_LIT("VALUE"), &sealed);
	struct secret_row row = { .id = "sec_1",
		.team = "t",
		.name = "key",
		.version = 1,
		.sealed = sealed.p,
		.n_sealed = sealed.n,
		.metadata = "{}",
		.created_ms = 1,
		.updated_ms = 1 };

	assert_int_equal(secrets_add(f.link.store, &row, &e), 0);
	assert_int_equal(fill(&f, "Bearer ${e2b.secrets.key}!${e2b.secrets. KEY }", &out, &secret), 0);
	assert_string_equal(buf_cstr(&out), "Bearer VALUE!VALUE");
	assert_true(secret);
	assert_int_equal(fill(&f, "plain ${e2b.other.x} ${x} $", &out, &secret), 0);
	assert_string_equal(buf_cstr(&out), "plain ${e2b.other.x} ${x} $");
	assert_false(secret);
	assert_int_equal(fill(&f, "${e2b.secrets.nobodys}", &out, &secret), -ENOENT);
	assert_non_null(strstr(e.text, "nobodys"));
	assert_int_equal(fill(&f, "${e2b.secrets.key", &out, &secret), -EINVAL);
	assert_int_equal(fill(&f, "${e2b.secrets.}", &out, &secret), -EINVAL);
	assert_int_equal(fill(&f, "${e2b.secrets.${e2b.secrets.key}}", &out, &secret), -EINVAL);
	assert_int_equal(fill(&f, "${e2b.identity.tokens.aws}", &out, &secret), -ENOTSUP);
	assert_int_equal(fill(NULL, "${e2b.secrets.nobodys}", &out, &secret), 0);
	/* A sealed value that was moved to another row is nobody's. */
	row.id = "sec_2";
	row.name = "stolen";
	assert_int_equal(secrets_add(f.link.store, &row, &e), 0);
	assert_int_equal(fill(&f, "${e2b.secrets.stolen}", &out, &secret), -EBADMSG);
	store_close(f.link.store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sealed_texts_are_bound_to_their_label),
		cmocka_unit_test(the_key_is_kept_and_for_its_owner_alone),
		cmocka_unit_test(names_and_values_are_checked),
		cmocka_unit_test(placeholders_are_filled),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

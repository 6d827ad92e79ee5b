/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/account/secrets: names, values, placeholders. */
#include <stdint.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "front/account/secrets.h"
#include "front/link/links.h"
#include "front/util/vault.h"
#include "store/db.h"
#include "store/secrets.h"
#include "store/teams.h"
#include "unit.h"

static char dir[] = "/tmp/atoll-unit-secrets-XXXXXX";
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

static int fill(const struct links *l, const char *text, struct buf *out, bool *secret)
{
	buf_clear(out);
	e = ERR_INIT;
	return secrets_fill(l, "t", str_of(text), out, secret, &e);
}

static void placeholders_are_filled(void **state)
{
	autobuf struct buf out = BUF_INIT(8192), sealed = BUF_INIT(8192);
	struct links l = { .vault = v };
	struct team_row team = { .id = "t",
		.name = "t",
		.max_sandboxes = LIMIT_DEFAULT,
		.rate_limit = LIMIT_DEFAULT,
		.created_ms = 1 };
	bool secret;

	(void)state;
	assert_int_equal(store_open(":memory:", &l.store, &e), 0);
	assert_int_equal(teams_add(l.store, &team, &e), 0);
	secret_seal(&l, "t", "sec_1", STR_LIT("VALUE"), &sealed);
	struct secret_row row = { .id = "sec_1",
		.team = "t",
		.name = "key",
		.version = 1,
		.sealed = sealed.p,
		.n_sealed = sealed.n,
		.metadata = "{}",
		.created_ms = 1,
		.updated_ms = 1 };

	assert_int_equal(secrets_add(l.store, &row, &e), 0);
	assert_int_equal(fill(&l, "Bearer ${e2b.secrets.key}!${e2b.secrets. KEY }", &out, &secret), 0);
	assert_string_equal(buf_cstr(&out), "Bearer VALUE!VALUE");
	assert_true(secret);
	assert_int_equal(fill(&l, "plain ${e2b.other.x} ${x} $", &out, &secret), 0);
	assert_string_equal(buf_cstr(&out), "plain ${e2b.other.x} ${x} $");
	assert_false(secret);
	assert_int_equal(fill(&l, "${e2b.secrets.nobodys}", &out, &secret), -ENOENT);
	assert_non_null(strstr(e.text, "nobodys"));
	assert_int_equal(fill(&l, "${e2b.secrets.key", &out, &secret), -EINVAL);
	assert_int_equal(fill(&l, "${e2b.secrets.}", &out, &secret), -EINVAL);
	assert_int_equal(fill(&l, "${e2b.secrets.${e2b.secrets.key}}", &out, &secret), -EINVAL);
	assert_int_equal(fill(&l, "${e2b.identity.tokens.aws}", &out, &secret), -ENOTSUP);
	assert_int_equal(fill(NULL, "${e2b.secrets.nobodys}", &out, &secret), 0);
	/* A sealed value that was moved to another row is nobody's. */
	row.id = "sec_2";
	row.name = "stolen";
	assert_int_equal(secrets_add(l.store, &row, &e), 0);
	assert_int_equal(fill(&l, "${e2b.secrets.stolen}", &out, &secret), -EBADMSG);
	store_close(l.store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_values_are_checked),
		cmocka_unit_test(placeholders_are_filled),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Units of ipc/oidc: what an operator may write, and what the two processes take of each other. */
#include "ipc/oidc.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "unit.h"

static struct err e;

static int settings(const char *issuer, const char *client, const char *roles)
{
	return oidc_settings_check(issuer, client, roles, &e);
}

static void settings_are_checked(void **state)
{
	static const char *const bad_roles[] = { "", " , ", "admin", "group:a", "group:a=root", "group:=admin",
		"a=admin", "*=admin@", "group:a=admin,x", "user:=viewer",
		"*=viewer@"
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" };
	static const char *const bad_issuers[] = { "id.example", "http://id.example", "ftp://id.example",
		"https://u@id.example", "https://id.example#f", "https://id.example?x", "https://",
		"http://127.0.0.2" };

	(void)state;
	assert_int_equal(settings("https://id.example/realms/x", "atoll", "group: ops = admin @ data ,*=viewer"), 0);
	assert_int_equal(settings("http://127.0.0.1:5556/dex", "atoll", "*=viewer"), 0);
	assert_int_equal(settings("http://[::1]:5556", "atoll", "*=viewer"), 0);
	assert_int_equal(settings("https://id.example", "", "*=viewer"), -EINVAL);
	for (size_t i = 0; i < ARRAY_LEN(bad_roles); i++)
		assert_int_equal(settings("https://id.example", "atoll", bad_roles[i]), -EINVAL);
	for (size_t i = 0; i < ARRAY_LEN(bad_issuers); i++)
		assert_int_equal(settings(bad_issuers[i], "atoll", "*=viewer"), -EINVAL);
}

static void messages_are_checked(void **state)
{
	struct oi_ask ask = { .head = { OI_VERSION, OI_BEGIN, 7 }, .state = "s" }, got_ask;
	struct oi_done done = { .head = { OI_VERSION, OI_DONE, 7 }, .user = "ada", .role = OI_ADMIN }, got;

	(void)state;
	assert_int_equal(oi_ask_check(&ask, sizeof ask, &got_ask), 0);
	assert_int_equal(oi_ask_check(&ask, sizeof ask - 1, &got_ask), -EBADMSG);
	ask.head.type = OI_DONE;
	assert_int_equal(oi_ask_check(&ask, sizeof ask, &got_ask), -EBADMSG);
	ask.head.type = OI_FINISH;
	memset(ask.code, 'c', sizeof ask.code);
	assert_int_equal(oi_ask_check(&ask, sizeof ask, &got_ask), -EBADMSG);

	assert_int_equal(oi_done_check(&done, sizeof done, &got), 0);
	done.role = OI_ROLES;
	assert_int_equal(oi_done_check(&done, sizeof done, &got), -EBADMSG);
	done.role = 0;
	done.outcome = OI_OUTCOMES;
	assert_int_equal(oi_done_check(&done, sizeof done, &got), -EBADMSG);
	done.outcome = 0;
	done.user[1] = '\n';
	assert_int_equal(oi_done_check(&done, sizeof done, &got), -EBADMSG);
	done.user[1] = '\0'; /* what follows is no padding */
	assert_int_equal(oi_done_check(&done, sizeof done, &got), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_are_checked),
		cmocka_unit_test(messages_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

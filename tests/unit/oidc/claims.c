/* SPDX-License-Identifier: Apache-2.0 */
/* Units of oidc/claims: a token for another client, time or log-in is refused; the first rule that fits gives the role.
 */
#include "oidc/claims.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "http/json.h"
#include "ipc/settings.h"
#include "unit.h"

#define NOW 1000000
#define GOOD \
	"\"iss\":\"https://" \
	"id.example\",\"sub\":\"s\",\"aud\":\"atoll\",\"exp\":1000100,\"iat\":999990,\"nonce\":\"n\""

static struct oidc_options o;
static struct err e;

static int set_up(void **state)
{
	(void)state;
	o = (struct oidc_options) { .oidc_issuer = "https://id.example",
		.oidc_client_id = "atoll",
		.oidc_user_claim = "email",
		.oidc_groups_claim = "groups",
		.oidc_clock_skew_s = 60 };
	return 0;
}

static int checks(const char *claims)
{
	autojson json_t *j = NULL;

	assert_int_equal(json_read_object(str_of(claims), false, &j, &e), 0);
	return claims_check(j, &o, "n", NOW, &e);
}

static void a_token_must_be_for_this_log_in(void **state)
{
	static const struct {
		const char *claims;
		bool good;
	} cases[] = {
		{ "{" GOOD "}", true },
		{ "{}", false },
		{ "{\"iss\":\"https://id.example/"
		  "\",\"sub\":\"s\",\"aud\":\"atoll\",\"exp\":1000100,\"iat\":1,\"nonce\":\"n\"}",
		    false },
		{ "{\"iss\":\"https://id.example\",\"aud\":\"atoll\",\"exp\":1000100,\"iat\":1,\"nonce\":\"n\"}",
		    false },
		{ "{\"iss\":\"https://"
		  "id.example\",\"sub\":\"s\",\"aud\":\"x\",\"exp\":1000100,\"iat\":1,\"nonce\":\"n\"}",
		    false },
		{ "{\"iss\":\"https://"
		  "id.example\",\"sub\":\"s\",\"aud\":[\"atoll\"],\"exp\":1000100,\"iat\":1,\"nonce\":\"n\"}",
		    true },
		{ "{\"iss\":\"https://id.example\",\"sub\":\"s\",\"aud\":[\"atoll\",\"x\"],\"exp\":1000100,\"iat\":1,"
		  "\"nonce\":\"n\"}",
		    false },
		{ "{\"iss\":\"https://"
		  "id.example\",\"sub\":\"s\",\"aud\":[\"x\",\"atoll\"],\"azp\":\"atoll\",\"exp\":1000100,"
		  "\"iat\":1,\"nonce\":\"n\"}",
		    true },
		{ "{" GOOD ",\"azp\":\"x\"}", false },
		{ "{" GOOD ",\"azp\":7}", false },
		{ "{" GOOD ",\"nbf\":1000050}", true },
		{ "{" GOOD ",\"nbf\":1000100}", false },
		{ "{" GOOD ",\"nbf\":\"1\"}", false },
		/* 60 seconds of difference between the clocks */
		{ "{\"iss\":\"https://"
		  "id.example\",\"sub\":\"s\",\"aud\":\"atoll\",\"exp\":999941,\"iat\":1,\"nonce\":\"n\"}",
		    true },
		{ "{\"iss\":\"https://"
		  "id.example\",\"sub\":\"s\",\"aud\":\"atoll\",\"exp\":999940,\"iat\":1,\"nonce\":\"n\"}",
		    false },
		{ "{\"iss\":\"https://"
		  "id.example\",\"sub\":\"s\",\"aud\":\"atoll\",\"exp\":\"1000100\",\"iat\":1,\"nonce\":\"n\"}",
		    false },
		{ "{\"iss\":\"https://id.example\",\"sub\":\"s\",\"aud\":\"atoll\",\"exp\":2000000,\"iat\":1000061,"
		  "\"nonce\":\"n\"}",
		    false },
		{ "{\"iss\":\"https://id.example\",\"sub\":\"s\",\"aud\":\"atoll\",\"exp\":1000100,\"iat\":1}", false },
		{ "{\"iss\":\"https://"
		  "id.example\",\"sub\":\"s\",\"aud\":\"atoll\",\"exp\":1000100,\"iat\":1,\"nonce\":\"m\"}",
		    false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int r = checks(cases[i].claims);

		assert_int_equal(r, cases[i].good ? 0 : -EINVAL);
	}
}

static int user_of(const char *claims, struct oi_done *ret)
{
	autojson json_t *j = NULL;

	*ret = (struct oi_done) { 0 };
	assert_int_equal(json_read_object(str_of(claims), false, &j, &e), 0);
	return claims_user(j, &o, ret, &e);
}

static void the_first_rule_that_fits_counts(void **state)
{
	struct oi_done d;

	(void)state;
	(void)str_copy(o.oidc_roles, sizeof o.oidc_roles,
	    STR_LIT("user:eve@x=viewer, group:ops=admin, group:cn=dev,, group:a=b=member@data, user:bob@x=member@7"));
	assert_int_equal(user_of("{\"email\":\"ada@x\",\"email_verified\":true,\"groups\":[1,\"dev\"]}", &d), -EPERM);
	(void)str_copy(o.oidc_roles, sizeof o.oidc_roles,
	    STR_LIT("user:eve@x=viewer, group:ops=admin, group:a=b=member@data, user:bob@x=member@7"));
	assert_int_equal(user_of("{\"email\":\"ada@x\",\"email_verified\":true,\"groups\":[1,\"ops\"]}", &d), 0);
	assert_int_equal(d.role, OI_ADMIN);
	assert_string_equal(d.user, "ada@x");
	assert_string_equal(d.team, "");
	assert_int_equal(user_of("{\"email\":\"eve@x\",\"email_verified\":\"true\",\"groups\":[\"ops\"]}", &d), 0);
	assert_int_equal(d.role, OI_VIEWER);
	assert_int_equal(user_of("{\"email\":\"e@x\",\"email_verified\":true,\"groups\":\"a=b\"}", &d), 0);
	assert_int_equal(d.role, OI_MEMBER);
	assert_string_equal(d.team, "data");
	assert_int_equal(user_of("{\"email\":\"bob@x\",\"email_verified\":true}", &d), 0);
	assert_string_equal(d.team, "7");
	assert_int_equal(user_of("{\"email\":\"Bob@x\",\"email_verified\":true}", &d), -EPERM);
	assert_int_equal(user_of("{\"email\":\"zoe@x\",\"email_verified\":true,\"groups\":[\"OPS\",\"op\"]}", &d),
	    -EPERM);
}

static void an_email_must_be_verified(void **state)
{
	struct oi_done d;

	(void)state;
	(void)str_copy(o.oidc_roles, sizeof o.oidc_roles, STR_LIT("*=viewer"));
	assert_int_equal(user_of("{\"email\":\"ada@x\"}", &d), -EPERM);
	assert_int_equal(user_of("{\"email\":\"ada@x\",\"email_verified\":false}", &d), -EPERM);
	assert_int_equal(user_of("{\"email\":\"ada@x\",\"email_verified\":1}", &d), -EPERM);
	assert_int_equal(user_of("{\"email\":\"a\\u0001@x\",\"email_verified\":true}", &d), -EINVAL);
	assert_int_equal(user_of("{\"email\":\"\",\"email_verified\":true}", &d), -EINVAL);
	assert_int_equal(user_of("{\"email\":[\"a\"],\"email_verified\":true}", &d), -EINVAL);
	o.oidc_unverified_email = true;
	assert_int_equal(user_of("{\"email\":\"ada@x\"}", &d), 0);
	(void)str_copy(o.oidc_user_claim, sizeof o.oidc_user_claim, STR_LIT("preferred_username"));
	o.oidc_unverified_email = false;
	assert_int_equal(user_of("{\"preferred_username\":\"ada\"}", &d), 0);
	assert_string_equal(d.user, "ada");
}

static void groups_may_be_inside_of_an_object(void **state)
{
	struct oi_done d;

	(void)state;
	(void)str_copy(o.oidc_roles, sizeof o.oidc_roles, STR_LIT("group:ops=admin"));
	(void)str_copy(o.oidc_user_claim, sizeof o.oidc_user_claim, STR_LIT("sub"));
	(void)str_copy(o.oidc_groups_claim, sizeof o.oidc_groups_claim, STR_LIT("realm.roles"));
	assert_int_equal(user_of("{\"sub\":\"u\",\"realm\":{\"roles\":[\"ops\"]}}", &d), 0);
	assert_int_equal(user_of("{\"sub\":\"u\",\"realm.roles\":[\"ops\"]}", &d), 0);
	assert_int_equal(user_of("{\"sub\":\"u\",\"realm\":[\"ops\"],\"roles\":[\"ops\"]}", &d), -EPERM);
}

static void the_users_page_is_of_the_same_user(void **state)
{
	autojson json_t *claims = json_pack("{s:s,s:s}", "sub", "a", "email", "a@x");
	autojson json_t *own = json_pack("{s:s,s:s,s:b}", "sub", "a", "email", "evil@x", "email_verified", 1);
	autojson json_t *other = json_pack("{s:s,s:s}", "sub", "b", "groups", "ops");

	(void)state;
	assert_true(claims_lack(claims, &o));
	assert_int_equal(claims_add(claims, other, &e), -EINVAL);
	assert_null(json_object_get(claims, "groups"));
	assert_int_equal(claims_add(claims, own, &e), 0);
	assert_string_equal(json_string_value(json_object_get(claims, "email")), "a@x"); /* the token counts */
	assert_null(json_object_get(claims, "email_verified")); /* that was said of another address */
	(void)json_object_set_new(own, "email", json_string("a@x"));
	assert_int_equal(claims_add(claims, own, &e), 0);
	assert_true(json_is_true(json_object_get(claims, "email_verified")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_token_must_be_for_this_log_in, set_up),
		cmocka_unit_test_setup(the_first_rule_that_fits_counts, set_up),
		cmocka_unit_test_setup(an_email_must_be_verified, set_up),
		cmocka_unit_test_setup(groups_may_be_inside_of_an_object, set_up),
		cmocka_unit_test_setup(the_users_page_is_of_the_same_user, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

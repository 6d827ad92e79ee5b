/* SPDX-License-Identifier: Apache-2.0 */
/* oci/auth: challenges of registries, credentials of users. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "oci/auth.h"
#include "unit.h"

static void bearer_is_read(void **state)
{
	struct challenge c;

	(void)state;
	challenge_parse(STR_LIT("Bearer realm=\"https://auth.docker.io/token\",service=\"registry.docker.io\", "
				"scope=\"repository:a/b:pull\""),
	    &c);
	assert_int_equal(c.kind, CHALLENGE_BEARER);
	assert_string_equal(c.realm, "https://auth.docker.io/token");
	assert_string_equal(c.service, "registry.docker.io");
	assert_string_equal(c.scope, "repository:a/b:pull");
}

static void the_first_that_can_be_answered_is_taken(void **state)
{
	struct challenge c;

	(void)state;
	challenge_parse(STR_LIT("Negotiate, Digest realm=\"x\", nonce=\"\\\"\", Basic realm=\"y\""), &c);
	assert_int_equal(c.kind, CHALLENGE_BASIC);
	assert_string_equal(c.realm, "y");
}

static void odd_headers_ask_for_nothing(void **state)
{
	static const char *const odd[] = { "", ",", "Bearer", "Bearer realm", "Bearer realm=", "Bearer realm=\"x",
		"Bearer service=\"x\"", "Bearer realm=\"a\nb\"", "=\"x\"", "\"" };
	struct challenge c;

	(void)state;
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		challenge_parse(str_of(odd[i]), &c);
		if (c.kind != CHALLENGE_NONE)
			fail_msg("'%s' was taken", odd[i]);
	}
}

static void credentials_of_the_sdk(void **state)
{
	struct creds c;
	struct err e = ERR_INIT;
	autobuf struct buf b = BUF_INIT(1024);

	(void)state;
	assert_int_equal(creds_read(STR_LIT("{}"), &c, &e), 0);
	assert_null(c.user);
	assert_int_equal(creds_read(STR_LIT("{\"type\":\"registry\",\"username\":\"u\",\"password\":\"p:q\"}"), &c, &e),
	    0);
	creds_put_basic(&b, &c);
	assert_string_equal(buf_cstr(&b), "Authorization: Basic dTpwOnE=");
	creds_done(&c);
	assert_int_equal(creds_read(STR_LIT("{\"type\":\"gcp\",\"serviceAccountJson\":\"{}\"}"), &c, &e), 0);
	assert_string_equal(c.user, "_json_key");
	creds_done(&c);
	assert_int_equal(
	    creds_read(
		STR_LIT("{\"type\":\"aws\",\"awsAccessKeyId\":\"a\",\"awsSecretAccessKey\":\"b\",\"awsRegion\":\"c\"}"),
		&c, &e),
	    0);
	assert_null(c.user);
	assert_true(creds_any(&c));
	assert_string_equal(c.aws_secret, "b");
	creds_done(&c);
	assert_int_equal(creds_read(STR_LIT("{\"type\":\"aws\",\"awsAccessKeyId\":\"a\"}"), &c, &e), -EINVAL);
	assert_non_null(strstr(e.text, "awsSecretAccessKey"));
	e = ERR_INIT;
	assert_int_equal(
	    creds_read(
		STR_LIT(
		    "{\"type\":\"aws\",\"awsAccessKeyId\":\"a\\nb\",\"awsSecretAccessKey\":\"b\",\"awsRegion\":\"c\"}"),
		&c, &e),
	    -EINVAL);
	assert_non_null(strstr(e.text, "awsAccessKeyId"));
	e = ERR_INIT;
	assert_int_equal(creds_read(STR_LIT("{\"type\":\"registry\",\"username\":\"a:b\",\"password\":\"\"}"), &c, &e),
	    -EINVAL);
	assert_int_equal(creds_read(STR_LIT("{\"type\":\"registry\",\"username\":7}"), &c, &e), -EINVAL);
	assert_non_null(strstr(e.text, "username"));
	assert_int_equal(creds_read(STR_LIT("{\"username\":\"a\"}"), &c, &e), -EINVAL);
	assert_int_equal(creds_read(STR_LIT("[]"), &c, &e), -EINVAL);
}

static void a_token_must_fit_into_a_header(void **state)
{
	struct err e = ERR_INIT;
	char *t = NULL;

	(void)state;
	assert_int_equal(token_read(STR_LIT("{\"access_token\":\"abc\"}"), &t, &e), 0);
	assert_string_equal(t, "abc");
	free(t);
	assert_int_equal(token_read(STR_LIT("{\"token\":\"a\\r\\nX: y\"}"), &t, &e), -EBADMSG);
	assert_int_equal(token_read(STR_LIT("{\"token\":\"\"}"), &t, &e), -EACCES);
	assert_int_equal(token_read(STR_LIT("{}"), &t, &e), -EACCES);
	assert_int_equal(token_read(STR_LIT("<html>"), &t, &e), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bearer_is_read),
		cmocka_unit_test(the_first_that_can_be_answered_is_taken),
		cmocka_unit_test(odd_headers_ask_for_nothing),
		cmocka_unit_test(credentials_of_the_sdk),
		cmocka_unit_test(a_token_must_fit_into_a_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* oci/aws: whose registry it is, the signature, the answer. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "oci/aws.h"
#include "unit.h"

static void the_name_tells_where_the_api_is(void **state)
{
	static const char *const others[] = { "", "docker.io", "123456789012.dkr.ecr.eu-west-1",
		"12345678901.dkr.ecr.a.b", "123456789012.dkr.ecx.a.b", "12345678901x.dkr.ecr.a.b",
		"123456789012.dkr.ecr..b", "public.ecr.aws", "123456789012.dkr.ecr.a/b.c", "123456789012.dkr" };
	struct aws_place p;

	(void)state;
	assert_true(aws_place_of("123456789012.dkr.ecr.eu-west-1.example.com:5000", &p));
	assert_string_equal(p.host, "api.ecr.eu-west-1.example.com:5000");
	assert_string_equal(p.region, "eu-west-1");
	assert_true(aws_place_of("123456789012.dkr.ecr-fips.us-gov-east-1.example.com", &p));
	assert_string_equal(p.host, "ecr-fips.us-gov-east-1.example.com");
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		if (aws_place_of(others[i], &p))
			fail_msg("'%s' was taken", others[i]);
	}
}

/* The expected value was computed by another program (Python's hmac). */
static void the_signature_is_that_of_version_4(void **state)
{
	const struct aws_place at = { "api.ecr.eu-west-1.example.com", "eu-west-1" };
	char id[] = "AKIDEXAMPLE", secret[] = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", region[] = "eu-west-1";
	const struct creds c = { .aws_id = id, .aws_secret = secret, .aws_region = region };
	struct err e = ERR_INIT;
	struct aws_call call;

	(void)state;
	assert_int_equal(aws_sign(&at, &c, 1767323045, &call, &e), 0);
	assert_string_equal(buf_cstr(&call.header[2]), "X-Amz-Date: 20260102T030405Z");
	assert_string_equal(buf_cstr(&call.header[3]),
	    "Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260102/eu-west-1/ecr/aws4_request, "
	    "SignedHeaders=content-type;host;x-amz-date;x-amz-target, "
	    "Signature=008a27137b07fde4009726aab6c8a02ebd37ee90b74371fa4a49142d697bde29");
	aws_call_done(&call);
}

static void only_a_password_becomes_a_header(void **state)
{
	static const char *const bad[] = { "", "[]", "{}", "{\"authorizationData\":[]}",
		"{\"authorizationData\":[{\"authorizationToken\":7}]}",
		"{\"authorizationData\":[{\"authorizationToken\":\"\"}]}",
		"{\"authorizationData\":[{\"authorizationToken\":\"a b\"}]}",
		"{\"authorizationData\":[{\"authorizationToken\":\"a\\r\\nb\"}]}", "{\"authorizationData\":{}}" };
	autobuf struct buf b = BUF_INIT(1024);

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct err e = ERR_INIT;

		if (aws_read_answer(str_of(bad[i]), &b, &e) == 0)
			fail_msg("'%s' was taken", bad[i]);
	}
	struct err e = ERR_INIT;

	assert_int_equal(
	    aws_read_answer(STR_LIT("{\"authorizationData\":[{\"authorizationToken\":\"QVdTOng=\"}]}"), &b, &e), 0);
	assert_string_equal(buf_cstr(&b), "Authorization: Basic QVdTOng=");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_name_tells_where_the_api_is),
		cmocka_unit_test(the_signature_is_that_of_version_4),
		cmocka_unit_test(only_a_password_becomes_a_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

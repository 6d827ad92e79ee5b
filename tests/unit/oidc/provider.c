/* SPDX-License-Identifier: Apache-2.0 */
/* Units of oidc/provider: only the provider's own document counts, and nothing leaves without TLS. */
#include "oidc/provider.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "ipc/settings.h"
#include "unit.h"

#define HERE "https://id.example/realm"
#define DOCUMENT(issuer, authorization, token, keys) \
	"{\"issuer\":\"" issuer "\",\"authorization_endpoint\":\"" authorization "\",\"token_endpoint\":\"" token \
	"\",\"jwks_uri\":\"" keys "\""

static struct err e;
static struct provider p;

static int parse(const char *json, const char *issuer)
{
	return provider_parse(str_of(json), issuer, &p, &e);
}

static void a_document_is_read(void **state)
{
	(void)state;
	assert_int_equal(
	    parse(DOCUMENT(HERE, HERE "/auth", HERE "/token", "https://keys.example/k") ",\"x\":[1]}", HERE), 0);
	assert_string_equal(p.token, HERE "/token");
	assert_string_equal(p.userinfo, "");
	assert_false(p.sends_issuer || p.secret_in_body);
	assert_int_equal(parse(DOCUMENT(HERE, HERE "/auth", HERE "/token",
				   HERE "/k") ",\"end_session_endpoint\":\"" HERE
					      "/end\",\"authorization_response_iss_parameter_supported\":true,"
					      "\"token_endpoint_auth_methods_supported\":[\"client_secret_post\"]}",
			     HERE),
	    0);
	assert_true(p.sends_issuer && p.secret_in_body);
	assert_string_equal(p.end_session, HERE "/end");
}

static void another_or_an_open_one_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"[]",
		"{}",
		"{\"issuer\":\"" HERE "\"}",
		DOCUMENT(HERE "/", HERE "/auth", HERE "/token", HERE "/k") "}",
		DOCUMENT("https://evil.example", HERE "/auth", HERE "/token", HERE "/k") "}",
		DOCUMENT(HERE, "http://id.example/auth", HERE "/token", HERE "/k") "}",
		DOCUMENT(HERE, HERE "/auth", "http://127.0.0.1/token", HERE "/k") "}",
		DOCUMENT(HERE, HERE "/auth", HERE "/token", "file:///etc/passwd") "}",
		DOCUMENT(HERE, HERE "/auth", HERE "/token", "https://u:p@id.example/k") "}",
		DOCUMENT(HERE, "javascript:alert(1)", HERE "/token", HERE "/k") "}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(parse(bad[i], HERE), -EINVAL);
	/* a provider of this machine, for tests */
	assert_int_equal(parse(DOCUMENT("http://127.0.0.1:9", "http://127.0.0.1:9/a", "http://127.0.0.1:9/t",
				   "http://localhost:9/k") "}",
			     "http://127.0.0.1:9"),
	    0);
	assert_int_equal(parse(DOCUMENT("http://127.0.0.1:9", "http://127.0.0.1:9/a", "http://evil.example/t",
				   "http://127.0.0.1:9/k") "}",
			     "http://127.0.0.1:9"),
	    -EINVAL);
}

static void urls_say_what_the_standard_wants(void **state)
{
	struct oidc_options o = { .oidc_client_id = "at&oll", .oidc_scopes = "openid email" };
	struct oi_ask ask = { .state = "s",
		.nonce = "n",
		.back = "https://a.example/console/oidc",
		.code = "c=1",
		.verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk" }; /* of RFC 7636 */
	autobuf struct buf url = BUF_INIT(OI_URL_SIZE), out = BUF_INIT(OI_URL_SIZE), body = BUF_INIT(4096),
			   header = BUF_INIT(4096), none = BUF_INIT(4096);

	(void)state;
	provider_put_discovery(&url, HERE "/");
	assert_string_equal(buf_cstr(&url), HERE "/.well-known/openid-configuration");
	p = (struct provider) { .authorization = HERE "/auth?x=1", .end_session = HERE "/end" };
	buf_clear(&url);
	provider_put_login(&url, &p, &o, &ask);
	assert_string_equal(buf_cstr(&url),
	    HERE "/auth?x=1&response_type=code&client_id=at%26oll&redirect_uri=https%3A%2F%2Fa.example%2Fconsole%2Foidc"
		 "&scope=openid%20email&state=s&nonce=n&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
		 "&code_challenge_method=S256");
	provider_put_logout(&out, &p, &o, "https://a.example/console/");
	assert_string_equal(buf_cstr(&out),
	    HERE "/end?client_id=at%26oll&post_logout_redirect_uri=https%3A%2F%2Fa.example%2Fconsole%2F");
	provider_put_exchange(&body, &header, &p, &o, STR_LIT("se:cret"), &ask);
	assert_string_equal(buf_cstr(&header), "Basic YXQlMjZvbGw6c2UlM0FjcmV0"); /* at%26oll:se%3Acret */
	assert_null(strstr(buf_cstr(&body), "secret"));
	assert_non_null(strstr(buf_cstr(&body), "&code=c%3D1&"));
	buf_clear(&body);
	p.secret_in_body = true;
	provider_put_exchange(&body, &none, &p, &o, STR_LIT("se:cret"), &ask);
	assert_non_null(strstr(buf_cstr(&body), "&client_id=at%26oll&client_secret=se%3Acret"));
	buf_clear(&body);
	provider_put_exchange(&body, &none, &p, &o, STR_NULL, &ask); /* a public client */
	assert_int_equal(none.n, 0);
	assert_non_null(strstr(buf_cstr(&body), "&client_id=at%26oll"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_document_is_read),
		cmocka_unit_test(another_or_an_open_one_is_refused),
		cmocka_unit_test(urls_say_what_the_standard_wants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

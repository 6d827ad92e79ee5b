/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/util/session_cookie and front/util/origin: which cookie is ours, and which page is. */
#include "front/util/session_cookie.h"

#include <stdint.h>

#include "base/fd.h"
#include "front/util/origin.h"
#include "http/server.h"
#include "unit.h"

static void is_hidden(const char *field, const char *want)
{
	autobuf struct buf out = BUF_INIT(4096);

	session_cookie_hide(&out, str_of(field));
	assert_string_equal(out.n ? buf_cstr(&out) : "", want);
}

static void sandboxes_see_the_other_cookies(void **state)
{
	(void)state;
	is_hidden("", "");
	is_hidden(" ; ;", "");
	is_hidden("atoll_session=x", "");
	is_hidden("a=1; atoll_session=x; b=2", "a=1; b=2");
	is_hidden("a=1;__Host-atoll_session=x;b=2;", "a=1; b=2");
	is_hidden("ATOLL_SESSION = x; a=b=c", "a=b=c");
	is_hidden("=atoll_session=x; =plain; bare", "plain; bare");
	is_hidden("atoll_session; ==atoll_session=x; = =", "");
	is_hidden("atoll_sessions=1; xatoll_session=2", "atoll_sessions=1; xatoll_session=2");
	is_hidden("a=\"x; atoll_session=y\"", "a=\"x");
}

static void no_answer_sets_it(void **state)
{
	static const char *const bad[] = { "atoll_session=x", "atoll_session=", "atoll_session",
		" atoll_session = x; Path=/", "__Host-atoll_session=x; Secure", "__host-ATOLL_session=x",
		"=atoll_session=x", " = atoll_session=x", "\tatoll_session=x" };
	static const char *const good[] = { "", "a=atoll_session=x", "atoll_session2=x", "a=1; atoll_session=x", "=a" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_true(session_cookie_is_set_by(str_of(bad[i])));
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_false(session_cookie_is_set_by(str_of(good[i])));
}

static void all_of_them_are_counted(void **state)
{
	struct http_headers h = { .n = 3,
		.v = { { STR_LIT("Cookie"), STR_LIT("a=1; atoll_session=one") },
		    { STR_LIT("Host"), STR_LIT("atoll_session=no") },
		    { STR_LIT("cookie"), STR_LIT("__Host-atoll_session=two; atoll_session=three") } } };
	struct str token;

	(void)state;
	assert_int_equal(session_cookie_find(&h, false, &token), 2);
	assert_true(str_is(token, "one"));
	assert_int_equal(session_cookie_find(&h, true, &token), 1);
	assert_true(str_is(token, "two"));
	h.n = 0;
	assert_int_equal(session_cookie_find(&h, true, &token), 0);
}

static bool same(const char *origin, const char *host, bool is_secure)
{
	return origin_is_host(str_of(origin), str_of(host), is_secure);
}

static void only_the_same_host_and_port_is_our_page(void **state)
{
	(void)state;
	assert_true(same("http://localhost:8080", "localhost:8080", false));
	assert_true(same("http://LOCALHOST:8080", "localhost:8080", false));
	assert_true(same("http://api.example.org", "api.example.org:80", false));
	assert_true(same("https://api.example.org", "api.example.org", true));
	assert_true(same("https://api.example.org:443", "api.example.org", true));
	assert_true(same("https://api.example.org", "api.example.org", false)); /* TLS ends at a proxy */
	assert_true(same("http://[::1]:8080", "[::1]:8080", false));
	assert_false(same("http://api.example.org", "api.example.org", true));
	assert_false(same("http://localhost:8081", "localhost:8080", false));
	assert_false(same("http://3000-i1.localhost:8080", "localhost:8080", false));
	assert_false(same("http://localhost:8080.evil.example", "localhost:8080", false));
	assert_false(same("null", "null", false));
	assert_false(same("", "", false));
	assert_false(same("http://", "", false));
	assert_false(same("localhost:8080", "localhost:8080", false));
	assert_false(same("ws://localhost:8080", "localhost:8080", false));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sandboxes_see_the_other_cookies),
		cmocka_unit_test(no_answer_sets_it),
		cmocka_unit_test(all_of_them_are_counted),
		cmocka_unit_test(only_the_same_host_and_port_is_our_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

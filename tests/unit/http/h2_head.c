/* SPDX-License-Identifier: Apache-2.0 */
/* Units of http/h2_head: fields put together as HTTP/1.x has them, and those that must not pass. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http/h2_head.h"
#include "unit.h"

static struct h2_head hd;
static struct http_req rq;
static char text[HTTP_HEAD_MAX + 1];

static void add(const char *name, const char *value)
{
	h2_head_add(&hd, str_of(name), str_of(value));
}

static void begin(void)
{
	h2_head_begin(&hd);
	add(":method", "GET");
	add(":scheme", "https");
	add(":path", "/a?b=c");
	add(":authority", "x.test:8443");
}

static int fill(bool has_body)
{
	assert_true(h2_head_size(&hd) <= HTTP_HEAD_MAX);
	return h2_head_fill(&hd, has_body, text, &rq);
}

static void a_head_is_taken_apart(void **state)
{
	(void)state;
	begin();
	add("accept", "*/*");
	assert_int_equal(fill(false), 0);
	assert_true(str_is(rq.method, "GET") && str_is(rq.target, "/a?b=c") && str_is(rq.path, "/a") &&
	    str_is(rq.query, "b=c"));
	assert_true(str_is(rq.host, "x.test:8443"));
	assert_int_equal(rq.headers.n, 1);
	assert_int_equal(rq.content_length, 0);
	begin();
	assert_int_equal(fill(true), 0);
	assert_int_equal(rq.content_length, -1);
	begin();
	add("content-length", "12");
	assert_int_equal(fill(true), 0);
	assert_int_equal(rq.content_length, 12);
}

static void crumbs_make_one_cookie(void **state)
{
	(void)state;
	begin();
	add("cookie", "a=1");
	add("x", "y");
	add("cookie", "b=2");
	add("cookie", "c=3");
	assert_int_equal(fill(false), 0);
	assert_int_equal(rq.headers.n, 2);
	assert_true(str_is(http_header_get(&rq.headers, "cookie"), "a=1; b=2; c=3"));
	assert_true(str_is(http_header_get(&rq.headers, "x"), "y"));
}

/* Each crumb in turn copies all before it: many of them must end in a refusal, not in strings that point nowhere. */
static void crumbs_do_not_add_up_for_ever(void **state)
{
	static char crumb[200];

	(void)state;
	memset(crumb, 'c', sizeof crumb - 1);
	begin();
	for (int i = 0; i < 90; i++) {
		add("cookie", crumb);
		add("x", "y");
	}
	assert_int_equal(fill(false), -EBADMSG);
	assert_int_equal(hd.refuse, 431);
	assert_int_equal(rq.headers.n, 0);
}

static int refused(const char *name, const char *value)
{
	begin();
	add(name, value);
	return fill(true) == 0 ? 0 : hd.refuse;
}

static void what_is_not_a_head_is_refused(void **state)
{
	static const char *const bad[][2] = {
		{ "Upper", "1" },
		{ "a b", "1" },
		{ "a:", "1" },
		{ "", "1" },
		{ "a\r\nb", "1" },
		{ "x", "a\r\nb" },
		{ "x", "\x7f" },
		{ "x", "\001" },
		{ ":method", "POST" },
		{ ":path", "/" },
		{ ":status", "200" },
		{ "connection", "close" },
		{ "keep-alive", "1" },
		{ "upgrade", "h2c" },
		{ "transfer-encoding", "chunked" },
		{ "proxy-connection", "close" },
		{ "content-length",
		    "1 "
		    "x" },
		{ "content-length", "+1" },
		{ "host", "other.test" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(refused(bad[i][0], bad[i][1]), 400);
	assert_int_equal(refused("host", "X.test:8443"), 0);
	assert_int_equal(refused("te", "trailers"), 0);
	assert_int_equal(refused("x", "\xc3\xa4\tb"), 0);
}

static void first_lines_are_checked(void **state)
{
	static const char *const bad[][3] = {
		{ "GET", "a", "x" },
		{ "GET", "/a b", "x" },
		{ "GET", "/a\tb", "x" },
		{ "GET", "", "x" },
		{ "G T", "/", "x" },
		{ "", "/", "x" },
		{ "GET", "/", "x y" },
		{ "GET", "/", "" },
		{ "GET", "http://x/", "x" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		h2_head_begin(&hd);
		add(":method", bad[i][0]);
		add(":path", bad[i][1]);
		add(":authority", bad[i][2]);
		assert_int_equal(fill(false), -EBADMSG);
		assert_int_equal(hd.refuse, 400);
	}
	h2_head_begin(&hd);
	add(":method", "OPTIONS");
	add(":path", "*");
	add("host", "only.test");
	assert_int_equal(fill(false), 0);
	assert_true(str_is(rq.host, "only.test"));
	h2_head_begin(&hd);
	add(":method", "CONNECT");
	add(":authority", "x:1");
	assert_int_equal(fill(false), -EBADMSG);
	assert_int_equal(hd.refuse, 501);
}

static int group_done(void **state)
{
	(void)state;
	h2_head_done(&hd);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_head_is_taken_apart),
		cmocka_unit_test(crumbs_make_one_cookie),
		cmocka_unit_test(crumbs_do_not_add_up_for_ever),
		cmocka_unit_test(what_is_not_a_head_is_refused),
		cmocka_unit_test(first_lines_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, group_done);
}

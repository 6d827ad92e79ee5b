/* SPDX-License-Identifier: Apache-2.0 */
/* Units of ipc/hooks: which URLs are taken, and which messages. */
#include "ipc/webhooks.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "unit.h"

static void urls_are_taken_apart(void **state)
{
	static const struct {
		const char *url, *host;
		uint16_t port;
		bool tls;
	} good[] = {
		{ "https://example.com", "example.com", 443, true },
		{ "http://example.com/a?b=c&d=%20", "example.com", 80, false },
		{ "https://example.com:8443/x", "example.com", 8443, true },
		{ "https://example.com?x=@y", "example.com", 443, true },
		{ "http://[2001:db8::1]:8080/x", "2001:db8::1", 8080, false },
		{ "http://[::1]", "::1", 80, false },
		{ "http://10.0.0.1:1/x:y@z", "10.0.0.1", 1, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct err e = ERR_INIT;
		struct webhook_url u;

		assert_int_equal(webhook_url_parse(str_of(good[i].url), &u, &e), 0);
		assert_string_equal(u.host, good[i].host);
		assert_int_equal(u.port, good[i].port);
		assert_int_equal(u.tls, good[i].tls);
	}
}

static void what_could_be_read_in_two_ways_is_refused(void **state)
{
	static const char *const bad[] = { "", "example.com", "ftp://example.com", "HTTPS://example.com", "https://",
		"https:///x", "https://user@example.com", "https://user:pw@example.com/",
		"https://example.com\\@evil.com/", "https://exa mple.com", "https://example.com/#x",
		"https://example.com:0/", "https://example.com:/", "https://example.com:65536",
		"https://example.com:1x", "https://[::1", "https://[::1]x", "https://[zz]/", "https://::1/",
		"https://.example.com", "https://-x", "https://ex%61mple.com", "https://example.com/\n",
		"https://ex\xc3\xa4mple.com", "https://a/{x}", "https://[::1]:", "https://[::1/64]/",
		"http:/example.com", "file:///etc/passwd" };
	struct webhook_url u = { .host = "untouched" };
	char longest[HK_URL_MAX + 2];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct err e = ERR_INIT;

		if (webhook_url_parse(str_of(bad[i]), &u, &e) == 0)
			fail_msg("taken: %s", bad[i]);
		assert_true(e.text[0]);
	}
	assert_string_equal(u.host, "untouched");
	memset(longest, 'x', sizeof longest);
	memcpy(longest, "https://", 8);
	struct err e = ERR_INIT;

	assert_true(webhook_url_parse((struct str) { longest, sizeof longest }, &u, &e) < 0);
	longest[HK_URL_MAX] = '\0';
	longest[20] = '/';
	assert_int_equal(webhook_url_parse(str_of(longest), &u, &e), 0);
}

static size_t make(char *msg, const char *url, const char *body, struct hk_job *m)
{
	m->n_url = (uint32_t)strlen(url);
	m->n_body = (uint32_t)strlen(body);
	memcpy(msg, m, sizeof *m);
	memcpy(msg + sizeof *m, url, m->n_url);
	memcpy(msg + sizeof *m + m->n_url, body, m->n_body);
	return sizeof *m + m->n_url + m->n_body;
}

static void jobs_are_checked(void **state)
{
	struct hk_job m = { { HK_VERSION, HK_JOB, 7 }, 1000, 1, 0, 0, "w-1", "d-1", "t-1", "abc_-" }, got;
	char msg[sizeof m + 256];
	struct str url, body;

	(void)state;
	size_t n = make(msg, "https://example.com/x", "{}", &m);

	assert_int_equal(hk_job_check(msg, n, &got, &url, &body), 0);
	assert_true(str_is(url, "https://example.com/x") && str_is(body, "{}"));
	for (size_t i = 0; i < n; i++)
		assert_true(hk_job_check(msg, i, &got, &url, &body) < 0);
	assert_true(hk_job_check(msg, n + 1, &got, &url, &body) < 0);
	n = make(msg, "https://user@example.com/x", "{}", &m);
	assert_true(hk_job_check(msg, n, &got, &url, &body) < 0);
	memcpy(m.signature, "a\r\nx: y", 8); /* would be a header of its own */
	n = make(msg, "https://example.com/x", "{}", &m);
	assert_true(hk_job_check(msg, n, &got, &url, &body) < 0);
	memcpy(m.signature, "abc\0\0\0\0", 8);
	memcpy(m.try, "t\nx", 4);
	n = make(msg, "https://example.com/x", "{}", &m);
	assert_true(hk_job_check(msg, n, &got, &url, &body) < 0);
	memcpy(m.try, "t-1", 4);
	m.timeout_ms = 0;
	n = make(msg, "https://example.com/x", "{}", &m);
	assert_true(hk_job_check(msg, n, &got, &url, &body) < 0);
}

static void answers_are_checked(void **state)
{
	struct hk_done m = { { HK_VERSION, HK_DONE, 7 }, HK_STATUS, 500, 3, 0, "answered 500" }, got;

	(void)state;
	assert_int_equal(hk_done_check(&m, sizeof m, &got), 0);
	assert_string_equal(got.text, "answered 500");
	m.text[2] = '\n';
	assert_true(hk_done_check(&m, sizeof m, &got) < 0);
	m.text[2] = 'x';
	m.outcome = HK_OUTCOMES;
	assert_true(hk_done_check(&m, sizeof m, &got) < 0);
	m.outcome = HK_OK;
	m.retry_after_s = HK_RETRY_AFTER_MAX_S + 1;
	assert_true(hk_done_check(&m, sizeof m, &got) < 0);
	for (uint32_t i = 0; i < HK_OUTCOMES; i++)
		assert_non_null(hk_outcome_name(i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urls_are_taken_apart),
		cmocka_unit_test(what_could_be_read_in_two_ways_is_refused),
		cmocka_unit_test(jobs_are_checked),
		cmocka_unit_test(answers_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* client/breaker, recover, cache, pure, prepare, install: what agents need, without a server. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/agent/redact.h"
#include "client/atoll.h"
#include "unit.h"

static int64_t now;

static int64_t clock_of_test(void *user)
{
	(void)user;
	return now;
}

static void breaker_opens_probes_and_closes(void **state)
{
	struct atoll_breaker *b = NULL;
	struct atoll_error e;

	(void)state;
	assert_int_equal(atoll_breaker_new(&(struct atoll_breaker_config) { .now_ms = clock_of_test }, &b, &e), 0);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(atoll_breaker_enter(b, &e), 0);
		assert_string_equal(atoll_breaker_state(b), "closed");
		atoll_breaker_report(b, false);
	}
	assert_string_equal(atoll_breaker_state(b), "open");
	assert_int_equal(atoll_breaker_enter(b, &e), -EHOSTDOWN);
	now += 29999;
	assert_int_equal(atoll_breaker_enter(b, &e), -EHOSTDOWN);
	now += 1;
	assert_string_equal(atoll_breaker_state(b), "half-open");
	assert_int_equal(atoll_breaker_enter(b, &e), 0);
	assert_int_equal(atoll_breaker_enter(b, &e), -EHOSTDOWN); /* one probe at a time */
	atoll_breaker_report(b, false);
	assert_int_equal(atoll_breaker_enter(b, &e), -EHOSTDOWN);
	now += 30000;
	assert_int_equal(atoll_breaker_enter(b, &e), 0);
	atoll_breaker_report(b, true);
	assert_string_equal(atoll_breaker_state(b), "closed");
	atoll_breaker_report(b, false);
	assert_string_equal(atoll_breaker_state(b), "closed"); /* only in a row */
	atoll_breaker_free(b);
}

static void failures_have_a_name_and_a_remedy(void **state)
{
	static const struct {
		struct atoll_error e;
		const char *code;
		bool transport;
	} all[] = {
		{ { ETIMEDOUT, 0, "the code did not finish in time" }, "TIMEOUT", false },
		{ { EIO, 0, "killed: out of memory" }, "MEMORY_LIMIT", false },
		{ { ESRCH, 502, "sandbox 'x' has ended" }, "SANDBOX_UNAVAILABLE", false },
		{ { ENOENT, 404, "there is no sandbox 'x'" }, "SANDBOX_UNAVAILABLE", false },
		{ { ECONNREFUSED, 0, "cannot connect" }, "SERVICE_UNAVAILABLE", true },
		{ { ETIMEDOUT, 504, "no answer in time" }, "SERVICE_UNAVAILABLE", true },
		{ { EBUSY, 503, "no room" }, "SERVICE_UNAVAILABLE", true },
		{ { EHOSTDOWN, 0, "no calls are made" }, "SERVICE_UNAVAILABLE", true },
		{ { EAGAIN, 429, "too many" }, "LIMIT_REACHED", false },
		{ { EINVAL, 400, "field 'x'" }, "REFUSED", false },
		{ { E2BIG, 0, "the code is longer than 1048576 bytes" }, "REFUSED", false },
		{ { EIO, 500, "oops" }, "OTHER", false },
	};
	struct atoll_failure f;

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		atoll_failure_of(&all[i].e, "ses_1", "run code", 0, &f);
		assert_string_equal(f.type, all[i].code);
		assert_int_equal(f.transport, all[i].transport);
		assert_true(*f.remedy);
	}
	atoll_failure_of(&all[0].e, "ses_1", "run code", 2000, &f);
	assert_string_equal(f.message, "E2B execution failed: Execution timed out after 2000 ms");
	f.code = "1/0"; /* A7: what failed; the kind is the type */
	char *json = atoll_failure_json(&f);

	assert_non_null(strstr(json, "\"name\":\"E2BExecutionError\",\"type\":\"TIMEOUT\",\"code\":\"1/0\""));
	assert_non_null(strstr(json, "\"sessionId\":\"ses_1\",\"context\":\"run code\""));
	free(json);
}

static void bad_variables_are_named(void **state)
{
	struct atoll_retry r;
	struct atoll_error e;

	(void)state;
	unsetenv("E2B_MAX_RETRIES");
	unsetenv("E2B_TIMEOUT");
	assert_int_equal(atoll_retry_env(&r, &e), 0);
	assert_int_equal(r.max_retries, 3);
	assert_int_equal(r.timeout_ms, 30000);
	setenv("E2B_MAX_RETRIES", "many", 1);
	assert_int_equal(atoll_retry_env(&r, &e), -EINVAL);
	assert_non_null(strstr(e.text, "E2B_MAX_RETRIES"));
	setenv("E2B_MAX_RETRIES", "0", 1);
	setenv("E2B_TIMEOUT", "-1", 1);
	assert_int_equal(atoll_retry_env(&r, &e), -EINVAL);
	assert_non_null(strstr(e.text, "E2B_TIMEOUT"));
	setenv("E2B_TIMEOUT", "0", 1);
	assert_int_equal(atoll_retry_env(&r, &e), -EINVAL);
	setenv("E2B_TIMEOUT", "1500", 1);
	assert_int_equal(atoll_retry_env(&r, &e), 0);
	assert_int_equal(r.max_retries, 0);
	assert_int_equal(r.timeout_ms, 1500);
	unsetenv("E2B_MAX_RETRIES");
	unsetenv("E2B_TIMEOUT");
}

struct script {
	int fail, no, calls;
	bool begun;
};

static int attempt(void *user, bool *ret_begun, struct atoll_error *e)
{
	struct script *s = user;

	*ret_begun = s->begun;
	if (s->calls++ >= s->fail)
		return 0;
	*e = (struct atoll_error) { .no = s->no };
	return -s->no;
}

static void retries_are_for_the_way_only(void **state)
{
	const struct atoll_retry r = { .max_retries = 3 };
	struct atoll_error e;
	unsigned tries;

	(void)state;
	struct script twice = { 2, ECONNREFUSED, 0, false }, always = { 99, ECONNRESET, 0, false },
		      user = { 99, EINVAL, 0, false }, begun = { 99, ECONNRESET, 0, true };

	assert_int_equal(atoll_retry_run(&r, NULL, attempt, &twice, &tries, &e), 0);
	assert_int_equal(tries, 3);
	assert_int_equal(atoll_retry_run(&r, NULL, attempt, &always, &tries, &e), -ECONNRESET);
	assert_int_equal(always.calls, 4);
	assert_int_equal(atoll_retry_run(&r, NULL, attempt, &user, &tries, &e), -EINVAL);
	assert_int_equal(user.calls, 1);
	assert_int_equal(atoll_retry_run(&r, NULL, attempt, &begun, &tries, &e), -ECONNRESET);
	assert_int_equal(begun.calls, 1);
}

static int late(void *user, bool *ret_begun, struct atoll_error *e)
{
	*ret_begun = false;
	*e = (struct atoll_error) { .no = ETIMEDOUT, .status = 504 };
	++*(int *)user;
	return -ETIMEDOUT;
}

static void a_server_that_is_late_counts_and_is_not_asked_twice(void **state)
{
	const struct atoll_retry r = { .max_retries = 3 };
	struct atoll_breaker *b = NULL;
	struct atoll_error e = { 0 };
	int calls = 0;

	(void)state;
	assert_int_equal(atoll_breaker_new(&(struct atoll_breaker_config) { .failures = 2 }, &b, &e), 0);
	assert_int_equal(atoll_retry_run(&r, b, late, &calls, NULL, &e), -ETIMEDOUT);
	assert_int_equal(calls, 1);
	assert_string_equal(atoll_breaker_state(b), "closed");
	assert_int_equal(atoll_retry_run(&r, b, late, &calls, NULL, &e), -ETIMEDOUT);
	assert_string_equal(atoll_breaker_state(b), "open");
	assert_int_equal(atoll_retry_run(&r, b, late, &calls, NULL, &e), -EHOSTDOWN);
	assert_int_equal(calls, 2);
	atoll_breaker_free(b);
}

static void pure_is_what_only_computes(void **state)
{
	static const char *const pure[] = { "1 + 1", "print('hello')", "sum(range(10))",
		"sorted([3, 1, 2], reverse=True)", "max(1, 2) == 2", "len('x = y')", "2 ** 10 if 1 < 2 else 0" };
	static const char *const not[] = { "x", "x = 1", "x*2", "import time", "open('f')", "print(x)", "f'{x}'",
		"time.time()", "print(1); y = 2", "random()", "''.join(x)", "def f(): pass", "!ls", "'unended",
		"print(end=exec('x=1'))", "" };

	(void)state;
	for (size_t i = 0; i < sizeof pure / sizeof *pure; i++)
		assert_true(atoll_code_pure("python", pure[i]));
	for (size_t i = 0; i < sizeof not/ sizeof *not; i++) {
		if (atoll_code_pure("python", not[i]))
			fail_msg("'%s' is not pure", not[i]);
	}
	assert_true(atoll_code_pure("js", "console.log(Math.sqrt(2))"));
	assert_false(atoll_code_pure("js", "Math.random()"));
	assert_false(atoll_code_pure("js", "Date.now()"));
	assert_false(atoll_code_pure("bash", "echo 1"));
}

static void cache_forgets_the_oldest(void **state)
{
	struct atoll_cache *c = NULL;
	struct atoll_cache_stats st;
	struct atoll_error e;
	char code[32];

	(void)state;
	assert_int_equal(atoll_cache_new(4096, &c, &e), 0);
	atoll_cache_put(c, "s", "python", "1", "{}");
	assert_null(atoll_cache_get(c, "s", "python", "1")); /* nobody asked for it */
	assert_int_equal(atoll_cache_enable(c, "s", &e), 0);
	for (int i = 0; i < 100; i++) {
		(void)snprintf(code, sizeof code, "%d", i);
		atoll_cache_put(c, "s", "python", code, "{}");
	}
	atoll_cache_stats(c, &st);
	assert_true(st.bytes <= 4096 && st.entries > 0 && st.entries < 100);
	assert_null(atoll_cache_get(c, "s", "python", "0"));
	char *z = atoll_cache_get(c, "s", "python", "99");

	assert_string_equal(z, "{}");
	free(z);
	atoll_cache_written(c, "s");
	assert_null(atoll_cache_get(c, "s", "python", "99"));
	assert_false(atoll_cache_enabled(c, "s"));
	atoll_cache_free(c);
}

static void prepares(const char *language, const char *code, const char *want_language, const char *want)
{
	const char *name = NULL;
	char *text = NULL;
	struct atoll_error e;

	assert_int_equal(atoll_prepare_code(language, code, &name, &text, &e), 0);
	assert_string_equal(name, want_language);
	assert_string_equal(text, want);
	free(text);
}

static void code_is_made_ready(void **state)
{
	struct atoll_error e;
	char *text = NULL;

	(void)state;
	prepares("python", "print(os.name)", "python", "import sys\nimport os\nprint(os.name)");
	prepares("py", "!pip install x", "python", "!pip install x");
	prepares("python", "import x\nx", "python", "import x\nx");
	prepares("ts", "let x: number = 1", "typescript", "// @ts-nocheck\nlet x: number = 1");
	prepares("typescript", "// @ts-nocheck\n1", "typescript", "// @ts-nocheck\n1");
	prepares(NULL, "```js\n  let a = 1\n    a\n```\n", "javascript", "let a = 1\n  a\n");
	prepares(NULL, "```\nconst a = 1;\nconsole.log(a);\n```", "javascript", "const a = 1;\nconsole.log(a);\n");
	prepares(NULL, "echo hi; ls\nfor f in *; do echo $f; done", "bash",
	    "echo hi; ls\nfor f in *; do echo $f; done");
	prepares(NULL, "def f():\n    return 1\nprint(f())", "python",
	    "import sys\nimport os\ndef f():\n    return 1\nprint(f())");
	prepares("bash", "", "bash", "");
	assert_int_equal(atoll_prepare_code("cobol", "x", NULL, &text, &e), -EINVAL);
	assert_string_equal(e.text, "Unsupported language: cobol");
	char *big = malloc(ATOLL_CODE_MAX + 2);

	memset(big, 'x', ATOLL_CODE_MAX + 1);
	big[ATOLL_CODE_MAX + 1] = '\0';
	assert_int_equal(atoll_prepare_code("python", big, NULL, &text, &e), -E2BIG);
	free(big);
}

static void names_of_packages(void **state)
{
	static const struct {
		const char *manager, *name;
		bool ok;
	} all[] = {
		{ "pip", "numpy", true },
		{ "pip", "pandas[excel]>=2.0,<3", true },
		{ "pip", "a==1.0.post1", true },
		{ "pip", "/tmp/x-1.0-py3-none-any.whl", true },
		{ "pip", "-r", false },
		{ "pip", "--index-url=x", false },
		{ "pip", "x; rm -rf /", false },
		{ "pip", "git+https://x", false },
		{ "pip", "$(id)", false },
		{ "pip", "", false },
		{ "pip", "a==", false },
		{ "pip", "/tmp/../etc/x.whl", false },
		{ "pip", "x\ny", false },
		{ "npm", "lodash", true },
		{ "npm", "@types/node@^18.0.0", true },
		{ "npm", "@x", false },
		{ "npm", "https://x/y.tgz", false },
		{ "npm", "a b", false },
		{ "npm", "../x", false },
		{ "apt", "libssl-dev", true },
		{ "apt", "g++", true },
		{ "apt", "git=1:2.39-1", true },
		{ "apt", "Git", false },
		{ "apt", "-o", false },
		{ "apt", "./x.deb", false },
		{ "brew", "x", false },
	};
	struct atoll_error e;

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		int rc = atoll_package_check(all[i].manager, all[i].name, &e);

		if ((rc == 0) != all[i].ok)
			fail_msg("%s '%s'", all[i].manager, all[i].name);
	}
}

static void secrets_of_calls_are_bounded(void **state)
{
	const struct atoll_pair envs[] = { { "MODE", "production" }, { "A_TOKEN", "abcdefgh" }, { "B_KEY", "abcdefgh" },
		{ "C_SECRET", "abc" }, { "D_PASSWORD", NULL } };
	struct secrets s = { .n = 0 };
	char z[32];

	(void)state;
	secrets_add_envs(&s, envs, sizeof envs / sizeof *envs);
	assert_int_equal(s.n, 1);
	assert_string_equal(s.v[0], "abcdefgh");
	for (int i = 0; i < SECRETS_MAX + 3; i++) {
		(void)snprintf(z, sizeof z, "secret-%d", i);
		redact_secrets_add(&s, z);
	}
	assert_int_equal(s.n, SECRETS_MAX);
	assert_string_equal(s.v[0], "secret-3");
	assert_string_equal(s.v[SECRETS_MAX - 1], z);
	assert_null(s.v[SECRETS_MAX]);
	secrets_done(&s);

	char *big = calloc(1, SECRET_MAX + 2);

	assert_non_null(big);
	memset(big, 'x', SECRET_MAX + 1);
	redact_secrets_add(&s, big);
	assert_int_equal(s.n, 0);
	big[SECRET_MAX] = '\0';
	redact_secrets_add(&s, big);
	assert_int_equal(s.n, 1);
	secrets_done(&s);
	free(big);
}

static void redacts(const char *text, const char *want)
{
	static const char *const secrets[] = { "hunter2hunter2", "abc" };
	char *have = atoll_redact(text, secrets, 2);

	assert_string_equal(have, want);
	free(have);
}

static void tokens_are_taken_out(void **state)
{
	(void)state;
	redacts("token ghp_0123456789abcdefghijABCDEF is it", "token [redacted] is it");
	redacts("x=hunter2hunter2;", "x=[redacted];");
	redacts("abc is too short to be looked for", "abc is too short to be looked for");
	redacts("https://me:pa55@host/x and http://host:80/y", "https://me:[redacted]@host/x and http://host:80/y");
	redacts("AKIAIOSFODNN7EXAMPLE", "[redacted]");
	redacts("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nz", "[redacted]\nz");
	redacts("task-force risk-management_of_things", "task-force risk-management_of_things");
	redacts("e2b_0123456789abcdef0123456789abcdef", "[redacted]");
	redacts("", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(breaker_opens_probes_and_closes),
		cmocka_unit_test(failures_have_a_name_and_a_remedy),
		cmocka_unit_test(bad_variables_are_named),
		cmocka_unit_test(secrets_of_calls_are_bounded),
		cmocka_unit_test(retries_are_for_the_way_only),
		cmocka_unit_test(a_server_that_is_late_counts_and_is_not_asked_twice),
		cmocka_unit_test(pure_is_what_only_computes),
		cmocka_unit_test(cache_forgets_the_oldest),
		cmocka_unit_test(code_is_made_ready),
		cmocka_unit_test(names_of_packages),
		cmocka_unit_test(tokens_are_taken_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* client/config: which server and key are found, and what is named when something is missing. Nothing is sent. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/client.h"
#include "unit.h"

static const char *const VARIABLES[] = { "E2B_API_KEY", "E2B_API_URL", "E2B_SANDBOX_URL", "E2B_DOMAIN",
	"E2B_TEMPLATE_ID", "E2B_ACCESS_TOKEN", "SSL_CERT_FILE", "ATOLL_MOCK", "ATOLL_LOG" };
static struct atoll_error e;

static int clean(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(VARIABLES) / sizeof(*VARIABLES); i++)
		(void)unsetenv(VARIABLES[i]);
	return 0;
}

static struct atoll *made(const struct atoll_config *cfg)
{
	struct atoll *a = NULL;

	if (atoll_new(cfg, &a, &e) < 0)
		fail_msg("%s", e.text);
	return a;
}

#define NOWHERE .state_dir = "/nonexistent"

static void without_a_key_the_variable_is_named(void **state)
{
	struct atoll *a = NULL;

	(void)state;
	assert_int_equal(atoll_new(&(struct atoll_config) { NOWHERE }, &a, &e), -EINVAL);
	assert_non_null(strstr(e.text, "E2B_API_KEY"));
	assert_int_equal(e.status, 0);
	assert_null(a);
	(void)setenv("E2B_API_KEY", "", 1); /* empty is unset */
	assert_int_equal(atoll_new(&(struct atoll_config) { NOWHERE }, &a, &e), -EINVAL);
	(void)setenv("E2B_API_KEY", "secret value", 1);
	assert_int_equal(atoll_new(NULL, &a, &e), -EINVAL);
	assert_non_null(strstr(e.text, "E2B_API_KEY"));
	assert_null(strstr(e.text, "secret"));
}

static void a_key_alone_is_for_e2bs_own(void **state)
{
	(void)state;
	(void)setenv("E2B_API_KEY", "e2b_00", 1);
	struct atoll *a = made(NULL);

	assert_string_equal(a->api_url, "https://api.e2b.app");
	assert_null(a->sandbox_url);
	assert_string_equal(a->domain, "e2b.app");
	assert_string_equal(a->template_id, "code-interpreter-v1");
	atoll_free(a);
}

static void a_domain_makes_host_names(void **state)
{
	(void)state;
	(void)setenv("E2B_API_KEY", "e2b_00", 1);
	(void)setenv("E2B_DOMAIN", "sbx.test:8443", 1);
	(void)setenv("E2B_TEMPLATE_ID", "mine", 1);
	struct atoll *a = made(NULL);

	assert_string_equal(a->api_url, "https://api.sbx.test:8443");
	assert_null(a->sandbox_url);
	assert_string_equal(a->template_id, "mine");
	atoll_free(a);
	(void)setenv("E2B_DOMAIN", "sbx.test/evil", 1);
	assert_int_equal(atoll_new(NULL, &a, &e), -EINVAL);
	assert_non_null(strstr(e.text, "E2B_DOMAIN"));
}

static void an_api_url_alone_gets_all_calls(void **state)
{
	(void)state;
	(void)setenv("E2B_API_KEY", "e2b_00", 1);
	(void)setenv("E2B_API_URL", "http://127.0.0.1:3000/", 1);
	struct atoll *a = made(NULL);

	assert_string_equal(a->api_url, "http://127.0.0.1:3000");
	assert_string_equal(a->sandbox_url, "http://127.0.0.1:3000");
	atoll_free(a);
	(void)setenv("E2B_SANDBOX_URL", "http://127.0.0.1:4000", 1);
	a = made(NULL);
	assert_string_equal(a->sandbox_url, "http://127.0.0.1:4000");
	atoll_free(a);
	/* One that is given beats the variables, and those of another server do not count for it. */
	a = made(&(struct atoll_config) { .api_url = "http://127.0.0.1:5000" });
	assert_string_equal(a->sandbox_url, "http://127.0.0.1:5000");
	assert_string_equal(a->api_key, "e2b_00");
	atoll_free(a);
	a = made(&(struct atoll_config) { .api_key = "mine", .no_env = true });
	assert_string_equal(a->api_url, "https://api.e2b.app");
	atoll_free(a);
}

static void write_line(const char *dir, const char *name, const char *text)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	(void)fprintf(f, "%s\n", text);
	(void)fclose(f);
}

static void a_server_of_this_machine_is_found(void **state)
{
	char dir[] = "/tmp/atoll-config-XXXXXX", path[300];
	struct atoll *a;

	(void)state;
	assert_non_null(mkdtemp(dir));
	write_line(dir, "key", "e2b_local");
	write_line(dir, "url", "http://127.0.0.1:7000");
	a = made(&(struct atoll_config) { .state_dir = dir });
	assert_string_equal(a->api_key, "e2b_local");
	assert_true(a->has_found_key);
	assert_string_equal(a->api_url, "http://127.0.0.1:7000");
	assert_string_equal(a->sandbox_url, "http://127.0.0.1:7000");
	atoll_free(a);
	/* Its key is not for others. */
	(void)setenv("E2B_DOMAIN", "elsewhere.test", 1);
	assert_int_equal(atoll_new(&(struct atoll_config) { .state_dir = dir }, &a, &e), -EINVAL);
	(void)unsetenv("E2B_DOMAIN");
	(void)setenv("E2B_API_URL", "https://elsewhere.test", 1);
	assert_int_equal(atoll_new(&(struct atoll_config) { .state_dir = dir }, &a, &e), -EINVAL);
	for (int i = 0; i < 2; i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", dir, i ? "key" : "url");
		(void)unlink(path);
	}
	(void)rmdir(dir);
	/* An open server on the loopback address needs none. */
	(void)setenv("E2B_API_URL", "http://localhost:7000", 1);
	a = made(&(struct atoll_config) { NOWHERE });
	assert_null(a->api_key);
	atoll_free(a);
}

static void what_is_here(void **state)
{
	static const char *const here[] = { "http://127.0.0.1", "http://127.0.0.1:80/x", "https://localhost:1",
		"http://localhost", "http://[::1]:80", "http://[::1]", "http://0.0.0.0:3000", "http://127.1.2.3/" };
	static const char *const there[] = { "http://127.0.0.1.example.org", "http://127.0.0.1@example.org",
		"http://localhost.example.org", "http://localhost@example.org/", "http://localhost:80@example.org/",
		"http://[::1].example.org", "http://10.0.0.1", "https://example.org/127.0.0.1",
		"http://0.0.0.0.example.org" };

	(void)state;
	for (size_t i = 0; i < sizeof(here) / sizeof(*here); i++)
		assert_true(client_is_loopback(here[i]));
	for (size_t i = 0; i < sizeof(there) / sizeof(*there); i++)
		assert_false(client_is_loopback(there[i]));
}

static void the_mock_is_only_chosen(void **state)
{
	(void)state;
	struct atoll *a = made(&(struct atoll_config) { .mock = true });

	assert_true(atoll_is_mock(a));
	atoll_free(a);
	(void)setenv("ATOLL_MOCK", "0", 1);
	assert_int_equal(atoll_new(&(struct atoll_config) { NOWHERE }, &a, &e), -EINVAL);
	(void)setenv("ATOLL_MOCK", "1", 1);
	assert_int_equal(atoll_new(&(struct atoll_config) { NOWHERE, .no_env = true }, &a, &e), -EINVAL);
	assert_false(atoll_is_mock(NULL));
}

static void keep_line(void *user, const char *line)
{
	(void)snprintf(user, 512, "%s", line);
}

static void each_call_is_a_line(void **state)
{
	struct atoll_sandbox *sb = NULL;
	struct atoll_execution *x = NULL;
	char line[512] = "";

	(void)state;
	struct atoll *a = made(&(struct atoll_config) { .mock = true, .log = keep_line, .log_user = line });
	assert_int_equal(atoll_sandbox_create(a, NULL, &sb, &e), 0);
	assert_non_null(strstr(line, "\"op\":\"create_sandbox\""));
	assert_non_null(strstr(line, "\"level\":\"info\""));
	assert_int_equal(atoll_run_code(sb, &(struct atoll_code) { .code = "1 + 1" }, NULL, &x, &e), 0);
	atoll_execution_free(x);
	assert_non_null(strstr(line, "\"op\":\"run_code\""));
	assert_non_null(strstr(line, "\"contentLength\":"));
	assert_non_null(strstr(line, "\"resultsCount\":1"));
	assert_non_null(strstr(line, atoll_sandbox_id(sb)));
	assert_int_equal(atoll_file_put(sb, "/tmp/secret-name", NULL, "12345", 5, &e), 0);
	assert_non_null(strstr(line, "\"op\":\"write_file\""));
	assert_non_null(strstr(line, "\"contentLength\":5"));
	assert_non_null(strstr(line, "\"fileCount\":1"));
	assert_null(strstr(line, "secret-name"));
	struct atoll_entries *l = NULL;
	assert_int_equal(atoll_dir_list(sb, "/tmp", NULL, 0, &l, &e), 0);
	atoll_entries_free(l);
	assert_non_null(strstr(line, "\"op\":\"list_directory\""));
	assert_non_null(strstr(line, "\"fileCount\":1"));
	assert_int_equal(atoll_kill(a, "mockmock", &e), -ENOENT);
	assert_non_null(strstr(line, "\"level\":\"error\""));
	assert_non_null(strstr(line, "\"error\":\"ENOENT\""));
	assert_non_null(strstr(line, "\"mock\":true"));
	atoll_sandbox_free(sb);
	atoll_free(a);
}

static void structs_of_other_versions(void **state)
{
	struct {
		struct atoll_config cfg;
		int more;
	} newer = { .cfg = { .size = sizeof(newer), .mock = true } };
	struct atoll *a = NULL;

	(void)state;
	assert_int_equal(atoll_new(&newer.cfg, &a, &e), 0);
	atoll_free(a);
	newer.more = 1; /* it wants something that we do not know */
	assert_int_equal(atoll_new(&newer.cfg, &a, &e), -E2BIG);
	assert_int_equal(atoll_new(&(struct atoll_config) { .size = 3 }, &a, &e), -EINVAL);
	/* An older one ends before the fields that came later: those are not read. */
	struct atoll_config older = { .size = offsetof(struct atoll_config, no_env), .api_key = "k", .mock = true };
	a = made(&older);
	assert_false(atoll_is_mock(a));
	atoll_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(without_a_key_the_variable_is_named, clean),
		cmocka_unit_test_setup(a_key_alone_is_for_e2bs_own, clean),
		cmocka_unit_test_setup(a_domain_makes_host_names, clean),
		cmocka_unit_test_setup(an_api_url_alone_gets_all_calls, clean),
		cmocka_unit_test_setup(a_server_of_this_machine_is_found, clean),
		cmocka_unit_test_setup(the_mock_is_only_chosen, clean),
		cmocka_unit_test(what_is_here),
		cmocka_unit_test_setup(each_call_is_a_line, clean),
		cmocka_unit_test_setup(structs_of_other_versions, clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

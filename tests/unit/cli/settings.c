/* SPDX-License-Identifier: Apache-2.0 */
/* cli/settings: options before variables before the state directory. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "cli/settings.h"
#include "unit.h"

static char dir[] = "/tmp/atoll-unit-XXXXXX";

static void put(const char *name, const char *text)
{
	autofree char *path = str_fmt("%s/%s", dir, name);
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	(void)fputs(text, f);
	(void)fclose(f);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	put("key", "e2b_0123\n");
	put("url", "http://127.0.0.1:4000\n");
	return 0;
}

static int tear_down(void **state)
{
	static const char *const names[] = { "key", "url" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		autofree char *path = str_fmt("%s/%s", dir, names[i]);

		(void)unlink(path);
	}
	return rmdir(dir);
}

static void clear_variables(void)
{
	(void)unsetenv("E2B_API_KEY");
	(void)unsetenv("E2B_API_URL");
	(void)unsetenv("E2B_DOMAIN");
	(void)unsetenv("E2B_SANDBOX_URL");
}

static void state_directory_gives_all(void **state)
{
	struct settings_opts o = { .state_dir = dir };
	autosettings struct settings s = SETTINGS_NONE;
	struct err e = ERR_INIT;

	(void)state;
	clear_variables();
	assert_int_equal(settings_load(&o, &s, &e), 0);
	assert_string_equal(s.api_key, "e2b_0123");
	assert_string_equal(s.api_url, "http://127.0.0.1:4000");
	assert_string_equal(s.sandbox_url, "http://127.0.0.1:4000");
}

static void a_given_state_directory_beats_variables(void **state)
{
	struct settings_opts o = { .state_dir = dir };
	autosettings struct settings s = SETTINGS_NONE;
	struct err e = ERR_INIT;

	(void)state;
	clear_variables();
	(void)setenv("E2B_API_KEY", "e2b_ffff", 1);
	assert_int_equal(settings_load(&o, &s, &e), 0);
	assert_string_equal(s.api_key, "e2b_0123");
}

static void options_beat_variables(void **state)
{
	struct settings_opts o = { .api_url = "http://option" };
	autosettings struct settings s = SETTINGS_NONE;
	struct err e = ERR_INIT;

	(void)state;
	clear_variables();
	(void)setenv("E2B_API_KEY", "e2b_ffff", 1);
	(void)setenv("E2B_API_URL", "http://variable", 1);
	(void)setenv("E2B_SANDBOX_URL", "http://variable-sandbox", 1);
	assert_int_equal(settings_load(&o, &s, &e), 0);
	assert_string_equal(s.api_key, "e2b_ffff");
	assert_string_equal(s.api_url, "http://option");
	assert_string_equal(s.sandbox_url, "http://option"); /* a sandbox URL of another server would be wrong */
}

static void what_is_missing_is_named(void **state)
{
	struct settings_opts o = { .state_dir = "/nonexistent/atoll" };
	autosettings struct settings s = SETTINGS_NONE;
	struct err e = ERR_INIT;

	(void)state;
	clear_variables();
	assert_true(settings_load(&o, &s, &e) < 0);
	assert_non_null(strstr(e.text, "E2B_API_KEY"));
	assert_non_null(strstr(e.text, "/nonexistent/atoll/key"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(state_directory_gives_all),
		cmocka_unit_test(a_given_state_directory_beats_variables),
		cmocka_unit_test(options_beat_variables),
		cmocka_unit_test(what_is_missing_is_named),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Units of warden/config: files, the command line, and what is refused with which words. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"
#include "warden/config.h"

#define KEY "0123456789abcdef0123456789abcdef"

static void assert_text(const char *text, const char *want_error)
{
	static struct config c;
	struct err e = ERR_INIT;

	config_defaults(&c);
	int r = config_text(&c, str_of(text), &e);
	if (r == 0)
		r = config_settle(&c, &e);
	if (!want_error) {
		assert_int_equal(r, 0);
	} else {
		assert_true(r < 0);
		assert_string_equal(e.text, want_error);
	}
}

static void file_takes_comments_blanks_and_values(void **state)
{
	static struct config c;
	struct err e = ERR_INIT;

	(void)state;
	config_defaults(&c);
	assert_int_equal(config_text(&c,
			     STR_LIT("# all\n\n  listen = 0.0.0.0:80\ndefault_cpus=0.5\n\tmax_cpus\t=\t1.25\nno_pool = "
				     "true\non_stop = keep\n"
				     "log_level = debug"),
			     &e),
	    0);
	assert_string_equal(c.listen, "0.0.0.0:80");
	assert_int_equal(c.defaults[LIM_CPUS], 500);
	assert_int_equal(c.maxima[LIM_CPUS], 1250);
	assert_true(c.no_pool);
	assert_int_equal(c.on_stop, STOP_KEEP);
	assert_int_equal(c.log_level, LOG_LVL_DEBUG);
}

static void errors_name_line_and_key(void **state)
{
	(void)state;
	assert_text("listen = 1:2\n", NULL);
	assert_text("\nbogus = 1\n", "line 2: unknown key 'bogus'");
	assert_text("max-pids = 100\n", "line 1: unknown key 'max-pids'");
	assert_text("max_pids\n", "line 1: 'max_pids' is not of the form key = value");
	assert_text("max_pids = many\n", "line 1: max_pids = 'many': wants a number from 16 to 4194304");
	assert_text("max_pids = 1\n", "line 1: max_pids = '1': wants a number from 16 to 4194304");
	assert_text("max_pids = -5\n", "line 1: max_pids = '-5': wants a number from 16 to 4194304");
	assert_text("max_cpus = 1.2345\n", "line 1: max_cpus = '1.2345': wants a number of cores like 2 or 0.5");
	assert_text("on_stop = maybe\n", "line 1: on_stop = 'maybe': wants kill or keep");
	assert_text("no_pool = yes\n", "line 1: no_pool = 'yes': wants true or false");
	assert_text("log_level = loud\n", "line 1: log_level = 'loud': wants debug, info, warn or error");
	assert_text("listen =\n", "line 1: listen = '': wants a short text");
	assert_text("max_pids = 99\nmax_pids = 99\n", "line 2: key 'max_pids' is given twice");
	assert_text("state = /x\n", "line 1: key 'state' is for the command line only");
}

static void defaults_follow_maxima_unless_set(void **state)
{
	static struct config c;
	struct err e = ERR_INIT;

	(void)state;
	config_defaults(&c);
	assert_int_equal(config_text(&c, STR_LIT("max_memory_mb = 256\n"), &e), 0);
	assert_int_equal(config_settle(&c, &e), 0);
	assert_int_equal(c.defaults[LIM_MEMORY_MB], 256);
	assert_int_equal(config_limits(c.defaults).mem_bytes, 256 << 20);
	assert_text("max_memory_mb = 256\ndefault_memory_mb = 512\n",
	    "default_memory_mb is above max_memory_mb (512 > 256)");
	assert_text("default_egress_mb = 5\nmax_egress_mb = 4\n", "default_egress_mb is above max_egress_mb (5 > 4)");
	assert_text("pool_size_mb = 900\npool_max_mb = 800\n", "pool_size_mb is above pool_max_mb");
}

static void the_warm_pool_has_a_size_and_a_maximum(void **state)
{
	static struct config c;
	struct err e = ERR_INIT;

	(void)state;
	config_defaults(&c);
	assert_int_equal(config_settle(&c, &e), 0);
	assert_true(c.warm_pool_size > 0 && c.warm_pool_size < c.warm_pool_max);
	assert_in_range(c.warm_pool_max, 64, 500);
	config_defaults(&c);
	assert_int_equal(config_text(&c, STR_LIT("warm_pool_size = 500\n"), &e), 0);
	assert_int_equal(config_settle(&c, &e), 0);
	assert_int_equal(c.warm_pool_max, 500);
	config_defaults(&c);
	assert_int_equal(config_text(&c, STR_LIT("warm_pool_size = 0\nwarm_pool_max = 1\n"), &e), 0);
	assert_int_equal(config_settle(&c, &e), 0);
	assert_int_equal(c.warm_pool_size, 0);
	assert_text("warm_pool_size = 9\nwarm_pool_max = 8\n", "warm_pool_size is above warm_pool_max (9 > 8)");
	assert_text("warm_pool_size = -1\n", "line 1: warm_pool_size = '-1': wants a number from 0 to 500");
	assert_text("warm_pool_size = many\n", "line 1: warm_pool_size = 'many': wants a number from 0 to 500");
	assert_text("warm_pool_max = 0\n", "line 1: warm_pool_max = '0': wants a number from 1 to 500");
}

static void command_line_wins_over_the_file(void **state)
{
	static struct config c;
	char path[] = "/tmp/atoll-unit-XXXXXX";
	int fd = mkstemp(path);
	struct err e = ERR_INIT;
	/* A10: a switch may have its value behind it. */
	char *argv[] = { "atolld", "--max-pids", "600", "--config", path, "--no-pool", "--template=base=" KEY,
		"--state", "rel/", "--foreground", "--open", "false", "--metrics-open", "true", NULL };
	char cwd[PATH_MAX], want[PATH_MAX + 8];

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "max_pids = 700\nmax_timeout_s = 60\n", 34), 34);
	(void)close(fd);
	assert_int_equal(config_load(&c, 14, argv, &e), 0);
	assert_false(c.open);
	assert_true(c.metrics_open);
	(void)unlink(path);
	assert_int_equal(c.maxima[LIM_PIDS], 600);
	assert_int_equal(c.max_timeout_s, 60);
	assert_true(c.no_pool);
	assert_int_equal(c.n_templates, 1);
	assert_string_equal(c.templates[0].name, "base");
	assert_string_equal(c.templates[0].key, KEY);
	assert_non_null(getcwd(cwd, sizeof cwd));
	(void)snprintf(want, sizeof want, "%s/rel", cwd);
	assert_string_equal(c.state, want);
}

static void assert_args(char *a, char *b, const char *want_error)
{
	static struct config c;
	struct err e = ERR_INIT;
	char *argv[] = { "atolld", a, b, NULL };

	assert_true(config_load(&c, b ? 3 : 2, argv, &e) < 0);
	assert_string_equal(e.text, want_error);
}

static void bad_options_are_named(void **state)
{
	(void)state;
	assert_args("--bogus", NULL, "unknown option '--bogus'");
	assert_args("stray", NULL, "unexpected argument 'stray'");
	assert_args("--state", NULL, "option '--state' wants a value");
	assert_args("--template", "base=xyz", "template = 'base=xyz': wants NAME=KEY with a key of 32 hex digits");
	assert_args("--config", "/nonexistent/x", "read configuration '/nonexistent/x': No such file or directory");
}

static void only_loopback_may_be_open(void **state)
{
	static const char *const keys[] = { "open", "metrics_open" };
	static const struct {
		const char *listen;
		bool ok;
	} cases[] = {
		{ "127.0.0.1:8080", true },
		{ "127.9.9.9:1", true },
		{ "[::1]:8080", true },
		{ "0.0.0.0:8080", false },
		{ "[::]:8080", false },
		{ "192.0.2.1:8080", false },
		{ "[::ffff:127.0.0.1]:1", false },
		{ "127.0.0.1.evil:1", false },
	};

	(void)state;
	for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
		for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
			struct config c;
			struct err e;

			config_defaults(&c);
			assert_int_equal(config_set(&c, str_of("listen"), str_of(cases[i].listen), &e), 0);
			assert_int_equal(config_settle(&c, &e), 0);
			assert_int_equal(config_set(&c, str_of(keys[k]), STR_LIT("true"), &e), 0);
			assert_int_equal(config_settle(&c, &e), cases[i].ok ? 0 : -EINVAL);
		}
	}
}

static void tls_settings_belong_together(void **state)
{
	(void)state;
	assert_text("tls_listen = 127.0.0.1:8443 [::1]:8443\n", NULL);
	assert_text("image_packages = none\n", NULL);
	assert_text("image_packages = g++ libstdc++-12-dev jq\n", NULL);
	assert_text("image_packages = jq; reboot\n",
	    "image_packages = 'jq; reboot': want names of Debian packages with blanks between them");
	assert_text("tls_listen = 0.0.0.0:443\ntls_cert = /a\ntls_key = /b\n", NULL);
	assert_text("tls_listen = 0.0.0.0:443\ntls_cert = /a\n",
	    "tls_cert and tls_key belong together: only tls_cert is given");
	assert_text("tls_listen = 0.0.0.0:443\ntls_key = /a\n",
	    "tls_cert and tls_key belong together: only tls_key is given");
	assert_text("tls_cert = /a\ntls_key = /b\n", "tls_cert is given, but no tls_listen");
	assert_text("open = true\ntls_listen = 127.0.0.1:1 [::1]:1\n", NULL);
	assert_text("open = true\ntls_listen = 127.0.0.1:1 10.0.0.1:1\n",
	    "open = true: only with a loopback address in tls_listen, not '10.0.0.1:1'");
	assert_text("metrics_open = true\nlisten = [::1]:1 [::]:2\n",
	    "metrics_open = true: only with a loopback address in listen, not '[::]:2'");
}

static void words_stand_between_blanks(void **state)
{
	struct str list = STR_LIT("  one   two three ");

	(void)state;
	assert_true(str_is(config_next_word(&list), "one"));
	assert_true(str_is(config_next_word(&list), "two"));
	assert_true(str_is(config_next_word(&list), "three"));
	assert_int_equal(config_next_word(&list).n, 0);
	assert_int_equal(config_next_word(&list).n, 0);
}

static void private_ranges_can_be_opened(void **state)
{
	static const char *const bad[] = { "127.0.0.1", "10.0.0.0/8", "169.254.169.254", "192.168.0.1/33", "lan",
		"192.168.0.1;10.1.1.1" };
	static struct config c;
	struct err e = ERR_INIT;

	(void)state;
	config_defaults(&c);
	assert_int_equal(config_text(&c, STR_LIT("allow_private = 192.168.7.4, 10.20.0.0/16  172.16.0.0/12\n"), &e), 0);
	assert_int_equal(c.allow_private.n, 3);
	assert_int_equal(c.allow_private.v[1].ip, 0x0a140000);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_true(config_set(&c, STR_LIT("allow_private"), str_of(bad[i]), &e) < 0);
		assert_non_null(strstr(e.text, "allow_private"));
	}
}

/* As many as atoll-egress asks. */
static void name_servers_are_counted(void **state)
{
	static struct config c;
	struct err e = ERR_INIT;

	(void)state;
	config_defaults(&c);
	assert_int_equal(config_set(&c, STR_LIT("dns_servers"), STR_LIT("192.0.2.1 192.0.2.2,::1, 192.0.2.4"), &e), 0);
	assert_string_equal(c.dns_servers, "192.0.2.1,192.0.2.2,::1,192.0.2.4");
	assert_true(
	    config_set(&c, STR_LIT("dns_servers"), STR_LIT("10.0.0.1,10.0.0.2,10.0.0.3,10.0.0.4 10.0.0.5"), &e) < 0);
	assert_string_equal(e.text, "dns_servers: more than 4 given");
}

static void limits_of_one_template(void **state)
{
	static struct config c;
	struct err e = ERR_INIT;

	(void)state;
	config_defaults(&c);
	assert_int_equal(config_text(&c,
			     STR_LIT("default_memory_mb = 512\nmax_egress_mb = 100\n"
				     "template_limits = base max_memory_mb=256 cpus=0.5\ntemplate_limits = big "
				     "memory_mb=1024 egress_mb=7\n"),
			     &e),
	    0);
	assert_int_equal(config_settle(&c, &e), 0);
	assert_int_equal(c.n_template_limits, 2);
	assert_string_equal(c.template_limits[0].name, "base");
	/* as much as it may have */
	assert_int_equal(config_limits(c.template_limits[0].defaults).mem_bytes, 256 << 20);
	assert_int_equal(c.template_limits[0].defaults[LIM_CPUS], 500);
	assert_int_equal(c.template_limits[0].defaults[LIM_EGRESS_MB], 100);
	assert_int_equal(c.template_limits[1].defaults[LIM_MEMORY_MB], 1024);
	assert_int_equal(c.template_limits[1].maxima[LIM_EGRESS_MB], 100);
	assert_int_equal(c.template_limits[1].defaults[LIM_EGRESS_MB], 7);
	assert_int_equal(c.defaults[LIM_SWAP_MB], 0);
	assert_int_equal(c.defaults[LIM_IOPS], 0);
	static const char wants[] = "wants a template and limits like 'base memory_mb=512 max_memory_mb=1024'";
	char text[160];

	for (size_t i = 0; i < 5; i++) {
		static const char *const bad[] = { "base memory=1", "base memory_mb", "base memory_mb=-1",
			"base max_pids=1", "base cpus=x" };
		char line[96];

		(void)snprintf(line, sizeof line, "template_limits = %s\n", bad[i]);
		(void)snprintf(text, sizeof text, "line 1: template_limits = '%s': %s", bad[i], wants);
		assert_text(line, text);
	}
	assert_text("template_limits = base memory_mb=2048 max_memory_mb=1024\n",
	    "template_limits = 'base ...': memory_mb is above max_memory_mb (2048 > 1024)");
	assert_text("max_memory_mb = 100\ntemplate_limits = base max_memory_mb=200\n",
	    "template_limits = 'base ...': max_memory_mb is above that of all (200 > 100)");
}

static void words_of_settings_are_known(void **state)
{
	static struct config c;
	struct err e = ERR_INIT;

	(void)state;
	config_defaults(&c);
	assert_int_equal(c.interpreter_token, INTERP_TOKEN_EXECUTE);
	assert_int_equal(config_text(&c, STR_LIT("interpreter_token = all\naudit = required\n"), &e), 0);
	assert_int_equal(c.interpreter_token, INTERP_TOKEN_ALL);
	assert_int_equal(c.audit, AUDIT_REQUIRED);
	assert_text("interpreter_token = strict", "line 1: interpreter_token = 'strict': wants execute, all or none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_of_settings_are_known),
		cmocka_unit_test(tls_settings_belong_together),
		cmocka_unit_test(words_stand_between_blanks),
		cmocka_unit_test(file_takes_comments_blanks_and_values),
		cmocka_unit_test(errors_name_line_and_key),
		cmocka_unit_test(defaults_follow_maxima_unless_set),
		cmocka_unit_test(name_servers_are_counted),
		cmocka_unit_test(limits_of_one_template),
		cmocka_unit_test(the_warm_pool_has_a_size_and_a_maximum),
		cmocka_unit_test(command_line_wins_over_the_file),
		cmocka_unit_test(bad_options_are_named),
		cmocka_unit_test(only_loopback_may_be_open),
		cmocka_unit_test(private_ranges_can_be_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

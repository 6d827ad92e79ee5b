/* SPDX-License-Identifier: Apache-2.0 */
/* atoll env: the variables that point an E2B SDK at the server. */
#include <stdio.h>

#include "base/fd.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/settings.h"

/* For a shell's eval: within single quotes only a single quote is special. */
static void print_export(const char *name, const char *value)
{
	(void)printf("export %s='", name);
	for (; *value; value++) {
		if (*value == '\'')
			(void)fputs("'\\''", stdout);
		else
			(void)putchar(*value);
	}
	(void)puts("'");
}

static int run(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { .state_dir = STATE_DIR_DEFAULT };
	autosettings struct settings s = { NULL, NULL, NULL };
	struct err e = ERR_INIT;
	const struct opt opts[] = { { "state", 0, OPT_STR, &conn.state_dir } };
	int n, rc = verb_parse(v, opts, ARRAY_LEN(opts), OPTS_MIXED, argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (n > 0)
		return usage_error(v, "unexpected argument '%s'", argv[0]);
	if (settings_load(&conn, &s, &e) < 0)
		return fail("%s", e.text);
	print_export("E2B_API_KEY", s.api_key);
	print_export("E2B_API_URL", s.api_url);
	print_export("E2B_SANDBOX_URL", s.sandbox_url);
	return 0;
}

const struct verb verb_env = {
	.name = "env",
	.summary = "Print the variables that point an E2B SDK at the server here",
	.synopsis = "[--state DIR]",
	.help = "Use it as: eval \"$(sudo atoll env)\"\n\n"
		"      --state DIR  the server's state directory (default: " STATE_DIR_DEFAULT ")\n",
	.run = run,
};

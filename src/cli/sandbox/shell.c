/* SPDX-License-Identifier: Apache-2.0 */
/* atoll shell: runs a shell in a sandbox on our terminal. */
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/sandbox/session.h"
#include "cli/settings.h"

static int run(const struct verb *v, int argc, char **argv)
{
	static const char *const words[] = { "/bin/bash", "-i", "-l", NULL };
	struct settings_opts conn = { NULL };
	autopairs struct pairs envs = { NULL, 0 };
	const char *user = NULL, *cwd = NULL;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn),
		{ "user", 'u', OPT_STR, &user },
		{ "cwd", 'w', OPT_STR, &cwd },
		{ "env", 'e', OPT_PAIR, &envs },
	};
	int n, rc = verb_parse(v, opts, ARRAY_LEN(opts), OPTS_MIXED, argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (n != 1)
		return usage_error(v,
		    n == 0 ? "missing operand: a sandbox ID is required" : "only one sandbox ID is allowed");
	const struct atoll_command cmd = { .argv = words,
		.cwd = cwd,
		.as_user = user,
		.envs = envs.v,
		.n_envs = envs.n };
	return session_in(&conn, argv[0], &cmd, true);
}

const struct verb verb_shell = {
	.name = "shell",
	.summary = "Open an interactive shell in a sandbox",
	.synopsis = "ID [--user NAME] [--cwd DIR] [--env NAME=VALUE]...",
	.help = "  -u, --user NAME       user (default: the template's user)\n"
		"  -w, --cwd DIR         working directory (default: the user's home)\n"
		"  -e, --env NAME=VALUE  environment variable for the shell\n"
		"\n"
		"All keys go to the shell. If it no longer responds, Enter ~ . ends it. The exit status is\n"
		"the shell's. A paused sandbox is resumed. The sandbox's timeout is not changed: see 'atoll\n"
		"timeout'.\n"
		"\n" SETTINGS_HELP,
	.run = run,
	.operand = OPERAND_ID,
};

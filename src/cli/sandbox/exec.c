/* SPDX-License-Identifier: Apache-2.0 */
/* atoll exec: runs a command in an existing sandbox. */
#include <unistd.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/sandbox/login.h"
#include "cli/sandbox/session.h"
#include "cli/settings.h"

static int run(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	autopairs struct pairs envs = { NULL, 0 };
	const char *user = NULL, *cwd = NULL;
	bool no_stdin = false, tty = false;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn),
		{ "user", 'u', OPT_STR, &user },
		{ "cwd", 'w', OPT_STR, &cwd },
		{ "env", 'e', OPT_PAIR, &envs },
		{ "no-stdin", 'n', OPT_FLAG, &no_stdin },
		{ "tty", 't', OPT_FLAG, &tty },
	};
	int n, rc = verb_parse(v, opts, ARRAY_LEN(opts), 2, argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (tty && no_stdin)
		return usage_error(v, "--tty and --no-stdin are mutually exclusive");
	if (n < 2)
		return usage_error(v,
		    n == 0 ? "missing operand: a sandbox ID and a command are required"
			   : "missing operand: a command is required");
	autofree const char **words = login_command((const char *const *)argv + 1, (size_t)n - 1);
	if (!words)
		return fail("out of memory");
	const struct atoll_command cmd = {
		.argv = words,
		.cwd = cwd,
		.as_user = user,
		.envs = envs.v,
		.n_envs = envs.n,
		.with_stdin = !no_stdin && !isatty(STDIN_FILENO),
	};
	return session_in(&conn, argv[0], &cmd, tty);
}

const struct verb verb_exec = {
	.name = "exec",
	.summary = "Run a command in a sandbox",
	.synopsis = "ID [--user NAME] [--cwd DIR] [--env NAME=VALUE]... [--tty | --no-stdin] -- COMMAND [ARGUMENT]...",
	.help = "  -u, --user NAME       user (default: the template's user)\n"
		"  -w, --cwd DIR         working directory (default: the user's home)\n"
		"  -e, --env NAME=VALUE  environment variable for the command\n"
		"  -t, --tty             allocate a terminal, connected to this one\n"
		"  -n, --no-stdin        do not forward standard input (a terminal is never forwarded)\n"
		"\n"
		"The exit status is the command's. The command is not interpreted by a shell: use\n"
		"bash -c '...' for that. Ctrl-C ends the command (SIGTERM, then SIGKILL). With --tty, the\n"
		"command receives Ctrl-C like any other key, and Enter ~ . ends it.\n"
		"A paused sandbox is resumed.\n"
		"\n" SETTINGS_HELP,
	.run = run,
	.operand = OPERAND_ID,
};

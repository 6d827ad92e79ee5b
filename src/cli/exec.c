/* SPDX-License-Identifier: Apache-2.0 */
/* atoll exec: a command in a sandbox that is there. */
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/login.h"
#include "cli/session.h"
#include "cli/settings.h"

static int exec_in(const struct settings_opts *conn, const char *id, struct atoll_command cmd)
{
	struct atoll *a = NULL;
	struct atoll_sandbox *sb = NULL;
	struct atoll_error e;
	int rc = settings_connect(conn, &a);

	if (rc != 0)
		return rc;
	if (atoll_sandbox_open(a, id, &sb, &e) < 0)
		rc = fail("%s", e.text);
	else if ((rc = session_signals_hold()) == 0)
		rc = session_run(&(struct session) { .sb = sb, .cmd = cmd, .on_interrupt = STOP_COMMAND });
	atoll_sandbox_free(sb);
	atoll_free(a);
	return session_leave(rc);
}

static int run(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	autopairs struct pairs envs = { NULL, 0 };
	const char *user = NULL, *cwd = NULL;
	bool no_stdin = false;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn), { "user", 'u', OPT_STR, &user }, { "cwd", 'w', OPT_STR, &cwd },
		{ "env", 'e', OPT_PAIR, &envs }, { "no-stdin", 'n', OPT_FLAG, &no_stdin },
	};
	int n, rc = verb_parse(v, opts, ARRAY_LEN(opts), 2, argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (n < 2)
		return usage_error(v, n == 0 ? "which sandbox, and which command?" : "which command?");
	autofree const char **words = login_command((const char *const *)argv + 1, (size_t)n - 1);
	if (!words)
		return fail("out of memory");
	return exec_in(&conn, argv[0], (struct atoll_command) {
		.argv = words, .cwd = cwd, .as_user = user, .envs = envs.v, .n_envs = envs.n,
		.with_stdin = !no_stdin && !isatty(STDIN_FILENO),
	});
}

const struct verb verb_exec = {
	.name = "exec",
	.summary = "Run a command in a sandbox, with its output, input and exit status",
	.synopsis = "ID [--user NAME] [--cwd DIR] [--env NAME=VALUE]... [--no-stdin] -- COMMAND [ARGUMENT]...",
	.help = "  -u, --user NAME       as whom (default: the template's user)\n"
		"  -w, --cwd DIR         where (default: the user's home)\n"
		"  -e, --env NAME=VALUE  a variable of the command\n"
		"  -n, --no-stdin        do not pass standard input on (it is not if it is a terminal)\n\n"
		"The command is not a shell's line: use bash -c '...' for that. Ctrl-C ends it (SIGTERM, then SIGKILL).\n"
		"A paused sandbox is resumed.\n\n" SETTINGS_HELP,
	.run = run,
};

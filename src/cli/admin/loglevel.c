/* SPDX-License-Identifier: Apache-2.0 */
/* atoll log-level: show or set the server's log level. */
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/settings.h"

static int run(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	const struct opt opts[] = { SETTINGS_OPTS(&conn) };
	char level[ATOLL_LEVEL_SIZE];
	autoatoll struct atoll *a = NULL;
	struct atoll_error e;
	int n, rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn, (struct operands) { 0, 1, NULL }, argc, argv, &n, &a);

	if (rc >= 0)
		return rc;
	if (atoll_log_level(a, n ? argv[0] : NULL, level, &e) < 0)
		return fail("%s", e.text);
	(void)printf("%s\n", level);
	return 0;
}

const struct verb verb_log_level = {
	.name = "log-level",
	.summary = "Show or set the server's log level",
	.synopsis = "[debug | info | warn | error]",
	.help = "The level applies until the server restarts; the configuration is not changed. Requires\n"
		"an admin key.\n"
		"\n" SETTINGS_HELP,
	.run = run,
	.operand = OPERAND_LEVEL,
};

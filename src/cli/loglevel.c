/* SPDX-License-Identifier: Apache-2.0 */
/* atoll log-level: how much the server logs. */
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
	struct atoll *a;
	struct atoll_error e;
	int n, rc = verb_parse(v, opts, ARRAY_LEN(opts), OPTS_MIXED, argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (n > 1)
		return usage_error(v, "unexpected argument '%s'", argv[1]);
	rc = settings_connect(&conn, &a);
	if (rc != 0)
		return rc;
	if (atoll_log_level(a, n ? argv[0] : NULL, level, &e) < 0)
		rc = fail("%s", e.text);
	else
		(void)printf("%s\n", level);
	atoll_free(a);
	return rc;
}

const struct verb verb_log_level = {
	.name = "log-level",
	.summary = "Show or set how much the server logs",
	.synopsis = "[debug | info | warn | error]",
	.help = "Until the next restart of the server; its configuration stays as it is. Needs an admin key.\n\n" SETTINGS_HELP,
	.run = run,
	.operand = OPERAND_LEVEL,
};

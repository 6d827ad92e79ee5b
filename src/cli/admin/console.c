/* SPDX-License-Identifier: Apache-2.0 */
/* atoll console: print a link that logs a browser in to the web console. */
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/settings.h"

static int run(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	const char *role = NULL;
	unsigned seconds = 0;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn),
		{ "role", 0, OPT_STR, &role },
		{ "for", 0, OPT_DURATION, &seconds },
	};
	char url[ATOLL_LINK_SIZE];
	autoatoll struct atoll *a = NULL;
	struct atoll_error e;
	int n, rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn, OPERANDS_NONE, argc, argv, &n, &a);

	if (rc >= 0)
		return rc;
	if (atoll_console_link(a, role, seconds, url, &e) < 0)
		return fail("%s", e.text);
	(void)printf("%s\n", url);
	explicit_bzero(url, sizeof url);
	return 0;
}

const struct verb verb_console = {
	.name = "console",
	.summary = "Print a link that logs a browser in to the web console",
	.synopsis = "[--role ROLE] [--for DURATION] " SETTINGS_SYNOPSIS,
	.help = "The link works once. Whoever opens it first acts with the key that made it, until they\n"
		"log out or the session ends.\n"
		"\n"
		"      --role ROLE     viewer (reads only), member (acts for the team) or admin; by default\n"
		"                      what the key may do\n"
		"      --for DURATION  how long the link is valid: 10s to 1h (default: 5m)\n"
		"\n" SETTINGS_HELP,
	.run = run,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* atoll purge: end and forget all that is a team's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/settings.h"

static int run(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	const char *team = NULL, *key = NULL;
	bool yes = false;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn),
		{ "key", 0, OPT_STR, &key },
		{ "team", 0, OPT_STR, &team },
		{ "yes", 'y', OPT_FLAG, &yes },
	};
	autoatoll struct atoll *a = NULL;
	struct atoll_purged gone;
	struct atoll_error e;
	int n, rc = verb_operands(v, opts, ARRAY_LEN(opts), OPERANDS_NONE, argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (!yes)
		return usage_error(v,
		    "this ends all sandboxes of the team and removes all that it has, for good: say --yes");
	if (key && team)
		return usage_error(v, "--key and --team exclude each other");
	bool by_id = key && strncmp(key, "e2b_", 4) != 0;

	if (key && !by_id)
		conn.api_key = key;
	if (settings_connect(&conn, &a) != 0)
		return EXIT_FAILURE;
	if ((by_id ? atoll_purge_key(a, key, &gone, &e) : atoll_purge(a, team, &gone, &e)) < 0)
		return fail("%s", e.text);
	(void)printf(
	    "%lld sandboxes, %lld snapshots, %lld volumes, %lld templates, %lld secrets, %lld records, %lld logs\n",
	    (long long)gone.sandboxes, (long long)gone.snapshots, (long long)gone.volumes, (long long)gone.templates,
	    (long long)gone.secrets, (long long)gone.records, (long long)gone.logs);
	return 0;
}

const struct verb verb_purge = {
	.name = "purge",
	.summary = "End and forget all that a team has",
	.synopsis = "--yes [--key KEY | --team TEAM]",
	.help = "      --key KEY    of the team: the key itself, or its id ('atoll key list'), which may be another "
		"team's with an admin key\n"
		"      --team TEAM  another than the key's own, which needs an admin key\n"
		"  -y, --yes        do it\n\n"
		"Sandboxes, running and paused, snapshots, volumes, templates, secrets, logs, notebooks and all that "
		"is remembered of the past are\n"
		"gone when it returns, and overwritten in the database; space in the pool comes back within a minute. "
		"The team and its keys\n"
		"stay: see 'atoll team rm'. Backups are yours to remove.\n\n" SETTINGS_HELP,
	.run = run,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* atoll purge: kill all sandboxes of a team and delete its data. */
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
		    "this kills all sandboxes of the team and permanently deletes everything it owns: confirm with "
		    "--yes");
	if (key && team)
		return usage_error(v, "--key and --team are mutually exclusive");
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
	.summary = "Delete everything a team owns",
	.synopsis = "--yes [--key KEY | --team TEAM]",
	.help = "      --key KEY    a key of the team: the key itself, or its ID ('atoll key list'); with an\n"
		"                   admin key it may belong to another team\n"
		"      --team TEAM  a team other than the key's own; requires an admin key\n"
		"  -y, --yes        confirm the deletion\n"
		"\n"
		"Kills running and paused sandboxes, and deletes snapshots, volumes, templates, secrets,\n"
		"logs, notebooks and all history. When the command returns, the data is deleted and\n"
		"overwritten in the database; storage is reclaimed within a minute. The team and its keys\n"
		"remain: see 'atoll team rm'. Backups are not touched.\n"
		"\n" SETTINGS_HELP,
	.run = run,
};

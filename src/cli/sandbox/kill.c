/* SPDX-License-Identifier: Apache-2.0 */
/* atoll kill: kills sandboxes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/settings.h"

/* A sandbox that has already ended is an error if the user named it, but not if it came from a list. */
static int kill_one(struct atoll *a, const char *id, bool may_be_gone)
{
	struct atoll_error e;
	int rc = atoll_kill(a, id, &e);

	if (rc == 0)
		(void)printf("%s\n", id);
	else if (rc != -ENOENT || !may_be_gone)
		return fail("kill '%s': %s", id, e.text);
	return 0;
}

static int kill_all(struct atoll *a)
{
	struct atoll_list *l;
	struct atoll_error e;
	int rc = 0;

	if (atoll_list_sandboxes(a, &l, &e) < 0)
		return fail("list sandboxes: %s", e.text);
	for (size_t i = 0; i < l->n; i++)
		rc |= kill_one(a, l->v[i].id, true);
	atoll_list_free(l);
	return rc;
}

static int run(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	bool all = false;
	const struct opt opts[] = { SETTINGS_OPTS(&conn), { "all", 'a', OPT_FLAG, &all } };
	autoatoll struct atoll *a = NULL;
	int n, rc = verb_parse(v, opts, ARRAY_LEN(opts), OPTS_MIXED, argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (all ? n > 0 : n == 0)
		return usage_error(v,
		    all ? "sandbox IDs and --all are mutually exclusive"
			: "missing operand: a sandbox ID or --all is required");
	rc = settings_connect(&conn, &a);
	if (rc != 0)
		return rc;
	if (all)
		rc = kill_all(a);
	for (int i = 0; i < n; i++)
		rc |= kill_one(a, argv[i], false);
	return rc;
}

const struct verb verb_kill = {
	.name = "kill",
	.summary = "Kill sandboxes and delete everything in them",
	.synopsis = "ID... | --all",
	.help = "  -a, --all  kill all sandboxes that the key can access\n"
		"\n"
		"Prints the ID of each sandbox that was killed.\n"
		"\n" SETTINGS_HELP,
	.run = run,
	.operand = OPERAND_IDS,
};

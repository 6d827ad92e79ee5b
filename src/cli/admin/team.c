/* SPDX-License-Identifier: Apache-2.0 */
/* atoll team: the teams that share a server, and their quotas. */
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/settings.h"
#include "cli/table.h"

#define LIMITS_HELP \
	"      --max-sandboxes N  maximum number of sandboxes, or 'default' for the server's\n" \
	"      --rate-limit N     requests per second and key, 0 for no limit, or 'default' for the\n" \
	"                         server's\n"

#define LIMITS_OPTS(t) \
	{ "max-sandboxes", 0, OPT_LIMIT, &(t)->max_sandboxes }, \
	{ \
		"rate-limit", 0, OPT_LIMIT, &(t)->rate_limit \
	}
#define NO_CHANGE { .max_sandboxes = ATOLL_KEEP, .rate_limit = ATOLL_KEEP, .blocked = ATOLL_KEEP }
#define ONE_TEAM OPERANDS_ONE("missing operand: one team, by name or ID")

static void add_limit(struct table *t, int64_t n)
{
	if (n < 0)
		table_add(t, "default");
	else
		table_addf(t, "%lld", (long long)n);
}

static int print_teams(const struct atoll_teams *l)
{
	static const struct column columns[] = {
		{ "NAME", false },
		{ "ID", false },
		{ "SANDBOXES", true },
		{ "MAX", true },
		{ "RATE", true },
		{ "KEYS", true },
		{ "AGE", true },
		{ "NOTE", false },
	};
	autotable struct table t = TABLE_INIT(columns);
	uint64_t now = now_ms();

	for (size_t i = 0; i < l->n; i++) {
		const struct atoll_team *x = &l->v[i];
		char age[FORMAT_SIZE];

		span_format(x->created_at, now, false, age);
		table_add(&t, x->name);
		table_add(&t, x->id);
		table_addf(&t, "%lld", (long long)x->sandboxes);
		add_limit(&t, x->max_sandboxes);
		add_limit(&t, x->rate_limit);
		table_addf(&t, "%lld", (long long)x->keys);
		table_add(&t, age);
		table_add(&t, x->blocked ? "blocked" : x->is_default ? "default" : "");
	}
	return table_print(&t);
}

static int run_list(const struct verb *v, int argc, char **argv)
{
	bool json = false;
	autoatoll struct atoll *a = NULL;
	struct atoll_teams *l;
	struct atoll_error e;
	int rc = verb_plain(v, OPERANDS_NONE, argc, argv, &json, NULL, &a);

	if (rc >= 0)
		return rc;
	if (atoll_teams_list(a, &l, &e) < 0)
		return fail("%s", e.text);
	rc = json ? (puts(l->json), 0) : print_teams(l);
	atoll_teams_free(l);
	return rc;
}

/* Prints the server's response to a change; rc < 0 means that the call failed with e. */
static int changed(int rc, struct atoll_teams *l, const struct atoll_error *e, bool json)
{
	if (rc < 0)
		return fail("%s", e->text);
	(void)puts(json ? l->json : l->v[0].id);
	atoll_teams_free(l);
	return 0;
}

static int run_create(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	struct atoll_team_change t = NO_CHANGE;
	bool json = false;
	const struct opt opts[] = { SETTINGS_OPTS(&conn), LIMITS_OPTS(&t), { "json", 0, OPT_FLAG, &json } };
	autoatoll struct atoll *a = NULL;
	struct atoll_teams *l = NULL;
	struct atoll_error e;
	int n,
	    rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn, OPERANDS_ONE("missing operand: the team's name"), argc,
		argv, &n, &a);

	if (rc >= 0)
		return rc;
	t.name = argv[0];
	rc = atoll_team_create(a, &t, &l, &e);
	return changed(rc, l, &e, json);
}

static int run_set(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	struct atoll_team_change t = NO_CHANGE;
	bool json = false, block = false, unblock = false;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn),
		{ "name", 0, OPT_STR, &t.name },
		LIMITS_OPTS(&t),
		{ "block", 0, OPT_FLAG, &block },
		{ "unblock", 0, OPT_FLAG, &unblock },
		{ "json", 0, OPT_FLAG, &json },
	};
	autoatoll struct atoll *a = NULL;
	struct atoll_teams *l = NULL;
	struct atoll_error e;
	int n, rc = verb_operands(v, opts, ARRAY_LEN(opts), ONE_TEAM, argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (block && unblock)
		return usage_error(v, "--block and --unblock are mutually exclusive");
	if (block || unblock)
		t.blocked = block;
	if (!t.name && t.max_sandboxes == ATOLL_KEEP && t.rate_limit == ATOLL_KEEP && t.blocked == ATOLL_KEEP)
		return usage_error(v, "nothing to change");
	if (settings_connect(&conn, &a) != 0)
		return EXIT_FAILURE;
	rc = atoll_team_change(a, argv[0], &t, &l, &e);
	return changed(rc, l, &e, json);
}

static int run_rm(const struct verb *v, int argc, char **argv)
{
	autoatoll struct atoll *a = NULL;
	struct atoll_error e;
	int rc = verb_plain(v, ONE_TEAM, argc, argv, NULL, NULL, &a);

	if (rc >= 0)
		return rc;
	if (atoll_team_remove(a, argv[0], &e) < 0)
		return fail("%s", e.text);
	(void)puts(argv[0]);
	return 0;
}

static const struct verb team_create = {
	.name = "team create",
	.summary = "Create a team and print its ID",
	.synopsis = "NAME [--max-sandboxes N] [--rate-limit N] [--json]",
	.help = LIMITS_HELP "      --json             print all fields as JSON\n"
			    "\n"
			    "The team has no key yet: see 'atoll key create --team'.\n"
			    "\n" SETTINGS_HELP,
	.run = run_create,
};

static const struct verb team_list = {
	.name = "team list",
	.summary = "List teams",
	.synopsis = "[--json]",
	.help = "      --json  print a JSON array with all fields\n"
		"\n" SETTINGS_HELP,
	.run = run_list,
};

static const struct verb team_set = {
	.name = "team set",
	.summary = "Change a team",
	.synopsis = "TEAM [--name NAME] [--max-sandboxes N] [--rate-limit N] [--block | --unblock] [--json]",
	.help = "      --name NAME        new name\n" LIMITS_HELP
		"      --block            refuse all keys of the team\n"
		"      --unblock          accept them again\n"
		"      --json             print all fields as JSON\n"
		"\n" SETTINGS_HELP,
	.run = run_set,
	.operand = OPERAND_TEAM,
};

static const struct verb team_rm = {
	.name = "team rm",
	.summary = "Delete a team that has no sandboxes, with its keys",
	.synopsis = "TEAM",
	.help = SETTINGS_HELP,
	.run = run_rm,
	.operand = OPERAND_TEAM,
};

static const struct verb *const subs[] = { &team_create, &team_list, &team_set, &team_rm, NULL };

const struct verb verb_team = {
	.name = "team",
	.summary = "Create, list, change and delete teams",
	.synopsis = "create | list | set | rm ...",
	.help = "",
	.run = verb_group,
	.subs = subs,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* atoll key: the API keys of a team. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/settings.h"
#include "cli/table.h"

#define ONE_KEY OPERANDS_ONE("missing operand: one key, by ID or name")
#define TEAM_HELP "      --team TEAM  team, by name or ID; requires an admin key (default: the key's own)\n"

static int print_keys(const struct atoll_keys *k)
{
	static const struct column columns[] = {
		{ "ID", false },
		{ "NAME", false },
		{ "KEY", false },
		{ "ADMIN", false },
		{ "AGE", false },
		{ "LAST USED", false },
		{ "ENDS IN", false },
	};
	autotable struct table t = TABLE_INIT(columns);
	uint64_t now = now_ms();

	for (size_t i = 0; i < k->n; i++) {
		const struct atoll_key *x = &k->v[i];
		char text[FORMAT_SIZE];

		table_add(&t, x->id);
		table_add(&t, x->name);
		table_addf(&t, "e2b_%s...%s", x->prefix, x->suffix);
		table_add(&t, x->admin ? "yes" : "no");
		span_format(x->created_at, now, false, text);
		table_add(&t, text);
		span_format(x->last_used, now, false, text);
		table_addf(&t, "%s%s", x->last_used ? text : "never", x->last_used ? " ago" : "");
		span_format(x->expires_at, now, true, text);
		table_add(&t, text);
	}
	return table_print(&t);
}

/* Resolves an id, or a name that exactly one key has, to the key's id. The caller frees the id. On error, prints a
 * message and returns NULL. */
static char *find_key(struct atoll *a, const char *team, const char *given)
{
	struct atoll_keys *k;
	struct atoll_error e;
	const char *id = NULL;
	size_t n = 0;

	if (atoll_keys_list(a, team, &k, &e) < 0) {
		say("%s", e.text);
		return NULL;
	}
	for (size_t i = 0; i < k->n; i++) {
		if (strcmp(k->v[i].id, given) == 0) {
			id = given;
			n = 1;
			break;
		}
		if (strcmp(k->v[i].name, given) == 0) {
			id = k->v[i].id;
			n++;
		}
	}
	char *copy = n == 1 ? strdup(id) : NULL;
	if (n == 0)
		say("key '%s' does not exist", given);
	else if (n > 1)
		say("%zu keys are named '%s': use the ID", n, given);
	atoll_keys_free(k);
	return copy;
}

/* Prints only the key on standard output, so that a shell can assign it to a variable. Frees k. */
static int print_secret(struct atoll_keys *k, bool json)
{
	(void)puts(json ? k->json : k->v[0].secret ? k->v[0].secret : "");
	atoll_keys_free(k);
	return 0;
}

static int run_list(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	const char *team = NULL;
	bool json = false;
	const struct opt opts[] = { SETTINGS_OPTS(&conn), { "team", 0, OPT_STR, &team },
		{ "json", 0, OPT_FLAG, &json } };
	autoatoll struct atoll *a = NULL;
	struct atoll_keys *k;
	struct atoll_error e;
	int n, rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn, OPERANDS_NONE, argc, argv, &n, &a);

	if (rc >= 0)
		return rc;
	if (atoll_keys_list(a, team, &k, &e) < 0)
		return fail("%s", e.text);
	rc = json ? (puts(k->json), 0) : print_keys(k);
	atoll_keys_free(k);
	return rc;
}

static int run_create(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	const char *team = NULL;
	bool json = false, admin = false;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn),
		{ "team", 0, OPT_STR, &team },
		{ "json", 0, OPT_FLAG, &json },
		{ "admin", 0, OPT_FLAG, &admin },
	};
	autoatoll struct atoll *a = NULL;
	struct atoll_keys *k;
	struct atoll_error e;
	int n,
	    rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn, OPERANDS_ONE("missing operand: the key's name"), argc,
		argv, &n, &a);

	if (rc >= 0)
		return rc;
	if (atoll_key_create(a, team, argv[0], admin, &k, &e) < 0)
		return fail("%s", e.text);
	return print_secret(k, json);
}

static int run_revoke(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	const char *team = NULL;
	const struct opt opts[] = { SETTINGS_OPTS(&conn), { "team", 0, OPT_STR, &team } };
	autoatoll struct atoll *a = NULL;
	struct atoll_error e;
	int n, rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn, ONE_KEY, argc, argv, &n, &a);

	if (rc >= 0)
		return rc;
	autofree char *id = find_key(a, team, argv[0]);
	if (!id)
		return EXIT_FAILURE;
	if (atoll_key_revoke(a, team, id, &e) < 0)
		return fail("%s", e.text);
	(void)puts(id);
	return 0;
}

static int run_rotate(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	const char *team = NULL;
	unsigned grace_s = 0;
	bool json = false;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn),
		{ "team", 0, OPT_STR, &team },
		{ "grace", 0, OPT_DURATION, &grace_s },
		{ "json", 0, OPT_FLAG, &json },
	};
	autoatoll struct atoll *a = NULL;
	struct atoll_keys *k;
	struct atoll_error e;
	int n, rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn, ONE_KEY, argc, argv, &n, &a);

	if (rc >= 0)
		return rc;
	autofree char *id = find_key(a, team, argv[0]);
	if (!id)
		return EXIT_FAILURE;
	if (atoll_key_rotate(a, team, id, grace_s, &k, &e) < 0)
		return fail("%s", e.text);
	return print_secret(k, json);
}

static const struct verb key_create = {
	.name = "key create",
	.summary = "Create a key and print it; it is shown only once",
	.synopsis = "NAME [--team TEAM] [--admin] [--json]",
	.help = TEAM_HELP
	"      --admin      create an admin key, with full access to all teams; requires an admin key\n"
	"      --json       print all fields as JSON\n"
	"\n" SETTINGS_HELP,
	.run = run_create,
};

static const struct verb key_list = {
	.name = "key list",
	.summary = "List the keys of a team",
	.synopsis = "[--team TEAM] [--json]",
	.help = TEAM_HELP "      --json       print a JSON array with all fields\n"
			  "\n" SETTINGS_HELP,
	.run = run_list,
};

static const struct verb key_revoke = {
	.name = "key revoke",
	.summary = "Revoke a key immediately",
	.synopsis = "ID|NAME [--team TEAM]",
	.help = TEAM_HELP "\n"
			  "A name is accepted if only one key has it. Sandboxes belong to the team and keep running.\n"
			  "\n" SETTINGS_HELP,
	.run = run_revoke,
	.operand = OPERAND_KEY,
};

static const struct verb key_rotate = {
	.name = "key rotate",
	.summary = "Replace a key and print the new one; it is shown only once",
	.synopsis = "ID|NAME [--grace DURATION] [--team TEAM] [--json]",
	.help = TEAM_HELP "      --grace DURATION  how long the old key remains valid: 10m, 1d (default: 0)\n"
			  "      --json       print all fields as JSON\n"
			  "\n" SETTINGS_HELP,
	.run = run_rotate,
	.operand = OPERAND_KEY,
};

static const struct verb *const subs[] = { &key_create, &key_list, &key_revoke, &key_rotate, NULL };

const struct verb verb_key = {
	.name = "key",
	.summary = "Create, list, rotate and revoke API keys",
	.synopsis = "create | list | revoke | rotate ...",
	.help = "",
	.run = verb_group,
	.subs = subs,
};

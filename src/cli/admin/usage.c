/* SPDX-License-Identifier: Apache-2.0 */
/* atoll usage: running time of sandboxes by key, template, day or label, for billing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/settings.h"
#include "cli/table.h"

#define BY_MAX 4

static const char *value_of(const struct atoll_usage_row *u, const char *name)
{
	for (size_t i = 0; i < u->n_by; i++) {
		if (strcmp(u->by[i].name, name) == 0)
			return u->by[i].value;
	}
	return "";
}

/* Returns the text to display; a key is shown by its name if it has one. */
static const char *shown(const struct atoll_usage_row *u, const char *name)
{
	const char *z = value_of(u, name);

	if (strcmp(name, "key") != 0)
		return *z ? z : "-";
	return u->key_name ? u->key_name : *z ? z : "-";
}

/* True if the server has prices configured. */
static bool has_costs(const struct atoll_usage *l)
{
	return l->n > 0 && l->v[0].cost >= 0;
}

static int print_rows(const struct atoll_usage *l, char *const *names, size_t n_names)
{
	bool costs = has_costs(l);
	struct column columns[BY_MAX + 6];
	autotable struct table t = { .columns = columns };

	for (size_t i = 0; i < n_names; i++)
		columns[t.n_columns++] = (struct column) { names[i], false };
	columns[t.n_columns++] = (struct column) { "SANDBOXES", true };
	columns[t.n_columns++] = (struct column) { "SECONDS", true };
	columns[t.n_columns++] = (struct column) { "VCPU-SECONDS", true };
	columns[t.n_columns++] = (struct column) { "GIB-SECONDS", true };
	columns[t.n_columns++] = (struct column) { "EGRESS-MIB", true };
	if (costs)
		columns[t.n_columns++] = (struct column) { "COST", true };
	for (size_t i = 0; i < l->n; i++) {
		const struct atoll_usage_row *u = &l->v[i];

		for (size_t k = 0; k < n_names; k++)
			table_add(&t, shown(u, names[k]));
		table_addf(&t, "%lld", (long long)u->sandboxes);
		table_addf(&t, "%.1f", u->seconds);
		table_addf(&t, "%.1f", u->vcpu_seconds);
		table_addf(&t, "%.1f", u->gib_seconds);
		table_addf(&t, "%.1f", (double)u->egress_bytes / (1 << 20));
		if (costs)
			table_addf(&t, "%.4f", u->cost);
	}
	return table_print(&t);
}

/* Writes a quoted field as in RFC 4180. A value that a spreadsheet would read as a formula is prefixed with a single
 * quote, because labels come from clients. */
static void put_csv(const char *z, char end)
{
	(void)putchar('"');
	if (*z && strchr("=+-@\t\r", *z))
		(void)putchar('\'');
	for (; *z; z++) {
		if (*z == '"')
			(void)putchar('"');
		(void)putchar(*z);
	}
	(void)printf("\"%c", end);
}

static int print_csv(const struct atoll_usage *l, char *const *names, size_t n_names)
{
	bool costs = has_costs(l);

	for (size_t k = 0; k < n_names; k++)
		put_csv(names[k], ',');
	(void)printf("sandboxes,seconds,vcpu_seconds,gib_seconds,egress_bytes%s\n", costs ? ",cost" : "");
	for (size_t i = 0; i < l->n; i++) {
		const struct atoll_usage_row *u = &l->v[i];

		for (size_t k = 0; k < n_names; k++)
			put_csv(value_of(u, names[k]), ',');
		(void)printf("%lld,%.3f,%.3f,%.3f,%lld", (long long)u->sandboxes, u->seconds, u->vcpu_seconds,
		    u->gib_seconds, (long long)u->egress_bytes);
		if (costs)
			(void)printf(",%.6f", u->cost);
		(void)putchar('\n');
	}
	return 0;
}

static int run(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	struct atoll_usage_query q = { .size = sizeof q };
	bool json = false, csv = false;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn),
		{ "by", 0, OPT_STR, &q.by },
		{ "from", 0, OPT_STR, &q.from },
		{ "to", 0, OPT_STR, &q.to },
		{ "all-teams", 0, OPT_FLAG, &q.all_teams },
		{ "json", 0, OPT_FLAG, &json },
		{ "csv", 0, OPT_FLAG, &csv },
	};
	autoatoll struct atoll *a = NULL;
	struct atoll_usage *l;
	struct atoll_error e;
	char *names[BY_MAX];
	size_t n_names = 0;
	int n, rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn, OPERANDS_NONE, argc, argv, &n, &a);

	if (rc >= 0)
		return rc;
	if (json && csv)
		return usage_error(v, "--json and --csv are mutually exclusive");
	if (atoll_usage(a, &q, &l, &e) < 0)
		return fail("%s", e.text);

	autofree char *list = str_dup(str_of(q.by ? q.by : "key"));

	for (char *z = list, *save; n_names < BY_MAX && (z = strtok_r(z, ",", &save)); z = NULL)
		names[n_names++] = z;
	rc = json ? (puts(l->json), 0) : csv ? print_csv(l, names, n_names) : print_rows(l, names, n_names);
	atoll_usage_free(l);
	return rc;
}

const struct verb verb_usage = {
	.name = "usage",
	.summary = "Show how long sandboxes ran, by key, template, day or label",
	.synopsis = "[--by LIST] [--from DAY] [--to DAY] [--all-teams] [--csv | --json]",
	.help = "      --by LIST    up to four of day, key, template, sandbox, team and tag:NAME (a metadata\n"
		"                   label), separated by commas (default: key)\n"
		"      --from DAY   first day, such as 2026-11-15, in UTC (default: 30 days ago)\n"
		"      --to DAY     last day (default: today)\n"
		"      --all-teams  include all teams; requires an admin key\n"
		"      --csv        print CSV, for a spreadsheet\n"
		"      --json       print a JSON array\n"
		"\n"
		"A sandbox counts from start to end, except while it is paused: in seconds, in seconds\n"
		"times processors, and in seconds times GiB of its memory limit. If the server has prices\n"
		"(see atoll.conf(5)), the cost is shown, too.\n"
		"\n" SETTINGS_HELP,
	.run = run,
};

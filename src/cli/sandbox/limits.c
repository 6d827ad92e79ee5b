/* SPDX-License-Identifier: Apache-2.0 */
/* atoll limits: shows and changes the resource limits of a sandbox. */
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/settings.h"
#include "cli/table.h"

static const struct {
	const char *option, *field;
} fields[] = {
	{ "memory", "memoryMB" },
	{ "swap", "swapMB" },
	{ "cpus", "cpus" },
	{ "processes", "processes" },
	{ "disk", "diskMB" },
	{ "io", "ioMBps" },
	{ "iops", "iops" },
	{ "egress", "egressMB" },
	{ "egress-rate", "egressKBps" },
};

static int print(const struct atoll_limits *l)
{
	static const struct column columns[] = { { "LIMIT", false }, { "VALUE", true }, { "MOST", true },
		{ "USED", true } };
	autotable struct table t = TABLE_INIT(columns);

	for (size_t i = 0; i < l->n; i++) {
		table_add(&t, l->v[i].name);
		table_add(&t, l->v[i].value ? l->v[i].value : "none");
		table_add(&t, l->v[i].max ? l->v[i].max : "any");
		table_add(&t, l->v[i].used ? l->v[i].used : "");
	}
	return table_print(&t);
}

static int run(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	const char *given[ARRAY_LEN(fields)] = { NULL };
	struct atoll_pair set[ARRAY_LEN(fields)];
	bool json = false;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn),
		{ "json", 0, OPT_FLAG, &json },
		{ "memory", 0, OPT_STR, &given[0] },
		{ "swap", 0, OPT_STR, &given[1] },
		{ "cpus", 0, OPT_STR, &given[2] },
		{ "processes", 0, OPT_STR, &given[3] },
		{ "disk", 0, OPT_STR, &given[4] },
		{ "io", 0, OPT_STR, &given[5] },
		{ "iops", 0, OPT_STR, &given[6] },
		{ "egress", 0, OPT_STR, &given[7] },
		{ "egress-rate", 0, OPT_STR, &given[8] },
	};
	autoatoll struct atoll *a = NULL;
	struct atoll_limits *l;
	struct atoll_error e;
	size_t n_set = 0;
	int n,
	    rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn,
		OPERANDS_ONE("missing operand: a sandbox ID is required"), argc, argv, &n, &a);

	if (rc >= 0)
		return rc;
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (given[i])
			set[n_set++] = (struct atoll_pair) { fields[i].field, given[i] };
	}
	if (atoll_limits(a, argv[0], set, n_set, &l, &e) < 0)
		return fail("%s", e.text);
	rc = json ? (puts(l->json), 0) : print(l);
	atoll_limits_free(l);
	return rc;
}

const struct verb verb_limits = {
	.name = "limits",
	.summary = "Show or change the resource limits of a sandbox",
	.synopsis = "SANDBOX [--memory MB] [--cpus N] [--processes N] [--disk MB] [--swap MB] [--io MB] [--iops N] "
		    "[--egress MB] [--egress-rate KB] [--json]",
	.help = "      --memory MB       memory\n"
		"      --swap MB         swap, in addition to memory\n"
		"      --cpus N          processors; fractions such as 0.5 are allowed\n"
		"      --processes N     processes and threads\n"
		"      --disk MB         disk space\n"
		"      --io MB, --iops N disk megabytes and operations per second\n"
		"      --egress MB       network data that it may send in total\n"
		"      --egress-rate KB  network data that it may send per second\n"
		"      --json            print a JSON array\n"
		"\n"
		"Each value may be 'default', the limit of the template's sandboxes. Either all changes\n"
		"take effect immediately, or none.\n"
		"\n" SETTINGS_HELP,
	.run = run,
	.operand = OPERAND_ID,
};

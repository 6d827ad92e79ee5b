/* SPDX-License-Identifier: Apache-2.0 */
/* atoll metrics: shows the resource usage of a sandbox. */
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/settings.h"
#include "cli/table.h"

static int print_points(const struct atoll_points *p)
{
	static const struct column columns[] = {
		{ "TIME", false },
		{ "CPU%", true },
		{ "MEMORY", true },
		{ "CACHE", true },
		{ "LIMIT", true },
		{ "DISK", true },
		{ "LIMIT", true },
	};
	autotable struct table t = TABLE_INIT(columns);

	for (size_t i = 0; i < p->n; i++) {
		const struct atoll_point *x = &p->v[i];
		const uint64_t sizes[] = { x->mem_used, x->mem_cache, x->mem_total, x->disk_used, x->disk_total };
		char text[FORMAT_SIZE];

		table_add(&t, x->at);
		table_addf(&t, "%.1f", x->cpu_pct);
		for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
			size_format(sizes[k], text);
			table_add(&t, text);
		}
	}
	return table_print(&t);
}

static int run(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	unsigned since_s = 0;
	bool json = false;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn),
		{ "json", 0, OPT_FLAG, &json },
		{ "since", 0, OPT_DURATION, &since_s },
	};
	autoatoll struct atoll *a = NULL;
	struct atoll_points *p;
	struct atoll_error e;
	int n,
	    rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn,
		OPERANDS_ONE("missing operand: a sandbox ID is required"), argc, argv, &n, &a);

	if (rc >= 0)
		return rc;
	if (atoll_metrics(a, argv[0], since_s ? (int64_t)(now_ms() / 1000) - since_s : 0, 0, &p, &e) < 0)
		return fail("%s", e.text);
	rc = json ? (puts(p->json), 0) : print_points(p);
	atoll_points_free(p);
	return rc;
}

const struct verb verb_metrics = {
	.name = "metrics",
	.summary = "Show CPU, memory and disk usage of a sandbox",
	.synopsis = "ID [--since DURATION] [--json]",
	.help = "      --since DURATION  only the last 90s, 5m, ... (default: all that is stored, 15 minutes)\n"
		"      --json            print a JSON array, in bytes\n"
		"\n"
		"100 % is one processor.\n"
		"\n" SETTINGS_HELP,
	.run = run,
	.operand = OPERAND_ID,
};

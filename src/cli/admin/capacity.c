/* SPDX-License-Identifier: Apache-2.0 */
/* atoll capacity: current load of the machine, its peak, and how many more sandboxes fit. */
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/settings.h"
#include "cli/table.h"

#define MIB (1024.0 * 1024)

static int print(const struct atoll_capacity_now *c)
{
	static const struct column columns[] = {
		{ "FROM (UTC)", false },
		{ "SANDBOXES", true },
		{ "MEMORY-MIB", true },
		{ "LIMITS-MIB", true },
		{ "CORES", true },
		{ "STARTS", true },
		{ "POOL-HITS", true },
		{ "POOL-MISSES", true },
	};
	autotable struct table t = TABLE_INIT(columns);

	(void)printf("sandboxes  %lld running, %lld paused, %lld at most\n", (long long)c->running,
	    (long long)c->paused, (long long)c->max);
	(void)printf("memory     %.0f MiB used, %.0f MiB left\n", (double)c->memory_bytes / MIB,
	    (double)c->memory_left_bytes / MIB);
	(void)printf("processor  %.2f of %lld cores used\n", c->cpu_cores, (long long)c->cores);
	(void)printf("pool       %lld hits, %lld misses since the server started\n", (long long)c->pool_hits,
	    (long long)c->pool_misses);
	(void)printf("fits       %lld more at average use (limited by %s), %lld more at full use (limited by %s)\n\n",
	    (long long)c->more, c->bound, (long long)c->more_at_full_use, c->bound_at_full_use);
	for (size_t i = 0; i < c->n_peaks; i++) {
		const struct atoll_capacity_peak *p = &c->peaks[i];

		table_addf(&t, "%.16s", p->from);
		table_addf(&t, "%lld", (long long)p->sandboxes);
		table_addf(&t, "%.0f", (double)p->memory_bytes / MIB);
		table_addf(&t, "%.0f", (double)p->limit_bytes / MIB);
		table_addf(&t, "%.2f", p->cpu_cores);
		table_addf(&t, "%lld", (long long)p->starts);
		table_addf(&t, "%lld", (long long)p->pool_hits);
		table_addf(&t, "%lld", (long long)p->pool_misses);
	}
	return table_print(&t);
}

static int run(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	int64_t days = 7;
	bool hours = false, json = false;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn),
		{ "days", 0, OPT_NUMBER, &days },
		{ "hours", 0, OPT_FLAG, &hours },
		{ "json", 0, OPT_FLAG, &json },
	};
	autoatoll struct atoll *a = NULL;
	struct atoll_capacity *c;
	struct atoll_error e;
	int n, rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn, OPERANDS_NONE, argc, argv, &n, &a);

	if (rc >= 0)
		return rc;
	if (days < 1 || days > 400)
		return usage_error(v, "--days must be a number from 1 to 400");
	if (atoll_capacity(a, hours, (unsigned)days, &c, &e) < 0)
		return fail("%s", e.text);
	rc = json ? (puts(c->json), 0) : print(&c->v[0]);
	atoll_capacity_free(c);
	return rc;
}

const struct verb verb_capacity = {
	.name = "capacity",
	.summary = "Show current load, peak load and how many more sandboxes fit",
	.synopsis = "[--days N] [--hours] [--json]",
	.help = "      --days N  days of peaks to show, up to 400 (default: 7)\n"
		"      --hours   show peaks per hour instead of per day\n"
		"      --json    print all fields as JSON\n"
		"\n"
		"Requires an admin key. The number of sandboxes that still fit is estimated twice: from\n"
		"the average use of running sandboxes, and from their limits.\n"
		"\n" SETTINGS_HELP,
	.run = run,
};

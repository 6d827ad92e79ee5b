/* SPDX-License-Identifier: Apache-2.0 */
/* atoll explain: shows what a sandbox was refused, which process was refused it, and why. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/settings.h"
#include "cli/table.h"

#define ROWS_MAX 1000 /* maximum entries of one response */

struct row { /* entries with the same cause; borrows from the newest of them */
	const struct atoll_log *newest;
	const char *what, *process, *pid, *why;
	unsigned long long times;
};

static const char *field(const struct atoll_log *l, const char *name)
{
	for (size_t i = 0; i < l->n_fields; i++) {
		if (strcmp(l->fields[i].name, name) == 0)
			return l->fields[i].value;
	}
	return "";
}

/* Entries such as refused tokens have no system call and no reason; their message is complete. */
static struct row row_of(const struct atoll_log *l)
{
	const char *call = field(l, "call");
	unsigned long long n = strtoull(field(l, "count"), NULL, 10);

	return (struct row) { .newest = l,
		.what = *call ? call : l->message,
		.process = field(l, "process"),
		.pid = field(l, "pid"),
		.why = field(l, "reason"),
		.times = n ? n : 1 };
}

/* Merges entries into rows, ordered by their last occurrence, the latest last, like a log. */
static size_t gather(const struct atoll_logs *logs, struct row *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < logs->n; i++) {
		if (strcmp(field(&logs->v[i], "type"), "security") != 0)
			continue;
		struct row r = row_of(&logs->v[i]);

		for (size_t k = 0; k < n; k++) {
			if (strcmp(rows[k].what, r.what) != 0 || strcmp(rows[k].process, r.process) != 0)
				continue;
			r.times += rows[k].times;
			memmove(&rows[k], &rows[k + 1], (--n - k) * sizeof(*rows));
			break;
		}
		if (n < ROWS_MAX)
			rows[n++] = r;
	}
	return n;
}

static int print_table(const struct row *rows, size_t n)
{
	static const struct column columns[] = {
		{ "LAST", false },
		{ "TIMES", true },
		{ "PROCESS", false },
		{ "PID", true },
		{ "REFUSED", false },
		{ "WHY", false },
	};
	autotable struct table t = TABLE_INIT(columns);

	for (size_t i = 0; i < n; i++) {
		const struct row *r = &rows[i];

		table_add(&t, r->newest->at);
		table_addf(&t, "%llu", r->times);
		table_add(&t, *r->process ? r->process : NULL);
		table_add(&t, *r->pid ? r->pid : NULL);
		table_add(&t, r->what);
		table_add(&t, *r->why ? r->why : NULL);
	}
	return table_print(&t);
}

static int print_json(const struct row *rows, size_t n)
{
	json_t *all = json_array();

	for (size_t i = 0; i < n; i++) {
		const struct row *r = &rows[i];
		json_t *o = json_pack("{s:s,s:I,s:s,s:s}", "last", r->newest->at, "times", (json_int_t)r->times,
		    "refused", r->what, "why", r->why);

		if (*r->process)
			(void)json_object_set_new(o, "process", json_string(r->process));
		if (*r->pid)
			(void)json_object_set_new(o, "pid", json_integer(strtol(r->pid, NULL, 10)));
		(void)json_array_append_new(all, o);
	}
	int rc = json_dumpf(all, stdout, JSON_INDENT(2)) == 0 && putchar('\n') == '\n' ? 0 : fail("write the output");

	json_decref(all);
	return rc;
}

static int run(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	struct atoll_log_query q = { .newest = true, .level = "warn" };
	unsigned since_s = 0;
	bool json = false;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn),
		{ "json", 0, OPT_FLAG, &json },
		{ "since", 0, OPT_DURATION, &since_s },
	};
	autoatoll struct atoll *a = NULL;
	struct atoll_logs *logs;
	struct atoll_error e;
	int n,
	    rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn,
		OPERANDS_ONE("missing operand: a sandbox ID is required"), argc, argv, &n, &a);

	if (rc >= 0)
		return rc;
	q.from_ms = since_s ? (int64_t)now_ms() - (int64_t)since_s * 1000 : 0;
	if (atoll_logs(a, argv[0], &q, &logs, &e) < 0)
		return fail("%s", e.text);
	static struct row rows[ROWS_MAX];
	size_t n_rows = gather(logs, rows);

	if (json)
		rc = print_json(rows, n_rows);
	else
		rc = n_rows ? print_table(rows, n_rows) : (puts("no refusals recorded"), 0);
	atoll_logs_free(logs);
	return rc;
}

const struct verb verb_explain = {
	.name = "explain",
	.summary = "Show what was refused to a sandbox, and why",
	.synopsis = "ID [--since DURATION] [--json]",
	.help = "      --since DURATION  only the last 90s, 5m, ...\n"
		"      --json            print a JSON array\n"
		"\n"
		"Shows system calls that were refused to programs in the sandbox (which see \"Operation\n"
		"not permitted\" or \"Function not implemented\"), and requests with a wrong token. Calls\n"
		"that programs probe for and can do without (clone3, io_uring) are not shown. If a\n"
		"sandbox triggers refusals continuously, they are not recorded for a minute.\n"
		"\n" SETTINGS_HELP,
	.run = run,
	.operand = OPERAND_ID,
};

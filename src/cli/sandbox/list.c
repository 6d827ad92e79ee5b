/* SPDX-License-Identifier: Apache-2.0 */
/* atoll list: lists sandboxes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/settings.h"
#include "cli/table.h"

static void add_row(struct table *t, const struct atoll_info *i, uint64_t now)
{
	autobuf struct buf meta = BUF_INIT(64 * 1024);
	char age[FORMAT_SIZE], left[FORMAT_SIZE];

	span_format(i->started_at, now, false, age);
	span_format(i->end_at, now, true, left);
	table_add(t, i->id);
	table_add(t, i->alias ? i->alias : i->template_id);
	table_add(t, i->state);
	table_add(t, age);
	table_add(t, strcmp(i->state, "paused") == 0 ? "-" : left);
	for (size_t k = 0; k < i->n_metadata; k++)
		buf_fmt(&meta, "%s%s=%s", k ? "," : "", i->metadata[k].name, i->metadata[k].value);
	table_add(t, buf_cstr(&meta));
}

static int print_table(const struct atoll_list *l)
{
	static const struct column columns[] = {
		{ "ID", false },
		{ "TEMPLATE", false },
		{ "STATE", false },
		{ "AGE", false },
		{ "ENDS IN", false },
		{ "METADATA", false },
	};
	autotable struct table t = TABLE_INIT(columns);
	uint64_t now = now_ms();

	for (size_t i = 0; i < l->n; i++)
		add_row(&t, &l->v[i], now);
	return table_print(&t);
}

enum form { FORM_TABLE, FORM_JSON, FORM_IDS };

static int print_list(const struct atoll_list *l, enum form form)
{
	if (form == FORM_TABLE)
		return print_table(l);
	if (form == FORM_JSON)
		(void)puts(l->json);
	for (size_t i = 0; form == FORM_IDS && i < l->n; i++)
		(void)puts(l->v[i].id);
	return 0;
}

static int run(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	bool json = false, quiet = false;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn),
		{ "json", 0, OPT_FLAG, &json },
		{ "quiet", 'q', OPT_FLAG, &quiet },
	};
	autoatoll struct atoll *a = NULL;
	struct atoll_list *l;
	struct atoll_error e;
	int n, rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn, OPERANDS_NONE, argc, argv, &n, &a);

	if (rc >= 0)
		return rc;
	if (atoll_list_sandboxes(a, &l, &e) < 0)
		return fail("list sandboxes: %s", e.text);
	rc = print_list(l, json ? FORM_JSON : quiet ? FORM_IDS : FORM_TABLE);
	atoll_list_free(l);
	return rc;
}

const struct verb verb_list = {
	.name = "list",
	.summary = "List sandboxes",
	.synopsis = "[--json | --quiet]",
	.help = "      --json   print a JSON array with all fields\n"
		"  -q, --quiet  print IDs only\n"
		"\n" SETTINGS_HELP,
	.run = run,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* atoll info: shows one sandbox. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/settings.h"

static void line(const char *label, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void line(const char *label, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)printf("%-10s ", label);
	print_clean(text);
	(void)putchar('\n');
}

static void print_info(const struct atoll_info *i)
{
	bool paused = strcmp(i->state, "paused") == 0;
	uint64_t now = now_ms();
	char span[FORMAT_SIZE];

	line("id", "%s", i->id);
	if (i->alias)
		line("template", "%s (%s)", i->alias, i->template_id);
	else
		line("template", "%s", i->template_id);
	line("state", "%s", i->state);
	span_format(i->started_at, now, false, span);
	line("started", "%s (%s ago)", i->started_at, span);
	span_format(i->end_at, now, !paused, span);
	line(paused ? "paused" : "ends", paused ? "%s (%s ago)" : "%s (in %s)", i->end_at, span);
	if (i->paused_memory)
		line("memory", "%s", i->paused_memory);
	if (i->on_timeout)
		line("at end", "%s", i->on_timeout);
	if (i->last_activity_at) {
		span_format(i->last_activity_at, now, false, span);
		line("last call", "%s (%s ago)", i->last_activity_at, span);
	}
	line("limits", "%u processors, %llu MiB memory, %llu MiB disk", i->cpu_count, (unsigned long long)i->memory_mb,
	    (unsigned long long)i->disk_mb);
	for (size_t k = 0; k < i->n_metadata; k++)
		line("metadata", "%s=%s", i->metadata[k].name, i->metadata[k].value);
}

static int run(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	bool json = false;
	const struct opt opts[] = { SETTINGS_OPTS(&conn), { "json", 0, OPT_FLAG, &json } };
	autoatoll struct atoll *a = NULL;
	struct atoll_list *l;
	struct atoll_error e;
	int n,
	    rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn,
		OPERANDS_ONE("missing operand: a sandbox ID is required"), argc, argv, &n, &a);

	if (rc >= 0)
		return rc;
	if (atoll_get_sandbox(a, argv[0], &l, &e) < 0)
		return fail("%s", e.text);
	if (json)
		(void)puts(l->json);
	else
		print_info(&l->v[0]);
	atoll_list_free(l);
	return 0;
}

const struct verb verb_info = {
	.name = "info",
	.summary = "Show a sandbox",
	.synopsis = "ID [--json]",
	.help = "      --json  print all fields as JSON, including the access token\n"
		"\n" SETTINGS_HELP,
	.run = run,
	.operand = OPERAND_ID,
};

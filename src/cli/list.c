/* SPDX-License-Identifier: Apache-2.0 */
/* atoll list: sandboxes that there are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/settings.h"

/* Text of users on a terminal: no control characters. */
static void print_clean(const char *z)
{
	for (; *z; z++)
		(void)putchar((unsigned char)*z < 0x20 || *z == 0x7f ? '?' : *z);
}

/* "4m10s" from now to a time, or since it; "-" if it cannot be read. */
static void format_span(const char *rfc3339, bool until, char *out, size_t size)
{
	uint64_t us, now = clock_wall_ms();

	if (clock_parse_rfc3339(str_of(rfc3339), &us) < 0) {
		(void)snprintf(out, size, "-");
		return;
	}
	uint64_t then = us / 1000, from = until ? now : then, to = until ? then : now;
	uint64_t s = to > from ? (to - from) / 1000 : 0;

	if (s < 60)
		(void)snprintf(out, size, "%us", (unsigned)s);
	else if (s < 3600)
		(void)snprintf(out, size, "%um%us", (unsigned)(s / 60), (unsigned)(s % 60));
	else
		(void)snprintf(out, size, "%uh%um", (unsigned)(s / 3600), (unsigned)(s % 3600 / 60));
}

static void print_row(const struct atoll_info *i)
{
	char age[32], left[32];

	format_span(i->started_at, false, age, sizeof(age));
	format_span(i->end_at, true, left, sizeof(left));
	(void)printf("%-22s %-20s %-8s %-8s %-8s", i->id, i->alias ? i->alias : i->template_id, i->state, age,
		     strcmp(i->state, "paused") == 0 ? "-" : left);
	for (size_t k = 0; k < i->n_metadata; k++) {
		(void)putchar(k ? ',' : ' ');
		print_clean(i->metadata[k].name);
		(void)putchar('=');
		print_clean(i->metadata[k].value);
	}
	(void)putchar('\n');
}

enum form { FORM_TABLE, FORM_JSON, FORM_IDS };

static void print_list(const struct atoll_list *l, enum form form)
{
	if (form == FORM_JSON) {
		(void)puts(l->json);
		return;
	}
	if (form == FORM_TABLE)
		(void)printf("%-22s %-20s %-8s %-8s %-8s %s\n", "ID", "TEMPLATE", "STATE", "AGE", "ENDS IN", "METADATA");
	for (size_t i = 0; i < l->n; i++) {
		if (form == FORM_IDS)
			(void)puts(l->v[i].id);
		else
			print_row(&l->v[i]);
	}
}

static int run(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	bool json = false, quiet = false;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn), { "json", 0, OPT_FLAG, &json }, { "quiet", 'q', OPT_FLAG, &quiet },
	};
	struct atoll *a;
	struct atoll_list *l;
	struct atoll_error e;
	int n, rc = verb_parse(v, opts, ARRAY_LEN(opts), OPTS_MIXED, argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (n > 0)
		return usage_error(v, "unexpected argument '%s'", argv[0]);
	rc = settings_connect(&conn, &a);
	if (rc != 0)
		return rc;
	if (atoll_list_sandboxes(a, &l, &e) < 0) {
		rc = fail("list sandboxes: %s", e.text);
	} else {
		print_list(l, json ? FORM_JSON : quiet ? FORM_IDS : FORM_TABLE);
		atoll_list_free(l);
	}
	atoll_free(a);
	return rc;
}

const struct verb verb_list = {
	.name = "list",
	.summary = "Show the sandboxes that there are",
	.synopsis = "[--json | --quiet]",
	.help = "      --json   all that the server tells, as a JSON array\n"
		"  -q, --quiet  ids only\n\n" SETTINGS_HELP,
	.run = run,
};

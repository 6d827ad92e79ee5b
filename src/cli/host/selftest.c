/* SPDX-License-Identifier: Apache-2.0 */
/* atoll selftest: tries to escape from the sandboxes of a server and prints the results. */
#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/host/selftest.h"
#include "cli/paths.h"
#include "cli/settings.h"
#include "cli/signals.h"
#include "cli/table.h"
#include "cli/template/template.h"

#define DETAIL_SIZE 400

const char *const
    verdict_name[VERDICTS] = { [HELD] = "held", [BROKEN] = "BROKEN", [UNCLEAR] = "unclear", [SKIPPED] = "skipped" };

/* --- findings --- */

bool selftest_wants(const struct selftest *t, const char *name)
{
	return !t->only || strstr(name, t->only);
}

/* Replaces control and non-ASCII characters: the text comes from a sandbox and may be displayed on a terminal. */
static char *tame(const char *z)
{
	char *own = str_dup(str_of(z));

	for (char *p = own; p && *p; p++) {
		if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f)
			*p = '?';
	}
	return own;
}

static void add(struct selftest *t, enum verdict v, const char *name, const char *guarantee, const char *where,
    const char *detail)
{
	if (!selftest_wants(t, name))
		return;
	if (t->n == t->room) {
		size_t room = t->room ? 2 * t->room : 512;
		struct finding *more = realloc(t->v, room * sizeof *more);

		if (!more)
			return;
		t->v = more;
		t->room = room;
	}
	struct finding *f = &t->v[t->n++];

	*f = (struct finding) { v, tame(name), tame(guarantee), tame(detail), tame(where) };
	t->counts[v]++;
	if (t->loud && (v == BROKEN || v == UNCLEAR))
		(void)fprintf(stderr, "%s %s (%s): %s: %s\n", verdict_name[v], f->name, f->where, f->guarantee,
		    f->detail);
}

void selftest_note(struct selftest *t, enum verdict v, const char *name, const char *guarantee, const char *where,
    const char *fmt, ...)
{
	char detail[DETAIL_SIZE];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(detail, sizeof detail, fmt, ap);
	va_end(ap);
	add(t, v, name, guarantee, where, detail);
}

int selftest_line(struct selftest *t, const char *where, char *line)
{
	char *part[4], *at = line;

	for (size_t i = 0; i < ARRAY_LEN(part); i++) {
		part[i] = strsep(&at, i < 3 ? "\t" : "");
		if (!part[i])
			return 0;
	}
	for (int v = 0; v < VERDICTS; v++) {
		if (strcmp(part[0], verdict_name[v]) == 0) {
			add(t, (enum verdict)v, part[1], part[2], where, part[3]);
			t->recorded++;
			return 1;
		}
	}
	return 0;
}

static void selftest_done(struct selftest *t)
{
	for (size_t i = 0; i < t->n; i++) {
		free(t->v[i].name);
		free(t->v[i].guarantee);
		free(t->v[i].detail);
		free(t->v[i].where);
	}
	free(t->v);
}

/* --- the scorecard --- */

/* Prints one row per group of attempts ("mounts/tmpfs" belongs to "mounts"), in order of appearance. */
static int print_groups(const struct selftest *t)
{
	static const struct column columns[] = {
		{ "GROUP", false },
		{ "ATTEMPTS", true },
		{ "HELD", true },
		{ "SKIPPED", true },
		{ "UNCLEAR", true },
		{ "BROKEN", true },
	};
	autotable struct table table = TABLE_INIT(columns);

	for (size_t i = 0; i < t->n; i++) {
		size_t len = strcspn(t->v[i].name, "/"), counts[VERDICTS] = { 0 }, all = 0;
		bool seen = false;

		for (size_t k = 0; k < i && !seen; k++)
			seen = strncmp(t->v[k].name, t->v[i].name, len + 1) == 0;
		for (size_t k = i; !seen && k < t->n; k++) {
			bool ours = strncmp(t->v[k].name, t->v[i].name, len + 1) == 0;

			all += ours && t->v[k].verdict != SKIPPED;
			counts[t->v[k].verdict] += ours;
		}
		if (seen)
			continue;
		table_addf(&table, "%.*s", (int)len, t->v[i].name);
		table_addf(&table, "%zu", all);
		table_addf(&table, "%zu", counts[HELD]);
		table_addf(&table, "%zu", counts[SKIPPED]);
		table_addf(&table, "%zu", counts[UNCLEAR]);
		table_addf(&table, "%zu", counts[BROKEN]);
	}
	return table_print(&table);
}

static size_t count_names(const struct selftest *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		bool seen = false;

		for (size_t k = 0; k < i && !seen; k++)
			seen = t->v[k].verdict != SKIPPED && strcmp(t->v[k].name, t->v[i].name) == 0;
		n += !seen && t->v[i].verdict != SKIPPED;
	}
	return n;
}

static int print_text(const struct selftest *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct finding *f = &t->v[i];

		if (f->verdict != HELD)
			(void)printf("%-8s %s (%s): %s: %s\n", verdict_name[f->verdict], f->name, f->where,
			    f->guarantee, f->detail);
	}
	if (t->counts[HELD] != t->n)
		(void)putchar('\n');
	int rc = print_groups(t);

	(void)printf("\nattempts: %zu (of %zu kinds), held: %zu, unclear: %zu, succeeded: %zu; skipped: %zu\n",
	    t->n - t->counts[SKIPPED], count_names(t), t->counts[HELD], t->counts[UNCLEAR], t->counts[BROKEN],
	    t->counts[SKIPPED]);
	return rc;
}

static int print_json(const struct selftest *t)
{
	json_t *all = json_array(), *top;

	for (size_t i = 0; i < t->n; i++) {
		const struct finding *f = &t->v[i];

		json_array_append_new(all,
		    json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", f->name, "guarantee", f->guarantee, "where",
			f->where, "result", verdict_name[f->verdict], "detail", f->detail));
	}
	top = json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "attempts", (json_int_t)(t->n - t->counts[SKIPPED]),
	    "kinds", (json_int_t)count_names(t), "held", (json_int_t)t->counts[HELD], "skipped",
	    (json_int_t)t->counts[SKIPPED], "unclear", (json_int_t)t->counts[UNCLEAR], "succeeded",
	    (json_int_t)t->counts[BROKEN], "results", all);
	if (!top)
		return fail("out of memory");
	int rc = json_dumpf(top, stdout, JSON_INDENT(1)) < 0 ? EXIT_FAILURE : 0;

	(void)putchar('\n');
	json_decref(top);
	return rc;
}

/* --- the verb --- */

static int run_parts(struct selftest *t, struct err *e)
{
	bool only_bombs = t->only && str_starts(str_of(t->only), "bombs/");

	if (!only_bombs && selftest_walls(t, e) < 0)
		return -e->no;
	return t->quick ? 0 : selftest_bombs(t, e);
}

static int run_against(struct selftest *t, const struct settings_opts *conn, bool json)
{
	autosettings struct settings st = SETTINGS_NONE;
	struct err e = ERR_INIT;
	int rc = settings_load(conn, &st, &e) < 0 ? fail("%s", e.text) : settings_connect(conn, &t->a);

	if (rc != 0)
		return rc;
	t->api_url = st.api_url ? st.api_url : st.domain;
	rc = signals_hold();
	atoll_set_stop(t->a, signals_stop_waiting, NULL);
	int ran = rc == 0 ? run_parts(t, &e) : 0;

	rc = json ? print_json(t) : print_text(t);
	if (ran < 0)
		rc = fail("the test did not finish: %s", e.text);
	if (t->counts[BROKEN] || t->counts[UNCLEAR])
		rc = EXIT_FAILURE;
	return signals_leave(rc);
}

static int run(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	struct selftest t = { .template_id = template_default() };
	autofree char *found = NULL;
	struct err e = ERR_INIT;
	bool json = false;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn),
		{ "template", 't', OPT_STR, &t.template_id },
		{ "json", 0, OPT_FLAG, &json },
		{ "quick", 0, OPT_FLAG, &t.quick },
		{ "only", 0, OPT_STR, &t.only },
		{ "suite", 0, OPT_STR, &t.suite },
	};
	int n, rc = verb_operands(v, opts, ARRAY_LEN(opts), OPERANDS_NONE, argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (!t.suite && path_find_suite(&found, &e) < 0)
		return fail("%s", e.text);
	t.suite = t.suite ? t.suite : found;
	t.loud = !json;
	rc = run_against(&t, &conn, json);
	selftest_done(&t);
	atoll_free(t.a);
	return rc;
}

const struct verb verb_selftest = {
	.name = "selftest",
	.summary = "Attack this server's sandboxes and report which defences held",
	.synopsis = "[--quick] [--only TEXT] [--template NAME] [--json]",
	.help = "      --quick          skip programs that exhaust a resource\n"
		"      --only TEXT      only attempts whose names contain TEXT, such as 'mounts/' or 'bombs/fork'\n"
		"  -t, --template NAME  template (default: $E2B_TEMPLATE_ID, else " ATOLL_TEMPLATE_DEFAULT ")\n"
		"      --suite DIR      directory of the attack programs (default: as installed)\n"
		"      --json           print each attempt and its result as JSON\n"
		"\n"
		"Creates sandboxes, attacks from inside them as user and as root, and kills them. Each\n"
		"attempt is \"held\" (refused as required), \"BROKEN\" (it succeeded), \"unclear\" (it failed in\n"
		"an unexpected way, which proves nothing) or \"skipped\" (this host lacks the feature). The\n"
		"exit status is 1 if any attempt was broken or unclear. Run it on the server's own machine\n"
		"so that it also tries to reach services of the host. It loads the server for some minutes.\n"
		"\n" SETTINGS_HELP,
	.run = run,
};

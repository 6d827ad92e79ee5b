/* SPDX-License-Identifier: Apache-2.0 */
/* atoll audit: show, export and verify the audit trail. */
#include "cli/admin/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/settings.h"
#include "cli/signals.h"

#define FOLLOW_EVERY_MS 500

#define QUERY_OPTS(q) \
	{ "key", 0, OPT_STR, &(q)->key }, { "sandbox", 0, OPT_STR, &(q)->sandbox }, \
	    { "session", 0, OPT_STR, &(q)->session }, { "kind", 0, OPT_STR, &(q)->kind }, \
	    { "request", 0, OPT_STR, &(q)->request }, { "team", 0, OPT_STR, &(q)->team }, \
	{ \
		"all-teams", 0, OPT_FLAG, &(q)->all_teams \
	}
#define QUERY_HELP \
	"      --key ID          only records of that API key\n" \
	"      --sandbox ID      only records of that sandbox\n" \
	"      --session NAME    only records of that session\n" \
	"      --request ID      only records of that request\n" \
	"      --kind KIND       only records of that kind, such as code.run\n" \
	"      --all-teams       records of all teams and of the server; requires an admin key\n" \
	"      --team TEAM       with --all-teams: only records of that team\n"

struct job {
	struct atoll_audit_query q;
	bool json, csv;
	FILE *to;
	uint64_t last; /* sequence number of the last record shown */
};

static const char *text_of(const json_t *o, const char *name)
{
	const char *z = json_string_value(json_object_get(o, name));

	return z ? z : "";
}

static void put_row(FILE *to, const json_t *o)
{
	autofree char *fields = json_dumps(json_object_get(o, "fields"), JSON_COMPACT | JSON_ENSURE_ASCII);

	(void)fprintf(to, "%6" JSON_INTEGER_FORMAT "  %s  %-18s %-20s %s\n",
	    json_integer_value(json_object_get(o, "seq")), text_of(o, "time"), text_of(o, "kind"),
	    text_of(o, "sandbox"), fields ? fields : "");
}

/* Writes a quoted CSV field. A value that a spreadsheet would read as a formula is prefixed with a single quote. */
static void put_csv(FILE *to, const char *z, char end)
{
	(void)fputc('"', to);
	if (*z && strchr("=+-@\t\r", *z))
		(void)fputc('\'', to);
	for (; *z; z++) {
		if (*z == '"')
			(void)fputc('"', to);
		(void)fputc(*z, to);
	}
	(void)fprintf(to, "\"%c", end);
}

static void put_csv_row(FILE *to, const json_t *o)
{
	static const char *const names[] = { "time", "kind", "request", "team", "key", "sandbox", "session" };
	autofree char *fields = json_dumps(json_object_get(o, "fields"), JSON_COMPACT | JSON_ENSURE_ASCII);

	(void)fprintf(to, "%" JSON_INTEGER_FORMAT ",", json_integer_value(json_object_get(o, "seq")));
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		put_csv(to, text_of(o, names[i]), ',');
	put_csv(to, fields ? fields : "", ',');
	put_csv(to, text_of(o, "text"), ',');
	put_csv(to, text_of(o, "hash"), '\n');
}

static int on_record(void *user, uint64_t seq, const char *line)
{
	struct job *j = user;

	j->last = seq;
	if (j->json) {
		(void)fputs(line, j->to);
		(void)fputc('\n', j->to);
	} else {
		json_t *o = json_loads(line, 0, NULL);

		if (j->csv)
			put_csv_row(j->to, o);
		else
			put_row(j->to, o);
		json_decref(o);
	}
	return ferror(j->to) ? -1 : 0;
}

static int show(struct atoll *a, struct job *j)
{
	struct atoll_error e;

	if (atoll_audit(a, &j->q, on_record, j, &e) < 0)
		return e.no == ECANCELED ? EXIT_FAILURE : fail("%s", e.text);
	if (fflush(j->to) != 0 || ferror(j->to))
		return errno == EPIPE ? 128 + SIGPIPE : fail("write the output: %s", strerrordesc_np(errno));
	return 0;
}

static int follow(struct atoll *a, struct job *j)
{
	struct pollfd fd = { .fd = signals_fd(), .events = POLLIN };
	int rc = 0;

	j->q.last = 0;
	while (rc == 0 && signals_first() == 0) {
		(void)poll(&fd, 1, FOLLOW_EVERY_MS);
		j->q.after = j->last;
		rc = signals_first() == 0 ? show(a, j) : 0;
	}
	return rc;
}

static int run_tail(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	struct job j = { .to = stdout, .q = { .size = sizeof j.q } };
	int64_t limit = 20;
	bool follows = false;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn),
		QUERY_OPTS(&j.q),
		{ "follow", 'f', OPT_FLAG, &follows },
		{ "limit", 'n', OPT_NUMBER, &limit },
		{ "json", 0, OPT_FLAG, &j.json },
	};
	autoatoll struct atoll *a = NULL;
	int n, rc = verb_operands(v, opts, ARRAY_LEN(opts), OPERANDS_NONE, argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (settings_connect(&conn, &a) != 0)
		return EXIT_FAILURE;
	j.q.last = limit > 0 ? (uint64_t)limit : 1;
	rc = follows ? signals_hold() : 0;
	if (follows)
		atoll_set_stop(a, signals_stop_now, NULL);
	if (rc == 0)
		rc = show(a, &j);
	if (rc == 0 && follows)
		rc = follow(a, &j);
	return signals_leave(rc);
}

static int run_export(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	struct job j = { .to = stdout, .q = { .size = sizeof j.q } };
	const char *format = "jsonl", *file = NULL;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn),
		QUERY_OPTS(&j.q),
		{ "from", 0, OPT_STR, &j.q.from },
		{ "to", 0, OPT_STR, &j.q.to },
		{ "format", 0, OPT_STR, &format },
		{ "text", 0, OPT_FLAG, &j.q.text },
		{ "output", 'o', OPT_STR, &file },
	};
	autoatoll struct atoll *a = NULL;
	int n, rc = verb_operands(v, opts, ARRAY_LEN(opts), OPERANDS_NONE, argc, argv, &n);

	if (rc >= 0)
		return rc;
	j.csv = strcmp(format, "csv") == 0;
	j.json = strcmp(format, "jsonl") == 0;
	if (!j.csv && !j.json)
		return usage_error(v, "--format can be jsonl or csv");
	if (settings_connect(&conn, &a) != 0)
		return EXIT_FAILURE;
	if (file && !(j.to = fopen(file, "we")))
		return fail("open '%s': %s", file, strerrordesc_np(errno));
	if (j.csv)
		(void)fputs("seq,time,kind,request,team,key,sandbox,session,fields,text,hash\n", j.to);
	rc = show(a, &j);
	if (file && fclose(j.to) != 0 && rc == 0)
		rc = fail("write '%s': %s", file, strerrordesc_np(errno));
	return rc;
}

static const struct verb audit_tail_verb = {
	.name = "audit tail",
	.summary = "Show the last records of the audit trail",
	.synopsis = "[--follow] [--limit N] [--sandbox ID] [--key ID] [--session NAME] [--kind KIND] [--request ID] "
		    "[--all-teams] [--json]",
	.help = "  -f, --follow          continue with new records as they are written\n"
		"  -n, --limit N         show the last N records (default: 20)\n" QUERY_HELP
		"      --json            print records as JSON, one per line\n"
		"\n" SETTINGS_HELP,
	.run = run_tail,
};

static const struct verb audit_export_verb = {
	.name = "audit export",
	.summary = "Write records of the audit trail to a file",
	.synopsis = "[--from TIME] [--to TIME] [--sandbox ID] [--key ID] [--session NAME] [--kind KIND] [--all-teams] "
		    "[--format jsonl|csv] [--output FILE]",
	.help = "      --from TIME       first time to include, such as 2026-11-15T00:00:00Z\n"
		"      --to TIME         last time to include\n" QUERY_HELP
		"      --text            include the code and commands behind the hashes, if the\n"
		"                        server stores them (audit_code = full)\n"
		"      --format FORMAT   jsonl: unchanged records (default); csv: for a spreadsheet\n"
		"  -o, --output FILE     write to FILE instead of standard output\n"
		"\n"
		"An export made with --all-teams and no other filter is a complete chain, which\n"
		"'atoll audit verify FILE' can check.\n"
		"\n" SETTINGS_HELP,
	.run = run_export,
};

static const struct verb audit_verify_verb = {
	.name = "audit verify",
	.summary = "Verify the integrity of the audit trail",
	.synopsis = "[--state DIR] [--key-file FILE] [--expect NUMBER:HASH] [FILE ...]",
	.help = "      --state DIR           state directory of the server (default: " STATE_DIR_DEFAULT ")\n"
		"      --key-file FILE       key that seals the records (default: DIR/front/audit.key)\n"
		"      --expect NUMBER:HASH  require that record to have that hash; an earlier verify\n"
		"                            prints this value as the head\n"
		"\n"
		"Without FILE, verifies the whole trail in DIR against the end that the server's\n"
		"database stores. With files, verifies these, in this order, as parts of a trail.\n"
		"No running server is needed. If a record was changed, removed, moved, inserted or\n"
		"truncated, the command names the first one and exits with status 1.\n",
	.run = audit_verify,
	.operand = OPERAND_FILE,
};

static const struct verb *const subs[] = { &audit_tail_verb, &audit_export_verb, &audit_verify_verb, NULL };

const struct verb verb_audit = {
	.name = "audit",
	.summary = "Show, export and verify the audit trail",
	.synopsis = "tail | export | verify ...",
	.help = "",
	.run = verb_group,
	.subs = subs,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* atoll logs: shows the log of a sandbox. */
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/settings.h"
#include "cli/signals.h"

#define FOLLOW_EVERY_MS 1000
#define LIMIT_MAX 1000
#define LINE_MAX_BYTES (1024 * 1024)

struct shown { /* entries shown with the latest timestamp, in milliseconds */
	int64_t at_ms;
	char **lines;
	size_t n;
};

static void shown_done(struct shown *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->lines[i]);
	free(f->lines);
	*f = (struct shown) { .lines = NULL };
}

/* Formats an entry for a terminal; its text is untrusted. */
static char *text_line(const struct atoll_log *l)
{
	autobuf struct buf b = BUF_INIT(LINE_MAX_BYTES);

	put_clean(&b, l->at);
	buf_fmt(&b, " %-5s ", l->level);
	put_clean(&b, l->message);
	for (size_t i = 0; i < l->n_fields; i++) {
		buf_ch(&b, ' ');
		put_clean(&b, l->fields[i].name);
		buf_ch(&b, '=');
		put_clean(&b, l->fields[i].value);
	}
	return str_dup(buf_view(&b));
}

static char *json_line(const struct atoll_log *l)
{
	json_t *fields = json_object();

	for (size_t i = 0; i < l->n_fields; i++)
		(void)json_object_set_new(fields, l->fields[i].name, json_string(l->fields[i].value));
	json_t *o = json_pack("{s:s,s:s,s:s,s:o}", "timestamp", l->at, "level", l->level, "message", l->message,
	    "fields", fields);
	char *text = json_dumps(o, JSON_COMPACT);
	json_decref(o);
	return text;
}

static bool was_shown(const struct shown *f, const char *line)
{
	for (size_t i = 0; i < f->n; i++) {
		if (strcmp(f->lines[i], line) == 0)
			return true;
	}
	return false;
}

/* Takes ownership of the line. */
static int remember(struct shown *f, int64_t at_ms, char *line)
{
	if (at_ms != f->at_ms)
		shown_done(f);
	char **v = reallocarray(f->lines, f->n + 1, sizeof(*v));
	if (!v) {
		free(line);
		return fail("out of memory");
	}
	f->at_ms = at_ms;
	f->lines = v;
	v[f->n++] = line;
	return 0;
}

static int print_new(const struct atoll_logs *logs, struct shown *f, bool json)
{
	for (size_t i = 0; i < logs->n; i++) {
		const struct atoll_log *l = &logs->v[i];
		char *line = json ? json_line(l) : text_line(l);

		if (!line)
			return fail("out of memory");
		if (l->at_ms == f->at_ms && was_shown(f, line)) {
			free(line);
			continue;
		}
		(void)puts(line);
		if (remember(f, l->at_ms, line) != 0)
			return EXIT_FAILURE;
	}
	return 0;
}

/* Returns 1 if the sandbox exists, 0 if not, or -1 after printing a message. */
static int is_there(struct atoll *a, const char *id)
{
	struct atoll_list *l;
	struct atoll_error e;

	if (atoll_get_sandbox(a, id, &l, &e) == 0) {
		atoll_list_free(l);
		return 1;
	}
	if (e.no != ENOENT && e.no != ECANCELED)
		say("%s", e.text);
	return e.no == ENOENT ? 0 : -1;
}

struct job {
	const char *id;
	struct atoll_log_query q;
	struct shown shown;
	bool json;
};

static int show(struct atoll *a, struct job *j)
{
	struct atoll_logs *logs;
	struct atoll_error e;

	if (atoll_logs(a, j->id, &j->q, &logs, &e) < 0)
		return e.no == ECANCELED ? EXIT_FAILURE : fail("%s", e.text);
	int rc = print_new(logs, &j->shown, j->json);
	atoll_logs_free(logs);
	if (rc != 0)
		return rc;
	if (fflush(stdout) != 0)
		return errno == EPIPE ? 128 + SIGPIPE : fail("write the output: %s", strerrordesc_np(errno));
	return 0;
}

/* Runs until a signal arrives, the output cannot be written, or the sandbox has ended and its last entries are shown.
 */
static int follow(struct atoll *a, struct job *j)
{
	struct pollfd fd = { .fd = signals_fd(), .events = POLLIN };
	int there = 1, rc = 0;

	j->q.newest = false;
	j->q.limit = 0;
	while (rc == 0 && there == 1 && signals_first() == 0) {
		(void)poll(&fd, 1, FOLLOW_EVERY_MS);
		there = is_there(a, j->id);
		if (there < 0)
			return EXIT_FAILURE;
		/* Includes the last millisecond again: later entries may have the same timestamp. */
		j->q.from_ms = j->shown.at_ms;
		rc = show(a, j);
	}
	return rc;
}

static int run(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	struct job j = { .q = { .newest = true } };
	unsigned since_s = 0;
	int64_t limit = 0;
	bool follows = false;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn),
		{ "follow", 'f', OPT_FLAG, &follows },
		{ "since", 0, OPT_DURATION, &since_s },
		{ "limit", 'n', OPT_NUMBER, &limit },
		{ "level", 0, OPT_STR, &j.q.level },
		{ "search", 0, OPT_STR, &j.q.search },
		{ "json", 0, OPT_FLAG, &j.json },
	};
	autoatoll struct atoll *a = NULL;
	int n,
	    rc = verb_operands(v, opts, ARRAY_LEN(opts), OPERANDS_ONE("missing operand: a sandbox ID is required"),
		argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (limit > LIMIT_MAX)
		return usage_error(v, "--limit must be at most %d", LIMIT_MAX);
	j.id = argv[0];
	j.q.limit = (unsigned)limit;
	j.q.from_ms = since_s ? (int64_t)now_ms() - (int64_t)since_s * 1000 : 0;
	if (settings_connect(&conn, &a) != 0)
		return EXIT_FAILURE;
	rc = follows ? signals_hold() : 0;
	if (follows)
		atoll_set_stop(a, signals_stop_now, NULL);
	if (rc == 0)
		rc = show(a, &j);
	if (rc == 0 && follows)
		rc = follow(a, &j);
	shown_done(&j.shown);
	return signals_leave(rc);
}

const struct verb verb_logs = {
	.name = "logs",
	.summary = "Show the log of a sandbox",
	.synopsis = "[--follow] [--since DURATION] [--limit N] [--level LEVEL] [--search TEXT] [--json] ID",
	.help = "  -f, --follow          continue with new entries until the sandbox ends\n"
		"      --since DURATION  only the last 90s, 5m, ...\n"
		"  -n, --limit N         show the last N entries (default: all that are stored, up to 1000)\n"
		"      --level LEVEL     minimum level: debug, info, warn or error\n"
		"      --search TEXT     only entries that contain TEXT\n"
		"      --json            print JSON objects, one per line\n"
		"\n"
		"Shows lifecycle events (created, paused, ended), calls into the sandbox, processes and\n"
		"refused tokens. Output of programs is not logged. The log can be read for ten minutes\n"
		"after the sandbox ends.\n"
		"\n" SETTINGS_HELP,
	.run = run,
	.operand = OPERAND_ID,
};

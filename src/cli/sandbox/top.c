/* SPDX-License-Identifier: Apache-2.0 */
/* atoll top: shows the resource usage of all sandboxes, updated continuously. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/sandbox/terminal.h"
#include "cli/sandbox/top_rows.h"
#include "cli/settings.h"
#include "cli/signals.h"

#define SCREEN_ENTER "\033[?1049h\033[?25l\033[?7l" /* alternate screen, no cursor, no wrapping */
#define SCREEN_LEAVE "\033[?7h\033[?25h\033[?1049l"
#define SCREEN_MAX (1024 * 1024)
#define CTRL_C 3

struct view {
	struct atoll *a;
	enum top_sort sort;
	unsigned interval_s;
	struct atoll_list *list; /* NULL before the first response */
	struct atoll_points *points;
	struct atoll_error e; /* why the last request failed; no is 0 if it succeeded */
};

static void view_drop(struct view *w)
{
	atoll_list_free(w->list);
	atoll_points_free(w->points);
	w->list = NULL;
	w->points = NULL;
}

/* On failure, the previous data stays. */
static int fetch(struct view *w)
{
	struct atoll_list *l;
	struct atoll_points *p;

	if (atoll_list_sandboxes(w->a, &l, &w->e) < 0)
		return -w->e.no;
	autofree const char **ids = calloc(l->n + 1, sizeof(*ids));
	for (size_t i = 0; ids && i < l->n; i++)
		ids[i] = l->v[i].id;
	if (!ids || atoll_metrics_latest(w->a, ids, l->n, &p, &w->e) < 0) {
		atoll_list_free(l);
		return -w->e.no;
	}
	view_drop(w);
	w->list = l;
	w->points = p;
	w->e.no = 0;
	return 0;
}

static int show_once(struct view *w, bool json)
{
	autotop struct top_rows rows = { NULL };

	if (fetch(w) < 0)
		return fail("%s", w->e.text);
	if (top_rows_make(w->list, w->points, now_ms(), w->sort, &rows) < 0)
		return fail("out of memory");
	if (json) {
		autofree char *text = top_rows_json(&rows);

		if (!text)
			return fail("out of memory");
		(void)puts(text);
		return 0;
	}
	autotable struct table t = TABLE_INIT(top_columns);
	top_rows_table(&rows, &t);
	return table_print(&t);
}

/* --- the screen --- */

static int draw(const struct view *w)
{
	autobuf struct buf out = BUF_INIT(SCREEN_MAX);
	autotop struct top_rows rows = { NULL };
	autotable struct table t = TABLE_INIT(top_columns);
	unsigned cols, lines;

	terminal_size(STDOUT_FILENO, &cols, &lines);
	buf_z(&out, "\033[H");
	if (w->list && top_rows_make(w->list, w->points, now_ms(), w->sort, &rows) == 0) {
		top_rows_title(&rows, &out);
		buf_z(&out, "\033[K\r\n");
	}
	if (w->e.no)
		put_clean(&out, w->e.text);
	else
		buf_z(&out, "q: quit; sort by c: cpu, m: memory, d: disk, p: pids, i: idle");
	buf_z(&out, "\033[K\r\n\033[K\r\n");
	if (w->list && lines > 5) {
		top_rows_table(&rows, &t);
		table_put(&t, &out, 0, lines - 5, cols, "\033[K\r\n");
	}
	buf_z(&out, "\033[J");
	return out.bad ? -ENOMEM : fd_write_all(STDOUT_FILENO, out.p, out.n);
}

/* Returns true to quit. */
static bool take_keys(struct view *w)
{
	char keys[64];
	ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));

	if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
		return true;
	for (ssize_t i = 0; i < n; i++) {
		switch (keys[i]) {
		case 'q':
		case 'Q':
		case CTRL_C:
			return true;
		case 'c':
			w->sort = TOP_CPU;
			break;
		case 'm':
			w->sort = TOP_MEMORY;
			break;
		case 'd':
			w->sort = TOP_DISK;
			break;
		case 'p':
			w->sort = TOP_PIDS;
			break;
		case 'i':
			w->sort = TOP_IDLE;
			break;
		default:
			break;
		}
	}
	return false;
}

static int watch(struct view *w)
{
	uint64_t next = 0;

	for (;;) {
		struct pollfd fds[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
			{ .fd = signals_fd(), .events = POLLIN } };
		uint64_t now = clock_mono_ms();

		if (now >= next) {
			(void)fetch(w);
			next = clock_mono_ms() + w->interval_s * 1000ull;
			now = clock_mono_ms();
		}
		if (signals_first() != 0)
			return 0;
		int rc = draw(w);
		if (rc < 0)
			return rc;
		if (poll(fds, 2, next > now ? (int)(next - now) : 0) < 0 && errno != EINTR)
			return -errno;
		if (fds[0].revents && take_keys(w))
			return 0;
		(void)signals_take_resize(); /* the screen is redrawn anyway */
	}
}

static int show_live(struct view *w)
{
	struct terminal term = TERMINAL_INIT(STDIN_FILENO);

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return fail("top requires a terminal; use --once or --json");
	if (fetch(w) < 0)
		return fail("%s", w->e.text);
	int rc = signals_hold();
	if (rc != 0)
		return rc;
	atoll_set_stop(w->a, signals_stop_now, NULL);
	if (terminal_raw(&term) < 0)
		return fail("set up the terminal: %s", strerrordesc_np(errno));
	(void)fd_write_all(STDOUT_FILENO, SCREEN_ENTER, sizeof(SCREEN_ENTER) - 1);
	rc = watch(w);
	(void)fd_write_all(STDOUT_FILENO, SCREEN_LEAVE, sizeof(SCREEN_LEAVE) - 1);
	terminal_restore(&term);
	return rc < 0 ? fail("draw the screen: %s", strerrordesc_np(-rc)) : 0;
}

static int run(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	struct view w = { .interval_s = 2 };
	const char *sort = "cpu";
	bool once = false, json = false;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn),
		{ "once", '1', OPT_FLAG, &once },
		{ "json", 0, OPT_FLAG, &json },
		{ "interval", 'n', OPT_SECONDS, &w.interval_s },
		{ "sort", 's', OPT_STR, &sort },
	};
	int n, rc = verb_parse(v, opts, ARRAY_LEN(opts), OPTS_MIXED, argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (n > 0)
		return usage_error(v, "unexpected argument '%s'", argv[0]);
	if (top_sort_parse(sort, &w.sort) < 0)
		return usage_error(v, "cannot sort by '%s' (allowed: cpu, memory, disk, pids, idle)", sort);
	if (w.interval_s > 3600)
		return usage_error(v, "--interval must be at most 3600");
	rc = settings_connect(&conn, &w.a);
	if (rc != 0)
		return rc;
	rc = once || json ? show_once(&w, json) : show_live(&w);
	view_drop(&w);
	atoll_free(w.a);
	return signals_leave(rc);
}

const struct verb verb_top = {
	.name = "top",
	.summary = "Monitor the usage of all sandboxes",
	.synopsis = "[--interval SECONDS] [--sort COLUMN] [--once] [--json]",
	.help = "  -n, --interval SECONDS  update interval (default: 2)\n"
		"  -s, --sort COLUMN       cpu, memory, disk, pids or idle, in descending order (default: cpu)\n"
		"  -1, --once              print one table and exit\n"
		"      --json              print one JSON array, in bytes and seconds, and exit\n"
		"\n"
		"100 % is one processor. Pids are processes and threads. Idle is the time since the last\n"
		"call into the sandbox. Keys: q quits; c, m, d, p and i select the sort column.\n"
		"\n" SETTINGS_HELP,
	.run = run,
};

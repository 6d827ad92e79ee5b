/* SPDX-License-Identifier: Apache-2.0 */
/* cli/progress: prints progress bars and log lines. */
#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "cli/sandbox/terminal.h"

#define BAR 24
#define REDRAW_MS 100

void progress_begin(struct progress *p, bool plain)
{
	unsigned rows;

	*p = (struct progress) { .plain = plain, .tty = !plain && isatty(2), .began_ms = clock_mono_ms() };
	terminal_size(2, &p->cols, &rows);
}

/* Copies text from a sandbox and replaces control characters, which could control the terminal, by spaces. */
static void clean(char *to, size_t size, const char *from, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n && from[i] && k + 1 < size; i++)
		to[k++] = (unsigned char)from[i] < 0x20 || from[i] == 0x7f ? ' ' : from[i];
	to[k] = '\0';
}

static void put_bar(uint64_t done, uint64_t total)
{
	uint64_t full = total ? done * BAR / total : 0;

	(void)fputc('[', stderr);
	for (uint64_t i = 0; i < BAR; i++)
		(void)fputc(i < full ? '#' : '.', stderr);
	(void)fputc(']', stderr);
}

void progress_end(struct progress *p)
{
	if (p->shown)
		(void)fputs("\r\033[K", stderr);
	p->shown = false;
}

static void draw(struct progress *p)
{
	char line[512];

	if (!p->tty || !p->label[0])
		return;
	progress_end(p);
	put_bar(p->done, p->total);
	(void)snprintf(line, sizeof line, " %u/%u %s %.1fs%s%s", p->done, p->total, p->label,
	    (double)(clock_mono_ms() - p->step_ms) / 1000, p->last[0] ? " | " : "", p->last);
	(void)fprintf(stderr, "%.*s", p->cols > BAR + 4 ? (int)(p->cols - BAR - 4) : 40, line);
	(void)fflush(stderr);
	p->shown = true;
	p->drawn_ms = clock_mono_ms();
}

void progress_tick(struct progress *p)
{
	if (clock_mono_ms() - p->drawn_ms >= REDRAW_MS)
		draw(p);
}

static void finish_step(struct progress *p)
{
	if (!p->label[0])
		return;
	progress_end(p);
	(void)fprintf(stderr, "  done  %s (%.1fs)\n", p->label, (double)(clock_mono_ms() - p->step_ms) / 1000);
	p->label[0] = p->last[0] = '\0';
}

/* Matches "[builder 3/8] RUN ls" and "CACHED [builder 3/8] RUN ls". */
static bool is_step(const char *text, unsigned *at, unsigned *total, const char **what)
{
	int n = 0;

	if (sscanf(text, "[builder %u/%u] %n", at, total, &n) != 2 || n == 0 || text[n] == '[')
		return false;
	*what = text + n;
	return true;
}

/* Matches "[base] layer 2 of 5: downloading 3.0 of 20.5 MB". Layers are downloaded in parallel, so the bar shows the
 * layer of the most recent message. */
static bool show_layer(struct progress *p, const char *text)
{
	unsigned at, layers;
	char what[16];
	double done, total;

	if (sscanf(text, "[base] layer %u of %u: %15s %lf of %lf MB", &at, &layers, what, &done, &total) != 5 ||
	    done < 0 || total < done)
		return false;
	progress_end(p);
	put_bar((uint64_t)(done * 10), (uint64_t)(total * 10));
	(void)fprintf(stderr, " layer %u/%u %s %.1f/%.1f MB", at, layers, what, done, total);
	(void)fflush(stderr);
	p->shown = true;
	p->drawn_ms = clock_mono_ms();
	return true;
}

void progress_log(void *user, const struct atoll_build_log *l)
{
	struct progress *p = user;
	bool cached = strncmp(l->message, "CACHED ", 7) == 0;
	const char *text = l->message + (cached ? 7 : 0), *what = NULL;
	unsigned at = 0, total = 0;
	char line[1024];

	clean(line, sizeof line, l->message, strlen(l->message));
	if (p->plain || !p->tty) {
		if (p->plain || strcmp(l->level, "debug") != 0)
			(void)fprintf(stderr, "%s\n", line);
		return;
	}
	if (show_layer(p, line))
		return;
	if (is_step(text, &at, &total, &what) || (strncmp(text, "[finalize]", 10) == 0 && (what = text))) {
		finish_step(p);
		p->step_ms = clock_mono_ms();
		p->done = at ? at - 1 : p->total;
		p->total = total ? total : p->total;
		clean(p->label, sizeof p->label, what, strlen(what));
		if (cached) {
			(void)fprintf(stderr, "  cached  %s\n", p->label);
			p->label[0] = '\0';
			p->done = at;
		}
	} else if (strcmp(l->level, "error") == 0 || strcmp(l->level, "warn") == 0 || strncmp(text, "[base]", 6) == 0) {
		progress_end(p);
		(void)fprintf(stderr, "  %s\n", line);
	} else {
		const char *out = strstr(line, "]: ");

		clean(p->last, sizeof p->last, out ? out + 3 : line, sizeof p->last);
	}
	draw(p);
}

/* Draws the bar of an amount. Returns false if it is not to be drawn now. */
static bool draw_amount(struct progress *p, const char *doing, const char *what, uint64_t done, uint64_t total)
{
	if (!p->tty) {
		if (done == 0)
			(void)fprintf(stderr, "%s %s (%.1f MiB)\n", doing, what, (double)total / (1024 * 1024));
		return false;
	}
	if (done != total && clock_mono_ms() - p->drawn_ms < REDRAW_MS)
		return false;
	progress_end(p);
	put_bar(done, total);
	(void)fprintf(stderr, " %s %.60s %.1f/%.1f MiB", doing, what, (double)done / (1024 * 1024),
	    (double)total / (1024 * 1024));
	(void)fflush(stderr);
	p->shown = true;
	p->drawn_ms = clock_mono_ms();
	return true;
}

void progress_amount(struct progress *p, const char *doing, const char *what, uint64_t done, uint64_t total)
{
	(void)draw_amount(p, doing, what, done, total);
}

void progress_part(struct progress *p, const char *what, uint64_t done, uint64_t total)
{
	if (draw_amount(p, "sending", what, done, total) && done == total) {
		progress_end(p);
		(void)fprintf(stderr, "  sent  %.100s (%.1f MiB)\n", what, (double)total / (1024 * 1024));
	}
}

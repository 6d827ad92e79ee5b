/* SPDX-License-Identifier: Apache-2.0 */
/* Units of cli/progress: what a terminal shows of a build, and what a file gets. */
#include "cli/progress.h"
#include "unit.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pty.h>
#include <unistd.h>

static int master = -1, kept = -1;
static struct progress p;

/* Standard error becomes a terminal, or a pipe. */
static void begin(bool tty)
{
	struct winsize size = { .ws_row = 24, .ws_col = 100 };
	int ends[2];

	if (tty)
		assert_int_equal(openpty(&ends[0], &ends[1], NULL, NULL, &size), 0);
	else
		assert_int_equal(pipe(ends), 0);
	(void)fflush(stderr);
	kept = dup(2);
	assert_int_equal(dup2(ends[1], 2), 2);
	(void)close(ends[1]);
	master = ends[0];
	progress_begin(&p, false);
}

/* All of it: a terminal passes things on in its own time. */
static const char *said(void)
{
	static char text[8192];
	size_t n = 0;

	(void)fflush(stderr);
	assert_int_equal(write(2, "\001", 1), 1);
	while (n == 0 || text[n - 1] != '\001') {
		ssize_t got = read(master, text + n, sizeof text - 1 - n);

		assert_true(got > 0);
		n += (size_t)got;
	}
	text[n - 1] = '\0';
	return text;
}

static void end(void)
{
	(void)fflush(stderr);
	(void)dup2(kept, 2);
	(void)close(kept);
	(void)close(master);
}

static void hear(const char *level, const char *message)
{
	progress_log(&p, &(struct atoll_build_log) { .level = level, .message = message });
}

static void has(const char *text, const char *part, bool want)
{
	if (!!strstr(text, part) == want)
		return;
	end();
	fail_msg("'%s' in '%s': %s", part, text, want ? "no" : "yes");
}

static void a_layer_has_a_bar(void **state)
{
	(void)state;
	begin(true);
	hear("info", "[base] layer 2 of 5: downloading 5.0 of 20.0 MB");
	has(said(), "[######..................] layer 2/5 downloading 5.0/20.0 MB", true);
	hear("info", "[base] layer 1 of 5: unpacking 20.0 of 20.0 MB");
	const char *next = said();

	has(next, "\r\033[K[########################] layer 1/5 unpacking 20.0/20.0 MB", true); /* in its place */
	has(next, "\n", false);
	hear("info", "[base] the image is here");
	has(said(), "\r\033[K  [base] the image is here", true);
	hear("info", "[base] layer 1 of nothing: x");
	has(said(), "  [base] layer 1 of nothing: x", true);
	hear("info", "[base] layer 1 of 1: downloading 0.0 of 0.0 MB");
	has(said(), "[........................] layer 1/1", true);
	end();
}

static void a_step_has_a_bar(void **state)
{
	(void)state;
	begin(true);
	hear("info", "CACHED [builder 1/4] USER root");
	has(said(), "  cached  USER root", true);
	hear("info", "[builder 2/4] RUN make");
	has(said(), "[######..................] 1/4 RUN make", true);
	hear("info", "[builder 2/4] [stdout]: compiling \033[2J all");
	const char *output = said();

	has(output, "| compiling  [2J all", true);
	has(output, "\033[2J", false); /* it does not steer the terminal */
	hear("info", "[builder 3/4] RUN test");
	const char *after = said();

	has(after, "  done  RUN make", true);
	has(after, "[############............] 2/4 RUN test", true);
	progress_part(&p, "src", 5 << 20, 10 << 20);
	p.drawn_ms = 0;
	progress_part(&p, "src", 5 << 20, 10 << 20);
	has(said(), "[############............] sending src 5.0/10.0 MiB", true);
	end();
}

static void a_file_gets_lines(void **state)
{
	(void)state;
	begin(false);
	hear("info", "[base] layer 2 of 5: downloading 5.0 of 20.0 MB");
	hear("info", "[builder 2/4] RUN make");
	hear("debug", "not for everybody");
	const char *all = said();

	has(all, "[base] layer 2 of 5: downloading 5.0 of 20.0 MB\n[builder 2/4] RUN make\n", true);
	has(all, "\033", false);
	has(all, "not for everybody", false);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_layer_has_a_bar),
		cmocka_unit_test(a_step_has_a_bar),
		cmocka_unit_test(a_file_gets_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

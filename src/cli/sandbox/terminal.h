/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/terminal: controls the local terminal: raw mode while a remote program uses it, and the escape keys. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

struct terminal {
	int fd;
	bool is_raw;
	struct termios before;
};

#define TERMINAL_INIT(f) ((struct terminal) { .fd = (f) })

int terminal_raw(struct terminal *t);                               /* also sets raw mode again; 0 or -errno */
void terminal_restore(struct terminal *t);                          /* does nothing if it is not raw */
void terminal_size(int fd, unsigned *ret_cols, unsigned *ret_rows); /* 80 by 24 if unknown */

/* Resets what an interrupted program may have left enabled: mouse, bracketed paste, hidden cursor, colours. */
#define TERMINAL_CALM "\033[?1000l\033[?1002l\033[?1003l\033[?1006l\033[?2004l\033[?25h\033[0m"

/* "Enter ~ ." ends the session and "Enter ~ ~" sends one "~", as in ssh(1). No I/O. */
struct escape {
	enum { ESCAPE_LINE_START, ESCAPE_IN_LINE, ESCAPE_TILDE } at; /* initially 0: at the start of a line */
};

/* Copies the keys to send from in to out (n + 1 bytes) and returns their number. If *ret_leave is set, the rest is
 * dropped. */
size_t escape_filter(struct escape *x, const char *in, size_t n, char *out, bool *ret_leave);

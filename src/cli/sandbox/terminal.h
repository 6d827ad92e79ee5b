/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/terminal: our own terminal: raw while a program elsewhere has it, and the keys that end that. */
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

int terminal_raw(struct terminal *t);                               /* again: puts it back into raw mode; -errno */
void terminal_restore(struct terminal *t);                          /* fine if it is not raw */
void terminal_size(int fd, unsigned *ret_cols, unsigned *ret_rows); /* 80 by 24 if nobody knows */

/* What a program that was cut off may have left on: mouse, bracketed paste, hidden cursor, colours. */
#define TERMINAL_CALM "\033[?1000l\033[?1002l\033[?1003l\033[?1006l\033[?2004l\033[?25h\033[0m"

/* "Enter ~ ." leaves, "Enter ~ ~" is one "~", as with ssh. No I/O. */
struct escape {
	enum { ESCAPE_LINE_START, ESCAPE_IN_LINE, ESCAPE_TILDE } at; /* zeroed: at the start of a line */
};

/* Copies what is to be sent from in to out (room for n + 1) and returns its length. *ret_leave: the rest is dropped. */
size_t escape_filter(struct escape *x, const char *in, size_t n, char *out, bool *ret_leave);

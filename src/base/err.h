/* SPDX-License-Identifier: Apache-2.0 */
/* err: why something failed, as text that reads from intent to cause.
 *
 * The caller owns the struct; it has no heap parts, so it works after fork() and fits in a message.
 * All setters return a negative errno, so that `return err_sys(e, ...)` is the usual way out. */
#pragma once

#include <errno.h>

struct err {
	int no;         /* errno value, 0 while all is well */
	char text[232]; /* "start sandbox 'k3x': attach volumes: ..." */
};

#define ERR_INIT ((struct err) { 0 })

/* A failure of our own finding: sets the text, returns -no. */
int err_set(struct err *e, int no, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* A failed system call: like err_set() with errno, and its description appended. */
int err_sys(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Puts "what: " before the text that is there; returns -e->no. */
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* SPDX-License-Identifier: Apache-2.0 */
/* err: why an operation failed, as text from the intent to the cause.
 *
 * The caller owns the struct. It has no heap parts, so it works after fork() and fits in a message. All setters
 * return a negative errno, so that `return err_sys(e, ...)` is the usual way out. */
#pragma once

#include <errno.h>

struct err {
	int no;         /* errno value; 0: no error */
	char text[232]; /* "start sandbox 'k3x': attach volumes: ..." */
};

#define ERR_INIT ((struct err) { 0 })

/* Reports an error that the code itself has detected: sets the text, returns -no. */
int err_set(struct err *e, int no, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Reports a failed system call: like err_set() with errno, with its description appended. */
int err_sys(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Prepends "what: " to the text; returns -e->no. */
int err_wrap(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

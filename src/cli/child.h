/* SPDX-License-Identifier: Apache-2.0 */
/* cli/child: other programs, run to their end; and probes, run in a child so that they can do no harm. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Runs argv[0] (looked up in PATH) with our own streams, or with standard output sent to /dev/null. *ret_status: as a
 * shell tells it, 128 + n for a signal. While it runs, Ctrl-C, SIGTERM and SIGHUP are its business: we wait for it to
 * clean up. */
int cli_child_run(const char *const *argv, bool quiet, int *ret_status, struct err *e);

/* Runs it without input and keeps what it prints, cut at size - 1 bytes; its error output is dropped. */
int child_output(const char *const *argv, char *out, size_t size, int *ret_status, struct err *e);

/* Calls fn(arg) in a forked child, which exits with the errno value that fn returns negated (0: all well). Returns that
 * value negated, or -EIO if the child was killed. */
int child_probe(int (*fn)(void *arg), void *arg);

bool child_has_program(const char *name); /* in PATH, or in the sbin directories */

/* SPDX-License-Identifier: Apache-2.0 */
/* cli/child: runs other programs and waits for them; runs probes in a forked child so that they cannot affect this
 * process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* Runs argv[0] (looked up in PATH) with our standard streams; with quiet, standard output goes to /dev/null.
 * *ret_status is set as a shell reports it: 128 + n if signal n killed the child. While it runs, SIGINT and SIGQUIT
 * are ignored here, and SIGTERM and SIGHUP are forwarded to it: we wait until it has cleaned up. */
int cli_child_run(const char *const *argv, bool quiet, int *ret_status, struct err *e);

/* Runs argv[0] without input and stores its output, truncated to size - 1 bytes. Its standard error is discarded. */
int child_output(const char *const *argv, char *out, size_t size, int *ret_status, struct err *e);

/* Calls fn(arg) in a forked child. fn returns 0 or a negative errno value, which becomes the child's exit status.
 * Returns what fn returned, or -EIO if the child was killed. */
int child_probe(int (*fn)(void *arg), void *arg);

bool child_has_program(const char *name); /* looks in PATH and in the sbin directories */

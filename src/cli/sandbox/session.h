/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/session: runs one command in a sandbox, connected to our standard streams, until it exits or is
 * interrupted. */
#pragma once

#include <stdbool.h>

#include "client/atoll.h"

enum session_stop {
	/* An interrupt sends SIGTERM to the command; a second one, or a timeout, sends SIGKILL. */
	STOP_COMMAND,
	STOP_NOW, /* an interrupt ends the session; the caller kills the sandbox */
};

struct session {
	struct atoll_sandbox *sb;
	struct atoll_command cmd; /* with_stdin: forward our standard input */
	enum session_stop on_interrupt;
	bool tty; /* use our terminal, which must be standard input, with its keys and size */
};

/* Call signals_hold() first. Returns the exit status: that of the command, 128 + n if signal n killed it, or
 * EXIT_FAILURE after a message if it could not run. */
int session_run(const struct session *s);

int session_exit_status(const struct atoll_exit *x);

/* Opens the sandbox and runs the command in it, for `exec` and `shell`. */
struct settings_opts;
int session_in(const struct settings_opts *conn, const char *id, const struct atoll_command *cmd, bool tty);

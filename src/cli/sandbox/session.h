/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/session: one command in a sandbox, with our own streams, until it ends or somebody presses Ctrl-C. */
#pragma once

#include <stdbool.h>

#include "client/atoll.h"

enum session_stop {
	/* an interrupt ends the command: SIGTERM, SIGKILL at the second or after a while */
	STOP_COMMAND,
	STOP_NOW, /* an interrupt ends the session; the caller ends the sandbox */
};

struct session {
	struct atoll_sandbox *sb;
	struct atoll_command cmd; /* with_stdin: our standard input is passed on */
	enum session_stop on_interrupt;
	bool tty; /* it gets our terminal, which standard input must be: its keys, its size */
};

/* To be called after signals_hold(). Returns the exit status: the command's, 128 + n if a signal ended it, EXIT_FAILURE
 * (said) when it could not run. */
int session_run(const struct session *s);

int session_exit_status(const struct atoll_exit *x);

/* Opens the sandbox and runs the command in it: all of `exec` and `shell`. */
struct settings_opts;
int session_in(const struct settings_opts *conn, const char *id, const struct atoll_command *cmd, bool tty);

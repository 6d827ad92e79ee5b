/* SPDX-License-Identifier: Apache-2.0 */
/* cli/session: one command in a sandbox, with our own streams, until it ends or somebody presses Ctrl-C. */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "client/atoll.h"

enum session_stop {
	STOP_COMMAND,			/* an interrupt ends the command: SIGTERM, SIGKILL at the second or after a while */
	STOP_NOW,			/* an interrupt ends the session; the caller ends the sandbox */
};

struct session {
	struct atoll_sandbox *sb;
	struct atoll_command cmd;	/* with_stdin: our standard input is passed on */
	enum session_stop on_interrupt;
};

/* From here on SIGINT, SIGTERM and SIGHUP only end things through session_run(), so that a sandbox which was made is always
 * killed. SIGPIPE is ignored. */
int session_signals_hold(void);		/* 0 or EXIT_FAILURE, said */
int session_signal(void);		/* the first that came, 0: none; keeps it for session_leave() */
bool session_stop_waiting(void *user);	/* for atoll_set_stop(): a signal has been waiting for some seconds */

/* Returns the exit status: the command's, 128 + n if a signal ended it, EXIT_FAILURE (said) when it could not run. */
int session_run(const struct session *s);

/* The status to leave with: dies by the signal that came, if one came, so that a shell's loop ends too. */
int session_leave(int status);
int session_exit_status(const struct atoll_exit *x);

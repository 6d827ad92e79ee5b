/* SPDX-License-Identifier: Apache-2.0 */
/* cli/signals: signals are held until the program checks for them, so that it can always clean up. */
#pragma once

#include <stdbool.h>

/* Blocks SIGINT, SIGTERM and SIGHUP, which are counted from then on, and SIGWINCH and SIGCONT, which are noted.
 * Ignores SIGPIPE. Returns 0, or EXIT_FAILURE after printing a message. */
int signals_hold(void);
int signals_fd(void); /* readable when a signal is pending; -1 before signals_hold() */

int signals_first(void);               /* the first signal received, or 0; stays set for signals_leave() */
unsigned signals_count(void);          /* number of signals received */
bool signals_take_resize(void);        /* true once after the terminal may have changed its size or mode */
bool signals_stop_waiting(void *user); /* for atoll_set_stop(): true some seconds after the first signal */
bool signals_stop_now(void *user);     /* for atoll_set_stop(): true as soon as a signal is received */

/* Returns the exit status. If a signal was received, dies from it instead, so that a loop in a shell ends, too. */
int signals_leave(int status);

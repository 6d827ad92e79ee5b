/* SPDX-License-Identifier: Apache-2.0 */
/* cli/signals: signals that wait until somebody asks, so that what was begun is always ended properly. */
#pragma once

#include <stdbool.h>

/* From here on SIGINT, SIGTERM and SIGHUP only count, SIGWINCH and SIGCONT are noted, and SIGPIPE is ignored. 0 or
 * EXIT_FAILURE, said. */
int signals_hold(void);
int signals_fd(void); /* readable when one has come; -1 before signals_hold() */

int signals_first(void);               /* the first that came, 0: none; it is kept for signals_leave() */
unsigned signals_count(void);          /* how many have come */
bool signals_take_resize(void);        /* the terminal may have another size or mode since the last time */
bool signals_stop_waiting(void *user); /* for atoll_set_stop(): a signal has been waiting for some seconds */
bool signals_stop_now(void *user);     /* the same, but at once */

/* The status to leave with: dies by the signal that came, if one came, so that a shell's loop ends too. */
int signals_leave(int status);

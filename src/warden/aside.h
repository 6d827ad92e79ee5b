/* SPDX-License-Identifier: Apache-2.0 */
/* aside: child processes that the event loop never blocks on. */
#pragma once

#include <sys/types.h>

struct loop;
struct warden;

/* Reaps a child when it exits. Its result is discarded. */
void aside_forget(struct loop *l, pid_t pid);

/* Calls done(arg) after the child has exited and was reaped. -ENOMEM: the child is not watched. */
int aside_watch(struct loop *l, pid_t pid, void (*done)(void *arg), void *arg);

/* Reaps orphaned processes of sandboxes. As pid 1 of a container the warden becomes the parent of every orphan. */
void aside_reap_orphans(void);

/* Drops all watches without calling anything. For a warden that is about to exit. */
void aside_leave(void);

/* Runs fn(arg) in a child that dies with the warden, then calls done(arg) in the warden. On -errno there is no
 * child, and done is not called. */
int aside_run(struct loop *l, void (*fn)(void *arg), void (*done)(void *arg), void *arg);

/* For every child that does not exec: resets all signals to their defaults and starts a new session, because
 * Ctrl-C on the warden's terminal is meant for the warden alone. The loop's signal handlers would write to a
 * pipe that the child shares with the warden. */
void aside_signals(void);

/* Moves a descriptor that is kept for a unit to a number of UNIT_FDS or more, where a child closes all of them at once.
 * Returns it, or fd itself if that fails. */
#define UNIT_FDS 4096
int unit_fd(int fd);

/* For every child that runs engine code for long. Closes the warden's locks, listeners, links and what it keeps for
 * units, which would otherwise outlive a killed warden. Also makes the child dumpable: the warden is not, and only host
 * root may open /proc/PID/uid_map of the descendants of a process that is not dumpable. */
void warden_let_go(const struct warden *w);

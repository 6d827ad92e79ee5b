/* SPDX-License-Identifier: Apache-2.0 */
/* aside: child processes that never make the loop wait. */
#pragma once

#include <sys/types.h>

struct loop;
struct warden;

/* Collects a child that nobody needs an answer from, whenever it ends. */
void aside_forget(struct loop *l, pid_t pid);

/* done(arg) is called when it has ended and was collected. -ENOMEM: nobody watches it. */
int aside_watch(struct loop *l, pid_t pid, void (*done)(void *arg), void *arg);

/* Collects processes of sandboxes that have become our children: as pid 1 of a container we get every orphan. */
void aside_reap_orphans(void);

/* Waits for none of them any more, and calls nobody: the warden is about to end. */
void aside_leave(void);

/* Runs fn(arg) in a child that dies with us, and then calls done(arg) here. -errno: there is no child and no call. */
int aside_run(struct loop *l, void (*fn)(void *arg), void (*done)(void *arg), void *arg);

/* For every child that is not a program of its own: signals as at the start of a process, and a session of its own,
 * since Ctrl-C on the warden's terminal is for the warden alone. The loop's handlers would write to a pipe that is
 * shared with it. */
void aside_signals(void);

/* In every child that runs engine code for long: closes what the warden holds but such a child must not: its locks,
 * listeners and links would outlive a killed warden. Also lets it be looked at: the warden is not dumpable, and then
 * only host root may open /proc/PID/uid_map of what is made here. */
void warden_let_go(const struct warden *w);

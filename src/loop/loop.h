/* SPDX-License-Identifier: Apache-2.0 */
/* loop: one event loop per process, a thin layer over libuv that hides its handle lifetimes.
 *
 * All objects are on the heap, owned by their creator, and freed by their own _free(). After that call the
 * callback is never called again (libuv's asynchronous close happens behind the scenes), so an object may be
 * freed inside its own callback. libuv's thread pool is not used. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct loop;
struct watch;
struct timer;
struct sigwatch;

struct loop *loop_new(void);   /* NULL: out of memory or fds */
void loop_run(struct loop *l); /* until loop_stop() */
void loop_stop(struct loop *l);
void loop_free(struct loop *l);       /* after all its objects are freed; runs pending closes */
uint64_t loop_now_ms(struct loop *l); /* monotonic, cached at the start of the round */

/* Sets the maximum number of streams that are closing, see stream_close_flushed(). The default is 256. */
void loop_leaving_max(struct loop *l, size_t max);

/* Calls fn(p) after this round of callbacks: the way to free what callers may still use. */
void loop_defer(struct loop *l, void (*fn)(void *p), void *p);

/* Watches a non-blocking fd (sockets, pipes, pidfds, ...; not regular files). Does not own the fd: free the
 * watch before closing it. events is a mask; 0 pauses. Errors and hang-ups are reported as readable. */
#define WATCH_IN 1
#define WATCH_OUT 2
#define WATCH_PRI 4 /* EPOLLPRI: a file of the kernel (sysfs, cgroup) has changed since it was last read */
typedef void watch_fn(void *user, int events);
struct watch *watch_new(struct loop *l, int fd, int events, watch_fn *fn, void *user);
void watch_set(struct watch *w, int events);
void watch_free(struct watch *w); /* NULL is allowed */

typedef void timer_fn(void *user);
struct timer *timer_new(struct loop *l, timer_fn *fn, void *user); /* disarmed */
void timer_arm(struct timer *t, uint64_t after_ms);                /* one-shot; arming it again replaces the time */
void timer_disarm(struct timer *t);
void timer_free(struct timer *t);

typedef void signal_fn(void *user, int signo);
struct sigwatch *sigwatch_new(struct loop *l, int signo, signal_fn *fn, void *user);
void sigwatch_free(struct sigwatch *s);

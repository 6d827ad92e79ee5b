/* SPDX-License-Identifier: Apache-2.0 */
/* process_impl: the internals of a process, shared by process.c (states), output.c (its output), clients.c (attached
 * streams) and input.c (its input). No other file includes this. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "init/process/process.h"

struct timer;
struct watch;

enum proc_state { PROC_RUNNING, PROC_EXITED, PROC_ENDED };

struct output {
	int fd; /* -1: closed */
	struct proc *p;
	struct output *rests_next; /* in procs.rests_first */
	struct watch *watch;
	const char *name; /* key of its data events */
	bool rests;       /* not read until the pause of init/process/pace.h ends */
	bool wide;        /* its pipe does not grow any more */
};

struct input {
	struct proc *p;
	int fd;              /* -1: none or closed */
	struct watch *watch; /* only while input is queued */
	struct buf queue;
	size_t taken; /* bytes at the front of queue that are already written */
	bool closing; /* close the input once the queue is empty */
};

enum wait_for { WAIT_EXIT, WAIT_INPUT };

struct wait { /* a call that is answered later */
	struct wait *next;
	struct proc *p;
	enum wait_for what;
	struct call *c;
	struct timer *limit; /* WAIT_EXIT only */
	void (*done)(struct call *c, int rc);
};

struct client { /* a stream that is attached to the process */
	struct client *next;
	struct proc *p;
	struct call *c;
	struct timer *keepalive, *deadline;
	uint64_t keepalive_ms;
	bool starter;
};

struct proc {
	struct proc *next, *prev;
	struct init *in;
	pid_t pid;
	char *tag;
	json_t *config, *end; /* end: the end event, once ENDED */
	enum proc_state state;
	int status; /* of waitpid() */
	uint64_t ended_ms;
	bool tty;
	bool judging;   /* its end is held back until oom_judge() knows whether it was an OOM kill */
	bool signalled; /* by a client: the end does not wait for the output */
	struct output out[2];
	struct input input;
	struct timer *timer; /* deadline; once ENDED: when it is freed */
	struct client *clients;
	struct wait *waits;
};

/* output.c */
void output_open(struct proc *p, struct output *o, int fd, const char *name, void (*ready)(void *user, int events));
void output_close(struct output *o);
/* Reads one piece of output and sends it to all clients. Returns the bytes read, 0 at the end, -EAGAIN. */
ssize_t output_pump(struct proc *p, struct output *o);
ssize_t output_read(struct proc *p, struct output *o); /* the same at the pace of pace.h; -EAGAIN: it waits */
void proc_flow(struct proc *p);                        /* reads its output only while every client keeps up */

/* clients.c */
void clients_send_data(struct proc *p, const char *name, struct str data);
void clients_end(struct proc *p); /* sends the end event and ends all streams */
void clients_fail_starter(struct proc *p);
bool clients_full(const struct proc *p);

/* input.c */
void input_init(struct input *in, struct proc *p, int fd); /* owns fd */
void input_close(struct input *in);
int wait_add(struct proc *p, enum wait_for what, struct call *c, void (*done)(struct call *c, int rc));
void waits_wake(struct proc *p, enum wait_for what, int rc);

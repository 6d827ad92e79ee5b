/* SPDX-License-Identifier: Apache-2.0 */
/* process_impl: the insides of a process, shared by process.c (states, output), clients.c (who is attached) and
 * input.c (what is written to it). Nobody else includes this. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "init/process/process.h"

struct timer;
struct watch;

enum proc_state { PROC_RUNNING, PROC_EXITED, PROC_ENDED };

struct output {
	int fd; /* -1: closed */
	struct watch *watch;
	const char *name; /* key of its data events */
};

struct input {
	struct proc *p;
	int fd;              /* -1: none or closed */
	struct watch *watch; /* only while something waits */
	struct buf queue;
	size_t taken; /* bytes at the front of queue that have been written */
	bool closing; /* close behind the queue */
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

struct client { /* a stream that shows the process */
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
	json_t *config, *end; /* end: the event, once ENDED */
	enum proc_state state;
	int status; /* of waitpid() */
	uint64_t ended_ms;
	bool tty;
	bool judging;   /* its end waits for word on why it was killed */
	bool signalled; /* on request: its end does not wait for its output */
	struct output out[2];
	struct input input;
	struct timer *timer; /* deadline; of an ENDED one: when it is forgotten */
	struct client *clients;
	struct wait *waits;
};

void proc_flow(struct proc *p); /* reads its output only while every client keeps up */

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

/* SPDX-License-Identifier: Apache-2.0 */
/* process: the programs that clients started: their output to whoever is attached, their input, their end.
 *
 *   RUNNING ──waitpid──▶ EXITED ──its output has ended──▶ ENDED ──30 s──▶ forgotten
 *
 * All output comes before the end, so a program whose children still hold its pipes stays EXITED until they let go,
 * or until it is signalled. Nobody attached: output is read and dropped. A slow client stops the reading for all, as a
 * full pipe would; one that went away does not count. ENDED ones are kept a while so that a client that comes late
 * still learns the exit code. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

struct call;
struct init;
struct user;
struct userdb;

#define PROCS_MAX 1024 /* RUNNING and EXITED */
#define PROCS_ENDED_MAX 256
#define PROC_CLIENTS_MAX 64               /* attached to one process */
#define PROC_INPUT_MAX (32 * 1024 * 1024) /* waiting to be read by one process */

struct proc;

struct procs { /* newest first */
	struct proc *head;
	size_t n_live, n_ended;
};

struct proc_spec { /* all borrowed */
	char *const *argv;
	const json_t *envs; /* may be NULL */
	const char *cwd;
	const char *tag; /* may be NULL */
	json_t *config;  /* what List shows; a reference is taken */
	const struct user *user;
	const struct userdb *users;
	bool want_stdin, tty;
	uint16_t cols, rows;
	uint64_t timeout_ms; /* 0: none; then it is killed */
};

struct proc_sel { /* a pid, or a tag */
	const char *tag;
	pid_t pid;
};

int proc_start(struct init *in, const struct proc_spec *spec, struct proc **ret, struct err *e);
struct proc *procs_find(struct init *in, const struct proc_sel *sel, bool ended);
void procs_reap(struct init *in);             /* after SIGCHLD: every child, ours or adopted */
void procs_judge(struct init *in, bool last); /* oom.h */
json_t *procs_list(struct init *in);          /* [{config,pid,tag?}] */

/* Sends "start" and then every event to the call. starter: the process's own deadline ends its stream; else
 * timeout_ms does. An ENDED process: start and end at once. -EAGAIN: too many clients, -ENOMEM. */
int proc_attach(struct proc *p, struct call *c, bool starter, uint64_t timeout_ms);

/* done(c, rc) comes when the process is gone (rc 0), or after a moment in any case; at once if it is gone already. */
int proc_signal(struct proc *p, int signo, struct call *c, void (*done)(struct call *c, int rc));

/* Queues input; done(c, rc) comes, maybe at once, when the process has taken most of it: rc 0 or -errno.
 * -ENOTTY, -EISCONN: the wrong kind of input, -EBADF: stdin not enabled or closed, -ENOBUFS: too much waits. */
int proc_write(struct proc *p, bool tty, struct str data, struct call *c, void (*done)(struct call *c, int rc));
int proc_close_stdin(struct proc *p); /* behind what is queued; again is fine; -ENOTTY for a terminal */
int proc_resize(struct proc *p, uint16_t cols, uint16_t rows); /* -ENOTTY: has none */
pid_t proc_pid(const struct proc *p);

/* SPDX-License-Identifier: Apache-2.0 */
/* process: the programs that clients started: their output, their input, their end.
 *
 *   RUNNING ──waitpid──▶ EXITED ──its output has ended──▶ ENDED ──30 s──▶ freed
 *
 * The end is reported after all output, so a program whose children still hold its pipes stays EXITED until they close
 * them, or until it is signalled. Without an attached client, output is read and dropped. A slow client stops the
 * reading for all clients, as a full pipe would; a disconnected one does not count. ENDED processes are remembered for
 * a while, so that a client that connects late still gets the exit code. */
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
#define PROC_INPUT_MAX (32 * 1024 * 1024) /* bytes queued for the input of one process */

struct proc;

struct proc_spec { /* all borrowed */
	char *const *argv;
	const json_t *envs; /* may be NULL */
	const char *cwd;
	const char *tag; /* may be NULL */
	json_t *config;  /* shown by List; a reference is taken */
	const struct user *user;
	const struct userdb *users;
	bool want_stdin, tty;
	uint16_t cols, rows;
	uint64_t timeout_ms; /* 0: none; otherwise the process is killed after it */
};

struct proc_sel { /* a pid, or a tag if that is not NULL */
	const char *tag;
	pid_t pid;
};

int proc_start(struct init *in, const struct proc_spec *spec, struct proc **ret, struct err *e);
struct proc *procs_find(struct init *in, const struct proc_sel *sel, bool ended);
void procs_reap(struct init *in);             /* after SIGCHLD: reaps all children, also adopted ones */
void procs_judge(struct init *in, bool last); /* those whose end oom_judge() holds back */
json_t *procs_list(struct init *in);          /* [{config,pid,tag?}] */

/* Sends "start" and then every event to the call. With starter, the stream ends at the process's own deadline,
 * else after timeout_ms. For an ENDED process, start and end are sent at once. -EAGAIN: too many clients, -ENOMEM. */
int proc_attach(struct proc *p, struct call *c, bool starter, uint64_t timeout_ms);

/* done(c, rc) is called with rc 0 when the process has ended, or after a short delay in any case; at once if it
 * has already ended. */
int proc_signal(struct proc *p, int signo, struct call *c, void (*done)(struct call *c, int rc));

/* Queues input. done(c, rc) is called, possibly at once, when the process has read most of it: rc is 0 or -errno.
 * -ENOTTY, -EISCONN: the wrong kind of input, -EBADF: stdin is not enabled or closed, -ENOBUFS: too much is
 * queued. */
int proc_write(struct proc *p, bool tty, struct str data, struct call *c, void (*done)(struct call *c, int rc));
int proc_close_stdin(struct proc *p); /* after the queued input; may be repeated; -ENOTTY for a terminal */
int proc_resize(struct proc *p, uint16_t cols, uint16_t rows); /* -ENOTTY: no terminal */
pid_t proc_pid(const struct proc *p);

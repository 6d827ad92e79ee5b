/* SPDX-License-Identifier: Apache-2.0 */
/* interp: the code interpreter: contexts that keep their state, and the HTTP API of port 49999 that runs code in them.
 *
 *	interp_rest	the requests		interp_context	a context, its queue and its runtime process
 *	interp_execute	one /execute stream	interp_kernel	that process and the lines it exchanges with us
 *	interp_event	the events' JSON	interp_runtime	which program runs a language
 *	interp_ready	waiting for what starts	interp_seed	who forks such a process instead
 *
 * The runtimes' side is docs/protocol-runtime.md. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "init/interp/seed.h"

struct asker;
struct context;
struct http_req;
struct http_server;
struct init;
struct kernel;

struct interp {
	struct context *contexts; /* in order of creation */
	size_t n_contexts;
	struct kernel *kernels; /* every runtime process that has not been reaped */
	struct seed seed;
	struct kernel *spare; /* made by the seed, waiting for its first message; NULL: none */
	uid_t spare_uid;
	struct http_server *inside; /* /health for programs in the sandbox */
	struct asker *askers;       /* requests that wait until no context is starting */
	bool awake;
	bool text_from_stdout; /* unless the sandbox's environment says otherwise */
};

/* A request for the interpreter's port. */
void interp_serve(struct init *in, struct http_req *rq);

/* At the start: seed_fd is a socket to a warm interpreter that joins the sandbox, or -1. */
void interp_open(struct init *in, int seed_fd);

/* The sandbox knows who it is and which variables it has (/init): what the template wants warm may start. */
void interp_wake(struct init *in);

/* GET /atoll/ready (ready.c), and a context has stopped starting. */
void interp_ready(struct init *in, struct http_req *rq);
void interp_settled(struct init *in);

/* The sandbox's variables have changed: interpreters that have not run anything get the new ones. */
void interp_env_changed(struct init *in);
void interp_copied(struct init *in); /* the sandbox is a copy of another from now on */

/* A child has ended. False: it is none of the interpreter's. */
bool interp_reaped(struct init *in, pid_t pid, int status);
void kernels_judge(struct init *in, bool last); /* oom.h */

/* SPDX-License-Identifier: Apache-2.0 */
/* interp: the code interpreter: contexts with state, and the HTTP API of port 49999 that runs code in them.
 *
 *	interp_rest	the requests		interp_context	a context, its queue and its runtime process
 *	interp_execute	one /execute stream	interp_kernel	that process and the messages exchanged with it
 *	interp_event	the events' JSON	interp_runtime	which program runs a language
 *	interp_ready	waiting for starts	interp_seed	copies of the warm Python
 *	interp_state	the data of all of them
 *
 * docs/protocol-runtime.md describes the messages of the runtimes. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct http_req;
struct init;

/* Serves a request for the interpreter's port. */
void interp_serve(struct init *in, struct http_req *rq);

/* Called at the start. seed_fd is a socket to the seed, or -1. */
void interp_open(struct init *in, int seed_fd);

/* Before the sandbox is frozen: ends the connection to its seed, of which the other end may be outside. */
void interp_quiet(struct init *in);

/* Called after /init, when the sandbox has its id and variables: starts the contexts that the template wants warm. */
void interp_wake(struct init *in);

/* In ready.c: interp_ready() serves GET /atoll/ready; interp_settled() is called when a context is no longer
 * starting. */
void interp_ready(struct init *in, struct http_req *rq);
void interp_settled(struct init *in);

/* The sandbox's variables have changed: interpreters that have not run anything get the new ones. */
void interp_env_changed(struct init *in);
void interp_copied(struct init *in); /* the sandbox has become a copy of another one */

/* A child has ended. False: it does not belong to the interpreter. */
bool interp_reaped(struct init *in, pid_t pid, int status);
void kernels_judge(struct init *in, bool last); /* those whose end oom_judge() holds back */

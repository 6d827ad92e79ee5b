/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/init_run: runs a command in a sandbox for the front itself; reports its output as it arrives, and its
 * exit. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

struct links;
struct init_run;

struct run_spec {
	const char *id;      /* of the sandbox */
	const char *request; /* correlation id, "": none */
	const char *as_user;
	const char *cmd;
	json_t *args;     /* array of strings, borrowed */
	json_t *envs;     /* object of strings, borrowed; NULL: none */
	const char *cwd;  /* "": the default */
	uint64_t wait_ms; /* time limit, after which the front stops waiting (the process continues); 0: none */
};

struct run_end {
	int no;           /* errno value if the connection broke or the time limit was reached; text has the message */
	bool refused;     /* it did not start: text is init's message, "code: message" */
	int code;         /* exit status; -1: killed by a signal */
	const char *text; /* "exit status 3" */
};

struct run_ops {
	void (*on_started)(void *user);                                 /* may be NULL */
	void (*on_output)(void *user, bool is_stderr, struct str data); /* may be NULL */
	/* called once, last; the run has been freed by then */
	void (*on_end)(void *user, const struct run_end *end);
};

/* Callbacks are never called from inside, and must not free the run. */
struct init_run *init_run_new(struct links *l, const struct run_spec *sp, const struct run_ops *ops, void *user);
void init_run_free(struct init_run *r); /* cancels: no callbacks; the process continues. NULL is fine */

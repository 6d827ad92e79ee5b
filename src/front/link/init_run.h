/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/init_run: a command in a sandbox, run by the front itself: its output as it comes, and how it ended. */
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
	uint64_t wait_ms; /* then it is given up (the process goes on); 0: for ever */
};

struct run_end {
	int no;           /* errno value: the connection broke, or it took too long; then text tells */
	bool refused;     /* it did not start: text has init's words, "code: message" */
	int code;         /* of its exit; -1: a signal */
	const char *text; /* "exit status 3" */
};

struct run_ops {
	void (*on_started)(void *user);                                 /* may be NULL */
	void (*on_output)(void *user, bool is_stderr, struct str data); /* may be NULL */
	void (*on_end)(void *user, const struct run_end *end);          /* once, last; the run is gone */
};

/* Callbacks never come from inside. They must not free the run, but for on_end after which it is gone. */
struct init_run *init_run_new(struct links *l, const struct run_spec *sp, const struct run_ops *ops, void *user);
void init_run_free(struct init_run *r); /* not wanted any more: no callbacks; the process runs on. NULL is fine */

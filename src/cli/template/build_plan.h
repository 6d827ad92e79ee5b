/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/build_plan: what a Dockerfile means: stages, each with a base, steps for the server, and files that they
 * need. No I/O. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "cli/opts.h"
#include "cli/template/dockerfile.h"

#define PLAN_CONTEXT (-1)

struct plan_copy {   /* files that a step needs */
	size_t step; /* in the array of steps */
	unsigned line;
	int stage; /* where they come from: PLAN_CONTEXT or a stage */
	char *source;
	char *text;    /* not NULL: it is this text, in a file called source */
	bool parents;  /* the directories in source are kept, those behind "/./" if it has that */
	char *exclude; /* lines as in .dockerignore, of what stays out; NULL: nothing */
};

struct plan_stage {
	char *name;    /* "" without one */
	char *image;   /* its base, or NULL: */
	int below;     /* ... that stage */
	json_t *steps; /* as the server takes them, but for 'filesHash' of copies */
	struct plan_copy *copies;
	size_t n_copies;
	char *entrypoint, *cmd; /* for a shell; NULL: none */
	bool has_cmd;           /* it is this stage's own */
	bool entry_is_shell;    /* then CMD has no meaning */
	bool cmd_is_shell;
	char *shell; /* of SHELL; NULL: the server's */
	bool has_user, has_workdir;
	bool needed; /* by the one that is wanted */
	/* text of the instructions that a stage upon this one begins with; NULL: none */
	json_t *onbuild;
	json_t *env, *args; /* known here: of ENV, of ARG */
};

struct plan {
	struct plan_stage *v;
	size_t n;
	size_t want;     /* the stage that becomes the template */
	json_t *notices; /* what is read and has no effect here, a line of text each */
};

/* args: of --build-arg; target: the name of a stage, NULL: the last. -EINVAL names the line. */
int plan_make(const struct dockerfile *d, const struct pairs *args, const char *target, struct plan *ret,
    struct err *e);
int plan_of_image(const char *image, struct plan *ret, struct err *e); /* nothing but a base */
char *plan_start_cmd(const struct plan_stage *st); /* ENTRYPOINT and CMD, "": neither; NULL: no memory */
void plan_done(struct plan *p);
#define autoplan __attribute__((cleanup(plan_done)))

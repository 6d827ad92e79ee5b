/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/build_plan: the meaning of a Dockerfile: stages, each with a base, steps for the server, and the files
 * that the steps need. No I/O. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "cli/opts.h"
#include "cli/template/dockerfile.h"

#define PLAN_CONTEXT (-1)

struct plan_copy {   /* files that a step needs */
	size_t step; /* index in the array of steps */
	unsigned line;
	int stage; /* origin: PLAN_CONTEXT or a stage */
	char *source;
	char *text;    /* if not NULL, the content of a file named source */
	bool parents;  /* keep the directories in source, or only those after "/./" */
	char *exclude; /* patterns to leave out, as in .dockerignore; NULL: none */
};

struct plan_stage {
	char *name;    /* "" if it has none */
	char *image;   /* its base, or NULL if ... */
	int below;     /* ... the base is this stage */
	json_t *steps; /* as the server expects them, except for 'filesHash' of copies */
	struct plan_copy *copies;
	size_t n_copies;
	char *entrypoint, *cmd; /* for a shell; NULL if not set */
	bool has_cmd;           /* set in this stage, not inherited */
	bool entry_is_shell;    /* if so, CMD is ignored */
	bool cmd_is_shell;
	char *shell; /* of SHELL; NULL: the server's default */
	bool has_user, has_workdir;
	bool needed; /* to build the requested stage */
	/* Text of the ONBUILD instructions for stages based on this one; NULL: none. */
	json_t *onbuild;
	json_t *env, *args; /* variables of ENV and ARG */
};

struct plan {
	struct plan_stage *v;
	size_t n;
	size_t want;     /* the stage that becomes the template */
	json_t *notices; /* instructions without effect, one line of text each */
};

/* Creates the plan. args: values of --build-arg. target: name of a stage, or NULL for the last one. On -EINVAL, the
 * message contains the line number. */
int plan_make(const struct dockerfile *d, const struct pairs *args, const char *target, struct plan *ret,
    struct err *e);
int plan_of_image(const char *image, struct plan *ret, struct err *e); /* a plan with a base and no steps */
char *plan_start_cmd(const struct plan_stage *st); /* ENTRYPOINT and CMD, "" if neither; NULL if memory runs out */
void plan_done(struct plan *p);
#define autoplan __attribute__((cleanup(plan_done)))

/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/build_plan_impl: declarations shared by the files of build_plan. */
#pragma once

#include "cli/template/build_plan.h"

#define PLAN_COPIES_MAX 1000
#define PLAN_TEXT_MAX (256 * 1024)

struct planner {
	struct plan *p;
	const struct pairs *args;
	json_t *global;        /* ARGs before the first FROM, and Docker's predefined ones */
	struct plan_stage *at; /* NULL before the first FROM */
	struct err *e;
};

/* These functions return NULL or -ENOMEM if memory runs out. */
char *plan_expand(const struct planner *pl, const char *text);      /* with ENV and ARG; unset variables are empty */
char *plan_expand_args(const struct planner *pl, const char *text); /* with ARG only; the server expands ENV */
void plan_put_quoted(struct buf *b, const char *text);
char *plan_quote(const char *text);                  /* quotes text as one shell word */
int plan_add_step(struct planner *pl, json_t *step); /* takes ownership of step; fails if it is NULL */
/* Uses the arguments up to the first NULL. */
json_t *plan_step(const char *type, const char *a, const char *b, const char *c, const char *d);
int plan_new_stage(struct planner *pl, const char *image, const char *name, unsigned line);
int plan_no_memory(struct planner *pl);
void plan_notice(struct planner *pl, unsigned line, const char *what); /* dropped if memory runs out */

/* build_plan_run.c */
int plan_run(struct planner *pl, const struct df_instr *in);
int plan_command(struct planner *pl, const struct df_instr *in); /* CMD and ENTRYPOINT */
int plan_shell(struct planner *pl, const struct df_instr *in);
int plan_root_run(struct planner *pl, struct buf *cmd); /* adds a RUN step as root, unless cmd is empty */

int plan_files(struct planner *pl, const struct df_instr *in); /* build_plan_files.c: COPY and ADD */

/* build_plan_mounts.c: RUN --mount. Files are uploaded to a temporary directory. The commands in before and after,
 * run as root, move them into place and remove them. Both are empty if there is nothing to do. */
struct plan_around {
	struct buf before, after;
};
int plan_mounts(struct planner *pl, const struct df_instr *in, struct plan_around *ret);

/* build_plan_files.c: copies a file or directory of the context, or of a stage or image, to dest. */
int plan_copy_aside(struct planner *pl, const struct df_instr *in, const char *from, const char *source,
    const char *dest);

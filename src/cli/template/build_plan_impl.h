/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/build_plan_impl: what the files of a plan share. */
#pragma once

#include "cli/template/build_plan.h"

#define PLAN_COPIES_MAX 1000
#define PLAN_TEXT_MAX (256 * 1024)

struct planner {
	struct plan *p;
	const struct pairs *args;
	json_t *global;        /* ARG before the first FROM, and what Docker knows by itself */
	struct plan_stage *at; /* NULL before the first FROM */
	struct err *e;
};

/* All of them NULL, or -ENOMEM, when there is no memory. */
char *plan_expand(const struct planner *pl, const char *text);      /* by what is known here; the rest is empty */
char *plan_expand_args(const struct planner *pl, const char *text); /* ARG only: the server knows the variables */
void plan_put_quoted(struct buf *b, const char *text);
char *plan_quote(const char *text);                  /* one word for a shell */
int plan_add_step(struct planner *pl, json_t *step); /* taken; NULL: no memory */
/* arguments up to the first NULL */
json_t *plan_step(const char *type, const char *a, const char *b, const char *c, const char *d);
int plan_new_stage(struct planner *pl, const char *image, const char *name, unsigned line);
int plan_no_memory(struct planner *pl);
void plan_notice(struct planner *pl, unsigned line, const char *what); /* is lost without memory */

/* build_plan_run.c */
int plan_run(struct planner *pl, const struct df_instr *in);
int plan_command(struct planner *pl, const struct df_instr *in); /* CMD and ENTRYPOINT */
int plan_shell(struct planner *pl, const struct df_instr *in);
int plan_root_run(struct planner *pl, struct buf *cmd); /* a step of root's; none if it is empty */

int plan_files(struct planner *pl, const struct df_instr *in); /* build_plan_files.c: COPY and ADD */

/* build_plan_mounts.c: what a RUN is given for its own time. Files are sent to a place aside; the commands, of root,
 * put them where they belong and take them away. Both empty: nothing to do. */
struct plan_around {
	struct buf before, after;
};
int plan_mounts(struct planner *pl, const struct df_instr *in, struct plan_around *ret);

/* build_plan_files.c: a file or directory of the context, or of that stage or image, becomes dest. */
int plan_copy_aside(struct planner *pl, const struct df_instr *in, const char *from, const char *source,
    const char *dest);

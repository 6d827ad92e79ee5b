/* SPDX-License-Identifier: Apache-2.0 */
/* interp_execute: one POST /execute: code on its way through a context, and its events on the way back.
 *
 * Output is held back and joined for a while, as Jupyter does: clients treat each event as a piece of its own. A client
 * that goes away interrupts its code.
 *
 * Some programs read what a cell prints from the text of its result. Where that is asked for, a cell that succeeds
 * without a result of its own gets one with its standard output. */
#pragma once

#include <jansson.h>

#include "init/interp/kernel.h"

struct execution;
struct http_req;
struct init;

#define EXECUTE_CODE_MAX (8 * 1024 * 1024)
#define EXECUTE_OUTPUT_MAX (32 * 1024 * 1024) /* of one execution, both streams together */

void execute_post(struct init *in, struct http_req *rq);

/* For the context. An execution is in its queue from context_submit() until execution_end() or _refuse(). */
struct execution *execution_next(const struct execution *x);
void execution_link(struct execution *x, struct execution *next);
void execution_cell(const struct execution *x, struct kernel_cell *ret); /* id, code and env */
void execution_begin(struct execution *x);                               /* the answer starts; fine when it has */
/* cannot run at all: 500, or an error if it has begun */
void execution_refuse(struct execution *x, const char *why);
void interp_execution_count(struct execution *x, uint64_t n);
void execution_note(struct execution *x, const char *text); /* a line of ours on its stderr */
void execution_output(struct execution *x, enum kernel_stream which, struct str bytes);
void execution_result(struct execution *x, const json_t *bundle, bool is_main);
void interp_execution_error(struct execution *x, const char *name, const char *value, const char *traceback);
void execution_end(struct execution *x); /* x is gone */

/* SPDX-License-Identifier: Apache-2.0 */
/* interp_execute: one POST /execute: passes code to a context and streams its events back.
 *
 * Output is buffered and joined for a short time, as Jupyter does, because clients treat each event as a separate
 * piece. When the client disconnects, its code is interrupted.
 *
 * Some programs read what a cell prints from the text of its result. If that is enabled, a cell that succeeds
 * without a result gets one with its standard output. */
#pragma once

#include <jansson.h>

#include "init/interp/kernel.h"

struct execution;
struct http_req;
struct init;

#define EXECUTE_CODE_MAX (8 * 1024 * 1024)
#define EXECUTE_OUTPUT_MAX (32 * 1024 * 1024) /* bytes of one execution, both streams together */

void execute_post(struct init *in, struct http_req *rq);

/* For context.c. An execution is in the context's queue from context_submit() until execution_end() or _refuse(). */
struct execution *execution_next(const struct execution *x);
void execution_link(struct execution *x, struct execution *next);
void execution_cell(const struct execution *x, struct kernel_cell *ret); /* id, code and env */
void execution_begin(struct execution *x);                               /* starts the answer; may be repeated */
/* The execution cannot run: answers 500, or sends an error event if the answer has started. */
void execution_refuse(struct execution *x, const char *why);
void interp_execution_count(struct execution *x, uint64_t n);
void execution_note(struct execution *x, const char *text); /* writes a line of our own to its stderr */
void execution_output(struct execution *x, enum kernel_stream which, struct str bytes);
void execution_result(struct execution *x, const json_t *bundle, bool is_main);
void interp_execution_error(struct execution *x, const char *name, const char *value, const char *traceback);
void execution_end(struct execution *x); /* frees x */

/* SPDX-License-Identifier: Apache-2.0 */
/* interp_context: a context: a language, a working directory, a runtime process with its state, and a queue of
 * executions.
 *
 *   COLD ──first use──▶ STARTING ──"ready"──▶ IDLE ◀──▶ BUSY
 *     ▲                     │                   │         │
 *     └──────── the process ended or was killed ┴─────────┘
 *
 * One execution at a time, in the order they came. A process that ends takes the running execution with it and no
 * other: the next one gets a fresh process. The id of a context outlives its processes. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "init/interp/kernel.h"

struct context;
struct execution;
struct init;

#define CONTEXTS_MAX 64
#define CONTEXT_ID_SIZE 37 /* a UUID */
#define CONTEXT_CWD "/home/user"

enum context_state { CONTEXT_COLD, CONTEXT_STARTING, CONTEXT_IDLE, CONTEXT_BUSY };

/* -ENOENT: unsupported language, -ENOTDIR: bad cwd, -EUSERS: too many contexts. */
int context_new(struct init *in, const char *language, const char *cwd, bool is_default, struct context **ret,
    struct err *e);
struct context *context_find(struct init *in, const char *id); /* NULL: not found */

/* The default context of a language (NULL: Python), created on first use. */
int context_default(struct init *in, const char *language, struct context **ret, struct err *e);
/* Creates those of Python and JavaScript, which clients expect in the list. */
void contexts_ensure_defaults(struct init *in);
json_t *contexts_list(struct init *in);        /* in order of creation */
bool contexts_starting(const struct init *in); /* true if any context is starting */
/* Rehearses a first cell in idle contexts that were never used. */
void contexts_rehearse(struct init *in);
json_t *context_json(const struct context *c); /* {id,language,cwd} */
const struct runtime *context_runtime(const struct context *c);

int context_warm(struct context *c, struct err *e); /* starts its process if it has none */
void context_restart(struct context *c);            /* running and queued executions get an error and end */
void context_remove(struct context *c);             /* as context_restart(); frees c */

/* For execute.c. */
bool context_started(const struct context *c); /* its process is ready */
void context_submit(struct context *c, struct execution *x);
void context_withdraw(struct context *c, struct execution *x); /* the client has disconnected */
void context_flow(struct context *c, bool on);                 /* whether the running one's client keeps up */

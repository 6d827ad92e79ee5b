/* SPDX-License-Identifier: Apache-2.0 */
/* interp_kernel: one runtime process: its start, the lines we exchange with it, what it and its children print, its
 * end.
 *
 * Messages come over a socket (the process's fd 3), output over two pipes (its 1 and 2). What was printed before a
 * message was sent is reported before that message. Nothing is reported any more after kernel_kill() or on_end. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"
#include "init/interp/runtime.h"

struct init;
struct kernel;

#define KERNEL_LINE_MAX (32 * 1024 * 1024) /* one message of a runtime */

#define KERNEL_LOST (-1) /* its seed ended or was given up before it was made: start it again */

enum kernel_stream { KERNEL_STDOUT, KERNEL_STDERR };

struct kernel_ops {
	void (*on_output)(void *user, enum kernel_stream which, struct str bytes);
	void (*on_message)(void *user, const char *type, const json_t *msg); /* borrowed */
	void (*on_too_long)(void *user);        /* a message was longer than KERNEL_LINE_MAX and is lost */
	void (*on_end)(void *user, int status); /* of waitpid(), or KERNEL_LOST */
};

struct kernel_cell { /* borrowed */
	uint64_t id;
	uint64_t count;
	const json_t *code; /* a string */
	const json_t *env;  /* name → value for this run only; may be NULL */
};

/* -ENOENT: no such user or directory, others: of the process. "start" has been sent when it returns. */
int kernel_start(struct init *in, const struct runtime *rt, const char *cwd, bool may_fork,
    const struct kernel_ops *ops, void *user, struct kernel **ret, struct err *e);
bool kernel_is_fork(const struct kernel *k); /* a seed has made it, or is asked to; else it is a fresh start */
void kernel_execute(struct kernel *k, const struct kernel_cell *cell);
/* the sandbox's variables as they are now */
int kernel_env(struct kernel *k, const struct runtime *rt, struct err *e);
void kernel_rehearse(struct kernel *k);
void kernel_reseed(struct kernel *k);        /* it is a copy now: its random numbers must be others */
void kernel_interrupt(struct kernel *k);     /* SIGINT, to its children too */
void kernel_read(struct kernel *k, bool on); /* off: it blocks when its pipes are full */
void kernel_kill(struct kernel *k);          /* NULL is fine; k is gone for the caller */

/* A process in advance, for the first kernel_start() of that runtime; only if there is a seed to make it. */
void kernel_spare(struct init *in, const struct runtime *rt);

/* What the seed has to say (seed.c). */
void kernel_seeded(struct init *in, uint32_t id, pid_t pid);
void kernels_unseeded(struct init *in);

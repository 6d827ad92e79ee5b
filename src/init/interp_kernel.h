/* SPDX-License-Identifier: Apache-2.0 */
/* interp_kernel: one runtime process: its start, the lines we exchange with it, what it and its children print, its end.
 *
 * Messages come over a socket (the process's fd 3), output over two pipes (its 1 and 2). What was printed before a
 * message was sent is reported before that message. Nothing is reported any more after kernel_kill() or on_end. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "init/interp_runtime.h"

struct init;
struct kernel;

#define KERNEL_LINE_MAX (32 * 1024 * 1024)	/* one message of a runtime */

enum kernel_stream { KERNEL_STDOUT, KERNEL_STDERR };

struct kernel_ops {
	void (*on_output)(void *user, enum kernel_stream which, struct str bytes);
	void (*on_message)(void *user, const char *type, const json_t *msg);	/* borrowed */
	void (*on_too_long)(void *user);		/* a message was longer than KERNEL_LINE_MAX and is lost */
	void (*on_end)(void *user, int status);		/* of waitpid() */
};

struct kernel_cell {				/* borrowed */
	uint64_t id;
	uint64_t count;
	const json_t *code;			/* a string */
	const json_t *env;			/* name → value for this run only; may be NULL */
};

/* -ENOENT: no such user or directory, others: of the process. "start" has been sent when it returns. */
int kernel_start(struct init *in, const struct runtime *rt, const char *cwd, const struct kernel_ops *ops, void *user,
		 struct kernel **ret, struct err *e);
void kernel_execute(struct kernel *k, const struct kernel_cell *cell);
int kernel_env(struct kernel *k, const struct runtime *rt, struct err *e);	/* the sandbox's variables as they are now */
void kernel_interrupt(struct kernel *k);	/* SIGINT, to its children too */
void kernel_read(struct kernel *k, bool on);	/* off: it blocks when its pipes are full */
void kernel_kill(struct kernel *k);		/* NULL is fine; k is gone for the caller */

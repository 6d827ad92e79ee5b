/* SPDX-License-Identifier: Apache-2.0 */
/* interp_kernel: one runtime process: its start, the messages exchanged with it, its output and its end.
 *
 * Messages use a socket (the process's fd 3), output uses two pipes (its fds 1 and 2). Output printed before a
 * message was sent is reported before that message. Nothing is reported after kernel_kill() or on_end. */
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
struct seed_ops;

#define KERNEL_LINE_MAX (32 * 1024 * 1024) /* one message of a runtime */

/* Instead of a status: the seed ended before it made the process, or did not answer in time: start it again. */
#define KERNEL_LOST (-1)
#define KERNEL_LATE (-2)

enum kernel_stream { KERNEL_STDOUT, KERNEL_STDERR };

struct kernel_ops {
	void (*on_output)(void *user, enum kernel_stream which, struct str bytes);
	void (*on_message)(void *user, const char *type, const json_t *msg); /* borrowed */
	void (*on_too_long)(void *user);        /* a message was longer than KERNEL_LINE_MAX and was dropped */
	void (*on_end)(void *user, int status); /* status of waitpid(), or one of the above */
};

struct kernel_cell { /* borrowed */
	uint64_t id;
	uint64_t count;
	const json_t *code; /* a string */
	const json_t *env;  /* name → value, for this execution only; may be NULL */
};

/* -ENOENT: no such user or directory; others: the process could not start. "start" is sent before it returns. */
int kernel_start(struct init *in, const struct runtime *rt, const char *cwd, bool may_fork,
    const struct kernel_ops *ops, void *user, struct kernel **ret, struct err *e);
bool kernel_is_fork(const struct kernel *k); /* forked by the seed, or requested from it; else started by exec */
void kernel_execute(struct kernel *k, const struct kernel_cell *cell);
/* Sends the sandbox's current variables. */
int kernel_env(struct kernel *k, const struct runtime *rt, struct err *e);
void kernel_rehearse(struct kernel *k);
void kernel_reseed(struct kernel *k);        /* the sandbox is now a copy: the process must reseed its random numbers */
void kernel_interrupt(struct kernel *k);     /* sends SIGINT, also to its children */
void kernel_read(struct kernel *k, bool on); /* false: the process blocks when its pipes are full */
void kernel_kill(struct kernel *k);          /* NULL is fine; the caller must not use k any more */

/* Makes a process in advance for the first kernel_start() of that runtime, if there is a seed. */
void kernel_spare(struct init *in, const struct runtime *rt);

extern const struct seed_ops kernel_seed_ops; /* of the seed that forks kernels; its user is the struct init */

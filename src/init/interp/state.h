/* SPDX-License-Identifier: Apache-2.0 */
/* interp_state: the data of the code interpreter; interp.h has what can be done with it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "init/interp/seed.h"

struct asker;
struct context;
struct http_server;
struct kernel;

struct interp {
	struct context *contexts; /* in order of creation */
	size_t n_contexts;
	struct kernel *kernels; /* every runtime process that has not been reaped */
	struct seed first;      /* the copy that came with the sandbox */
	struct seed seed;       /* the one that was asked for later */
	struct kernel *spare;   /* a copy that waits for its first message; NULL: none */
	uid_t spare_uid;
	struct http_server *inside; /* /health for programs in the sandbox */
	struct asker *askers;       /* requests that wait until no context is starting */
	bool awake;
	bool text_from_stdout; /* default, if the sandbox's environment does not set it */
};

/* SPDX-License-Identifier: Apache-2.0 */
/* side: a function that runs in a child process, because it joins a namespace or because it takes long. */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct side {
	pid_t pid;
	int result; /* a pipe */
};

#define SIDE_NONE ((struct side) { -1, -1 })

typedef int side_fn(const void *arg, int number, struct err *e);

int side_begin(struct side *sd, side_fn *fn, const void *arg, int number, struct err *e);
int side_end(struct side *sd, struct err *e); /* waits for it and returns what fn has returned */
int side_run(side_fn *fn, const void *arg, int number, struct err *e); /* both at once */

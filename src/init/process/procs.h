/* SPDX-License-Identifier: Apache-2.0 */
/* procs: the table of the programs that clients started; process.h has what can be done with them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "init/process/pace.h"

struct output;
struct proc;
struct timer;

struct procs { /* newest first */
	struct proc *head;
	size_t n_live, n_ended;
	struct pace pace;                        /* of the reads of their output */
	struct timer *rest;                      /* NULL until the first pause */
	bool resting;                            /* rest is armed */
	struct output *rests_first, *rests_last; /* what waits for its end, in the order in which it was refused */
};

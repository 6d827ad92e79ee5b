/* SPDX-License-Identifier: Apache-2.0 */
/* step: the messages between the processes of a start: small messages over SOCK_SEQPACKET pairs.
 *
 * A process that fails sends its struct err instead of the next step, so that the process waiting for it can
 * report which stage failed and why. The order of steps is fixed; any other order is an error. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum step {
	STEP_FAILED = 1, /* to B0: with the error */
	STEP_BORN,       /* B1 to B0, 1 fd: pidfd of the new pid 1, whose id map is written */
	STEP_SEED,       /* B1 to C, 1 fd: init's socket to the seed; only if there is one */
	STEP_LINKED,     /* B0 to C: eth0 exists */
	STEP_MOUNTS,     /* B0 to C, 3 or 4 fds: root, /dev, the init program, the view if there is one */
	STEP_VOLUMES,    /* B0 to C, 1 fd for each volume; only if there are any */
	STEP_SEATED,     /* B1 to B0, B0 to C: pid 1 is in its cgroups */
	STEP_GO,         /* B0 to B1: init listens, the seed may join */
};

#define STEP_FDS_MAX 8

int step_send(int sock, enum step what, const int *fds, size_t n_fds, struct err *e);
void step_send_error(int sock, const struct err *why);

/* Reads into *e the error that the other side sent before it exited, if any: a closed socket is only the
 * consequence of that error. Discards steps that are queued before it. Does not block. */
bool step_last_words(int sock, struct err *e);

/* Waits for that step with exactly n_fds fds. timeout_ms < 0: no timeout. */
int step_recv(int sock, enum step want, int *ret_fds, size_t n_fds, int timeout_ms, struct err *e);

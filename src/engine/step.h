/* SPDX-License-Identifier: Apache-2.0 */
/* step: how the processes of a start talk to each other: small messages over SOCK_SEQPACKET pairs.
 *
 * A process that fails sends its struct err instead of the next step, so the one who waits can say which stage failed
 * and why. The order of steps is fixed; anything else is an error. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum step {
	STEP_FAILED = 1, /* to B0: with the error */
	STEP_BORN,       /* B1 to B0, 1 fd: pidfd of the new pid 1; its id map is written */
	STEP_SEED,       /* B1 to C, 1 fd: init's socket to a copy of the zygote; only if there is one */
	STEP_LINKED,     /* B0 to C: eth0 is there */
	STEP_MOUNTS,     /* B0 to C, 3 fds: root, /dev, the init program */
	STEP_VOLUMES,    /* B0 to C, 1 fd for each volume; only if there are any */
	STEP_SEATED,     /* B1 to B0, B0 to C: it is in its cgroups */
	STEP_GO,         /* B0 to B1: init listens, a copy of the zygote may come in */
};

#define STEP_FDS_MAX 8

int step_send(int sock, enum step what, const int *fds, size_t n_fds, struct err *e);
void step_send_error(int sock, const struct err *why);

/* The error that the other side sent before it ended, if it did, into *e: whoever finds the socket closed has only seen
 * the consequence. Steps that wait there are lost. Does not wait. */
bool step_last_words(int sock, struct err *e);

/* Waits for that step with exactly so many fds. timeout_ms < 0: for ever. */
int step_recv(int sock, enum step want, int *ret_fds, size_t n_fds, int timeout_ms, struct err *e);

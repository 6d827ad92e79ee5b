/* SPDX-License-Identifier: Apache-2.0 */
/* helper: a child process of the warden for work that the warden's loop must not wait for. It is a fork, not a
 * program of its own, and exits when its socket closes, thus with the warden, however that ends. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct helper {
	int sock;  /* SOCK_SEQPACKET socket to the helper */
	pid_t pid; /* -1: none */
};

#define HELPER_NONE { -1, -1 }

/* Runs fn(arg, sock) in a child with that process name. The child has only stdio, sock and the n fds of keep (-1:
 * absent), under their numbers. It exits when fn returns. */
int helper_start(const char *name, const int *keep, size_t n, void (*fn)(void *arg, int sock), void *arg,
    struct helper *ret, struct err *e);

/* False: it has exited, or was never started. Reaps it if it has exited. */
bool helper_alive(struct helper *h);

/* For a helper that may be in the middle of something long, and has no state to lose. */
void helper_kill(struct helper *h);
void helper_stop(struct helper *h); /* closes the socket and waits for the exit; does nothing if there is no helper */

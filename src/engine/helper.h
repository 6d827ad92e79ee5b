/* SPDX-License-Identifier: Apache-2.0 */
/* helper: a process beside the warden for work that its loop must not wait for. It is a fork, not a program of its own,
 * and ends when its socket does: with the warden, however that ends. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

struct helper {
	int sock;  /* SOCK_SEQPACKET, to it */
	pid_t pid; /* -1: none */
};

#define HELPER_NONE { -1, -1 }

/* Runs fn(arg, sock) in a child that is called name and has only stdio, sock and the n fds of keep (-1: not there),
 * under their numbers. It ends when fn returns. */
int helper_start(const char *name, const int *keep, size_t n, void (*fn)(void *arg, int sock), void *arg,
    struct helper *ret, struct err *e);

/* False: it is gone, or there never was one. Its end is noticed here. */
bool helper_alive(struct helper *h);

void helper_stop(struct helper *h); /* closes the socket and waits for its end; none is fine */

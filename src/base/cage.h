/* SPDX-License-Identifier: Apache-2.0 */
/* cage: what our own daemons shut themselves in with before they read the first byte from outside: a list of
 * the system calls that they make, and, where the kernel has it, Landlock. A library of its own: only they need
 * libseccomp. */
#pragma once

#include <seccomp.h>
#include <stddef.h>

#include "base/err.h"
#include "base/landlock.h"

struct cage {
	/* SCMP_SYS() numbers. Every other call fails with EPERM: a library that probes for something new goes on
	 * without it. */
	const int *calls;
	size_t n_calls;
	int (*more)(scmp_filter_ctx ctx);  /* adds calls with conditions; NULL: none */
	const struct landlock_path *paths; /* all of the file system that is left, for what is not open yet */
	size_t n_paths;
	unsigned landlock_flags;
};

/* Before the event loop is made: libuv from 1.45 on sets up an io_uring for its epoll_ctl(), and aborts when
 * the cage refuses the ring that it has. Without one it goes on with plain calls. Takes new privileges away as
 * well. */
int cage_refuse_rings(struct err *e);

/* For good, and for all threads to come. Besides what is listed: memory can be mapped, but never executed;
 * signals go to the process itself only (abort); ioctl() asks for nothing but what a socket has to read, and to
 * wait or not. Not dumpable afterwards. Builds with sanitizers stay outside. */
int cage_close(const struct cage *c, struct err *e);

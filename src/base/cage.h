/* SPDX-License-Identifier: Apache-2.0 */
/* cage: how atoll's own daemons confine themselves before they read the first byte from outside: a list of the
 * system calls that they make, and Landlock where the kernel has it. A library of its own, because only the
 * daemons need libseccomp. */
#pragma once

#include <limits.h>
#include <seccomp.h>
#include <stddef.h>

#include "base/err.h"
#include "base/landlock.h"

struct cage {
	/* SCMP_SYS() numbers. Every other call fails with EPERM rather than killing the process, so that a
	 * library that probes for a new call goes on without it. */
	const int *calls;
	size_t n_calls;
	int (*more)(scmp_filter_ctx ctx);  /* adds rules with conditions; NULL: none */
	const struct landlock_path *paths; /* the only paths that can still be opened */
	size_t n_paths;
	unsigned landlock_flags;
};

/* The paths of a daemon that resolves names. resolv.conf is replaced when it changes, so directories are allowed: /etc,
 * and the one that a link there points to. */
struct cage_resolver {
	struct landlock_path paths[2];
	char real[PATH_MAX]; /* what one of them points to, so it is not to be copied */
};
void cage_resolver_init(struct cage_resolver *r);

/* Makes io_uring_setup() fail with ENOSYS. To be called before the event loop is created: libuv 1.45 and later
 * sets up an io_uring for epoll_ctl() and aborts if the cage refuses it later; without one it uses plain system
 * calls. Also sets no_new_privs. */
int cage_refuse_rings(struct err *e);

/* Confines the process and all its future threads, irrevocably. In addition to the listed calls, memory can be
 * mapped, but never as executable; signals can be sent to the process itself only (abort); ioctl() is limited to
 * the number of readable bytes and to blocking mode. The process is not dumpable afterwards. Builds with
 * sanitizers are not confined. */
int cage_close(const struct cage *c, struct err *e);

/* The cage of a program that is an HTTP client with libcurl (base/cage_client.c). */
int cage_close_client(struct err *e);

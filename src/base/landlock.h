/* SPDX-License-Identifier: Apache-2.0 */
/* landlock: restricts the process to a few paths of the file system, irrevocably, if the kernel supports it.
 *
 * A second layer behind the system call filter of atoll's own daemons. Open fds are not affected. If the kernel
 * supports it, also forbids binding and (unless requested) connecting TCP sockets, and signals to and abstract
 * sockets of processes outside of the domain. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum landlock_access {
	LANDLOCK_READ_FILES = 1,   /* and listing directories */
	LANDLOCK_CHANGE_FILES = 2, /* writing, creating and removing regular files */
};

struct landlock_path {
	const char *path; /* everything below it; ignored if it does not exist */
	unsigned access;  /* enum landlock_access */
};

#define LANDLOCK_MAY_CONNECT 1u

/* 0 or -errno. -ENOSYS: the kernel does not support it, or it is disabled. Needs no_new_privs. */
int landlock_confine(const struct landlock_path *paths, size_t n, unsigned flags);

int landlock_abi(void); /* 1 or more; 0: not supported */

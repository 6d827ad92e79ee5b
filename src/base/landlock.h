/* SPDX-License-Identifier: Apache-2.0 */
/* landlock: gives up the file system but for a few places, for good, where the kernel can do that.
 *
 * A second wall behind the filter of system calls of our own daemons. Fds that are open already go on as
 * before. Together with the file system go, as far as the kernel knows them: binding and (unless asked for)
 * making TCP connections, signals to and abstract sockets of whoever is not confined with us. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum landlock_access {
	LANDLOCK_READ_FILES = 1,   /* and list directories */
	LANDLOCK_CHANGE_FILES = 2, /* write, make and remove plain files */
};

struct landlock_path {
	const char *path; /* all below it; one that is not there is no matter */
	unsigned access;  /* enum landlock_access */
};

#define LANDLOCK_MAY_CONNECT 1u

/* 0, or -errno; -ENOSYS: this kernel does not have it, or it was not turned on. Needs no_new_privs. */
int landlock_confine(const struct landlock_path *paths, size_t n, unsigned flags);

int landlock_abi(void); /* 1 and more, or 0: none */

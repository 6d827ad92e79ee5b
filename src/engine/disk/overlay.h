/* SPDX-License-Identifier: Apache-2.0 */
/* overlay: the sandbox's root: the template as the lower layer, the sandbox's own directory as the upper one. */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct overlay_spec {
	int template_fd;   /* a cloned, detached mount of the template's root directory */
	int own_fd;        /* a cloned mount of the sandbox's directory, which contains u and w */
	int userns_fd;     /* maps the ids on disk */
	uid_t root;        /* host uid of the sandbox's root */
	const char *stage; /* a directory that contains l and u, in a private mount namespace */
};

/* Returns the detached mount. Changes the working directory and mounts below stage, so it is for a process that
 * exits soon. */
int overlay_make(const struct overlay_spec *sp, int *ret_mount_fd, struct err *e);

/* SPDX-License-Identifier: Apache-2.0 */
/* overlay: the sandbox's root, the template below and its own directory above. */
#pragma once

#include <sys/types.h>

#include "base/err.h"

struct overlay_spec {
	int template_fd;   /* a cloned mount of the template's root directory, attached nowhere */
	int own_fd;        /* a cloned mount of the sandbox's directory with u and w */
	int userns_fd;     /* whose ids stand for those on disk */
	uid_t root;        /* host uid of the sandbox's root */
	const char *stage; /* a directory with l and u, in a mount namespace that is only ours */
};

/* The mount, attached nowhere. Changes the working directory and mounts below stage: for a process that ends soon. */
int overlay_make(const struct overlay_spec *sp, int *ret_mount_fd, struct err *e);

/* SPDX-License-Identifier: Apache-2.0 */
/* holder: the namespaces Z that stand above the sandboxes of a template, kept alive by one tiny process.
 *
 * Z is a user namespace with all uids of the instance, owned by a uid of its own, with a pid and a mount namespace. The
 * holder is pid 1 in there and the parent of every sandbox's pid 1. It outlives warden and builders and is found again by
 * the record RUN/holders/KEY; it ends when the engine is closed with nothing running. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct cgroup_tree;

struct holder_config {
	int dir_fd;			/* RUN/holders */
	const char *boot_id;
	uint32_t instance;
	struct cgroup_tree *cgroups;
};

/* A pidfd of the holder of that template, made if there is none. May be called in several processes at once. */
int holder_get(const struct holder_config *cfg, const char *key, int *ret_pidfd, struct err *e);
void holder_end_strays(const struct holder_config *cfg);	/* with no sandbox alive: those that nobody knows of */
void holder_end_all(const struct holder_config *cfg);

/* The program atoll-holder, as an fd for execveat(): with an argument it ends with its last child instead of never. */
int holder_image_fd(struct err *e);

#define HOLDER_CGROUP "_holder"		/* no sandbox id has a "_" */

extern const char holder_image[], holder_image_end[];

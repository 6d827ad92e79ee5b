/* SPDX-License-Identifier: Apache-2.0 */
/* holder: the namespaces Z above the sandboxes of a template, kept alive by one tiny process.
 *
 * Z is a user namespace with all uids of the instance, owned by a uid of its own, and a mount namespace. The
 * holder outlives the warden and the builders, which find it by the record RUN/holders/KEY. It is killed when the
 * engine is closed while no sandbox runs.
 *
 * A holder that an earlier server made for fewer slots is replaced by the next start, since a uid map cannot grow. It
 * is left alone until the engine is closed while no sandbox runs.
 *
 * Nothing depends on the holder's life. It is pid 1 of a pid namespace that holds no other process. The pid
 * namespaces of sandboxes are direct children of the host's, because the exit of a pid 1 kills every process below
 * it. A sandbox made with a holder keeps its namespaces after the holder has died, and the next start makes a new
 * holder. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct cgroup_tree;

struct holder_config {
	int dir_fd; /* RUN/holders */
	const char *boot_id;
	uint32_t instance;
	struct cgroup_tree *cgroups;
};

struct holder {
	int pidfd, user, mnt; /* the process, and its namespaces, which exist as long as these fds are open */
};

#define HOLDER_NONE ((struct holder) { -1, -1, -1 })

/* Returns the holder of the template, and makes one if there is none. May be called in several processes at once. */
int holder_get(const struct holder_config *cfg, const char *key, struct holder *ret, struct err *e);
int holder_find(const struct holder_config *cfg, const char *key, struct holder *ret); /* never makes one; -errno */
void holder_close(struct holder *h);
void holder_end_strays(const struct holder_config *cfg); /* with no sandbox alive: kills all holders if no record
							  * of one exists */
void holder_end_all(const struct holder_config *cfg);

/* The program atoll-holder, as an fd for execveat(). With an argument it exits with its last child instead of
 * never. */
int holder_image_fd(struct err *e);

#define HOLDER_CGROUP "_holder" /* no sandbox id contains "_" */

extern const char holder_image[], holder_image_end[];

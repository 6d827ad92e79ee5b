/* SPDX-License-Identifier: Apache-2.0 */
/* holder: the namespaces Z that stand above the sandboxes of a template, kept alive by one tiny process.
 *
 * Z is a user namespace with all uids of the instance, owned by a uid of its own, with a mount namespace. The holder
 * outlives warden and builders and is found again by the record RUN/holders/KEY; it ends when the engine is closed with
 * nothing running.
 *
 * Nothing depends on its life. It is pid 1 of a pid namespace of its own, where nobody else is: pid namespaces of
 * sandboxes are below the host's, since the end of a pid 1 is that of all below it. What was made with a holder keeps
 * its namespaces, and the next start makes another one. */
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
	int pidfd, user, mnt; /* the process, and its namespaces, which last as long as these are open */
};

#define HOLDER_NONE ((struct holder) { -1, -1, -1 })

/* That of the template, made if there is none. May be called in several processes at once. */
int holder_get(const struct holder_config *cfg, const char *key, struct holder *ret, struct err *e);
void holder_close(struct holder *h);
void holder_end_strays(const struct holder_config *cfg); /* with no sandbox alive: those that nobody knows of */
void holder_end_all(const struct holder_config *cfg);

/* The program atoll-holder, as an fd for execveat(): with an argument it ends with its last child instead of never. */
int holder_image_fd(struct err *e);

#define HOLDER_CGROUP "_holder" /* no sandbox id has a "_" */

extern const char holder_image[], holder_image_end[];

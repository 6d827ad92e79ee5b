/* SPDX-License-Identifier: Apache-2.0 */
/* reclaim: a helper process that has the kernel reclaim the memory of idle sandboxes.
 *
 * A sandbox is idle if it has used almost no processor time for a while. Its pages then go to the host's swap and come
 * back one by one when something touches them: nothing is stopped, and what runs meanwhile is slower, never wrong. The
 * helper reads and writes files of cgroups only, and nothing of it waits in the way of a request. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct cgroup_tree;
struct helper;

struct reclaim {
	struct cgroup_tree *cgroups;
	uint32_t most;     /* sandboxes */
	uint64_t after_ms; /* how long a sandbox is idle before */
	bool to_disk;      /* also if some of the host's swap is on a disk */
};

int reclaim_start(const struct reclaim *r, struct helper *ret, struct err *e); /* helper_stop() stops it */
void reclaim_tick(const struct reclaim *r, struct helper *h);                  /* starts another one if it has died */

/* SPDX-License-Identifier: Apache-2.0 */
/* view_text: formats the files of a view as the kernel does. Pure. */
#pragma once

#include "base/buf.h"
#include "engine/cgroup/cgroup.h"
#include "engine/cgroup/cpus.h"
#include "engine/view/view.h"

struct view_facts {
	struct view_row row;
	struct cgroup_detail use;
	struct cpus cpus;
	uint64_t age_ms;      /* of the sandbox */
	uint64_t host_boot_s; /* when the host booted, in seconds since 1970 */
	double load[3];
	const char *cpuinfo; /* the host's */
};

void view_text(enum view_file which, const struct view_facts *f, struct buf *out);

/* Updates the averages over 1, 5 and 15 minutes of how many processors were busy, after dt_ms in which cpu_ns were
 * used. */
void view_load(double load[3], uint64_t dt_ms, uint64_t cpu_ns);

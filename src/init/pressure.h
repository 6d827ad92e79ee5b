/* SPDX-License-Identifier: Apache-2.0 */
/* pressure: ends the largest process when a sandbox with a kernel of its own has used up its memory.
 *
 * The kernel inside ends nothing by itself; the host's would end the whole sandbox at the limit of its cgroup, which is
 * GUEST_RESERVE_BYTES higher. So atoll-init looks how much is free, the more often the less it is. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"

struct loop;
struct oom;
struct timer;

struct pressure {
	struct loop *loop;
	struct oom *oom; /* learns of each process that is ended here */
	struct timer *timer;
	uint64_t limit_bytes;
	pid_t victim; /* 0: none that may still hold memory */
	uint64_t victim_ms;
};

/* Does nothing if there is no memory for it. */
void pressure_open(struct pressure *p, struct loop *l, struct oom *o);

/* Time until the next look if so much is free. Pure. */
uint64_t pressure_wait_ms(uint64_t free_bytes);

/* The limit of the sandbox from what /proc/meminfo shows, and the limit known so far (0: none). A kernel that has given
 * out more than its memory shows the next power of two instead; and a copy may have another limit. Pure. */
uint64_t pressure_limit(uint64_t known, uint64_t total, uint64_t used);

/* Resident pages from the text of /proc/PID/statm; 0: not readable. Pure. */
uint64_t pressure_pages(struct str statm);

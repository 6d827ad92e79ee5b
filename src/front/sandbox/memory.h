/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/memory: is memory short? Of the machine's, or of what all sandboxes together may have, less than an
 * eighth is left. Then finished sandboxes that nobody has are given up (front/sandbox/warm_pool.h), and paused ones
 * that are on disk as well leave the memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct front;

struct memory {
	int meminfo_fd;
	bool is_short;
	uint64_t used_bytes; /* by all sandboxes, as last heard of */
};

void memory_open(struct memory *m); /* before the front is confined */
void memory_close(struct memory *m);
/* of the machine, but for the part that stays free; 0: not known */
uint64_t memory_left_bytes(const struct memory *m);
void memory_tick(struct front *f); /* once a second */

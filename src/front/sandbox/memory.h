/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/memory: detects that memory is short: less than an eighth is left of the machine's memory, or of
 * the limit for all sandboxes together. While it is short, the warm pool is emptied (front/sandbox/warm_pool.h),
 * and paused sandboxes that have a checkpoint are removed from memory. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct front;

struct memory {
	int meminfo_fd;
	bool is_short;
	uint64_t used_bytes; /* by all sandboxes, as last reported by the warden */
};

void memory_open(struct memory *m); /* to be called before the front is confined */
void memory_close(struct memory *m);
/* Available memory of the machine beyond the eighth that stays free; 0: none, or not known. */
uint64_t memory_left_bytes(const struct memory *m);
void memory_tick(struct front *f); /* once a second */

/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/memory: the memory of the machine. An eighth of it stays free. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct memory {
	int meminfo_fd;
	bool is_short;
	uint64_t used_bytes; /* by all sandboxes, as last reported by the warden */
};

void memory_open(struct memory *m); /* to be called before the front is confined */
void memory_close(struct memory *m);
/* Available memory of the machine beyond the eighth that stays free; 0: none, or not known. */
uint64_t memory_left_bytes(const struct memory *m);
bool memory_host_is_short(const struct memory *m);

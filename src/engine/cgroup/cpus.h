/* SPDX-License-Identifier: Apache-2.0 */
/* cpus: chooses the processors that a sandbox may run on, so that programs inside see as many as its CPU quota
 * amounts to. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPUS_MAX 1024
#define CPUS_TEXT_SIZE 128

struct cpus {
	uint16_t at[CPUS_MAX]; /* ascending */
	size_t n;
};

void cpus_allowed(struct cpus *ret); /* those that this process may run on */

/* Chooses as many whole processors as cpu_permille needs; 0: all. Consecutive slots get consecutive processors, so
 * that sandboxes of one size are spread evenly over the machine. */
void cpus_choose(const struct cpus *all, uint32_t slot, uint32_t cpu_permille, struct cpus *ret);

/* "0-3,8"; false: does not fit. */
bool cpus_text(const struct cpus *c, char *z, size_t size);

/* SPDX-License-Identifier: Apache-2.0 */
/* cpus: numbers of processors, and the kernel's way to write them. */
#include "engine/cgroup/cpus.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cpus_allowed(struct cpus *ret)
{
	cpu_set_t set;

	ret->n = 0;
	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof set, &set) < 0)
		return;
	for (unsigned i = 0; i < CPU_SETSIZE && ret->n < CPUS_MAX; i++) {
		if (CPU_ISSET(i, &set))
			ret->at[ret->n++] = (uint16_t)i;
	}
}

static int by_number(const void *a, const void *b)
{
	return *(const uint16_t *)a - *(const uint16_t *)b;
}

void cpus_choose(const struct cpus *all, uint32_t slot, uint32_t cpu_permille, struct cpus *ret)
{
	size_t n = ((size_t)cpu_permille + 999) / 1000;

	if (n == 0 || n >= all->n) {
		*ret = *all;
		return;
	}
	for (size_t i = 0; i < n; i++)
		ret->at[i] = all->at[((size_t)slot * n + i) % all->n];
	ret->n = n;
	qsort(ret->at, n, sizeof *ret->at, by_number);
}

bool cpus_text(const struct cpus *c, char *z, size_t size)
{
	size_t used = 0;

	z[0] = '\0';
	for (size_t i = 0, end; i < c->n; i = end) {
		for (end = i + 1; end < c->n && c->at[end] == c->at[end - 1] + 1; end++)
			;
		int n = end - i > 1
		    ? snprintf(z + used, size - used, "%s%u-%u", used ? "," : "", c->at[i], c->at[end - 1])
		    : snprintf(z + used, size - used, "%s%u", used ? "," : "", c->at[i]);

		used += (size_t)n;
		if (used >= size)
			return false;
	}
	return true;
}

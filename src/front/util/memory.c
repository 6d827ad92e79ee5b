/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/memory: reads /proc/meminfo. */
#include "front/util/memory.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

#define KEPT_PART 8 /* 1/8 of the memory stays free */

void memory_open(struct memory *m)
{
	m->meminfo_fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
}

void memory_close(struct memory *m)
{
	fd_close(m->meminfo_fd);
	m->meminfo_fd = -1;
}

static uint64_t meminfo_kb(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	uint64_t kb = 0;

	for (at = at ? at + strlen(name) : ""; *at == ' '; at++)
		;
	for (; *at >= '0' && *at <= '9'; at++)
		kb = kb * 10 + (uint64_t)(*at - '0');
	return kb;
}

/* Memory of the machine, in kB. */
static bool host_memory(const struct memory *m, uint64_t *ret_available, uint64_t *ret_total)
{
	char text[512];
	ssize_t n = m->meminfo_fd < 0 ? -1 : pread(m->meminfo_fd, text, sizeof text - 1, 0);

	if (n <= 0)
		return false;
	text[n] = '\0';
	*ret_available = meminfo_kb(text, "MemAvailable:");
	*ret_total = meminfo_kb(text, "MemTotal:");
	return true;
}

bool memory_host_is_short(const struct memory *m)
{
	uint64_t available, total;

	return host_memory(m, &available, &total) && available < total / KEPT_PART;
}

uint64_t memory_left_bytes(const struct memory *m)
{
	uint64_t available, total;

	return host_memory(m, &available, &total) && available > total / KEPT_PART
	    ? (available - total / KEPT_PART) * 1024
	    : 0;
}

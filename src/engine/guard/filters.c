/* SPDX-License-Identifier: Apache-2.0 */
/* guard: the kernel's memory for compiled seccomp filters.
 *
 * Compiled filters are charged to no cgroup, and are kept in a store that the whole host shares: when it is full,
 * no program can install a filter, and so no sandbox can start. Programs inside may have filters of their own, so
 * nothing is limited while there is room. When the store is half full, the sandbox with the most filters is
 * killed, as if it were out of memory. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "engine/cgroup/impl.h"
#include "engine/guard/guard.h"

#define KIB 1024ull
#define TASKS_MAX 8192 /* more than any sandbox can have */
/* Pause, as a multiple of the time that a check took: the kernel lists an area for each thread of the host. */
#define REST 10
/* Time until a killed sandbox's filters are freed: otherwise the next check would kill an innocent one. */
#define SETTLE_MS 5000

struct count {
	uint64_t tasks, filters, least; /* least: per task, what every task of the sandbox has anyway */
};

static struct {
	char id[64];
	uint64_t filters;
} most; /* during one check */

uint64_t guard_store_line(const char *line, size_t n)
{
	struct str rest = { line, n };
	uint64_t bytes;

	(void)str_cut(&rest, ' '); /* address range */
	while (rest.n > 0 && rest.p[0] == ' ')
		str_skip(&rest, 1);
	struct str size = str_cut(&rest, ' ');

	if (!rest.p || str_to_u64(size, UINT64_MAX, &bytes) < 0)
		return 0;
	return str_starts(rest, "bpf_prog_pack_") || str_starts(rest, "bpf_jit_") ? bytes : 0;
}

int64_t guard_filters_of(const char *status)
{
	static const char field[] = "\nSeccomp_filters:\t";
	const char *at = strstr(status, field);
	uint64_t n;

	if (!at)
		return -1;
	at += sizeof field - 1;
	return str_to_u64((struct str) { at, strcspn(at, "\n") }, INT32_MAX, &n) == 0 ? (int64_t)n : -1;
}

static uint64_t store_used(void)
{
	FILE *f = fopen("/proc/vmallocinfo", "re");
	char line[512];
	uint64_t sum = 0;

	while (f && fgets(line, sizeof line, f))
		sum += guard_store_line(line, strcspn(line, "\n"));
	if (f)
		(void)fclose(f);
	return sum;
}

/* First reads a short file that shows whether the store can be half full at all, before it parses all of
 * vmallocinfo. */
static bool is_half_full(void)
{
	char z[4096];
	uint64_t limit, all;
	const char *at;

	if (cgroup_number(AT_FDCWD, NULL, "/proc/sys/net/core/bpf_jit_limit", &limit) < 0 || limit == 0 ||
	    file_read(AT_FDCWD, "/proc/meminfo", z, sizeof z) < 0 || !(at = strstr(z, "\nVmallocUsed:")))
		return false;
	at += strlen("\nVmallocUsed:");
	at += strspn(at, " ");
	if (str_to_u64((struct str) { at, strcspn(at, " ") }, UINT64_MAX / KIB, &all) < 0 || all * KIB < limit / 2)
		return false;
	return store_used() > limit / 2;
}

static void add_task(struct count *c, int dir, const char *name)
{
	char path[300], z[4096];

	(void)snprintf(path, sizeof path, "%s/status", name);
	int64_t n = file_read(dir, path, z, sizeof z) < 0 ? -1 : guard_filters_of(z);

	if (n < 0)
		return; /* it has exited */
	c->least = c->tasks++ == 0 || (uint64_t)n < c->least ? (uint64_t)n : c->least;
	c->filters += (uint64_t)n;
}

static void add_process(struct count *c, int pid)
{
	char path[32];

	(void)snprintf(path, sizeof path, "/proc/%d/task", pid);
	DIR *d = opendir(path);

	if (!d)
		return;
	for (struct dirent *de; c->tasks < TASKS_MAX && (de = readdir(d));) {
		if (de->d_name[0] != '.')
			add_task(c, dirfd(d), de->d_name);
	}
	(void)closedir(d);
}

static void look(struct cgroup_tree *t, const char *id, int first)
{
	FILE *f = cgroup_procs_of(t, id);
	struct count c = { 0 };
	int pid;

	(void)first;
	if (!f)
		return;
	while (c.tasks < TASKS_MAX && fscanf(f, "%d", &pid) == 1)
		add_process(&c, pid);
	(void)fclose(f);
	uint64_t own = c.filters - c.least * c.tasks;

	if (own > most.filters && str_copy(most.id, sizeof most.id, str_of(id)))
		most.filters = own;
}

static bool end_most(struct cgroup_tree *t)
{
	if (!is_half_full())
		return false;
	most.filters = 0;
	cgroup_each(t, look);
	if (most.filters < GUARD_FILTERS_MIN)
		return false;
	log_warn("the kernel's seccomp filter store is half full: killing the sandbox with the most filters",
	    "id=%s filters=%llu", most.id, (unsigned long long)most.filters);
	cgroup_kill(t, most.id);
	return true;
}

void guard_filters(struct cgroup_tree *t)
{
	static uint64_t next_ms;
	uint64_t begin = clock_mono_ms();

	if (begin < next_ms)
		return;
	bool ended = end_most(t);
	uint64_t end = clock_mono_ms();

	next_ms = end + (ended ? SETTLE_MS : (end - begin) * REST);
}

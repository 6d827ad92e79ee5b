/* SPDX-License-Identifier: Apache-2.0 */
/* guard: the store of compiled filters.
 *
 * What the kernel makes of a seccomp filter is on nobody's account, and lies in a store that is one for the host: when
 * it is full no program can install one, and so no sandbox can be started. Programs inside may have filters of their
 * own, so while there is room nobody is asked what they are for. When half of it is taken, the sandbox that has most of
 * them ends, as if it were out of memory. */
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
/* times as long as a look took: the kernel has an area for each thread of the host */
#define REST 10
/* until what an ended one had is free again: the next look must not take an innocent one */
#define SETTLE_MS 5000

struct count {
	uint64_t tasks, filters, least; /* least: what everything in there has anyway, of one task */
};

static struct {
	char id[64];
	uint64_t filters;
} most; /* during one look */

uint64_t guard_store_line(const char *line, size_t n)
{
	struct str rest = { line, n };
	uint64_t bytes;

	(void)str_cut(&rest, ' '); /* from where to where */
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

/* A file of few lines says whether it can be, before all areas of the kernel are looked through. */
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
		return; /* it has ended */
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

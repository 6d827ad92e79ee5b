/* SPDX-License-Identifier: Apache-2.0 */
/* pressure: looks at /proc/meminfo, and finds the largest process in /proc. */
#include "init/pressure.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "init/metrics.h"
#include "init/oom.h"
#include "loop/loop.h"

#define FILL_BYTES_MS (2ull << 20) /* as fast as programs may fill memory: 2 GB/s */
#define WAIT_LEAST_MS 10
#define WAIT_MOST_MS 500
#define VICTIM_MS 2000 /* time for the memory of an ended process to become free */

uint64_t pressure_wait_ms(uint64_t free_bytes)
{
	uint64_t ms = free_bytes / FILL_BYTES_MS;

	return ms < WAIT_LEAST_MS ? WAIT_LEAST_MS : ms > WAIT_MOST_MS ? WAIT_MOST_MS : ms;
}

uint64_t pressure_limit(uint64_t known, uint64_t total, uint64_t used)
{
	bool is_power = (total & (total - 1)) == 0;

	return known && used > known && is_power ? known : total;
}

uint64_t pressure_pages(struct str statm)
{
	uint64_t n;

	(void)str_cut(&statm, ' ');
	return statm.p && str_to_u64(str_cut(&statm, ' '), UINT64_MAX, &n) == 0 ? n : 0;
}

static bool read_memory(uint64_t *ret_total, uint64_t *ret_free)
{
	char text[8192];
	ssize_t n = file_read(AT_FDCWD, "/proc/meminfo", text, sizeof text);
	struct str all = { text, n > 0 ? (size_t)n : 0 };

	*ret_total = metrics_meminfo(all, "MemTotal");
	*ret_free = metrics_meminfo(all, "MemFree");
	return *ret_total > 0;
}

static uint64_t pages_of(int proc, const char *pid)
{
	char path[64], text[256];
	ssize_t n;

	(void)snprintf(path, sizeof path, "%.20s/statm", pid);
	n = file_read(proc, path, text, sizeof text);
	return n > 0 ? pressure_pages((struct str) { text, (size_t)n }) : 0;
}

/* 0: none but ourselves. */
static pid_t find_largest(void)
{
	DIR *d = opendir("/proc");
	uint64_t most = 0;
	pid_t found = 0;

	for (struct dirent *f; d && (f = readdir(d));) {
		uint64_t pid, pages;

		if (str_to_u64(str_of(f->d_name), INT32_MAX, &pid) < 0 || (pid_t)pid == getpid())
			continue;
		pages = pages_of(dirfd(d), f->d_name);
		if (pages > most) {
			most = pages;
			found = (pid_t)pid;
		}
	}
	if (d)
		(void)closedir(d);
	return found;
}

static void relieve(struct pressure *p)
{
	uint64_t now = loop_now_ms(p->loop);

	if (p->victim && now - p->victim_ms < VICTIM_MS && kill(p->victim, 0) == 0)
		return; /* its memory is still to come */
	p->victim = find_largest();
	p->victim_ms = now;
	if (!p->victim)
		return;
	oom_ending(p->oom, p->limit_bytes);
	(void)kill(p->victim, SIGKILL);
	log_warn("memory limit reached, ended the largest process", "pid=%d", (int)p->victim);
}

static void on_timer(void *user)
{
	struct pressure *p = user;
	uint64_t total, left, used;

	if (!read_memory(&total, &left)) {
		timer_arm(p->timer, WAIT_MOST_MS);
		return;
	}
	used = total > left ? total - left : 0;
	p->limit_bytes = pressure_limit(p->limit_bytes, total, used);
	if (used >= p->limit_bytes)
		relieve(p);
	timer_arm(p->timer, pressure_wait_ms(used < p->limit_bytes ? p->limit_bytes - used : 0));
}

void pressure_open(struct pressure *p, struct loop *l, struct oom *o)
{
	*p = (struct pressure) { .loop = l, .oom = o, .timer = timer_new(l, on_timer, p) };
	if (p->timer)
		timer_arm(p->timer, 0);
}

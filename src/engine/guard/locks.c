/* SPDX-License-Identifier: Apache-2.0 */
/* guard: file locks.
 *
 * A program may lock as many single bytes of its files as it likes; each lock takes 192 bytes of kernel memory,
 * which are charged to no cgroup. /proc/locks lists all of them. The owner of a lock is the process that took it
 * or, for open file description locks, the sandbox whose own file system the file is on. Only a limited number of
 * lines is read: the kernel walks the list from the start for each read, and a sandbox with that many locks is in
 * every sample. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "engine/cgroup/impl.h"
#include "engine/guard/guard.h"

#define LINES_MAX (2 * GUARD_LOCKS_MAX)
#define EVERY_MS 2000
/* Pause, as a multiple of the CPU time used: bounds the share of a processor if nothing is found. */
#define REST 10
#define HOLDERS_MAX 4096
#define PLACES_MAX 4
#define PIECE 4096 /* the most that the kernel returns per read */

struct places {
	dev_t devs[PLACES_MAX];
	size_t n;
};

static struct guard_lock holders[HOLDERS_MAX]; /* during one check */
static uint64_t held[HOLDERS_MAX];
static size_t n_holders;
static bool ended_one;

bool guard_lock_line(const char *line, struct guard_lock *ret)
{
	char kind[16], how[16], mode[16];
	unsigned major_no, minor_no;
	int pid;

	/* A line of a waiter has an arrow before the type: it holds no lock, but takes memory all the same. */
	if (sscanf(line, "%*[^:]: -> %15s %15s %15s %d %x:%x:", kind, how, mode, &pid, &major_no, &minor_no) != 6 &&
	    sscanf(line, "%*[^:]: %15s %15s %15s %d %x:%x:", kind, how, mode, &pid, &major_no, &minor_no) != 6)
		return false;
	*ret = (struct guard_lock) { .pid = pid, .dev = makedev(major_no, minor_no) };
	return true;
}

static void add(const struct guard_lock *l)
{
	static size_t last; /* equal ones are often adjacent */

	if (last < n_holders && holders[last].pid == l->pid && holders[last].dev == l->dev) {
		held[last]++;
		return;
	}
	for (last = 0; last < n_holders; last++) {
		if (holders[last].pid == l->pid && holders[last].dev == l->dev) {
			held[last]++;
			return;
		}
	}
	if (n_holders < HOLDERS_MAX) {
		holders[n_holders] = *l;
		held[n_holders++] = 1;
	}
}

static uint64_t read_locks(void)
{
	FILE *f = fopen("/proc/locks", "re");
	struct guard_lock l;
	char line[256], room[PIECE];
	uint64_t n = 0;

	n_holders = 0;
	if (f)
		(void)setvbuf(f, room, _IOFBF, sizeof room);
	while (f && n < LINES_MAX && fgets(line, sizeof line, f)) {
		if (guard_lock_line(line, &l)) {
			add(&l);
			n++;
		}
	}
	if (f)
		(void)fclose(f);
	return n;
}

static bool is_at(const struct places *p, uint64_t dev)
{
	for (size_t i = 0; i < p->n; i++) {
		if (p->devs[i] == dev)
			return true;
	}
	return false;
}

bool guard_mount_line(const char *line, uint64_t *ret_dev)
{
	static const char *const places[] = { "/", "/dev", "/dev/shm" }; /* private to each sandbox */
	unsigned major_no, minor_no;
	char at[16];

	if (sscanf(line, "%*d %*d %u:%u %*s %15s ", &major_no, &minor_no, at) != 3)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		if (strcmp(at, places[i]) == 0) {
			*ret_dev = makedev(major_no, minor_no);
			return true;
		}
	}
	return false;
}

/* Uses the kernel's mount list, because the sandbox controls what its paths lead to. but: devices to leave out, or
 * NULL. */
static void find_places(const char *process, const struct places *but, struct places *ret)
{
	char path[32], *line = NULL;
	size_t size = 0;
	uint64_t dev;

	ret->n = 0;
	(void)snprintf(path, sizeof path, "/proc/%s/mountinfo", process);
	FILE *f = fopen(path, "re");

	while (f && ret->n < PLACES_MAX && getline(&line, &size, f) > 0) {
		if (guard_mount_line(line, &dev) && !is_at(ret, dev) && !(but && is_at(but, dev)))
			ret->devs[ret->n++] = dev;
	}
	free(line);
	if (f)
		(void)fclose(f);
}

/* Locks without a process: all of the host's, or those on these devices. */
static uint64_t of_open_files(const struct places *at)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n_holders; i++)
		sum += holders[i].pid < 0 && (!at || is_at(at, holders[i].dev)) ? held[i] : 0;
	return sum;
}

/* Unnamed files and files of volumes and of /proc are on file systems that are shared with others: their locks are
 * found only through a process that has the file open. */
static uint64_t in_file(int dir, const char *name, const struct places *known)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	struct guard_lock l;
	char line[256];
	uint64_t n = 0;

	if (!f) {
		fd_close(fd);
		return 0;
	}
	while (n < GUARD_LOCKS_MAX && fgets(line, sizeof line, f))
		n += strncmp(line, "lock:\t", 6) == 0 && guard_lock_line(line + 6, &l) && l.pid < 0 &&
		    !is_at(known, l.dev);
	(void)fclose(f);
	return n;
}

static uint64_t by_open_files(int pid, const struct places *known)
{
	char path[32];
	uint64_t n = 0;

	(void)snprintf(path, sizeof path, "/proc/%d/fdinfo", pid);
	DIR *d = opendir(path);

	if (!d)
		return 0;
	for (struct dirent *de; n < GUARD_LOCKS_MAX && (de = readdir(d));)
		n += de->d_name[0] != '.' ? in_file(dirfd(d), de->d_name, known) : 0;
	(void)closedir(d);
	return n;
}

/* known: devices whose locks of open files are counted already; all others are counted through fdinfo. NULL: too
 * few to matter. */
static uint64_t by_process(struct cgroup_tree *t, const char *id, const struct places *known)
{
	FILE *f = cgroup_procs_of(t, id);
	uint64_t sum = 0;
	int pid;

	if (!f)
		return 0;
	while (sum < GUARD_LOCKS_MAX && fscanf(f, "%d", &pid) == 1) {
		for (size_t i = 0; i < n_holders; i++)
			sum += holders[i].pid == pid ? held[i] : 0;
		sum += known ? by_open_files(pid, known) : 0;
	}
	(void)fclose(f);
	return sum;
}

static void look(struct cgroup_tree *t, const char *id, int first)
{
	struct places hosts, own;
	char pid[12];

	/* While a sandbox is being made, its cgroup may contain a helper that still has the host's mounts. */
	find_places("self", NULL, &hosts);
	(void)snprintf(pid, sizeof pid, "%d", first);
	find_places(pid, &hosts, &own);
	uint64_t n = of_open_files(&own);
	bool ask = n < GUARD_LOCKS_MAX && of_open_files(NULL) - n >= GUARD_LOCKS_MAX;

	n += by_process(t, id, ask ? &own : NULL);
	if (n < GUARD_LOCKS_MAX)
		return;
	log_warn("a sandbox holds too many file locks: killing it", "id=%s locks=%" PRIu64, id, n);
	cgroup_kill(t, id);
	ended_one = true;
}

/* CPU time and not elapsed time: waiting for a processor is no reason to check less often. */
static uint64_t worked_ms(void)
{
	struct timespec t;

	return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) < 0
	    ? 0
	    : (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void guard_locks(struct cgroup_tree *t)
{
	static uint64_t next_ms;
	uint64_t begin = worked_ms();

	if (clock_mono_ms() < next_ms)
		return;
	ended_one = false;
	if (read_locks() >= GUARD_LOCKS_MAX)
		cgroup_each(t, look);
	uint64_t rest = ended_one ? 0 : (worked_ms() - begin) * REST;

	next_ms = clock_mono_ms() + (rest > EVERY_MS ? rest : EVERY_MS);
}

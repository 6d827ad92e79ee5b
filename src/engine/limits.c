/* SPDX-License-Identifier: Apache-2.0 */
/* limits: the rlimits and priorities of sandboxes' processes. */
#include "engine/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/fd.h"
#include "base/inherited.h"

/* One sandbox gets at most this fraction of what all sandboxes of a template have together. */
#define SHARE 8

static const struct {
	int what;
	rlim_t max;
	bool shared; /* also counted for all sandboxes together */
} set[] = {
	{ RLIMIT_SIGPENDING, 16384, true },
	{ RLIMIT_MSGQUEUE, 1 << 20, true },
	{ RLIMIT_MEMLOCK, 64 << 20, false },
};

int limits_user(struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(set); i++) {
		struct rlimit l;

		if (getrlimit(set[i].what, &l) < 0)
			return err_sys(e, "read limit %d", set[i].what);
		if (set[i].shared && l.rlim_max != RLIM_INFINITY)
			l.rlim_max /= SHARE;
		if (l.rlim_max > set[i].max)
			l.rlim_max = set[i].max;
		if (l.rlim_cur > l.rlim_max)
			l.rlim_cur = l.rlim_max;
		if (setrlimit(set[i].what, &l) < 0)
			return err_sys(e, "set limit %d", set[i].what);
	}
	return 0;
}

static int limit_files(uint32_t open_files, struct err *e)
{
	struct rlimit files_limit;

	if (getrlimit(RLIMIT_NOFILE, &files_limit) < 0)
		return err_sys(e, "read limits");
	if (files_limit.rlim_max > open_files)
		files_limit.rlim_max = open_files;
	files_limit.rlim_cur = files_limit.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &files_limit) < 0 ? err_sys(e, "limit open files") : 0;
}

int limits_process(uint32_t open_files, struct err *e)
{
	if (limit_files(open_files, e) < 0)
		return -e->no;
	/* The kernel may pass a core dump to a program of the host (core_pattern) whatever the limit is, except
	 * for 1, which means none. The seccomp filter handles attempts to set it to 0. Where the hard limit is 0
	 * and stays so, limits_core() has checked that there is no such program. */
	int r = rlimit_lower(RLIMIT_CORE, 1);

	return r < 0 ? err_set(e, -r, "limit core files: %s", strerror(-r)) : 0;
}

int limits_core(struct err *e)
{
	return inherited_core(e);
}

int limits_core_of(int pid, struct err *e)
{
	char path[32], z[4096];
	unsigned long long hard;

	(void)snprintf(path, sizeof path, "/proc/%d/limits", pid);
	if (file_read(AT_FDCWD, path, z, sizeof z) <= 0)
		return err_set(e, ESRCH, "read the limits of its processes");
	const char *at = strstr(z, "Max core file size");

	if (!at || sscanf(at, "Max core file size %*s %llu", &hard) != 1 || hard != 0 || !inherited_core_pattern())
		return 0;
	return err_set(e, EPERM,
	    "it was kept where the limit of core files was 0, and core_pattern of this host names a program, "
	    "which would get every crash in it");
}

int limits_ordinary(struct err *e)
{
	char z[16];
	ssize_t n = file_read(AT_FDCWD, "/proc/self/oom_score_adj", z, sizeof z);

	if (n > 0 && z[0] == '-') {
		int r = file_write(AT_FDCWD, "/proc/self/oom_score_adj", "0");

		if (r < 0)
			return err_set(e, -r, "reset oom_score_adj: %s", strerror(-r));
	}
	if (getpriority(PRIO_PROCESS, 0) < 0 && setpriority(PRIO_PROCESS, 0, 0) < 0)
		return err_sys(e, "reset the priority");
	return 0;
}

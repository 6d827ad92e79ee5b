/* SPDX-License-Identifier: Apache-2.0 */
/* limits: the rlimits and priorities of sandboxes' processes. */
#include "engine/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>

#include "base/fd.h"

#define SHARE 8				/* of what all sandboxes of a template have together, at most that part is for one */

static const struct {
	int what;
	rlim_t max;
	bool shared;			/* counted for all of them together, too */
} set[] = {
	{ RLIMIT_SIGPENDING, 16384, true },
	{ RLIMIT_MSGQUEUE, 1 << 20, true },
	{ RLIMIT_MEMLOCK, 64 << 20, false },
};

void limits_lift(void)
{
	for (size_t i = 0; i < ARRAY_LEN(set); i++)
		(void)setrlimit(set[i].what, &(struct rlimit) { RLIM_INFINITY, RLIM_INFINITY });
}

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

int limits_process_of(int pid, uint32_t open_files, struct err *e)
{
	struct rlimit files_limit;

	if (prlimit(pid, RLIMIT_NOFILE, NULL, &files_limit) < 0)
		return err_sys(e, "read limits");
	if (files_limit.rlim_max > open_files)
		files_limit.rlim_max = open_files;
	files_limit.rlim_cur = files_limit.rlim_max;
	return prlimit(pid, RLIMIT_NOFILE, &files_limit, NULL) < 0 ? err_sys(e, "limit open files") : 0;
}

int limits_process(uint32_t open_files, struct err *e)
{
	struct rlimit core = { 1, 1 };

	if (limits_process_of(0, open_files, e) < 0)
		return -e->no;
	/* A core dump may be handed to a program of the host (core_pattern), whatever the limit is, but for 1, which means none. The
	 * filter answers for whoever wants to set it to 0. */
	return setrlimit(RLIMIT_CORE, &core) < 0 ? err_sys(e, "set limits") : 0;
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

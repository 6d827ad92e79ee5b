/* SPDX-License-Identifier: Apache-2.0 */
/* userns: processes in new namespaces and the id maps of user namespaces. */
#include "engine/userns.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

pid_t userns_fork(uint64_t flags, int cgroup_fd, int *ret_pidfd)
{
	int pidfd = -1;
	struct clone_args a = {
		.flags = flags | CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&pidfd,
		.exit_signal = SIGCHLD,
	};
	if (cgroup_fd >= 0) {
		a.flags |= CLONE_INTO_CGROUP;
		a.cgroup = (uint64_t)cgroup_fd;
	}
	long r = syscall(SYS_clone3, &a, sizeof a);

	if (r < 0)
		return (pid_t)-errno;
	if (r > 0)
		*ret_pidfd = pidfd;
	return (pid_t)r;
}

int userns_map(pid_t pid, uint32_t first, uint32_t count, struct err *e)
{
	static const char *const files[] = { "uid_map", "gid_map" };
	char path[48], text[48];

	(void)snprintf(text, sizeof text, "0 %u %u\n", first, count);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		(void)snprintf(path, sizeof path, "/proc/%d/%s", pid, files[i]);
		int r = file_write(AT_FDCWD, path, text);

		if (r < 0)
			return err_set(e, -r, "write %s: %s", files[i], strerror(-r));
	}
	return 0;
}

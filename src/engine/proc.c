/* SPDX-License-Identifier: Apache-2.0 */
/* proc: identifies processes reliably, although pids are reused. */
#include "engine/proc.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/boot_id.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"

int proc_parse_start_time(const char *stat, uint64_t *ret)
{
	/* The name in field 2 may contain blanks and parentheses: count from the last parenthesis. */
	const char *p = strrchr(stat, ')');

	if (!p || p[1] != ' ')
		return -EBADMSG;
	struct str rest = str_of(p + 2), field = STR_NULL;

	for (int i = 3; i <= 22; i++) {
		if (!rest.p)
			return -EBADMSG;
		field = str_cut(&rest, ' ');
	}
	return str_to_u64(field, UINT64_MAX, ret) < 0 ? -EBADMSG : 0;
}

int proc_start_time(pid_t pid, uint64_t *ret)
{
	char path[32], z[1024];

	(void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
	ssize_t n = file_read(AT_FDCWD, path, z, sizeof z);

	return n < 0 ? -ESRCH : proc_parse_start_time(z, ret);
}

int proc_pid_of(int pidfd, pid_t *ret)
{
	char path[48], z[1024];
	uint64_t pid;

	(void)snprintf(path, sizeof path, "/proc/self/fdinfo/%d", pidfd);
	ssize_t n = file_read(AT_FDCWD, path, z, sizeof z);

	if (n < 0)
		return (int)n;
	struct str s = { z, (size_t)n };

	while (s.p) {
		struct str line = str_cut(&s, '\n');

		if (!str_starts(line, "Pid:\t"))
			continue;
		str_skip(&line, 5);
		/* -1 once it has been reaped, 0 when it is not in our pid namespace */
		if (str_to_u64(line, INT32_MAX, &pid) < 0 || pid == 0)
			return -ESRCH;
		*ret = (pid_t)pid;
		return 0;
	}
	return -EBADMSG;
}

int proc_open(pid_t pid, uint64_t start, int *ret_pidfd)
{
	uint64_t now;
	autoclose int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

	if (fd < 0)
		return -ESRCH;
	/* The pidfd is open, so the pid cannot be reused between this check and its use. */
	if (proc_start_time(pid, &now) < 0 || now != start)
		return -ESRCH;
	if (proc_wait_gone(fd, 0) == 0)
		return -ESRCH;
	*ret_pidfd = take_fd(&fd);
	return 0;
}

int proc_record_open(int dir_fd, const char *name, const char *boot_id, int *ret_pidfd)
{
	char z[128], boot[BOOT_ID_SIZE];
	int pid;
	uint64_t start;
	ssize_t n = file_read(dir_fd, name, z, sizeof z);

	if (n < 0)
		return (int)n;
	if (sscanf(z, "%d %" SCNu64 " %39s", &pid, &start, boot) != 3 || strcmp(boot, boot_id) != 0)
		return -ESRCH;
	return proc_open(pid, start, ret_pidfd);
}

int proc_record_write(int dir_fd, const char *name, const char *boot_id, int pidfd, struct err *e)
{
	char z[128], tmp[NAME_MAX + 1];
	pid_t pid;
	uint64_t start;

	if (proc_pid_of(pidfd, &pid) < 0 || proc_start_time(pid, &start) < 0)
		return err_set(e, ESRCH, "the new process has ended");
	int n = snprintf(z, sizeof z, "%d %" PRIu64 " %s\n", pid, start, boot_id);

	(void)snprintf(tmp, sizeof tmp, ".%.200s.new", name);
	autoclose int fd = openat(dir_fd, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, z, (size_t)n) != n || renameat(dir_fd, tmp, dir_fd, name) < 0)
		return err_sys(e, "write the record of a process");
	return 0;
}

int proc_wait_gone(int pidfd, int timeout_ms)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	uint64_t end = clock_mono_ms() + (uint64_t)timeout_ms;

	for (;;) {
		int r = poll(&p, 1, timeout_ms);

		if (r > 0)
			return 0;
		if (r < 0 && errno != EINTR)
			return -errno;
		uint64_t now = clock_mono_ms();

		if (r == 0 || now >= end)
			return -ETIMEDOUT;
		timeout_ms = (int)(end - now);
	}
}

int proc_kill(int pidfd)
{
	if (syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) < 0 && errno != ESRCH)
		return -errno;
	return 0;
}

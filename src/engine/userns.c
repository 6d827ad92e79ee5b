/* SPDX-License-Identifier: Apache-2.0 */
/* userns: processes in new namespaces and the id maps of user namespaces. */
#include "engine/userns.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

#define MAP_TEXT_MAX 1024 /* some 30 ranges; the kernel takes a page */

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

/* A map is written once, and in one call. */
static int map_at(int proc_fd, pid_t pid, const struct id_map *v, size_t n, struct err *e)
{
	static const char *const files[] = { "uid_map", "gid_map" };
	char path[48], text[MAP_TEXT_MAX];
	size_t used = 0;

	for (size_t i = 0; i < n && used < sizeof text; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "%u %u %u\n", v[i].inside, v[i].outside,
		    v[i].count);
	if (used >= sizeof text)
		return err_set(e, E2BIG, "write an id map of %zu ranges", n);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		(void)snprintf(path, sizeof path, "%d/%s", pid, files[i]);
		int r = file_write(proc_fd, path, text);

		if (r < 0)
			return err_set(e, -r, "write %s: %s", files[i], strerror(-r));
	}
	return 0;
}

int userns_map(pid_t pid, uint32_t first, uint32_t count, struct err *e)
{
	autoclose int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return proc < 0 ? err_sys(e, "open /proc") : userns_map_at(proc, pid, first, count, e);
}

int userns_maps(pid_t pid, const struct id_map *v, size_t n, struct err *e)
{
	autoclose int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return proc < 0 ? err_sys(e, "open /proc") : map_at(proc, pid, v, n, e);
}

int userns_map_at(int proc_fd, pid_t pid, uint32_t first, uint32_t count, struct err *e)
{
	return map_at(proc_fd, pid, &(struct id_map) { 0, first, count }, 1, e);
}

bool userns_has_maps(pid_t pid, const struct id_map *v, size_t n)
{
	char path[48], text[MAP_TEXT_MAX];
	size_t found = 0;

	(void)snprintf(path, sizeof path, "/proc/%d/uid_map", pid);
	if (file_read(AT_FDCWD, path, text, sizeof text) <= 0)
		return false;
	for (struct str rest = str_of(text); rest.p && rest.n > 0;) {
		struct str line = str_cut(&rest, '\n');
		struct id_map m;

		/* the line ends in the text, which ends with a zero */
		if (sscanf(line.p, "%u %u %u", &m.inside, &m.outside, &m.count) != 3)
			return false;
		for (size_t i = 0; i < n; i++)
			found += m.inside == v[i].inside && m.outside == v[i].outside && m.count == v[i].count;
	}
	return found == n;
}

static int open_userns(pid_t pid)
{
	char path[48];

	(void)snprintf(path, sizeof path, "/proc/%d/ns/user", pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int userns_for_map(uint32_t root, uint32_t count, int *ret_fd, struct err *e)
{
	autoclose int pidfd = -1, fd = -1;
	pid_t pid = userns_fork(CLONE_NEWUSER, -1, &pidfd);

	if (pid < 0)
		return err_set(e, -pid, "make a user namespace: %s", strerror(-pid));
	if (pid == 0) {
		for (;;)
			(void)pause();
	}
	if (userns_map(pid, root, count, e) == 0) {
		fd = open_userns(pid);
		if (fd < 0)
			(void)err_sys(e, "open a user namespace");
	}
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (fd < 0)
		return -e->no;
	*ret_fd = take_fd(&fd);
	return 0;
}

int userns_owner(pid_t pid, uid_t *ret, struct err *e)
{
	struct stat ours, its;
	autoclose int fd = open_userns(pid);

	if (fd < 0 || stat("/proc/self/ns/user", &ours) < 0)
		return err_sys(e, "open a user namespace");
	for (;;) {
		autoclose int above = ioctl(fd, NS_GET_PARENT);

		if (above < 0 || fstat(above, &its) < 0)
			return err_sys(e, "find the namespace above a user namespace");
		if (its.st_ino == ours.st_ino && its.st_dev == ours.st_dev)
			break;
		fd_close(fd);
		fd = take_fd(&above);
	}
	return ioctl(fd, NS_GET_OWNER_UID, ret) < 0 ? err_sys(e, "find the owner of a user namespace") : 0;
}

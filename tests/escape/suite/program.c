/* SPDX-License-Identifier: Apache-2.0 */
/* program: the one program of the host that is reachable inside, pid 1's, and the pages of the template that all
 * share. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "attempt.h"

static const char init[] = "/dev/.atoll/init";
static const char lib[] = "/usr/bin/env"; /* of the template: a page of it is in everybody's memory */

static int write_init(void)
{
	return try_open(init, O_WRONLY);
}
static int append_init(void)
{
	return try_open(init, O_WRONLY | O_APPEND);
}
static int truncate_init(void)
{
	return truncate(init, 0) < 0 ? -errno : 0;
}
static int chmod_init(void)
{
	return chmod(init, 0777) < 0 ? -errno : 0;
}
static int chown_init(void)
{
	return chown(init, 0, 0) < 0 ? -errno : 0;
}
static int unlink_init(void)
{
	return unlink(init) < 0 ? -errno : 0;
}
static int replace_dir(void)
{
	return rename("/dev/.atoll", "/dev/escape-atoll") < 0 ? -errno : 0;
}
static int plant(void)
{
	return try_open("/dev/.atoll/escape", O_WRONLY | O_CREAT);
}
static int link_init(void)
{
	return link(init, "/dev/escape-init") < 0 ? -errno : 0;
}

/* CVE-2019-5736: through the link of a process that runs it. */
static int exe_link(void)
{
	return try_open("/proc/1/exe", O_WRONLY);
}

static int exe_reopen(void)
{
	char path[64];
	int fd = open(init, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return refused(errno, "open it by name only");
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return try_open(path, O_WRONLY);
}

/* One inode for all sandboxes: a lock or a watch on it would be a wire between them. */
static int lock_init(void)
{
	int fd = open(init, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return refused(errno, "open it");
	return flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : broken("locked for everybody");
}

static int watch_init(void)
{
	int fd = inotify_init1(IN_CLOEXEC);

	if (fd < 0)
		return unclear("inotify: %s", errno_name(errno));
	return inotify_add_watch(fd, init, IN_ALL_EVENTS) < 0 ? -errno : broken("starts of neighbours can be watched");
}

static int lease_init(void)
{
	int fd = open(init, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return refused(errno, "open it");
	return fcntl(fd, F_SETLEASE, F_RDLCK) < 0 ? -errno : broken("leased");
}

/* The template's page, read anew past this process' own mappings. */
static int page_of(const char *path, unsigned char to[4096])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : pread(fd, to, 4096, 0);

	if (fd >= 0)
		close(fd);
	return n == 4096 ? 0 : -1;
}

static int changed(const unsigned char before[4096])
{
	unsigned char after[4096];

	if (page_of(lib, after) < 0)
		return unclear("read %s again: %s", lib, errno_name(errno));
	return memcmp(before, after, 4096) == 0 ? held("%s is as it was", lib) : broken("%s has changed", lib);
}

/* Dirty COW's way: /proc/self/mem writes where mprotect would not let us. It must hit a private copy only. */
static int cow(void)
{
	unsigned char before[4096];
	int fd = open(lib, O_RDONLY | O_CLOEXEC), mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	void *map = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

	if (map == MAP_FAILED || mem < 0 || page_of(lib, before) < 0)
		return unclear("set up: %s", errno_name(errno));
	for (int i = 0; i < 200; i++) {
		if (pwrite(mem, "escape", 6, (off_t)(uintptr_t)map) != 6 && i == 0)
			return refused(errno, "write to /proc/self/mem");
		(void)madvise(map, 4096, MADV_DONTNEED);
	}
	return changed(before);
}

/* Dirty Pipe's way: a page of the file in a pipe, and a write behind it that must not be merged into it. */
static int pipe_page(void)
{
	unsigned char before[4096];
	static char fill[65536];
	int p[2], fd = open(lib, O_RDONLY | O_CLOEXEC);
	loff_t off = 0;

	if (fd < 0 || page_of(lib, before) < 0 || pipe(p) < 0)
		return unclear("set up: %s", errno_name(errno));
	for (int i = 0; i < 16; i++) {
		if (write(p[1], fill, 4096) != 4096 || read(p[0], fill, 4096) != 4096)
			return unclear("fill the pipe: %s", errno_name(errno));
	}
	if (splice(fd, &off, p[1], NULL, 1, 0) != 1)
		return unclear("splice: %s", errno_name(errno));
	if (write(p[1], "escape", 6) != 6)
		return unclear("write: %s", errno_name(errno));
	return changed(before);
}

static int shared_map(void)
{
	int fd = open(lib, O_RDONLY | O_CLOEXEC);
	void *p = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return unclear("mmap: %s", errno_name(errno));
	return mprotect(p, 4096, PROT_READ | PROT_WRITE) < 0 ? -errno : 0;
}

static int vm_write(void)
{
	unsigned char before[4096];
	int fd = open(lib, O_RDONLY | O_CLOEXEC);
	void *p = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	struct iovec from = { "escape", 6 }, to = { p, 6 };

	if (p == MAP_FAILED || page_of(lib, before) < 0)
		return unclear("set up: %s", errno_name(errno));
	long r = syscall(SYS_process_vm_writev, getpid(), &from, 1, &to, 1, 0);

	return r < 0 ? -errno : changed(before);
}

static const char whole[] = "the server's program inside cannot be changed, moved or replaced";
static const char wire[] = "what all sandboxes share is no wire between them";
static const char pages[] = "pages of the template that all share stay as they are";

#define NO { EROFS, EACCES, EPERM, ETXTBSY, EXDEV, EBUSY }

static const struct attempt attempts[] = {
	{ "program/write", whole, write_init, .expect = NO },
	{ "program/append", whole, append_init, .expect = NO },
	{ "program/truncate", whole, truncate_init, .expect = NO },
	{ "program/chmod", whole, chmod_init, .expect = NO },
	{ "program/chown", whole, chown_init, .expect = NO },
	{ "program/unlink", whole, unlink_init, .expect = NO },
	{ "program/rename-directory", whole, replace_dir, .expect = NO },
	{ "program/plant-beside", whole, plant, .expect = NO },
	{ "program/hard-link", whole, link_init, .expect = NO },
	{ "program/exe-link", whole, exe_link, .expect = NO },
	{ "program/exe-reopen", whole, exe_reopen, .expect = NO },
	{ "program/lock", wire, lock_init, .expect = { EACCES } },
	{ "program/watch", wire, watch_init, .expect = { EACCES } },
	{ "program/lease", wire, lease_init, .expect = { EACCES } },
	{ "program/dirty-cow", pages, cow, .expect = { EPERM, EACCES, EIO } },
	{ "program/dirty-pipe", pages, pipe_page },
	{ "program/shared-map", pages, shared_map, .expect = { EACCES } },
	{ "program/vm-write", pages, vm_write, .expect = { EFAULT, EPERM } },
};
GROUP(program, "program");

/* SPDX-License-Identifier: Apache-2.0 */
/* registry: locked slot files. */
#include "warden/registry.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/str.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define CGROUP_DEPTH 6

typedef bool busy_fn(int dirfd, const char *name, int depth, const char *wanted);

/* Returns whether fn is true for any subdirectory. */
static bool any_below(int dirfd, busy_fn *fn, int depth, const char *wanted)
{
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	bool busy = false;

	if (!d) {
		fd_close(fd);
		return false;
	}
	for (struct dirent *de; !busy && (de = readdir(d));) {
		if (de->d_type != DT_DIR || de->d_name[0] == '.')
			continue;
		autoclose int sub = openat(dirfd, de->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		busy = sub >= 0 && fn(sub, de->d_name, depth, wanted);
	}
	(void)closedir(d);
	return busy;
}

/* Returns whether a process is in this cgroup or in one below it. */
static bool cgroup_busy(int dirfd, const char *name, int depth, const char *wanted)
{
	char procs[32];

	(void)name;
	if (file_read(dirfd, "cgroup.procs", procs, sizeof procs) != 0 &&
	    faccessat(dirfd, "cgroup.procs", F_OK, 0) == 0)
		return true; /* not empty, or longer than the buffer */
	return depth > 0 && any_below(dirfd, cgroup_busy, depth - 1, wanted);
}

/* Returns whether this directory, or one up to depth levels below, has the wanted name and processes in it. */
static bool name_busy(int dirfd, const char *name, int depth, const char *wanted)
{
	if (strcmp(name, wanted) == 0)
		return cgroup_busy(dirfd, name, CGROUP_DEPTH, wanted);
	return depth > 0 && any_below(dirfd, name_busy, depth - 1, wanted);
}

static bool slot_has_processes(uint32_t slot)
{
	autoclose int root = open(CGROUP_ROOT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[16];

	(void)snprintf(name, sizeof name, "atoll%u", slot);
	return root >= 0 && any_below(root, name_busy, 3, name);
}

static int open_slot(int dirfd, uint32_t slot, bool create)
{
	char name[16];

	(void)snprintf(name, sizeof name, "%u", slot);
	return openat(dirfd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (create ? O_CREAT : 0), 0600);
}

/* The state directory in the slot's file; "" if the file is missing or empty. */
static void slot_owner(int dirfd, uint32_t slot, char owner[PATH_MAX])
{
	char name[16];

	(void)snprintf(name, sizeof name, "%u", slot);
	if (file_read(dirfd, name, owner, PATH_MAX) < 0)
		owner[0] = '\0';
	owner[strcspn(owner, "\n")] = '\0';
}

static int write_owner(int fd, const char *state, struct err *e)
{
	char text[PATH_MAX + 1];
	int n = snprintf(text, sizeof text, "%s\n", state);

	/* The mode is set again, because an older version let everyone open the file, and so lock it. */
	if (fchmod(fd, 0600) < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)n, 0) != n)
		return err_sys(e, "write the registry");
	return 0;
}

/* Takes a slot that this state directory had before. 1: taken; 0: there is none. */
static int take_own(int dirfd, const char *state, uint32_t *ret_slot, int *ret_fd, struct err *e)
{
	char owner[PATH_MAX];

	for (uint32_t i = 0; i < REGISTRY_SLOTS; i++) {
		slot_owner(dirfd, i, owner);
		if (strcmp(owner, state) != 0)
			continue;
		autoclose int fd = open_slot(dirfd, i, false);

		if (fd < 0)
			continue;
		if (flock(fd, LOCK_EX | LOCK_NB) < 0)
			return err_set(e, EBUSY, "state directory '%s' is in use by another atolld (instance %u)",
			    state, i);
		*ret_slot = i;
		*ret_fd = take_fd(&fd);
		return 1;
	}
	return 0;
}

static int take_free(int dirfd, const char *state, uint32_t *ret_slot, int *ret_fd, struct err *e)
{
	char owner[PATH_MAX];

	for (uint32_t i = 0; i < REGISTRY_SLOTS; i++) {
		autoclose int fd = open_slot(dirfd, i, true);

		if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
			continue;
		/* An unlocked slot is not always free: the sandboxes of a stopped or killed warden may still
		 * run. */
		slot_owner(dirfd, i, owner);
		if (owner[0] && slot_has_processes(i))
			continue;
		if (write_owner(fd, state, e) < 0)
			return -e->no;
		*ret_slot = i;
		*ret_fd = take_fd(&fd);
		return 0;
	}
	return err_set(e, ENOSPC, "all %d instance slots of this machine are taken", REGISTRY_SLOTS);
}

/* Every warden looks at the slots under this lock, so that none sees a file that another one is about to remove. */
static int lock_all(int dirfd)
{
	autoclose int fd = openat(dirfd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return -1;
	return take_fd(&fd);
}

int registry_take(const char *dir, const char *state, uint32_t *ret_slot, int *ret_fd, struct err *e)
{
	autoclose int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dirfd < 0)
		return err_sys(e, "open registry '%s'", dir);
	autoclose int all = lock_all(dirfd);
	if (all < 0)
		return err_sys(e, "lock registry '%s'", dir);
	int r = take_own(dirfd, state, ret_slot, ret_fd, e);

	return r != 0 ? (r < 0 ? r : 0) : take_free(dirfd, state, ret_slot, ret_fd, e);
}

void registry_release(const char *dir, uint32_t slot)
{
	autoclose int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autoclose int all = dirfd < 0 ? -1 : lock_all(dirfd);
	char name[16];

	(void)snprintf(name, sizeof name, "%u", slot);
	if (all >= 0)
		(void)unlinkat(dirfd, name, 0);
}

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
#include "engine/slot.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define CGROUP_DEPTH 6
#define AREAS "areas" /* first word of the second line */
#define TEXT_MAX (PATH_MAX + 128)

_Static_assert(REGISTRY_SLOTS == SLOT_INSTANCES, "each has its numbers");

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
	char name[16], text[TEXT_MAX];

	(void)snprintf(name, sizeof name, "%u", slot);
	owner[0] = '\0';
	if (file_read(dirfd, name, text, sizeof text) >= 0)
		(void)str_copy(owner, PATH_MAX, (struct str) { text, strcspn(text, "\n") });
}

/* The areas in the slot's file. A number that is none ends the list. */
static uint32_t slot_areas(int dirfd, uint32_t slot, uint32_t ret[SLOT_AREAS_EACH])
{
	char name[16], text[TEXT_MAX];
	uint32_t n = 0;
	uint64_t a;

	(void)snprintf(name, sizeof name, "%u", slot);
	if (file_read(dirfd, name, text, sizeof text) < 0)
		return 0;
	struct str rest = str_of(text);

	(void)str_cut(&rest, '\n');
	struct str line = str_cut(&rest, '\n');

	if (!str_is(str_cut(&line, ' '), AREAS))
		return 0;
	while (line.p && n < SLOT_AREAS_EACH && str_to_u64(str_cut(&line, ' '), SLOT_AREAS - 1, &a) == 0)
		ret[n++] = (uint32_t)a;
	return n;
}

/* The file is never shorter than it was before all of it is written: a server that is killed here keeps its slot. */
static int write_owner(int fd, const char *state, const uint32_t *areas, uint32_t n_areas, struct err *e)
{
	char text[TEXT_MAX];
	size_t n = (size_t)snprintf(text, sizeof text, "%s\n", state);

	for (uint32_t i = 0; i < n_areas; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s %u%s", i ? "" : AREAS, areas[i],
		    i + 1 == n_areas ? "\n" : "");
	/* The mode is set again, because an older version let everyone open the file, and so lock it. */
	if (fchmod(fd, 0600) < 0 || pwrite(fd, text, n, 0) != (ssize_t)n || ftruncate(fd, (off_t)n) < 0)
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
		if (write_owner(fd, state, NULL, 0, e) < 0)
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

/* Returns whether a server has that slot, or sandboxes of one that is gone live on. */
static bool slot_in_use(int dirfd, uint32_t slot)
{
	autoclose int fd = open_slot(dirfd, slot, false);

	return fd >= 0 && (flock(fd, LOCK_EX | LOCK_NB) < 0 || slot_has_processes(slot));
}

/* Marks the areas of all other slots. */
static void mark_taken(int dirfd, uint32_t own, bool taken[SLOT_AREAS])
{
	uint32_t areas[SLOT_AREAS_EACH];

	for (uint32_t slot = 0; slot < REGISTRY_SLOTS; slot++) {
		uint32_t n = slot == own ? 0 : slot_areas(dirfd, slot, areas);

		if (n > 0 && !slot_in_use(dirfd, slot))
			n = 0;
		for (uint32_t i = 0; i < n; i++)
			taken[areas[i]] = true;
	}
}

int registry_areas(const char *dir, uint32_t slot, int fd, uint32_t want, uint32_t ret[SLOT_AREAS_EACH],
    uint32_t *ret_n, struct err *e)
{
	autoclose int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autoclose int all = dirfd < 0 ? -1 : lock_all(dirfd);
	bool taken[SLOT_AREAS] = { false };
	char state[PATH_MAX];

	if (all < 0)
		return err_sys(e, "lock registry '%s'", dir);
	slot_owner(dirfd, slot, state);
	uint32_t n = slot_areas(dirfd, slot, ret), had = n;

	mark_taken(dirfd, slot, taken);
	for (uint32_t i = 0; i < n; i++)
		taken[ret[i]] = true;
	for (uint32_t a = 0; a < SLOT_AREAS && n < want && n < SLOT_AREAS_EACH; a++) {
		if (!taken[a])
			ret[n++] = a;
	}
	if (n > want && !slot_has_processes(slot)) /* otherwise sandboxes may be in them */
		n = want;
	if (n != had && write_owner(fd, state, ret, n, e) < 0)
		return -e->no;
	*ret_n = n;
	return 0;
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

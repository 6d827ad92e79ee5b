/* SPDX-License-Identifier: Apache-2.0 */
/* volume_mounts: mounts the volumes of a sandbox, from the storage to their mount points inside. */
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "engine/disk/storage.h"
#include "engine/disk/volume.h"
#include "engine/mounts.h"
#include "engine/ns.h"

#define MOUNTINFO_MAX (256 * 1024)

int volume_mounts_clone(struct engine *en, const struct engine_spec *spec, int *ret_fds, struct err *e)
{
	for (uint32_t i = 0; i < spec->n_volumes; i++) {
		autoclose int fd = -1;

		if (storage_volume_open(en->storage, spec->volumes[i].name, &fd, e) < 0)
			return err_wrap(e, "open volume '%s'", spec->volumes[i].name);
		/* nosuid: a sandbox must not be able to leave a setuid program for another one. */
		if (mount_clone(fd, "", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, &ret_fds[i], e) < 0)
			return -e->no;
	}
	return 0;
}

int volume_mounts_map(const int *fds, uint32_t n, int userns_fd, struct err *e)
{
	for (uint32_t i = 0; i < n; i++) {
		if (mount_idmap(fds[i], userns_fd, e) < 0)
			return err_wrap(e, "give a volume the ids of the sandbox (this needs btrfs and Linux 5.15)");
	}
	return 0;
}

/* --- inside ------------------------------------------------------------------------------------------------- */

static int open_dir(const char *path)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
}

/* Resolves the template's links inside the sandbox, and creates missing directories. */
static int reach(const char *path, int *ret_fd)
{
	char part[ENGINE_PATH_SIZE];
	autoclose int at = open_dir("/");

	for (size_t i = 1; at >= 0; i++) {
		size_t begin = i;

		i += strcspn(path + i, "/");
		memcpy(part, path, i);
		part[i] = '\0';
		int next = open_dir(part);

		if (next < 0 && errno == ENOENT && mkdirat(at, part + begin, 0755) == 0)
			next = open_dir(part);
		if (next < 0)
			return -errno;
		fd_close(at);
		at = next;
		if (!path[i]) {
			*ret_fd = take_fd(&at);
			return 0;
		}
	}
	return -errno;
}

static uint64_t mount_id(int fd)
{
	struct statx st;

	return statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_MNT_ID, &st) < 0 || !(st.stx_mask & STATX_MNT_ID)
	    ? 0
	    : st.stx_mnt_id;
}

/* Mounts only on the sandbox's own files or in another volume: a link in a template, or from an earlier run of the
 * sandbox, must not make us cover /dev or /proc, which we and init still read. */
static int put(const struct engine_volume *v, int fd, const uint64_t *allowed, size_t n, struct err *e)
{
	autoclose int at = -1;
	int r = reach(v->path, &at);

	if (r == -ENOTDIR || r == -ELOOP || r == -EEXIST || r == -ENAMETOOLONG)
		return err_set(e, EINVAL, "a volume cannot be mounted on '%s': %s", v->path, strerror(-r));
	if (r < 0)
		return err_set(e, -r, "make '%s' for a volume: %s", v->path, strerror(-r));
	uint64_t id = mount_id(at);

	for (size_t i = 0; i < n; i++) {
		if (id && id == allowed[i])
			return mount_put(fd, at, "", e);
	}
	return err_set(e, EINVAL, "a volume cannot be mounted on '%s': that is a file system of the sandbox itself",
	    v->path);
}

int volume_mounts_put(const struct engine_volume *v, const int *fds, uint32_t n, struct err *e)
{
	uint64_t allowed[ENGINE_VOLUMES_MAX + 1];
	autoclose int root = open_dir("/");

	allowed[0] = root < 0 ? 0 : mount_id(root);
	for (uint32_t i = 0; i < n; i++) {
		if (put(&v[i], fds[i], allowed, i + 1, e) < 0)
			return -e->no;
		allowed[i + 1] = mount_id(fds[i]);
	}
	return 0;
}

/* --- for a checkpoint --------------------------------------------------------------------------------------- */

int volume_mounts_read(pid_t pid, char **ret, struct err *e)
{
	char path[48];
	autofree char *text = malloc(MOUNTINFO_MAX);

	if (!text)
		return err_set(e, ENOMEM, "out of memory");
	(void)snprintf(path, sizeof path, "/proc/%d/mountinfo", pid);
	int n = file_read(AT_FDCWD, path, text, MOUNTINFO_MAX);

	if (n < 0)
		return err_set(e, -n, "read '%s': %s", path, strerror(-n));
	*ret = take_ptr(&text);
	return 0;
}

/* The kernel writes blanks and backslashes as \ooo. */
static bool unescape(struct str from, char *to, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < from.n; i++) {
		char c = from.p[i];

		if (n + 1 >= size)
			return false;
		if (c == '\\' && i + 3 < from.n) {
			c = (char)((from.p[i + 1] - '0') << 6 | (from.p[i + 2] - '0') << 3 | (from.p[i + 3] - '0'));
			i += 3;
		}
		to[n++] = c;
	}
	to[n] = '\0';
	return true;
}

/* If a volume is mounted several times, the mounts are told apart by their order; which is which does not matter. */
static uint32_t turn_of(const struct engine_spec *spec, uint32_t i)
{
	uint32_t turn = 0;

	for (uint32_t k = 0; k < i; k++)
		turn += strcmp(spec->volumes[k].name, spec->volumes[i].name) == 0;
	return turn;
}

int volume_mounts_arg(const char *mountinfo, const struct engine_spec *spec, uint32_t i, char ret[VOLUME_DUMP_SIZE],
    struct err *e)
{
	char root[ENGINE_NAME_SIZE + 8], at[ENGINE_PATH_SIZE * 2];
	struct str rest = str_of(mountinfo);
	uint32_t turn = turn_of(spec, i);

	(void)snprintf(root, sizeof root, "/%s+v", spec->volumes[i].name);
	while (rest.p) {
		struct str line = str_cut(&rest, '\n'), field[5];

		for (size_t k = 0; k < 5; k++)
			field[k] = str_cut(&line, ' ');
		if (!field[4].p || !str_is(field[3], root) || turn-- > 0)
			continue;
		if (!unescape(field[4], at, sizeof at) || strpbrk(at, "[]"))
			return err_set(e, EINVAL, "the place of volume '%s' has a name that CRIU cannot take",
			    spec->volumes[i].name);
		(void)snprintf(ret, VOLUME_DUMP_SIZE, "mnt[%s]:" VOLUME_EXTERNAL, at, spec->volumes[i].name, i);
		return 0;
	}
	return err_set(e, ENOENT, "volume '%s' is not mounted", spec->volumes[i].name);
}

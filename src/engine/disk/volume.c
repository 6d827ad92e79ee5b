/* SPDX-License-Identifier: Apache-2.0 */
/* volume: creates, lists and deletes volumes, and starts the program that serves the files of one. */
#include "engine/disk/volume.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/inherited.h"
#include "engine/caps.h"
#include "engine/disk/storage.h"
#include "engine/limits.h"
#include "engine/mounts.h"
#include "engine/ns.h"
#include "engine/seccomp/seccomp.h"
#include "engine/slot.h"
#include "engine/userns.h"

#define SOCK_FD 3
#define SERVE_FILES 256 /* at a time: a walk keeps one open per level */
#define SERVE_MEMORY (256ull << 20)

_Static_assert(SLOT_VOLUME_PLACES == ENGINE_VOLUME_PLACES, "each has its ids");

int volume_set(struct engine *en, const char *name, uint64_t bytes, struct err *e)
{
	return storage_volume_set(en->storage, name, bytes, e) < 0 ? err_wrap(e, "make volume '%s'", name) : 0;
}

int volume_delete(struct engine *en, const char *name, struct err *e)
{
	return storage_volume_drop(en->storage, name, e) < 0 ? err_wrap(e, "remove volume '%s'", name) : 0;
}

int volume_each(struct engine *en, void (*fn)(void *arg, const char *name, uint64_t used_bytes), void *arg,
    struct err *e)
{
	return storage_volumes(en->storage, fn, arg, e);
}

/* --- serving ------------------------------------------------------------------------------------------------ */

/* The volume becomes "/" and nothing else is mounted: no link in it can lead to anything of the host. The mount
 * namespace belongs to the host's user namespace, so the server has no power over it. */
static int enter_volume(struct engine *en, const char *name, int userns_fd, struct err *e)
{
	autoclose int dir = -1, m = -1;

	if (storage_volume_open(en->storage, name, &dir, e) < 0 ||
	    mount_clone(dir, "", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, &m, e) < 0 ||
	    mount_idmap(m, userns_fd, e) < 0)
		return -e->no;
	if (unshare(CLONE_NEWNS) < 0)
		return err_sys(e, "make a mount namespace");
	if (mount_make_private(e) < 0 || mount_put(m, AT_FDCWD, en->stage_dir, e) < 0)
		return -e->no;
	return mount_pivot(m, e);
}

static int set_limits(struct err *e)
{
	const struct {
		int which;
		rlim_t most;
	} limits[] = {
		{ RLIMIT_NOFILE, SERVE_FILES },
		{ RLIMIT_AS, SERVE_MEMORY },
		{ RLIMIT_CORE, 0 },
		{ RLIMIT_NPROC, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		int r = rlimit_lower(limits[i].which, limits[i].most);

		if (r < 0)
			return err_set(e, -r, "limit the server of a volume: %s", strerror(-r));
	}
	return 0;
}

/* Becomes root of a user namespace that has only the volume's ids, without network, with the system calls and
 * capabilities of a sandbox. */
static int give_up_power(struct engine *en, int userns_fd, struct err *e)
{
	if (setns(userns_fd, CLONE_NEWUSER) < 0)
		return err_sys(e, "join the user namespace");
	if (unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) < 0)
		return err_sys(e, "make namespaces");
	if (caps_keep_across_uids(e) < 0 || caps_become(0, 0, e) < 0 || set_limits(e) < 0 || limits_ordinary(e) < 0)
		return -e->no;
	return seccomp_filter_install(&en->filter, e) < 0 ? -e->no : caps_confine(e);
}

/* Keeps 0, 1, 2 and the socket; the exec closes the rest. */
static int sort_fds(int sock, int null, struct err *e)
{
	for (int i = 0; i < 3; i++) {
		if (dup2(null, i) < 0)
			return err_sys(e, "redirect fd %d", i);
	}
	if (sock == SOCK_FD ? fd_cloexec(sock, false) < 0 : dup3(sock, SOCK_FD, 0) < 0)
		return err_sys(e, "sort fds");
	return syscall(SYS_close_range, SOCK_FD + 1, ~0u, CLOSE_RANGE_CLOEXEC) < 0 ? err_sys(e, "close fds") : 0;
}

int volume_serve(struct engine *en, const char *name, uint32_t place, int sock, struct err *e)
{
	char *argv[] = { "atoll-volume", NULL }, *envp[] = { "ATOLL_VOLUME_FD=3", NULL };
	autoclose int userns = -1, conn = fcntl(sock, F_DUPFD_CLOEXEC, 16),
		      null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (conn < 0 || null < 0)
		return err_sys(e, "keep the socket");
	if (userns_for_map(slot_volume_root(en->cfg.instance, place), SLOT_UIDS, &userns, e) < 0 ||
	    enter_volume(en, name, userns, e) < 0 || give_up_power(en, userns, e) < 0 || sort_fds(conn, null, e) < 0)
		return err_wrap(e, "serve volume '%s'", name);
	(void)umask(0);
	(void)syscall(SYS_execveat, en->init_fd, "", argv, envp, AT_EMPTY_PATH);
	return err_sys(e, "serve volume '%s': run it", name);
}

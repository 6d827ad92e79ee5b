/* SPDX-License-Identifier: Apache-2.0 */
/* overlay: the sandbox's root.
 *
 * Both layers are id-mapped with the sandbox's user namespace, so ids on disk stay those of the template. The
 * overlay itself is mounted with the fsuid of the sandbox's root: the kernel does all work on the upper layer with
 * the credentials of the mounter, and our own uid 0 has no id in the mapped layers (EOVERFLOW, and a silent
 * read-only mount). */
#include "engine/disk/overlay.h"

#include <fcntl.h>
#include <sys/fsuid.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/caps.h"
#include "engine/mounts.h"

static int put_layer(int fd, int userns_fd, const char *at, struct err *e)
{
	return mount_idmap(fd, userns_fd, e) < 0 ? -e->no : mount_put(fd, AT_FDCWD, at, e);
}

/* redirect_dir: renaming a directory of the template works instead of failing with EXDEV. index, nfs_export: hard
 * links survive, file handles are stable, and an upper directory that is in use twice is refused.
 *
 * volatile: fsync() and sync() inside write nothing to disk. A running sandbox does not outlive the host, so
 * nothing is lost; a snapshot is flushed from outside. Without it the last exit of every sandbox, and each sync()
 * in one, flushes the whole storage: measured, 100 ms to seconds while another sandbox writes. */
static const struct mount_opt options[] = {
	{ "source", "root" },
	{ "lowerdir", "l" }, /* short and relative: the sandbox can read it in /proc/mounts */
	{ "upperdir", "u/u" },
	{ "workdir", "u/w" },
	{ "redirect_dir", "on" },
	{ "index", "on" },
	{ "nfs_export", "on" },
	{ "volatile", NULL },
};

int overlay_make(const struct overlay_spec *sp, int *ret_mount_fd, struct err *e)
{
	if (chdir(sp->stage) < 0)
		return err_sys(e, "enter '%s'", sp->stage);
	if (put_layer(sp->template_fd, sp->userns_fd, "l", e) < 0)
		return err_wrap(e, "prepare the template's layer");
	if (put_layer(sp->own_fd, sp->userns_fd, "u", e) < 0)
		return err_wrap(e, "prepare the sandbox's layer");
	if (caps_keep_across_uids(e) < 0)
		return -e->no;
	(void)setfsgid(sp->root);
	(void)setfsuid(sp->root);
	/* nodev: device nodes in a template are mere files. */
	int r = mount_new("overlay", options, ARRAY_LEN(options), MOUNT_ATTR_NODEV, ret_mount_fd, e);

	(void)setfsuid(0);
	(void)setfsgid(0);
	return r < 0 ? err_wrap(e, "make the root") : 0;
}

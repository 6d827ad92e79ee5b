/* SPDX-License-Identifier: Apache-2.0 */
/* dump: writes the memory of a frozen sandbox to disk, in a child of atoll-ckpt.
 *
 * CRIU thaws the cgroup once it has stopped every process itself, and freezes it again before it detaches from
 * them, so the sandbox never runs in between. If CRIU fails or dies, we freeze the cgroup again ourselves. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "engine/cgroup/cgroup.h"
#include "engine/ckpt/ckpt.h"
#include "engine/ckpt/criu.h"
#include "engine/ckpt/image.h"
#include "engine/disk/storage.h"
#include "engine/disk/volume.h"
#include "engine/mounts.h"
#include "engine/ns.h"
#include "engine/proc.h"
#include "engine/slot.h"
#include "engine/userns.h"
#include "engine/zygote/base.h"

#define LOOK_MS 250
#define TIMEOUT_MS 600000 /* long, because an unfinished dump cannot be stopped without harm */
#define LOG "dump.log"
#define SMALL_BYTES (64ull << 20) /* for everything that is not memory */

/* The options of every dump:
 *	cgroups		we create them again ourselves
 *	network		we set it up again too; connections within the sandbox are saved, all others are reset
 *	ghosts		files that are open but deleted are stored in the checkpoint, up to this size each
 *	externals	the mounts that the host makes; a restore passes them by name */
static const char *const arguments[] = {
	"dump",
	"--images-dir",
	CRIU_IMAGE,
	"--work-dir",
	"/tmp",
	"--log-file",
	LOG,
	"-v1",
	"--leave-running",
	"--freeze-cgroup",
	CRIU_FREEZER,
	"--manage-cgroups=ignore",
	"--network-lock",
	"skip",
	"--empty-ns",
	"net",
	"--tcp-established",
	"--file-locks",
	"--link-remap",
	"--ghost-limit",
	"256M",
	"--external",
	"mnt[/dev]:dev",
	"--external",
	"mnt[/dev/.atoll/init]:init",
	"--external",
	"mnt[/dev/.atoll/view]:view",
	"--tree",
};

struct dump {
	struct engine *en;
	const struct engine_record *r;
	struct criu criu;
	struct base_found base;
	char pid[16];
	char volumes[ENGINE_VOLUMES_MAX][VOLUME_DUMP_SIZE]; /* arguments */
	bool released;
	int lock;           /* keeps others from thawing it */
	uint64_t own_bytes; /* memory charged to the sandbox itself */
};

/* Its pid 1 has no memory any more: it was killed. */
static bool is_dying(const struct dump *d)
{
	char path[40], to[16];

	(void)snprintf(path, sizeof path, "/proc/%s/exe", d->pid);
	return readlink(path, to, sizeof to) < 0 && errno == ENOENT;
}

/* A sandbox that is killed meanwhile cannot exit: its pid 1 waits for all other processes, whose zombies CRIU
 * traces, and CRIU waits for pid 1. Killing CRIU then loses nothing. At any other time this only checks. */
static void give_up_if_killed(struct dump *d)
{
	for (int left = TIMEOUT_MS; left > 0 && proc_wait_gone(d->criu.pidfd, LOOK_MS) < 0; left -= LOOK_MS) {
		if (!is_dying(d))
			continue;
		if (proc_wait_gone(d->criu.pidfd, LOOK_MS) < 0) /* it may have noticed by itself */
			(void)kill(d->criu.pid, SIGKILL);
		return;
	}
}

/* Volumes are not part of the sandbox: a restore mounts them again with their contents at that time. */
static int add_volumes(struct dump *d, struct err *e)
{
	autofree char *mountinfo = NULL;

	if (d->r->spec.n_volumes > 0 && volume_mounts_read(d->r->pid, &mountinfo, e) < 0)
		return -e->no;
	for (uint32_t i = 0; i < d->r->spec.n_volumes; i++) {
		if (volume_mounts_arg(mountinfo, &d->r->spec, i, d->volumes[i], e) < 0)
			return -e->no;
		criu_arg(&d->criu, "--external");
		criu_arg(&d->criu, d->volumes[i]);
	}
	return 0;
}

static int open_in_dev(const struct dump *d, const char *name, int *ret_fd, struct err *e)
{
	char path[32];
	struct statfs fs;
	autoclose int at = -1, dir = -1;

	(void)snprintf(path, sizeof path, "/proc/%d/root", d->r->pid);
	autoclose int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		return err_sys(e, "open its root");
	if (mount_target(root, name, &at, e) < 0)
		return -e->no;
	dir = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || fstatfs(dir, &fs) < 0)
		return err_sys(e, "open its /%s", name);
	if (fs.f_type != TMPFS_MAGIC)
		return err_set(e, EBADMSG, "its /%s is not ours", name);
	*ret_fd = take_fd(&dir);
	return 0;
}

static bool is_empty(int dir)
{
	int own = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = own < 0 ? NULL : fdopendir(own);
	bool empty = d;

	if (!d)
		fd_close(own);
	for (struct dirent *de; empty && (de = readdir(d));)
		empty = strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0;
	if (d)
		(void)closedir(d);
	return empty;
}

/* CRIU saves a tmpfs with tar and gzip, which take 8 ms to restore even if there is nothing in it. A restore mounts
 * an empty /dev/shm itself, so one that is as it was made need not be saved. */
static bool has_empty_shm(const struct dump *d)
{
	struct err ignored = ERR_INIT;
	struct slot s;
	struct stat st;
	autoclose int fd = -1;

	slot_fill(d->en->cfg.instance, d->r->spec.slot, &s);
	return open_in_dev(d, "dev/shm", &fd, &ignored) == 0 && fstat(fd, &st) == 0 && (st.st_mode & 07777) == 01777 &&
	    st.st_uid == s.root && st.st_gid == s.root && is_empty(fd);
}

static int run_criu(struct dump *d, int image, struct err *e)
{
	autoclose int freezer = -1;
	struct criu *c = &d->criu;

	if (cgroup_freezer(d->en->cgroups, d->r->spec.id, &freezer, e) < 0 ||
	    userns_owner(d->r->pid, &c->owner, e) < 0 || base_find(d->en->bases_fd, freezer, &d->base, e) < 0)
		return -e->no;
	if (criu_open(c, d->en->tools_fd, d->en->criu_run_fd, image, false, e) < 0 ||
	    mount_clone(freezer, "", 0, &c->mounts[MOUNT_FREEZER], e) < 0)
		return -e->no;
	c->stage = d->en->stage_dir;
	c->log = LOG;
	for (size_t i = 0; i < ARRAY_LEN(arguments); i++)
		criu_arg(c, arguments[i]);
	(void)snprintf(d->pid, sizeof d->pid, "%d", d->r->pid);
	criu_arg(c, d->pid);
	if (has_empty_shm(d)) {
		criu_arg(c, "--external");
		criu_arg(c, "mnt[/dev/shm]:shm");
	}
	if (add_volumes(d, e) < 0)
		return -e->no;
	if (d->base.fd >= 0) { /* its pages are in no checkpoint: see engine/zygote/base.h */
		criu_arg(c, "--external");
		criu_arg(c, d->base.label);
	}
	if (criu_spawn(c, e) < 0)
		return -e->no;
	give_up_if_killed(d);
	if (criu_wait(c, TIMEOUT_MS, e) < 0)
		return -e->no;
	base_save_use(image, freezer, &d->base);
	return 0;
}

/* A checkpoint is about as large as the memory in use; pages shared within the sandbox count twice. Pages that it
 * shares with a zygote are not charged to it, and are not in its checkpoint. */
int dump_room(struct engine *en, const struct engine_record *r, uint64_t *ret_bytes, struct err *e)
{
	struct cgroup_usage us;

	if (cgroup_usage(en->cgroups, r->spec.id, &us, e) < 0)
		return -e->no;
	*ret_bytes = us.mem_bytes + us.mem_bytes / 2 + SMALL_BYTES;
	return 0;
}

static int own_memory(struct dump *d, struct err *e)
{
	struct cgroup_usage us;

	if (cgroup_usage(d->en->cgroups, d->r->spec.id, &us, e) < 0)
		return -e->no;
	d->own_bytes = us.mem_bytes > us.mem_cache_bytes ? us.mem_bytes - us.mem_cache_bytes : 0;
	return 0;
}

static int keep_dev(const struct dump *d, int image, struct err *e)
{
	autoclose int dev = -1;

	return open_in_dev(d, "dev", &dev, e) < 0 ? -e->no : image_save_dev(image, dev, e);
}

static int keep_init(const struct dump *d, int image, struct err *e)
{
	char path[32];

	(void)snprintf(path, sizeof path, "/proc/%d/exe", d->r->pid);
	autoclose int fd = open(path, O_PATH | O_CLOEXEC); /* the program it runs, not the one that we would start
							    * today */

	return fd < 0 ? err_sys(e, "open its program") : image_save_init(image, fd, &d->en->init_now, e);
}

/* Freezes the sandbox again, whatever CRIU has done, and reports that we no longer need it. */
static int release(struct dump *d, int sock, struct err *e)
{
	struct ckpt_report rp;
	struct err why = ERR_INIT;

	criu_close(&d->criu);
	if (d->released)
		return 0;
	d->released = true;
	int r = cgroup_freeze(d->en->cgroups, d->r->spec.id, true, &why);

	fd_close(d->lock);
	d->lock = -1;
	if (r < 0 && why.no != EAGAIN)
		return err_set(e, why.no, "%s", why.text);
	memset(&rp, 0, sizeof rp);
	rp.how = CKPT_RELEASED;
	(void)fd_send(sock, &rp, sizeof rp, NULL, 0); /* the receiver may have exited */
	return 0;
}

static int dump_all(struct dump *d, int image, bool brief, int sock, struct engine_image *ret, struct err *e)
{
	uint64_t began = clock_mono_us();
	int dup_image = fcntl(image, F_DUPFD_CLOEXEC, 3);

	if (dup_image < 0)
		return err_sys(e, "open the image");
	if (own_memory(d, e) < 0) {
		fd_close(dup_image);
		return -e->no;
	}
	if (run_criu(d, dup_image, e) < 0)
		return -e->no;
	ret->dump_us = clock_mono_us() - began;
	if (keep_dev(d, image, e) < 0 || keep_init(d, image, e) < 0 || base_save(image, &d->base, e) < 0 ||
	    release(d, sock, e) < 0 || image_sync(image, !brief, &ret->bytes, e) < 0)
		return -e->no;
	ret->total_us = clock_mono_us() - began;
	uint64_t shared = ret->bytes > d->own_bytes ? ret->bytes - d->own_bytes : 0;
	struct slot s;

	slot_fill(d->en->cfg.instance, d->r->spec.slot, &s);
	return image_write_record(image, !brief, s.instance, s.root, d->r->extra_bytes + shared, &d->r->spec, e);
}

/* The process that asked for this may have died, and its successor may have thawed the sandbox. */
static int lock_sandbox(struct dump *d, struct err *e)
{
	const char *id = d->r->spec.id;

	if (storage_lock(d->en->storage, id, &d->lock, e) == 0 && cgroup_is_frozen(d->en->cgroups, id))
		return 0;
	d->released = true;
	return e->no ? -e->no : err_set(e, EBUSY, "it is not frozen any more");
}

int dump_run(struct engine *en, const struct engine_record *r, const char *name, bool brief, int sock,
    struct engine_image *ret, struct err *e)
{
	struct dump d = { .en = en, .r = r, .criu = CRIU_NONE, .base = BASE_NONE, .lock = -1 };
	autoclose int image = -1;
	struct err ignored = ERR_INIT;

	int made = storage_keep_memory(en->storage, name, &image, e);

	if (made == -EEXIST) { /* the last warden exited before it received the report */
		*e = ERR_INIT;
		return image_sync(image, true, &ret->bytes, e);
	}
	if (made < 0)
		return -e->no;
	int result = lock_sandbox(&d, e);

	if (result == 0)
		result = dump_all(&d, image, brief, sock, ret, e);
	if (release(&d, sock, result < 0 ? &ignored : e) < 0)
		result = result < 0 ? result : -e->no;
	fd_close(d.base.fd);
	if (result < 0)
		(void)storage_forget_memory(en->storage, name, &ignored);
	return result < 0 ? err_wrap(e, "write the memory of sandbox '%s'", r->spec.id) : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* restore: restores a sandbox from its checkpoint, in a child of atoll-ckpt.
 *
 *	R0	the child of atoll-ckpt: becomes the parent of the restored processes for the rest of their lives,
 *		because CRIU exits, and a sandbox outside a template's namespaces has no holder to reap them
 *	R1	makes what the host makes (cgroups, disk, root, /dev), runs CRIU, sets up the network when CRIU has
 *		made the namespace, and reports
 *	CRIU	makes the namespaces and the processes, then exits
 *
 * CRIU makes the user namespace below the host's own and not below that of the template: CRIU needs capabilities
 * that no process in there has. The namespace is still owned by the slot's own uid, which the kernel charges
 * per-user limits to. */
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "engine/cgroup/cgroup.h"
#include "engine/ckpt/ckpt.h"
#include "engine/ckpt/criu.h"
#include "engine/ckpt/image.h"
#include "engine/ckpt/inside.h"
#include "engine/ckpt/side.h"
#include "engine/dev.h"
#include "engine/disk/overlay.h"
#include "engine/disk/storage.h"
#include "engine/disk/volume.h"
#include "engine/holder.h"
#include "engine/limits.h"
#include "engine/mounts.h"
#include "engine/net/link.h"
#include "engine/net/nft.h"
#include "engine/ns.h"
#include "engine/powers.h"
#include "engine/slot.h"
#include "engine/userns.h"
#include "engine/zygote/base.h"

#define TIMEOUT_MS 120000
#define UNDO_TRIES 500
#define LOG "restore.log"

static const char *const arguments[] = {
	"restore",
	"--images-dir",
	CRIU_IMAGE,
	"--work-dir",
	"/tmp",
	"--log-file",
	LOG,
	"-v1",
	"--restore-detached",
	"--manage-cgroups=ignore",
	"--empty-ns",
	"net",
	"--tcp-established",
	"--file-locks",
	"--link-remap",
	"--root",
	CRIU_ROOT,
	"--external",
	"mnt[dev]:" CRIU_DEV,
	"--external",
	"mnt[init]:" CRIU_INIT,
	"--external",
	"mnt[view]:" CRIU_VIEW,
	"--external",
	"mnt[shm]:" CRIU_SHM,
	"--action-script",
	CRIU_SCRIPT,
};

enum until {
	UNTIL_FORKED,  /* the process that becomes CRIU exists */
	UNTIL_MADE,    /* all mounts are made */
	UNTIL_BORN,    /* pid 1 exists */
	UNTIL_NETWORK, /* its network is complete */
	UNTIL_STOPPED, /* all processes are restored, and wait */
	UNTIL_CHECKED, /* what they have has been checked */
	UNTIL_RUNS,
	UNTILS,
};

struct restore {
	struct engine *en;
	const struct engine_spec *spec;
	struct slot slot, was; /* the new slot, and the slot of the checkpoint */
	struct image_record record;
	struct cgroup_seat seat;
	struct criu criu;
	char volumes[ENGINE_VOLUMES_MAX][96]; /* arguments */
	int template_fd, own_fd, dev_fd, ask, answer;
	char inherit[BASE_LABEL_SIZE + 16]; /* another argument */
	bool has_network;
	bool looked; /* everything that it can reach has been checked */
	bool cold;   /* the base file has not been used since the storage was mounted */
	pid_t pid;
	int pidfd;
	uint64_t began_us, stage_us[UNTILS]; /* when each stage was over, since it began */
};

static void stage_done(struct restore *rs, enum until u)
{
	rs->stage_us[u] = clock_mono_us() - rs->began_us;
}

static void tell_stages(const struct restore *rs)
{
	const uint64_t *us = rs->stage_us;

	log_debug("restored a sandbox",
	    "id=%s forked_us=%" PRIu64 " made_us=%" PRIu64 " born_us=%" PRIu64 " network_us=%" PRIu64
	    " stopped_us=%" PRIu64 " checked_us=%" PRIu64 " runs_us=%" PRIu64,
	    rs->spec->id, us[UNTIL_FORKED], us[UNTIL_MADE], us[UNTIL_BORN], us[UNTIL_NETWORK], us[UNTIL_STOPPED],
	    us[UNTIL_CHECKED], us[UNTIL_RUNS]);
}

/* --- what the host makes ------------------------------------------------------------------------------------ */

static int write_ids(const struct restore *rs, struct err *e)
{
	unsigned char bytes[64];
	size_t n = image_encode_ids(rs->slot.root, SLOT_UIDS, bytes);
	autoclose int fd = openat(rs->criu.tmp, CRIU_IDS, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);

	return fd < 0 || write(fd, bytes, n) != (ssize_t)n ? err_sys(e, "write its ids") : 0;
}

/* Reads ahead what CRIU is going to need while cgroups, disk and mounts are made. The requests themselves take
 * some time, hence the child, which is reaped by whatever process becomes its parent. */
static void read_ahead(const struct restore *rs)
{
	if (fork() != 0)
		return;
	image_read_ahead(rs->criu.image);
	if (rs->cold)
		base_fetch_use(rs->criu.image, rs->criu.inherit);
	_exit(0);
}

static int open_base(struct restore *rs, struct err *e)
{
	struct base_found b;

	if (base_open(rs->en->bases_fd, rs->criu.image, &b, e) < 0)
		return -e->no;
	rs->criu.inherit = b.fd;
	rs->cold = b.cold;
	read_ahead(rs);
	(void)snprintf(rs->inherit, sizeof rs->inherit, "fd[%d]:%s", b.fd, b.label);
	return 0;
}

static int open_image(struct restore *rs, struct err *e)
{
	autoclose int image = -1;

	if (storage_kept_memory(rs->en->storage, rs->spec->from, &image, e) < 0 ||
	    image_read_record(image, &rs->record, e) < 0)
		return -e->no;
	if (strcmp(rs->record.spec.template_key, rs->spec->template_key) != 0)
		return err_set(e, EINVAL, "the image is of another template");
	if (rs->record.instance >= SLOT_INSTANCES || rs->record.spec.slot >= SLOT_MAX)
		return err_set(e, EBADMSG, "the record of the image names a slot that does not exist");
	slot_fill(rs->record.instance, rs->record.spec.slot, &rs->was);
	if (rs->record.root)
		rs->was.root = rs->record.root;
	if (image_ids_file(image, rs->criu.ids, e) < 0 ||
	    criu_open(&rs->criu, rs->en->tools_fd, rs->en->criu_run_fd, take_fd(&image), true, e) < 0)
		return -e->no;
	return write_ids(rs, e) < 0 ? -e->no : open_base(rs, e);
}

static int clone_template(struct restore *rs, struct err *e)
{
	char path[ENGINE_KEY_SIZE + 16];

	(void)snprintf(path, sizeof path, "%s/rootfs", rs->spec->template_key);
	autoclose int fd = openat(rs->en->templates_fd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, "open template '%s'", rs->spec->template_key);
	return mount_clone(fd, "", MOUNT_ATTR_RDONLY, &rs->template_fd, e);
}

/* Uses today's program if it is the same, since all sandboxes share its pages; otherwise a copy of the
 * checkpoint's program, also in memory, because no sandbox may keep a file of the checkpoint open. */
static int clone_init(struct restore *rs, struct err *e)
{
	unsigned attr = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	autoclose int its = -1, copy = -1;
	bool same = false;

	if (image_open_init(rs->criu.image, &rs->en->init_now, &same, &its, e) < 0)
		return -e->no;
	if (!same && image_copy_init(its, rs->en->private_fd, &copy, e) < 0)
		return -e->no;
	return mount_clone(same ? rs->en->init_fd : copy, "", attr, &rs->criu.mounts[MOUNT_INIT], e);
}

/* CRIU uses the /dev/shm only if the sandbox's was empty; otherwise it makes and fills one itself. */
static int make_dev(struct restore *rs, struct err *e)
{
	int *at = &rs->criu.mounts[MOUNT_DEV];

	if (dev_make(rs->slot.root, at, e) < 0 ||
	    image_load_dev(rs->criu.image, *at, rs->was.root, rs->slot.root, e) < 0 ||
	    dev_make_shm(rs->spec->limits.mem_bytes, rs->slot.root, &rs->criu.mounts[MOUNT_SHM], e) < 0)
		return -e->no;
	rs->dev_fd = fcntl(*at, F_DUPFD_CLOEXEC, 3);
	return rs->dev_fd < 0 ? err_sys(e, "keep /dev") : 0;
}

static int make_root(struct restore *rs, struct err *e)
{
	autoclose int userns = -1;

	/* An id-mapped mount copies the map of its user namespace, so any namespace with the same map will do. */
	if (userns_for_map(rs->slot.root, SLOT_UIDS, &userns, e) < 0 ||
	    volume_mounts_map(&rs->criu.mounts[MOUNT_VOLUME], rs->spec->n_volumes, userns, e) < 0)
		return -e->no;
	struct overlay_spec sp = {
		.template_fd = rs->template_fd,
		.own_fd = rs->own_fd,
		.userns_fd = userns,
		.root = rs->slot.root,
		.stage = rs->en->stage_dir,
	};

	return overlay_make(&sp, &rs->criu.mounts[MOUNT_ROOT], e);
}

/* The mounts do not follow symbolic links until the sandbox runs: see let_follow(). */
static int clone_volumes(struct restore *rs, struct err *e)
{
	int *fds = &rs->criu.mounts[MOUNT_VOLUME];

	if (volume_mounts_clone(rs->en, rs->spec, fds, e) < 0)
		return -e->no;
	for (uint32_t i = 0; i < rs->spec->n_volumes; i++) {
		if (mount_change(fds[i], 0, MOUNT_ATTR_NOSYMFOLLOW, 0, e) < 0)
			return -e->no;
	}
	return 0;
}

static int make_pipes(struct restore *rs, struct err *e)
{
	int tmp = rs->criu.tmp;

	if (mkfifoat(tmp, CRIU_ASK, 0600) < 0 || mkfifoat(tmp, CRIU_ANSWER, 0600) < 0)
		return err_sys(e, "make the pipes of criu");
	/* Opened for reading and writing, so that neither end waits for the other to open it. */
	rs->ask = openat(tmp, CRIU_ASK, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	rs->answer = openat(tmp, CRIU_ANSWER, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	return rs->ask < 0 || rs->answer < 0 ? err_sys(e, "open the pipes of criu") : 0;
}

static void add_arguments(struct restore *rs)
{
	struct criu *c = &rs->criu;

	for (size_t i = 0; i < ARRAY_LEN(arguments); i++)
		criu_arg(c, arguments[i]);
	for (uint32_t i = 0; i < rs->spec->n_volumes; i++) {
		(void)snprintf(rs->volumes[i], sizeof rs->volumes[i], "mnt[" VOLUME_EXTERNAL "]:" CRIU_VOLUME,
		    rs->spec->volumes[i].name, i, i);
		criu_arg(c, "--external");
		criu_arg(c, rs->volumes[i]);
	}
	if (c->inherit >= 0) {
		criu_arg(c, "--inherit-fd");
		criu_arg(c, rs->inherit);
	}
}

/* The process that is to become CRIU makes its own root while make_parts() makes the other mounts. */
static int fork_criu(struct restore *rs, struct err *e)
{
	struct criu *c = &rs->criu;

	c->stage = rs->en->stage_dir;
	c->log = LOG;
	c->seat = &rs->seat;
	c->restores = true;
	c->libraries = CRIU_PROVEN;
	c->own_core = rs->en->cfg.core_scheduling;
	c->owner = rs->slot.z_base + rs->slot.owner;
	add_arguments(rs);
	return make_pipes(rs, e) < 0 || limits_user(e) < 0 ? -e->no : criu_fork(c, e);
}

static int make_cgroup(struct restore *rs, struct err *e)
{
	struct cgroup_limits lim = ns_cgroup_limits(rs->en, rs->spec->slot, &rs->spec->limits, rs->record.extra_bytes);

	return cgroup_make(rs->en->cgroups, rs->spec->id, &lim, e) < 0
	    ? -e->no
	    : cgroup_seat_open(rs->en->cgroups, rs->spec->id, &rs->seat, e);
}

static int make_mounts(struct restore *rs, struct err *e)
{
	struct engine *en = rs->en;
	uint64_t disk_bytes = rs->spec->limits.disk_bytes;
	autoclose int own = -1;

	if (storage_make_from(en->storage, rs->spec->from, rs->spec->id, disk_bytes, &own, e) < 0 ||
	    mount_clone(own, "", 0, &rs->own_fd, e) < 0 || clone_init(rs, e) < 0 || make_dev(rs, e) < 0 ||
	    clone_volumes(rs, e) < 0 || view_clone(&en->view, rs->spec->slot, &rs->criu.mounts[MOUNT_VIEW], e) < 0)
		return -e->no;
	if (unshare(CLONE_NEWNS) < 0) /* for the layers of the root; disappears with this process */
		return err_sys(e, "make a mount namespace");
	return make_root(rs, e);
}

static int make_parts(struct restore *rs, struct err *e)
{
	const struct engine_limits *l = &rs->spec->limits;

	if (open_image(rs, e) < 0 || make_cgroup(rs, e) < 0 || fork_criu(rs, e) < 0)
		return -e->no;
	stage_done(rs, UNTIL_FORKED);
	if (clone_template(rs, e) < 0)
		return -e->no;
	view_set(&rs->en->view, rs->spec, l, rs->record.extra_bytes, 0);
	if (ns_cap_egress(rs->en, rs->spec, l, false, e) < 0 || make_mounts(rs, e) < 0)
		return -e->no;
	stage_done(rs, UNTIL_MADE);
	return 0;
}

/* --- the network -------------------------------------------------------------------------------------------- */

/* Receives the pid of the new process; its network is still empty. */
static int meet(struct restore *rs, struct str number, struct err *e)
{
	uint64_t pid;

	if (rs->pidfd >= 0 || str_to_u64(number, INT32_MAX, &pid) < 0)
		return err_set(e, EBADMSG, "criu tells no process");
	rs->pid = (pid_t)pid;
	rs->pidfd = (int)syscall(SYS_pidfd_open, rs->pid, 0);
	stage_done(rs, UNTIL_BORN);
	return rs->pidfd < 0 ? err_sys(e, "find the restored process") : 0;
}

static int set_inside(const void *arg, int netns, struct err *e)
{
	const struct restore *rs = arg;

	if (setns(netns, CLONE_NEWNET) < 0)
		return err_sys(e, "join the new network");
	if (link_inside(&rs->slot, e) < 0)
		return -e->no;
	/* Sockets may be bound to the sandbox's former address; on lo that address leads nowhere. */
	if (rs->was.ip != rs->slot.ip && link_gateway_add(rs->was.ip, e) < 0)
		return -e->no;
	return link_sysctls(rs->slot.root, SLOT_UIDS, e);
}

static int make_network(struct restore *rs, struct err *e)
{
	char path[48];

	(void)snprintf(path, sizeof path, "/proc/%d/ns/net", rs->pid);
	autoclose int netns = open(path, O_RDONLY | O_CLOEXEC);

	if (netns < 0)
		return err_sys(e, "open the new network");
	if (rs->spec->no_internet && nft_silence(rs->en->nft_fd, rs->slot.instance, rs->slot.k, true, e) < 0)
		return -e->no;
	if (link_make(&rs->slot, netns, rs->en->mtu, e) < 0)
		return -e->no;
	rs->has_network = side_run(set_inside, rs, netns, e) == 0;
	stage_done(rs, UNTIL_NETWORK);
	return rs->has_network ? 0 : err_wrap(e, "set up the network");
}

/* --- before it runs ----------------------------------------------------------------------------------------- */

/* Resolves no path: starts at the root of the sandbox's mount tree, which covers all of its mounts. */
static int let_follow_here(const void *arg, int mntns, struct err *e)
{
	(void)arg;
	if (setns(mntns, CLONE_NEWNS) < 0)
		return err_sys(e, "join its mounts");
	autoclose int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return top < 0 ? err_sys(e, "open its root") : mount_change(top, AT_RECURSIVE, 0, MOUNT_ATTR_NOSYMFOLLOW, e);
}

static int let_follow(const struct restore *rs, struct err *e)
{
	char path[48];

	(void)snprintf(path, sizeof path, "/proc/%d/ns/mnt", rs->pid);
	autoclose int mntns = open(path, O_RDONLY | O_CLOEXEC);

	return mntns < 0 ? err_sys(e, "open its mounts") : side_run(let_follow_here, rs, mntns, e);
}

/* Checks that the volumes really were nosymfollow, in case a CRIU makes these mounts differently from what we
 * know. */
static int check_followed_no_links(const struct restore *rs, struct err *e)
{
	autofree char *mountinfo = NULL;
	uint32_t n = 0;

	if (volume_mounts_read(rs->pid, &mountinfo, e) < 0)
		return -e->no;
	for (const char *at = mountinfo; (at = strstr(at, ",nosymfollow")); at++)
		n++;
	return n >= rs->spec->n_volumes ? 0 : err_set(e, EPROTO, "links in its volumes could have been followed");
}

static int look(struct restore *rs, struct err *e)
{
	stage_done(rs, UNTIL_STOPPED);
	FILE *pids = cgroup_procs_of(rs->en->cgroups, rs->spec->id);

	if (!pids)
		return err_sys(e, "list its processes");
	int r = inside_check(pids, rs->pid, rs->criu.inherit, e);

	(void)fclose(pids);
	if (r == -ESTALE)
		log_error("a restored sandbox held a file from outside: killed it", "id=%s what=%s", rs->spec->id,
		    e->text);
	if (r == 0 && rs->spec->n_volumes > 0 && (check_followed_no_links(rs, e) < 0 || let_follow(rs, e) < 0))
		r = -e->no;
	stage_done(rs, UNTIL_CHECKED);
	rs->looked = r == 0;
	return r;
}

/* --- CRIU --------------------------------------------------------------------------------------------------- */

static bool is_asked(const struct restore *rs)
{
	struct pollfd p[] = {
		{ .fd = rs->ask, .events = POLLIN },
		{ .fd = rs->criu.pidfd, .events = POLLIN },
	};
	int n;

	do
		n = poll(p, ARRAY_LEN(p), TIMEOUT_MS);
	while (n < 0 && errno == EINTR);
	return n > 0 && p[0].revents;
}

static int serve_question(struct restore *rs, struct err *e)
{
	char z[48] = "";
	ssize_t n = read(rs->ask, z, sizeof z - 1);
	struct str number = { z, n > 0 ? (size_t)n - 1 : 0 }, what = str_cut(&number, ' ');

	if (str_is(what, CRIU_NETWORK))
		return meet(rs, number, e);
	if (str_is(what, CRIU_SOCKETS) && rs->has_network)
		return 0;
	if (!str_is(what, CRIU_LOOK) || !rs->has_network)
		return err_set(e, EBADMSG, "criu asks for what is not known");
	return look(rs, e);
}

/* Serves requests until the sandbox has been checked or CRIU exits; then criu_wait() reports why. CRIU makes the mounts
 * while the network is made; if that fails, its next question is answered in advance. CRIU would resume the sandbox
 * whatever the last answer is, so a sandbox that fails the check is killed before the answer is sent. */
static int serve_hook(struct restore *rs, struct err *e)
{
	int r = 0;

	while (r == 0 && !rs->looked && is_asked(rs)) {
		r = serve_question(rs, e);
		if (r == 0)
			(void)fd_write_all(rs->answer, "ok\n", 3);
		if (r == 0 && rs->pidfd >= 0 && !rs->has_network)
			r = make_network(rs, e);
		if (r == 0)
			continue;
		if (rs->pidfd >= 0)
			(void)proc_kill(rs->pidfd);
		if (proc_wait_gone(rs->criu.pidfd, 0) == 0) { /* it had exited before: criu_wait() reports why */
			*e = ERR_INIT;
			return 0;
		}
		(void)fd_write_all(rs->answer, "no\n", 3);
	}
	return r;
}

/* Errors of CRIU when a file is missing or has changed. If the sandbox has volumes, the file is most likely in one
 * of them. */
static void blame_volume(const struct restore *rs, struct err *e)
{
	static const char *const words[] = { "Can't open file", "has bad ", "Can't open vma",
		"Can't change working dir", "Unable to open", "Can't open 0x", "Can't restore file pos",
		"Too many levels of symbolic links", "Can't bind unix socket", "Can't connect", "Can't create ghost",
		"Can't link", "link remap" };
	char text[sizeof e->text];

	for (size_t i = 0; rs->spec->n_volumes > 0 && e->no == EIO && i < ARRAY_LEN(words); i++) {
		if (!strstr(e->text, words[i]))
			continue;
		memcpy(text, e->text, sizeof text);
		(void)err_set(e, ESTALE, "a file that it had open, most likely in a volume, is not as it was (%.110s)",
		    text);
	}
}

static int run_criu(struct restore *rs, struct err *e)
{
	struct criu *c = &rs->criu;
	struct err why = ERR_INIT;

	if (criu_go(c, e) < 0)
		return -e->no;
	(void)serve_hook(rs, e);
	if (criu_wait(c, TIMEOUT_MS, &why) < 0 && e->no == 0)
		*e = why;
	if (e->no == 0 && (rs->pidfd < 0 || !rs->looked))
		(void)err_set(e, EPROTO, "criu did not ask for the network, or did not wait to be looked at");
	blame_volume(rs, e);
	if (e->no == 0)
		(void)dev_shut(rs->dev_fd,
		    e); /* not sooner: CRIU opens pid 1's program in there, as root of the sandbox */
	return -e->no;
}

static void undo(struct restore *rs)
{
	struct engine_record r = { .spec = *rs->spec };
	struct err ignored = ERR_INIT;

	criu_drop(&rs->criu);
	if (rs->pidfd >= 0) {
		(void)proc_kill(rs->pidfd);
		(void)proc_wait_gone(rs->pidfd, TIMEOUT_MS);
	}
	for (int i = 0; i < UNDO_TRIES && ns_reap(rs->en, &r, &ignored) == -EAGAIN; i++)
		(void)nanosleep(&(struct timespec) { .tv_nsec = 2000000 }, NULL);
}

static int report(struct restore *rs, int sock, struct err *e)
{
	struct ckpt_report rp;

	memset(&rp, 0, sizeof rp);
	rp.how = CKPT_DONE;
	rp.record.spec = *rs->spec;
	rp.record.pid = rs->pid;
	rp.record.started_wall_ms = clock_wall_ms();
	rp.record.extra_bytes = rs->record.extra_bytes;
	memcpy(rp.record.boot_id, rs->en->boot_id, sizeof rp.record.boot_id);
	if (proc_start_time(rs->pid, &rp.record.pid_start) < 0)
		return err_set(e, ESRCH, "it ended right after it was restored");
	ssize_t n = fd_send(sock, &rp, sizeof rp, &rs->pidfd, 1);

	return n < 0 ? err_set(e, (int)-n, "report: %s", strerror((int)-n)) : 0; /* the receiver has exited */
}

/* R1 */
static int restore_one(struct restore *rs, int sock, struct err *e)
{
	int r = make_parts(rs, e);

	if (r >= 0)
		r = run_criu(rs, e);
	if (r >= 0 && !ns_is_own(rs->en, rs->spec->template_key))
		(void)powers_enforce(rs->en->cgroups, rs->spec->id);
	if (r >= 0)
		r = limits_core_of(rs->pid, e);
	stage_done(rs, UNTIL_RUNS);
	if (r >= 0)
		r = report(rs, sock, e);
	if (r >= 0)
		tell_stages(rs);
	if (r < 0)
		undo(rs);
	return r < 0 ? err_wrap(e, "restore sandbox '%s'", rs->spec->id) : 0;
}

/* --- R0 ----------------------------------------------------------------------------------------------------- */

/* Keeps none of the warden's mounts and files open for as long as the sandbox lives. */
static void become_reaper(struct engine *en)
{
	static const struct mount_opt small[] = { { "size", "64k" }, { "nr_inodes", "16" } };
	char *argv[] = { "atoll-reaper", "1", NULL }, *envp[] = { NULL };
	struct err e = ERR_INIT;
	autoclose int image = holder_image_fd(&e), root = -1;

	if (image < 0 || unshare(CLONE_NEWNS) < 0 || mount_make_private(&e) < 0 ||
	    mount_new("tmpfs", small, ARRAY_LEN(small), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, &root,
		&e) < 0 ||
	    mount_put(root, AT_FDCWD, en->stage_dir, &e) < 0 || mount_pivot(root, &e) < 0)
		_exit(1); /* the host's init becomes the parent, which is as good */
	for (int i = 0; i < 3; i++)
		(void)close(i);
	(void)syscall(SYS_execveat, image, "", argv, envp, AT_EMPTY_PATH);
	_exit(1);
}

int restore_run(struct engine *en, const struct engine_spec *spec, int sock, struct err *e)
{
	struct restore rs = {
		.en = en,
		.spec = spec,
		.seat = CGROUP_SEAT_NONE,
		.criu = CRIU_NONE,
		.template_fd = -1,
		.own_fd = -1,
		.dev_fd = -1,
		.ask = -1,
		.answer = -1,
		.pid = -1,
		.pidfd = -1,
	};
	int status = 1;

	rs.began_us = clock_mono_us();
	if (spec->slot >= en->cfg.max_sandboxes)
		return err_set(e, EINVAL, "restore sandbox '%s': no slot %u", spec->id, spec->slot);
	slot_fill(en->cfg.instance, spec->slot, &rs.slot);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return err_sys(e, "become its parent");
	pid_t r1 = fork();

	if (r1 < 0)
		return err_sys(e, "fork");
	if (r1 == 0) {
		struct ckpt_report rp;

		memset(&rp, 0, sizeof rp);
		if (restore_one(&rs, sock, &rp.e) == 0)
			_exit(0);
		_exit(fd_send(sock, &rp, sizeof rp, NULL, 0) == (ssize_t)sizeof rp ? 1 : 2);
	}
	while (waitpid(r1, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
		_exit(0); /* R1 has sent the error */
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return err_set(e, EPIPE, "restore sandbox '%s': a helper ended early", spec->id);
	become_reaper(en);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* start: builds one sandbox with runsc, in a child process of the warden.
 *
 * Mounts are made in a mount namespace of this process: the launcher inherits it, the sentry and the gofer keep what
 * they need of it, and it ends with them. In particular, the clone of the template is read-only, and no path of the
 * host ever leads to it. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/rand.h"
#include "base/str.h"
#include "engine/backend.h"
#include "engine/cgroup/cgroup.h"
#include "engine/disk/overlay.h"
#include "engine/disk/storage.h"
#include "engine/etc.h"
#include "engine/greet.h"
#include "engine/gvisor/gvisor.h"
#include "engine/limits.h"
#include "engine/mounts.h"
#include "engine/net/link.h"
#include "engine/net/nft.h"
#include "engine/ns.h"
#include "engine/proc.h"
#include "engine/slot.h"
#include "engine/userns.h"

#define RUN_MS 15000
#define READY_MS 10000
#define UNDO_TRIES 1000
#define TMP_MARK ".atoll" /* in /tmp, until init removes it: runsc mounts a tmpfs over an empty /tmp */

struct start {
	struct engine *en;
	const struct engine_spec *spec;
	struct slot slot;
	struct cgroup_seat seat;
	struct bundle bundle;
	int template_fd, own_fd, init_fd, root_fd, netns_fd, token_fd, pidfd;
	uint8_t token[ENGINE_TOKEN_SIZE];
	pid_t pid;
};

static int clone_template(struct start *st, struct err *e)
{
	char path[ENGINE_KEY_SIZE + 16];

	(void)snprintf(path, sizeof path, "%s/rootfs", st->spec->template_key);
	autoclose int fd = openat(st->en->templates_fd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, "open template '%s'", st->spec->template_key);
	return mount_clone(fd, "", MOUNT_ATTR_RDONLY, &st->template_fd, e);
}

/* Mounts can be cloned only from the caller's own mount namespace, so the new one comes last. */
static int make_disk(struct start *st, struct err *e)
{
	const struct engine_spec *sp = st->spec;
	struct storage *p = st->en->storage;
	autoclose int own = -1, init = -1;

	if (clone_template(st, e) < 0)
		return -e->no;
	if (sp->from[0] ? storage_make_from(p, sp->from, sp->id, sp->limits.disk_bytes, &own, e) < 0
			: storage_make(p, sp->id, sp->limits.disk_bytes, &own, e) < 0)
		return -e->no;
	init = openat(st->en->private_fd, "init.d", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (init < 0)
		return err_sys(e, "open the directory of init");
	if (mount_clone(own, "", 0, &st->own_fd, e) < 0 ||
	    mount_clone(init, "", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, &st->init_fd, e) < 0)
		return -e->no;
	return unshare(CLONE_NEWNS) < 0 ? err_sys(e, "make a mount namespace") : bundle_reopen(&st->bundle, e);
}

/* As root of the sandbox, so that the files are its own. */
static int write_inside(struct start *st, struct err *e)
{
	autoclose int tmp = -1;

	if (etc_write(st->root_fd, &st->slot, st->spec->no_internet, e) < 0)
		return -e->no;
	if (mount_target(st->root_fd, "tmp", &tmp, e) == 0 && mkdirat(tmp, TMP_MARK, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make '/tmp/" TMP_MARK "'");
	*e = ERR_INIT; /* a template without /tmp, or with a link there */
	return 0;
}

/* Covers the place with an empty file system that the slot's uid can pass, and attaches both mounts there. */
static int attach(struct start *st, struct err *e)
{
	static const struct mount_opt opts[] = { { "source", "atoll" }, { "mode", "711" }, { "size", "64k" } };
	autoclose int m = -1;

	if (mount_new("tmpfs", opts, ARRAY_LEN(opts), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, &m, e) < 0)
		return -e->no;
	if (mkdirat(m, "root", 0700) < 0 || mkdirat(m, "init", 0700) < 0)
		return err_sys(e, "make mount points");
	if (mount_put(m, AT_FDCWD, st->en->gvisor->place, e) < 0)
		return -e->no;
	return mount_put(st->root_fd, m, "root", e) < 0 || mount_put(st->init_fd, m, "init", e) < 0 ? -e->no : 0;
}

static int make_root(struct start *st, struct err *e)
{
	autoclose int userns = -1;

	if (userns_for_map(st->slot.root, SLOT_UIDS, &userns, e) < 0)
		return -e->no;
	struct overlay_spec sp = {
		.template_fd = st->template_fd,
		.own_fd = st->own_fd,
		.userns_fd = userns,
		.root = st->slot.root,
		.stage = st->en->stage_dir,
	};

	if (overlay_make(&sp, &st->root_fd, e) < 0)
		return -e->no;
	(void)setfsgid(st->slot.root);
	(void)setfsuid(st->slot.root);
	int r = write_inside(st, e);

	(void)setfsuid(0);
	(void)setfsgid(0);
	return r < 0 ? r : attach(st, e);
}

/* runsc takes the size of the machine from /proc/meminfo of its mount namespace. */
static int cover_meminfo(struct start *st, struct err *e)
{
	autoclose int m = -1;

	if (mount_clone(st->bundle.dir_fd, "meminfo", MOUNT_ATTR_RDONLY, &m, e) < 0)
		return -e->no;
	return mount_put(m, AT_FDCWD, "/proc/meminfo", e);
}

/* Everything but link_make() happens in the new network namespace. */
static int make_inside(struct start *st, struct err *e)
{
	if (setns(st->netns_fd, CLONE_NEWNET) < 0)
		return err_sys(e, "join the new network");
	int r = link_inside(&st->slot, e);

	if (r == 0)
		r = link_sysctls(st->slot.root, SLOT_UIDS, e);
	if (setns(st->en->netns_fd, CLONE_NEWNET) < 0) {
		log_error("could not leave a new network namespace, exiting", "errno=%d", errno);
		abort();
	}
	return r;
}

static int make_network(struct start *st, struct err *e)
{
	const struct engine *en = st->en;

	if (st->spec->no_internet && nft_silence(en->nft_fd, st->slot.instance, st->slot.k, true, e) < 0)
		return -e->no;
	if (ns_cap_egress(st->en, st->spec, &st->spec->limits, false, e) < 0)
		return -e->no;
	if (unshare(CLONE_NEWNET) < 0)
		return err_sys(e, "make a network");
	st->netns_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (setns(en->netns_fd, CLONE_NEWNET) < 0 || st->netns_fd < 0)
		return err_sys(e, "leave the new network");
	return link_make(&st->slot, st->netns_fd, en->mtu, e) < 0 ? -e->no : make_inside(st, e);
}

static int make_token(struct start *st, struct err *e)
{
	rand_bytes(st->token, sizeof st->token);
	st->token_fd = memfd_create("atoll-token", MFD_CLOEXEC);
	if (st->token_fd < 0)
		return err_sys(e, "make a file for the token");
	int r = fd_write_all(st->token_fd, st->token, sizeof st->token);

	if (r < 0 || lseek(st->token_fd, 0, SEEK_SET) < 0)
		return err_set(e, r < 0 ? -r : errno, "write the token");
	return 0;
}

static int find_sentry(struct start *st, struct err *e)
{
	char text[32];
	uint64_t pid;
	ssize_t n = file_read(st->bundle.dir_fd, "pid", text, sizeof text);

	if (n <= 0 || str_to_u64((struct str) { text, strcspn(text, "\n") }, INT32_MAX, &pid) < 0 || pid <= 1)
		return err_set(e, EIO, "runsc has written no pid");
	st->pid = (pid_t)pid;
	st->pidfd = (int)syscall(SYS_pidfd_open, st->pid, 0);
	return st->pidfd < 0 ? err_sys(e, "open the sentry") : 0;
}

static int run(struct start *st, struct err *e)
{
	char bundle[sizeof st->bundle.dir + 16], pid[sizeof st->bundle.dir + 16];
	const struct bundle_spec sp = {
		.spec = st->spec,
		.place = st->en->gvisor->place,
		.root = st->slot.root,
		.netns_fd = st->netns_fd,
	};

	(void)snprintf(bundle, sizeof bundle, "--bundle=%s", st->bundle.dir);
	(void)snprintf(pid, sizeof pid, "--pid-file=%s/pid", st->bundle.dir);
	const char *const args[] = { "run", "--detach", bundle, pid, "--pass-fd=5:3", st->spec->id, NULL };

	if (bundle_write(&st->bundle, &sp, e) < 0 || cover_meminfo(st, e) < 0 || make_token(st, e) < 0)
		return -e->no;
	if (runsc_run(st->en, &st->bundle, &st->seat, st->token_fd, args, RUN_MS, e) < 0)
		return -e->no;
	return find_sentry(st, e);
}

static int start_run(struct start *st, struct err *e)
{
	struct engine_limits l = gvisor_limits(&st->spec->limits);
	struct cgroup_limits lim = ns_cgroup_limits(st->en, st->spec->slot, &l, 0);

	if (limits_core(e) < 0)
		return -e->no;
	if (cgroup_make(st->en->cgroups, st->spec->id, &lim, e) < 0 ||
	    cgroup_seat_open(st->en->cgroups, st->spec->id, &st->seat, e) < 0 ||
	    bundle_make(st->en, st->spec->id, &st->bundle, e) < 0)
		return -e->no;
	if (make_disk(st, e) < 0 || make_root(st, e) < 0)
		return err_wrap(e, "make its root");
	if (make_network(st, e) < 0)
		return err_wrap(e, "connect its network");
	if (run(st, e) < 0)
		return -e->no;
	return greet_await(&st->slot, st->pidfd, READY_MS, e);
}

static int record(const struct start *st, struct engine_record *ret, struct err *e)
{
	*ret = (struct engine_record) { .spec = *st->spec, .pid = st->pid, .started_wall_ms = clock_wall_ms() };
	memcpy(ret->boot_id, st->en->boot_id, sizeof ret->boot_id);
	memcpy(ret->token, st->token, sizeof ret->token);
	if (proc_start_time(st->pid, &ret->pid_start) < 0)
		return err_set(e, ESRCH, "the sentry ended right after its start");
	return 0;
}

static void undo(struct start *st)
{
	struct engine_record r = { .spec = *st->spec };
	struct err ignored = ERR_INIT;

	(void)ns_kill(st->en, &r, st->pidfd, &ignored);
	for (int i = 0; i < UNDO_TRIES && backend_gvisor.reap(st->en, &r, &ignored) == -EAGAIN; i++)
		(void)nanosleep(&(struct timespec) { .tv_nsec = 2000000 }, NULL);
}

static void start_done(struct start *st)
{
	int fds[] = { st->template_fd, st->own_fd, st->init_fd, st->root_fd, st->netns_fd, st->token_fd, st->pidfd };

	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		fd_close(fds[i]);
	cgroup_seat_close(&st->seat);
	bundle_close(&st->bundle);
	explicit_bzero(st->token, sizeof st->token);
}

int gvisor_start(struct engine *en, const struct engine_spec *spec, const struct engine_pair *pair,
    struct engine_record *ret, int *ret_pidfd, struct err *e)
{
	struct start st = {
		.en = en,
		.spec = spec,
		.seat = CGROUP_SEAT_NONE,
		.bundle = BUNDLE_NONE,
		.template_fd = -1,
		.own_fd = -1,
		.init_fd = -1,
		.root_fd = -1,
		.netns_fd = -1,
		.token_fd = -1,
		.pidfd = -1,
	};

	(void)pair; /* a pair is for a sandbox of namespaces */
	if (spec->slot >= en->cfg.max_sandboxes)
		return err_set(e, EINVAL, "start sandbox '%s': no slot %u", spec->id, spec->slot);
	if (spec->n_volumes)
		return err_set(e, ENOTSUP, "start sandbox '%s': the engine 'gvisor' has no volumes", spec->id);
	if (spec->no_internet)
		en->nft_fd = nft_open(); /* the warden reads its replies from the inherited one */
	slot_fill(en->cfg.instance, spec->slot, &st.slot);
	int r = start_run(&st, e);

	if (r >= 0)
		r = record(&st, ret, e);
	if (r >= 0)
		*ret_pidfd = take_fd(&st.pidfd);
	else
		undo(&st);
	start_done(&st);
	return r < 0 ? err_wrap(e, "start sandbox '%s'", spec->id) : 0;
}

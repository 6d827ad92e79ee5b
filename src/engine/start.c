/* SPDX-License-Identifier: Apache-2.0 */
/* start: builds one sandbox, in a child process of the warden.
 *
 *	B0	this process, root of the host: makes cgroups, disk, /dev, veth and overlay; controls the start and
 *		undoes it on failure
 *	B1	its child in Z: takes the slot's own uid of Z (for the kernel's per-user limits), clones C and writes
 *		C's id map, which only a process in Z may do; moves C into its cgroups; then exits, so that C
 *		becomes a child of the host's pid 1. C's pid namespace is directly below the host's, so that the
 *		exit of no other process kills the sandbox
 *	C	pid 1 of the sandbox's namespaces (child.c): sets itself up with what B0 sends, and becomes init
 *
 * With a prepared pair (pair.c), B1 joins that and clones the other namespaces of C; map, link and network are there.
 *
 * B0 makes what does not need C's namespaces (disk, /dev) while B1 works, and the root while C sets up its
 * network. On v1 the move into the cgroups takes longest and runs in parallel; C waits for it before it executes
 * any code that is not ours. */
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "engine/caps.h"
#include "engine/cgroup/cgroup.h"
#include "engine/child.h"
#include "engine/dev.h"
#include "engine/disk/overlay.h"
#include "engine/disk/storage.h"
#include "engine/disk/volume.h"
#include "engine/limits.h"
#include "engine/mounts.h"
#include "engine/net/link.h"
#include "engine/net/nft.h"
#include "engine/ns.h"
#include "engine/pair.h"
#include "engine/slot.h"
#include "engine/step.h"
#include "engine/userns.h"

#define CHILD_FLAGS (CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS)
#define PAIR_FLAGS (CLONE_NEWUSER | CLONE_NEWNET)
#define STEP_TIMEOUT_MS 5000
#define UNDO_TRIES 500
#define COPY_TIMEOUT_MS 10000
#define KILLED_MS 500 /* longest time from the kill of a pid 1 to its exit */

const char *const start_stage_name[STAGE_COUNT] = {
	[STAGE_CGROUP] = "cgroup",
	[STAGE_HOLDER] = "holder",
	[STAGE_FORK] = "fork",
	[STAGE_DISK] = "disk",
	[STAGE_DEV] = "dev",
	[STAGE_BORN] = "born",
	[STAGE_LINK] = "link",
	[STAGE_ROOT] = "root",
	[STAGE_SEATED] = "seated",
	[STAGE_INIT] = "init",
};

struct start {
	struct engine *en;
	const struct engine_spec *spec;
	struct slot slot;
	struct cgroup_seat seat;
	struct holder holder;
	struct engine_pair pair; /* of the caller; or ENGINE_PAIR_NONE */
	int proc;                /* the host's /proc, for B1, which has another root */
	int to_b1[2], to_c[2], ready[2];
	int zygote; /* -1: no zygote */
	pid_t b1;
	int pidfd, template_fd, own_fd, dev_fd, init_fd;
	int view_fd;                     /* -1: it sees the host's files */
	int volumes[ENGINE_VOLUMES_MAX]; /* spec->n_volumes of them */
	pid_t pid;
	uint64_t t0_us;
};

static uint64_t now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void stage_done(struct start *st, enum start_stage s)
{
	uint64_t now = now_us();

	if (st->en->times)
		st->en->times->us[s] = now - st->t0_us;
	st->t0_us = now;
}

static bool has_pair(const struct start *st)
{
	return st->pair.user >= 0;
}

static bool has_view(const struct engine *en)
{
	return !en->cfg.no_view && en->view.dir >= 0;
}

/* Closes all inherited fds that B1 does not need. B1 may outlive B0 and the warden. With their fds open, the
 * helpers of a killed warden would not notice its exit, and B1 would not notice B0's. */
static void b1_let_go(const struct start *st)
{
	int keep[11 + CGROUP_PROCS_MAX] = {
		st->holder.user,
		st->holder.mnt,
		st->proc,
		st->to_b1[1],
		st->to_c[0],
		st->to_c[1],
		st->ready[1],
		st->zygote,
		st->seat.into_fd,
		st->pair.user,
		st->pair.net,
	};
	size_t n = 11;

	for (size_t i = 0; i < st->seat.n_procs; i++)
		keep[n++] = st->seat.procs[i];
	fd_close_others(keep, n);
}

/* True if B0 has exited without a final step: its warden was killed, or it has failed. */
static bool b0_is_gone(const struct start *st)
{
	char c;

	return recv(st->to_b1[1], &c, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* Waits until the zygote replies, the sandbox or B0 exits, or a timeout; zygote_await() then reports which. */
static int b1_await_copy(const struct start *st, int pidfd, struct err *e)
{
	struct pollfd p[] = {
		{ .fd = st->zygote, .events = POLLIN },
		{ .fd = pidfd, .events = POLLIN },
		{ .fd = st->to_b1[1], .events = POLLIN },
	};
	int n;

	while ((n = poll(p, ARRAY_LEN(p), COPY_TIMEOUT_MS)) > 0 && !p[0].revents && !p[1].revents) {
		if (b0_is_gone(st))
			return err_set(e, ECANCELED, "the builder has ended");
		p[2].fd = -1; /* a step for later */
	}
	return n < 0 ? err_sys(e, "wait for a copy of the zygote") : 0;
}

/* B0 may have exited by now, after it reported the sandbox as started. */
static void b1_join(struct start *st, int pidfd)
{
	struct err e = ERR_INIT;
	pid_t copy;

	if (b1_await_copy(st, pidfd, &e) == 0 && zygote_await(st->zygote, pidfd, &copy, &e) == 0 &&
	    cgroup_move(&st->seat, copy, &e) == 0 &&
	    step_recv(st->to_b1[1], STEP_GO, NULL, 0, STEP_TIMEOUT_MS, &e) == 0)
		zygote_go(st->zygote, st->spec->limits.open_files);
	else if (!b0_is_gone(st) && proc_wait_gone(pidfd, KILLED_MS) < 0) /* otherwise no process needs the copy
									   * any more */
		log_warn("could not fork the warm interpreter: the sandbox starts its own", "id=%s err=%s",
		    st->spec->id, e.text);
}

/* The socket pair between init and the seed is made in the sandbox's own network namespace, because CRIU finds
 * only those. B1 stays in that namespace. */
static int b1_seed(struct start *st, pid_t pid, int pidfd, struct err *e)
{
	int seed[2];

	if (!has_pair(st) && setns(pidfd, CLONE_NEWNET) < 0)
		return err_sys(e, "join its network");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, seed) < 0)
		return err_sys(e, "make a socket for the copy of the zygote");
	(void)zygote_ask(st->zygote, st->proc, pid, pidfd, seed[1]);
	int r = step_send(st->to_c[0], STEP_SEED, &seed[0], 1, e);

	close(seed[0]);
	close(seed[1]);
	return r;
}

static int b1_run(struct start *st, struct err *e)
{
	int pidfd = -1;

	b1_let_go(st);
	if (setns(st->holder.mnt, CLONE_NEWNS) < 0 || setns(st->holder.user, CLONE_NEWUSER) < 0)
		return err_sys(e, "join the template's namespaces");
	if (caps_keep_across_uids(e) < 0 || caps_become(st->slot.owner, st->slot.owner, e) < 0 || limits_user(e) < 0)
		return -e->no;
	if (has_pair(st) && (setns(st->pair.user, CLONE_NEWUSER) < 0 || setns(st->pair.net, CLONE_NEWNET) < 0))
		return err_sys(e, "join the prepared namespaces");
	pid_t pid = userns_fork(CHILD_FLAGS | (has_pair(st) ? 0 : PAIR_FLAGS), -1, &pidfd);

	if (pid < 0)
		return err_set(e, -pid, "make namespaces: %s", strerror(-pid));
	if (pid == 0) {
		struct child_spec c = {
			.slot = st->slot,
			.mem_bytes = st->spec->limits.mem_bytes,
			.open_files = st->spec->limits.open_files,
			.filter = &st->en->filter,
			.no_internet = st->spec->no_internet,
			.sock = st->to_c[1],
			.ready_fd = st->ready[1],
			.has_pair = has_pair(st),
			.has_seed = st->zygote >= 0,
			.has_view = has_view(st->en),
			.own_core = st->en->cfg.core_scheduling,
			.volumes = st->spec->volumes,
			.n_volumes = st->spec->n_volumes,
		};
		child_run(&c);
	}
	if (!has_pair(st) && userns_map_at(st->proc, pid, st->slot.first, SLOT_UIDS, e) < 0) {
		(void)proc_kill(pidfd);
		return -e->no;
	}
	/* The zygote forks while C is moved. A failure of the copy does not affect the sandbox. */
	if (st->zygote >= 0 && b1_seed(st, pid, pidfd, e) < 0) {
		(void)proc_kill(pidfd);
		return -e->no;
	}
	if (step_send(st->to_b1[1], STEP_BORN, &pidfd, 1, e) < 0) {
		(void)proc_kill(pidfd);
		return -e->no;
	}
	if (cgroup_sit(&st->seat, pid, e) < 0 || step_send(st->to_b1[1], STEP_SEATED, NULL, 0, e) < 0)
		return -e->no;
	if (st->zygote >= 0)
		b1_join(st, pidfd);
	return 0;
}

static int start_fork(struct start *st, struct err *e)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, st->to_b1) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, st->to_c) < 0 || pipe2(st->ready, O_CLOEXEC) < 0)
		return err_sys(e, "make sockets");
	/* If there is none, the warden makes one for the next start. */
	(void)zygote_connect_in(&st->en->zygote, st->spec->template_key, st->holder.user, &st->zygote);
	st->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (st->proc < 0)
		return err_sys(e, "open /proc");
	autoclose int b1_fd = -1;

	st->b1 = userns_fork(0, st->seat.into_fd, &b1_fd);
	if (st->b1 < 0)
		return err_set(e, -st->b1, "fork: %s", strerror(-st->b1));
	if (st->b1 == 0) {
		if (b1_run(st, e) < 0)
			step_send_error(st->to_b1[1], e);
		_exit(0);
	}
	fd_close(take_fd(&st->to_b1[1]));
	fd_close(take_fd(&st->to_c[1]));
	fd_close(take_fd(&st->ready[1]));
	return 0;
}

/* Tells B1 to let the seed continue once it is in its cgroups. Nothing waits for that: init starts its own
 * interpreter if the seed does not arrive. */
static void start_join(struct start *st)
{
	struct err ignored = ERR_INIT;

	if (st->zygote >= 0 && step_send(st->to_b1[0], STEP_GO, NULL, 0, &ignored) == 0)
		st->b1 = -1; /* about to be orphaned */
}

static void reap_b1(struct start *st)
{
	int status;

	while (st->b1 > 0 && waitpid(st->b1, &status, 0) < 0 && errno == EINTR)
		;
	st->b1 = -1;
}

/* The new pid 1 exists and has its ids: find out its pid in our namespace. */
static int start_meet(struct start *st, int *ret_userns, int *ret_netns, struct err *e)
{
	char path[48];

	if (step_recv(st->to_b1[0], STEP_BORN, &st->pidfd, 1, STEP_TIMEOUT_MS, e) < 0)
		return -e->no;
	int r = proc_pid_of(st->pidfd, &st->pid);

	if (r < 0)
		return err_set(e, -r, "find the new process");
	(void)snprintf(path, sizeof path, "/proc/%d/ns/user", st->pid);
	*ret_userns = open(path, O_RDONLY | O_CLOEXEC);
	(void)snprintf(path, sizeof path, "/proc/%d/ns/net", st->pid);
	*ret_netns = open(path, O_RDONLY | O_CLOEXEC);
	if (*ret_userns < 0 || *ret_netns < 0)
		return err_sys(e, "open the new namespaces");
	return 0;
}

static int start_link(struct start *st, int netns_fd, struct err *e)
{
	if (st->spec->no_internet && nft_silence(st->en->nft_fd, st->slot.instance, st->slot.k, true, e) < 0)
		return -e->no;
	if (ns_cap_egress(st->en, st->spec, &st->spec->limits, false, e) < 0)
		return -e->no;
	if (!has_pair(st) && link_make(&st->slot, netns_fd, st->en->mtu, e) < 0)
		return -e->no;
	return step_send(st->to_c[0], STEP_LINKED, NULL, 0, e);
}

/* Makes what does not need the new namespaces: disk space, and clones of the mounts that go into them. */
static int start_disk(struct start *st, struct err *e)
{
	const struct engine_spec *sp = st->spec;
	autoclose int own = -1;

	if (sp->from[0] ? storage_make_from(st->en->storage, sp->from, sp->id, sp->limits.disk_bytes, &own, e) < 0
			: storage_make(st->en->storage, sp->id, sp->limits.disk_bytes, &own, e) < 0)
		return -e->no;
	if (mount_clone(own, "", 0, &st->own_fd, e) < 0)
		return -e->no;
	if (mount_clone(st->en->init_fd, "", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, &st->init_fd,
		e) < 0 ||
	    volume_mounts_clone(st->en, sp, st->volumes, e) < 0)
		return -e->no;
	if (has_view(st->en) && view_clone(&st->en->view, sp->slot, &st->view_fd, e) < 0)
		return -e->no;
	/* Mounts can be cloned only from the caller's own mount namespace, so this comes last. The new one is for
	 * the layers of the overlay and disappears with this process. */
	return unshare(CLONE_NEWNS) < 0 ? err_sys(e, "make a mount namespace") : 0;
}

static int start_root(struct start *st, int userns_fd, struct err *e)
{
	struct overlay_spec sp = {
		.template_fd = st->template_fd,
		.own_fd = st->own_fd,
		.userns_fd = userns_fd,
		.root = st->slot.root,
		.stage = st->en->stage_dir,
	};
	autoclose int root_fd = -1;

	if (overlay_make(&sp, &root_fd, e) < 0)
		return -e->no;
	if (step_send(st->to_c[0], STEP_MOUNTS, (int[]) { root_fd, st->dev_fd, st->init_fd, st->view_fd },
		st->view_fd >= 0 ? 4 : 3, e) < 0)
		return -e->no;
	if (st->spec->n_volumes == 0)
		return 0;
	return volume_mounts_map(st->volumes, st->spec->n_volumes, userns_fd, e) < 0
	    ? -e->no
	    : step_send(st->to_c[0], STEP_VOLUMES, st->volumes, st->spec->n_volumes, e);
}

/* Everything is made; C may execute code that is not ours once it is in its cgroups. */
static int start_seated(struct start *st, struct err *e)
{
	if (step_recv(st->to_b1[0], STEP_SEATED, NULL, 0, STEP_TIMEOUT_MS, e) < 0)
		return -e->no;
	return step_send(st->to_c[0], STEP_SEATED, NULL, 0, e);
}

/* Waits for one byte from init, an error of its set-up, or its exit. */
static int start_await(struct start *st, struct err *e)
{
	struct pollfd p[] = {
		{ .fd = st->ready[0], .events = POLLIN },
		{ .fd = st->to_c[0], .events = POLLIN },
	};
	uint64_t end = clock_mono_ms() + STEP_TIMEOUT_MS;
	char c;

	for (;;) {
		uint64_t now = clock_mono_ms();
		int n = now < end ? poll(p, ARRAY_LEN(p), (int)(end - now)) : 0;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? err_sys(e, "wait for init")
				     : err_set(e, ETIMEDOUT, "init is not ready after %d ms", STEP_TIMEOUT_MS);
		if (p[0].revents & POLLIN)
			return read(st->ready[0], &c, 1) == 1 ? 0 : err_set(e, EPIPE, "init closed its ready pipe");
		if (p[1].revents) {
			if (step_recv(st->to_c[0], STEP_FAILED, NULL, 0, 0, e) != -EPIPE)
				return -e->no;
			*e = ERR_INIT; /* closed by the exec: the set-up is complete */
			p[1].fd = -1;
		} else if (p[0].revents & POLLHUP) {
			return err_set(e, EPIPE, "init ended before it was ready");
		}
	}
}

static int start_record(struct start *st, struct engine_record *ret, struct err *e)
{
	*ret = (struct engine_record) { .spec = *st->spec, .pid = st->pid, .started_wall_ms = clock_wall_ms() };
	memcpy(ret->boot_id, st->en->boot_id, sizeof ret->boot_id);
	if (proc_start_time(st->pid, &ret->pid_start) < 0)
		return err_set(e, ESRCH, "init ended right after its start");
	return 0;
}

static int start_template(struct start *st, struct err *e)
{
	char path[ENGINE_KEY_SIZE + 16];

	(void)snprintf(path, sizeof path, "%s/rootfs", st->spec->template_key);
	autoclose int fd = openat(st->en->templates_fd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, "open template '%s'", st->spec->template_key);
	return mount_clone(fd, "", MOUNT_ATTR_RDONLY, &st->template_fd, e);
}

static int start_begin(struct start *st, struct err *e)
{
	struct cgroup_limits lim = ns_cgroup_limits(st->en, st->spec->slot, &st->spec->limits, 0);

	view_set(&st->en->view, st->spec, &st->spec->limits, 0, 0);
	if (start_template(st, e) < 0)
		return -e->no;
	if (cgroup_make(st->en->cgroups, st->spec->id, &lim, e) < 0 ||
	    cgroup_seat_open(st->en->cgroups, st->spec->id, &st->seat, e) < 0)
		return -e->no;
	stage_done(st, STAGE_CGROUP);
	if (holder_get(&st->en->holder, st->spec->template_key, &st->holder, e) < 0)
		return -e->no;
	if (has_pair(st) && !pair_fits(&st->pair, &st->slot, st->holder.user)) {
		log_info("a prepared network does not fit, making another", "id=%s slot=%u", st->spec->id, st->slot.k);
		st->pair = ENGINE_PAIR_NONE;
	}
	stage_done(st, STAGE_HOLDER);
	if (start_fork(st, e) < 0)
		return -e->no;
	stage_done(st, STAGE_FORK);
	return 0;
}

static int start_run(struct start *st, struct err *e)
{
	autoclose int userns_fd = -1, netns_fd = -1;

	if (start_begin(st, e) < 0)
		return -e->no;
	if (start_disk(st, e) < 0)
		return -e->no;
	stage_done(st, STAGE_DISK);
	if (dev_make(st->slot.root, &st->dev_fd, e) < 0)
		return -e->no;
	stage_done(st, STAGE_DEV);
	if (start_meet(st, &userns_fd, &netns_fd, e) < 0)
		return err_wrap(e, "make its namespaces");
	stage_done(st, STAGE_BORN);
	if (start_link(st, netns_fd, e) < 0)
		return err_wrap(e, "connect its network");
	stage_done(st, STAGE_LINK);
	if (start_root(st, userns_fd, e) < 0)
		return -e->no;
	stage_done(st, STAGE_ROOT);
	if (start_seated(st, e) < 0)
		return err_wrap(e, "limit it");
	stage_done(st, STAGE_SEATED);
	if (start_await(st, e) < 0)
		return err_wrap(e, "set up inside");
	if (dev_shut(st->dev_fd, e) < 0)
		return -e->no;
	stage_done(st, STAGE_INIT);
	start_join(st);
	return 0;
}

static void start_done(struct start *st)
{
	int fds[] = {
		st->proc,
		st->to_b1[0],
		st->to_b1[1],
		st->to_c[0],
		st->to_c[1],
		st->ready[0],
		st->ready[1],
		st->zygote,
		st->pidfd,
		st->template_fd,
		st->own_fd,
		st->dev_fd,
		st->init_fd,
		st->view_fd,
	};

	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		fd_close(fds[i]);
	for (size_t i = 0; i < ARRAY_LEN(st->volumes); i++)
		fd_close(st->volumes[i]);
	holder_close(&st->holder);
	cgroup_seat_close(&st->seat);
}

/* An error that C has sent takes precedence: that C no longer answers us or B1 is only its consequence. */
static void start_why(struct start *st, struct err *e)
{
	if (step_last_words(st->to_c[0], e))
		(void)err_wrap(e, "set up inside");
}

static void start_undo(struct start *st)
{
	struct engine_record r = { .spec = *st->spec };
	struct err ignored = ERR_INIT;

	/* B1 exits by itself; it may have sent us a C that we have not received yet. */
	bool forked = st->b1 > 0;

	reap_b1(st);
	if (forked && st->pidfd < 0)
		(void)step_recv(st->to_b1[0], STEP_BORN, &st->pidfd, 1, 0, &ignored);
	if (st->pidfd >= 0) {
		(void)proc_kill(st->pidfd);
		(void)proc_wait_gone(st->pidfd, STEP_TIMEOUT_MS);
	}
	for (int i = 0; i < UNDO_TRIES && ns_reap(st->en, &r, &ignored) == -EAGAIN; i++)
		(void)nanosleep(&(struct timespec) { .tv_nsec = 2000000 }, NULL);
}

int ns_start(struct engine *en, const struct engine_spec *spec, const struct engine_pair *pair,
    struct engine_record *ret, int *ret_pidfd, struct err *e)
{
	struct start st = {
		.en = en,
		.spec = spec,
		.pair = *pair,
		.holder = HOLDER_NONE,
		.proc = -1,
		.to_b1 = { -1, -1 },
		.to_c = { -1, -1 },
		.ready = { -1, -1 },
		.zygote = -1,
		.seat = CGROUP_SEAT_NONE,
		.b1 = -1,
		.pidfd = -1,
		.template_fd = -1,
		.own_fd = -1,
		.dev_fd = -1,
		.init_fd = -1,
		.view_fd = -1,
		.t0_us = now_us(),
	};

	memset(st.volumes, -1, sizeof st.volumes);
	if (spec->slot >= en->cfg.max_sandboxes)
		return err_set(e, EINVAL, "start sandbox '%s': no slot %u", spec->id, spec->slot);
	if (limits_core(e) < 0)
		return err_wrap(e, "start sandbox '%s'", spec->id);
	if (spec->no_internet)
		en->nft_fd = nft_open(); /* the warden reads its replies from the inherited one */
	slot_fill(en->cfg.instance, spec->slot, &st.slot);
	int r = start_run(&st, e);

	if (r < 0)
		start_why(&st, e);
	bool cold = st.zygote < 0;

	if (r >= 0)
		r = start_record(&st, ret, e);
	if (r >= 0)
		*ret_pidfd = take_fd(&st.pidfd);
	else
		start_undo(&st);
	reap_b1(&st);
	start_done(&st);
	return r < 0 ? err_wrap(e, "start sandbox '%s'", spec->id) : cold ? ENGINE_COLD : 0;
}

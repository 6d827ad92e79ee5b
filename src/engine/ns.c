/* SPDX-License-Identifier: Apache-2.0 */
/* ns: opens the engine, manages running sandboxes, closes it; the backend for namespaces. */
#include "engine/ns.h"

#include <fcntl.h>
#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "engine/backend.h"
#include "engine/cgroup/cgroup.h"
#include "engine/disk/storage.h"
#include "engine/disk/volume.h"
#include "engine/guard/guard.h"
#include "engine/limits.h"
#include "engine/net/cap.h"
#include "engine/net/ct.h"
#include "engine/net/link.h"
#include "engine/net/nft.h"
#include "engine/net/policy.h"
#include "engine/net/refused.h"
#include "engine/pair.h"
#include "engine/powers.h"
#include "engine/probe.h"
#include "engine/slot.h"
#include "engine/zygote/base.h"

#define ALL_BYTES_MS 1000 /* the kernel computes the sum when it is read, which takes a while with many sandboxes */

static void ns_close(struct engine *en, bool all);

static int open_dir(const char *at, const char *name, mode_t mode, char **ret_path, int *ret_fd, struct err *e)
{
	autofree char *path = str_fmt("%s/%s", at, name);

	if (!path)
		return err_set(e, ENOMEM, "open '%s'", name);
	if (mkdir(path, mode) < 0 && errno != EEXIST)
		return err_sys(e, "make '%s'", path);
	if (ret_fd) {
		*ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (*ret_fd < 0)
			return err_sys(e, "open '%s'", path);
	}
	if (ret_path)
		*ret_path = take_ptr(&path);
	return 0;
}

/* Makes a copy in memory that no other process has open or can change: the installed program may be replaced at
 * any time. */
static int copy_init(struct engine *en, struct err *e)
{
	char buf[65536];
	autoclose int from = open(en->cfg.init_path, O_RDONLY | O_CLOEXEC);
	autoclose int to = openat(en->private_fd, "init", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0555);
	ssize_t n;

	if (from < 0)
		return err_sys(e, "open '%s'", en->cfg.init_path);
	if (to < 0)
		return err_sys(e, "make a copy of '%s'", en->cfg.init_path);
	while ((n = read(from, buf, sizeof buf)) > 0) {
		int r = fd_write_all(to, buf, (size_t)n);

		if (r < 0)
			return err_set(e, -r, "copy '%s': %s", en->cfg.init_path, strerror(-r));
	}
	if (n < 0)
		return err_sys(e, "read '%s'", en->cfg.init_path);
	if (fchmod(to, 0555) < 0)
		return err_sys(e, "make the copy executable");
	en->init_fd = openat(en->private_fd, "init", O_PATH | O_CLOEXEC);
	return en->init_fd < 0 ? err_sys(e, "open the copy of init") : 0;
}

static int open_dirs(struct engine *en, struct err *e)
{
	const struct engine_config *c = &en->cfg;
	autofree char *private_dir = NULL;

	if (open_dir(c->run_dir, "private", 0700, &private_dir, NULL, e) < 0)
		return -e->no;
	if (mount("atoll", private_dir, "tmpfs", MS_NOSUID, "mode=700,size=256m") < 0)
		return err_sys(e, "mount a tmpfs on '%s'", private_dir);
	en->private_dir = take_ptr(&private_dir);
	if (open_dir(c->run_dir, "private", 0700, NULL, &en->private_fd, e) < 0 ||
	    open_dir(c->run_dir, "holders", 0700, NULL, &en->holders_fd, e) < 0 ||
	    open_dir(c->run_dir, "zygotes", 0700, NULL, &en->zygotes_fd, e) < 0 ||
	    open_dir(c->cache_dir, "templates", 0755, NULL, &en->templates_fd, e) < 0 ||
	    open_dir(en->private_dir, "pool", 0700, &en->storage_dir, NULL, e) < 0 ||
	    open_dir(en->private_dir, "stage", 0700, &en->stage_dir, NULL, e) < 0 ||
	    open_dir(en->stage_dir, "l", 0700, NULL, NULL, e) < 0 ||
	    open_dir(en->stage_dir, "u", 0700, NULL, NULL, e) < 0)
		return -e->no;
	return copy_init(en, e);
}

/* Raises a kernel limit that all sandboxes together would reach; never lowers it. */
static void raise_to(const char *path, uint64_t at_least)
{
	char z[32];
	uint64_t now;
	ssize_t n = file_read(AT_FDCWD, path, z, sizeof z);

	if (n <= 0 || str_to_u64((struct str) { z, (size_t)n - 1 }, UINT64_MAX, &now) < 0 || now >= at_least)
		return;
	(void)snprintf(z, sizeof z, "%llu", (unsigned long long)at_least);
	int r = file_write(AT_FDCWD, path, z);

	if (r < 0)
		log_warn("could not raise a kernel limit of the host", "file=%s err=%s", path, strerror(-r));
}

static int open_network(struct engine *en, const struct engine_record *live, size_t n_live, struct err *e)
{
	struct slot s;
	autofree uint32_t *silent = calloc(n_live + 1, sizeof *silent);
	autofree uint32_t *waiting = calloc(n_live + 1, sizeof *waiting);
	struct nft_config nc = {
		.instance = en->cfg.instance,
		.slots = en->cfg.max_sandboxes,
		.silent = silent,
		.waiting = waiting,
		.open_ranges = en->cfg.open_ranges,
		.n_open_ranges = en->cfg.n_open_ranges,
		.egress_uid = en->cfg.egress_uid,
		.proxy_port = en->cfg.proxy_port,
		.names_port = en->cfg.names_port,
		.names_door = en->cfg.names_door,
	};

	if (!silent || !waiting)
		return err_set(e, ENOMEM, "set up the network");
	for (size_t i = 0; i < n_live; i++) {
		if (live[i].spec.ruled)
			waiting[nc.n_waiting++] = live[i].spec.slot;
		else if (live[i].spec.no_internet)
			silent[nc.n_silent++] = live[i].spec.slot;
	}
	slot_fill(en->cfg.instance, 0, &s);
	en->mtu = link_default_mtu();
	en->nft_fd = nft_open();
	if (en->nft_fd < 0)
		return err_set(e, -en->nft_fd, "open a firewall socket: %s", strerror(-en->nft_fd));
	/* Rules first: no packet may ever be forwarded without them. */
	if (nft_load(&nc, e) < 0 || link_gateway_add(s.gateway, e) < 0)
		return -e->no;
	int r = file_write(AT_FDCWD, "/proc/sys/net/ipv4/ip_forward", "1");

	return r < 0 ? err_set(e, -r, "turn on ip_forward: %s", strerror(-r)) : 0;
}

struct live {
	const char **ids; /* sorted */
	size_t n;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_live(const char *id, void *arg)
{
	const struct live *l = arg;

	return bsearch(&id, l->ids, l->n, sizeof *l->ids, by_name) != NULL;
}

/* Removes cgroups and disks of sandboxes that are gone. */
static int keep_only(struct engine *en, const struct engine_record *live, size_t n, struct err *e)
{
	autofree const char **ids = calloc(n + 1, sizeof *ids);
	struct live l = { ids, n };

	if (!ids)
		return err_set(e, ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		ids[i] = live[i].spec.id;
	qsort(ids, n, sizeof *ids, by_name);
	cgroup_keep_only(en->cgroups, is_live, &l);
	storage_keep_only(en->storage, is_live, &l);
	return 0;
}

/* A throttle applies to a whole disk; a partition's parent in sysfs is its disk. 0: no disk that could be
 * throttled. */
static uint64_t disk_of(uint64_t dev)
{
	char path[64], z[32];
	unsigned a, b;

	(void)snprintf(path, sizeof path, "/sys/dev/block/%u:%u/partition", major(dev), minor(dev));
	bool part = access(path, F_OK) == 0;

	(void)snprintf(path, sizeof path, "/sys/dev/block/%u:%u/%sdev", major(dev), minor(dev), part ? "../" : "");
	if (file_read(AT_FDCWD, path, z, sizeof z) <= 0 || sscanf(z, "%u:%u", &a, &b) != 2)
		return 0;
	return makedev(a, b);
}

/* Sets the disks that sandboxes read and write: the storage's device, and the disk with the templates. */
static void open_disks(struct engine *en)
{
	struct stat st;
	uint64_t dev[2] = { storage_device(en->storage), 0 };

	if (fstat(en->templates_fd, &st) == 0)
		dev[1] = disk_of(st.st_dev);
	cgroup_disks(en->cgroups, dev, ARRAY_LEN(dev));
}

/* Keeps those of the configured own templates that the server has really built. */
static void open_own(struct engine *en)
{
	for (size_t i = 0; i < ARRAY_LEN(en->cfg.own_keys) && en->cfg.own_keys[i]; i++) {
		if (zygote_is_own(en->templates_fd, en->cfg.own_keys[i]))
			en->own[en->n_own++] = en->cfg.own_keys[i];
	}
}

static int open_parts(struct engine *en, const struct engine_record *live, size_t n_live, struct err *e)
{
	const struct engine_config *c = &en->cfg;

	if (probe_kernel(c->no_storage, e) < 0 || boot_id_read(en->boot_id, e) < 0)
		return -e->no;
	en->netns_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (en->netns_fd < 0)
		return err_sys(e, "open our network namespace");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_sys(e, "make mounts private");
	if (open_dirs(en, e) < 0 || seccomp_filter_build(&en->filter, c->tell_refusals ? SECCOMP_TOLD : 0, e) < 0 ||
	    ns_open_cgroups(en, n_live == 0, e) < 0)
		return -e->no;
	struct storage_config pc = {
		.state_dir = c->state_dir,
		.mount_at = en->storage_dir,
		.node_fd = en->private_fd,
		.bytes = c->storage_bytes,
		.max_bytes = c->storage_max_bytes,
		.plain = c->no_storage,
	};

	if (storage_open(&pc, &en->storage, e) < 0 || storage_bases(en->storage, &en->bases_fd, e) < 0 ||
	    open_network(en, live, n_live, e) < 0)
		return -e->no;
	open_disks(en);
	if (keep_only(en, live, n_live, e) < 0)
		return -e->no;
	/* To the host's namespace all sandboxes of an instance are one user, so they share these limits. */
	raise_to("/proc/sys/fs/inotify/max_user_instances", 256ull * c->max_sandboxes);
	raise_to("/proc/sys/fs/inotify/max_user_watches", 4ull << 20);
	view_open(&en->view, c->run_dir, c->max_sandboxes, c->egress_uid, en->cgroups);
	for (size_t i = 0; i < n_live; i++)
		view_set(&en->view, &live[i].spec, &live[i].spec.limits, live[i].extra_bytes,
		    view_born(live[i].started_wall_ms));
	if (guard_start(en->cgroups, &en->guard, e) < 0 || ns_open_reclaim(en, e) < 0)
		return -e->no;
	en->holder = (struct holder_config) {
		.dir_fd = en->holders_fd,
		.boot_id = en->boot_id,
		.instance = c->instance,
		.cgroups = en->cgroups,
	};
	if (n_live == 0) {
		holder_end_strays(&en->holder);
		if (en->bases_fd >= 0)
			base_remove_all(en->bases_fd);
	}
	open_own(en);
	en->zygote = (struct zygote_config) {
		.dir_fd = en->zygotes_fd,
		.templates_fd = en->templates_fd,
		.keys = en->own,
		.n_keys = en->n_own,
		.bases_fd = en->bases_fd,
		.boot_id = en->boot_id,
		.instance = c->instance,
		.sandboxes = c->max_sandboxes,
		.version = zygote_version(),
		.cgroups = en->cgroups,
		.holder = &en->holder,
		.tell_refusals = c->tell_refusals,
	};
	zygote_end_others(&en->zygote);
	if (en->bases_fd >= 0)
		base_remove_others(en->bases_fd, en->own, en->n_own);
	backend_open(en, live, n_live);
	return ckpt_start(en, &en->ckpt, e);
}

static int ns_open(const struct engine_config *cfg, const struct engine_record *live, size_t n_live,
    struct engine **ret, struct err *e)
{
	if (cfg->instance >= SLOT_INSTANCES || cfg->max_sandboxes == 0 || cfg->max_sandboxes > slot_usable())
		return err_set(e, EINVAL, "open the engine: instance %u with %u sandboxes", cfg->instance,
		    cfg->max_sandboxes);
	struct engine *en = malloc(sizeof *en);

	if (!en)
		return err_set(e, ENOMEM, "open the engine");
	*en = (struct engine) {
		.cfg = *cfg,
		.private_fd = -1,
		.holders_fd = -1,
		.zygotes_fd = -1,
		.bases_fd = -1,
		.templates_fd = -1,
		.init_fd = -1,
		.netns_fd = -1,
		.nft_fd = -1,
		.tools_fd = -1,
		.criu_run_fd = -1,
		.guard = HELPER_NONE,
		.reclaimer = HELPER_NONE,
		.pairs = HELPER_NONE,
		.view = VIEW_NONE,
		.ckpt = { .sock = -1, .pid = -1 },
	};
	if (open_parts(en, live, n_live, e) < 0) {
		view_close(&en->view, n_live == 0);
		ns_close(en, false);
		return err_wrap(e, "open the engine");
	}
	/* Loading the rules took some megabytes; every later fork would copy the page table entries for them. */
	(void)malloc_trim(0);
	*ret = en;
	return 0;
}

bool ns_is_own(const struct engine *en, const char *key)
{
	for (size_t i = 0; i < en->n_own; i++) {
		if (strcmp(en->own[i], key) == 0)
			return true;
	}
	return false;
}

static int ns_adopt(struct engine *en, const struct engine_record *r, int *ret_pidfd, struct err *e)
{
	if (strncmp(r->boot_id, en->boot_id, sizeof en->boot_id) != 0 || proc_open(r->pid, r->pid_start, ret_pidfd) < 0)
		return err_set(e, ESRCH, "sandbox '%s' is gone", r->spec.id);
	if (!ns_is_own(en, r->spec.template_key))
		(void)powers_enforce(en->cgroups, r->spec.id);
	return 0;
}

/* Uses a socket of its own: this is a child, and the warden reads its replies from the inherited one. */
static int silence(struct engine *en, uint32_t slot, bool on, struct err *e)
{
	autoclose int fd = nft_open();

	return fd < 0 ? err_set(e, -fd, "open a firewall socket: %s", strerror(-fd))
		      : nft_silence(fd, en->cfg.instance, slot, on, e);
}

static int ns_network(struct engine *en, const struct engine_record *r, bool no_internet, const struct engine_policy *p,
    struct err *e)
{
	const struct engine_config *c = &en->cfg;
	struct slot s;
	int no = p || r->spec.ruled ? -net_policy_set(c->instance, r->spec.slot, c->proxy_port, no_internet, p, e)
				    : -silence(en, r->spec.slot, no_internet, e);

	slot_fill(c->instance, r->spec.slot, &s);
	if (no == 0 && no_internet && r->pid > 0) /* otherwise its peers could continue to send */
		no = -ct_forget(s.ip, e);
	return no ? err_wrap(e, "sandbox '%s'", r->spec.id) : 0;
}

static int ns_oom_watch(struct engine *en, const struct engine_record *r, int *ret_fd, struct err *e)
{
	int how = cgroup_oom_watch(en->cgroups, r->spec.id, ret_fd, e);

	return how < 0 ? err_wrap(e, "sandbox '%s'", r->spec.id) : how == CGROUP_OOM_PRIORITY ? ENGINE_OOM_PRIORITY : 0;
}

int ns_kill(struct engine *en, const struct engine_record *r, int pidfd, struct err *e)
{
	/* Without a pidfd: a sandbox half-made, of which only the cgroup is known. */
	int no = pidfd < 0 ? 0 : -proc_kill(pidfd);

	/* The signal first: a process that is thawed with SIGKILL pending never runs again. */
	(void)cgroup_after_kill(en->cgroups, r->spec.id);
	return no ? err_set(e, no, "kill sandbox '%s': %s", r->spec.id, strerror(no)) : 0;
}

int ns_usage(struct engine *en, const struct engine_record *r, struct engine_usage *ret, struct err *e)
{
	struct cgroup_usage cg;
	struct slot s;

	if (cgroup_usage(en->cgroups, r->spec.id, &cg, e) < 0)
		return err_wrap(e, "usage of sandbox '%s'", r->spec.id);
	/* Shared pages are not charged to the sandbox, so its copies of formerly shared pages do not count either. */
	cg.mem_bytes += ns_reclaimed(&cg, &r->spec.limits);
	if (cg.mem_bytes > r->extra_bytes)
		cg.mem_bytes -= r->extra_bytes;
	*ret = (struct engine_usage) {
		.mem_bytes = cg.mem_bytes,
		.mem_cache_bytes = cg.mem_cache_bytes,
		.cpu_ns = cg.cpu_ns,
		.pids = cg.pids,
		.oom_kills = cg.oom_kills,
	};
	(void)storage_usage(en->storage, r->spec.id, &ret->disk_bytes); /* 0 if not counted */
	uint64_t now = clock_mono_ms();

	if (now - en->all_bytes_ms > ALL_BYTES_MS && cgroup_all_memory(en->cgroups, &en->all_bytes) == 0)
		en->all_bytes_ms = now;
	ret->all_bytes = en->all_bytes;
	slot_fill(en->cfg.instance, r->spec.slot, &s);
	(void)net_count(&s, &ret->sent_bytes, &ret->received_bytes);
	return 0;
}

int ns_reap(struct engine *en, const struct engine_record *r, struct err *e)
{
	int no = -cgroup_remove(en->cgroups, r->spec.id, e);

	if (no == EBUSY)
		return err_set(e, EAGAIN, "sandbox '%s' has not ended yet", r->spec.id);
	/* The kernel removes the interface with its network namespace, asynchronously, and routes and neighbours
	 * with the interface. */
	if (no == 0 && (r->spec.ruled || ns_is_capped(&r->spec.limits)))
		no = -nft_forget(en->nft_fd, en->cfg.instance, r->spec.slot, e);
	else if (no == 0 && r->spec.no_internet)
		no = -nft_silence(en->nft_fd, en->cfg.instance, r->spec.slot, false, e);
	if (no == 0)
		no = -storage_remove(en->storage, r->spec.id, e);
	return no ? err_wrap(e, "clean up after sandbox '%s'", r->spec.id) : 0; /* -EAGAIN: the storage is busy */
}

static int ns_snapshot(struct engine *en, const struct engine_record *r, const char *name, struct err *e)
{
	return storage_keep_disk(en->storage, r->spec.id, name, e) < 0
	    ? err_wrap(e, "keep the disk of sandbox '%s'", r->spec.id)
	    : 0;
}

static int ns_forget(struct engine *en, const char *name, struct err *e)
{
	return storage_forget(en->storage, name, e) < 0 ? err_wrap(e, "forget what is kept as '%s'", name) : 0;
}

static int ns_warm(struct engine *en, const char *template_key, struct err *e)
{
	int r = zygote_ensure(&en->zygote, template_key, e);

	if (r == ZYGOTE_MADE)
		ckpt_ahead(en, template_key);
	return r == ZYGOTE_MADE ? 0 : r;
}

static int ns_kept(struct engine *en, void (*fn)(void *arg, const char *name, bool disk, bool memory), void *arg,
    struct err *e)
{
	return storage_kept(en->storage, fn, arg, e);
}

/* Number of tasks on the host; parses "0.00 0.01 0.05 1/234 5678". */
static uint64_t tasks_now(void)
{
	char text[128];
	struct str rest = STR_NULL;
	uint64_t n = 0;

	if (file_read(AT_FDCWD, "/proc/loadavg", text, sizeof text) > 0) {
		rest = str_of(text);
		(void)str_cut(&rest, '/');
	}
	(void)str_to_u64(str_cut(&rest, ' '), UINT32_MAX, &n);
	return n;
}

static int ns_refusals(struct engine *en, struct engine_refusal *ret, size_t max)
{
	return en->nft_fd < 0 ? 0 : net_refused_take(en->nft_fd, en->cfg.instance, ret, max);
}

static void ns_room(struct engine *en, struct engine_room *ret)
{
	(void)cgroup_all_memory(en->cgroups, &ret->mem_bytes);
	ret->pids = cgroup_host_pids();
	ret->pids_used = tasks_now();
	storage_size(en->storage, &ret->storage_bytes, &ret->storage_free_bytes, &ret->storage_grow_bytes);
}

static const char *ns_no_checkpoint(struct engine *en)
{
	return en->ckpt.sock < 0 ? en->ckpt.why_not : NULL;
}

static void ns_tick(struct engine *en)
{
	storage_tick(en->storage);
	guard_tick(en->cgroups, &en->guard);
	ns_tick_reclaim(en);
	view_tick(&en->view);
	ckpt_tick(&en->ckpt);
	if (en->pairs_over)
		pair_stop(en);
}

static void ns_close(struct engine *en, bool all)
{
	struct slot s;

	if (!en)
		return;
	slot_fill(en->cfg.instance, 0, &s);
	if (all) {
		zygote_end_all(&en->zygote);
		holder_end_all(&en->holder);
		nft_unload(en->cfg.instance);
		link_gateway_del(s.gateway);
	}
	view_close(&en->view, all);
	helper_stop(&en->guard);
	ns_close_reclaim(en, all);
	pair_stop(en);
	ckpt_stop(&en->ckpt);
	backend_close(en, all);
	storage_close(en->storage, true);
	cgroup_tree_close(en->cgroups, all);
	seccomp_filter_done(&en->filter);
	fd_close(en->init_fd);
	fd_close(en->private_fd);
	fd_close(en->holders_fd);
	fd_close(en->zygotes_fd);
	fd_close(en->bases_fd);
	fd_close(en->templates_fd);
	fd_close(en->netns_fd);
	fd_close(en->nft_fd);
	fd_close(en->tools_fd);
	fd_close(en->criu_run_fd);
	if (en->private_dir)
		(void)umount2(en->private_dir, MNT_DETACH);
	free(en->private_dir);
	free(en->storage_dir);
	free(en->stage_dir);
	free(en);
}

/* Restarts helpers too: they would continue to watch the removed cgroup. */
static int ns_mend(struct engine *en, struct err *e)
{
	int r = cgroup_tree_mend(en->cgroups, e);

	if (r > 0 && en->guard.pid > 0) {
		helper_kill(&en->guard);
		guard_tick(en->cgroups, &en->guard);
	}
	if (r > 0) {
		helper_kill(&en->reclaimer);
		ns_tick_reclaim(en);
	}
	if (r > 0)
		view_renew(&en->view);
	return r < 0 ? r : 0;
}

const struct engine_backend backend_namespaces = {
	.start = ns_start,
	.restore = ckpt_restore,
	.adopt = ns_adopt,
	.connect = ns_connect,
	.dial = ns_dial,
	.limit = ns_limit,
	.usage = ns_usage,
	.kill = ns_kill,
	.reap = ns_reap,
	.checkpoint = ckpt_checkpoint,
};

const struct engine_ops engine_host = {
	.open = ns_open,
	.mend = ns_mend,
	.missing = backend_missing,
	.start = backend_start,
	.prepare = pair_prepare,
	.prepared = pair_prepared,
	.unprepare = pair_kill,
	.adopt = backend_adopt,
	.connect = backend_connect,
	.bell = ns_bell,
	.seed = ns_seed,
	.dial = backend_dial,
	.greet = backend_greet,
	.freeze = ns_freeze,
	.network = ns_network,
	.limit = backend_limit,
	.oom_watch = ns_oom_watch,
	.hurry = ns_hurry,
	.kill = backend_kill,
	.usage = backend_usage,
	.reap = backend_reap,
	.snapshot = ns_snapshot,
	.checkpoint = backend_checkpoint,
	.restore = backend_restore,
	.volume_set = volume_set,
	.volume_drop = volume_delete,
	.volumes = volume_each,
	.volume_serve = volume_serve,
	.forget = ns_forget,
	.kept = ns_kept,
	.room = ns_room,
	.refusals = ns_refusals,
	.no_checkpoint = ns_no_checkpoint,
	.warm = ns_warm,
	.tick = ns_tick,
	.close = ns_close,
};

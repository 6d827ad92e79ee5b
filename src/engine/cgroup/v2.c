/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_v2: one directory per sandbox in the unified hierarchy.
 *
 * The parent is at the top of the hierarchy, as with v1, whatever has started us: after a restart it must be found
 * in the same place. It cannot be below the cgroup of a systemd unit: sandboxes outlive the daemon, and a cgroup
 * that delegates controllers to its children may not contain processes itself, so the service manager could not
 * restart the daemon beside the remaining sandboxes. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "engine/cgroup/impl.h"
#include "engine/userns.h"

#define CPU_PERIOD_US 100000u
#define REMOVE_TRIES 100
#define IDLE_PART 8                /* of its memory limit may be reclaimed from an idle sandbox, */
#define IDLE_MAX_BYTES (64u << 20) /* and no more than this */
#define RECLAIM_STEP "4M"
#define REMOVE_AGAIN_NS 1000000

size_t cgroup_v2_settings(const struct cgroup_limits *lim, struct cgroup_setting ret[CGROUP_SETTINGS_MAX])
{
	size_t n = 0;

	if (lim->mem_bytes) {
		ret[n] = (struct cgroup_setting) { "memory", "memory.max", .value = "" };
		(void)snprintf(ret[n++].value, sizeof ret->value, "%" PRIu64, lim->mem_bytes);
		ret[n] = (struct cgroup_setting) { "memory", "memory.swap.max", .value = "", .optional = true };
		(void)snprintf(ret[n++].value, sizeof ret->value, "%" PRIu64, lim->swap_bytes);
	}
	if (lim->pids) {
		ret[n] = (struct cgroup_setting) { "pids", "pids.max", .value = "" };
		(void)snprintf(ret[n++].value, sizeof ret->value, "%u", lim->pids);
	}
	if (lim->cpu_permille) {
		ret[n] = (struct cgroup_setting) { "cpu", "cpu.max", .value = "" };
		(void)snprintf(ret[n++].value, sizeof ret->value, "%" PRIu64 " %u",
		    (uint64_t)lim->cpu_permille * CPU_PERIOD_US / 1000, CPU_PERIOD_US);
	}
	if (lim->cpu_weight) {
		ret[n] = (struct cgroup_setting) { "cpu", "cpu.weight", .value = "" };
		(void)snprintf(ret[n++].value, sizeof ret->value, "%u", lim->cpu_weight);
	}
	return n;
}

static void put_max(char *out, size_t size, const char *name, uint64_t v)
{
	size_t n = strlen(out);

	(void)snprintf(out + n, size - n, v ? " %s=%" PRIu64 : " %s=max", name, v);
}

void cgroup_v2_io(const struct cgroup_limits *lim, uint64_t dev, struct cgroup_setting *ret)
{
	*ret = (struct cgroup_setting) { "io", "io.max", .value = "" };
	(void)snprintf(ret->value, sizeof ret->value, "%u:%u", major(dev), minor(dev));
	put_max(ret->value, sizeof ret->value, "rbps", lim->io_bytes_s);
	put_max(ret->value, sizeof ret->value, "wbps", lim->io_bytes_s);
	put_max(ret->value, sizeof ret->value, "riops", lim->io_ops_s);
	put_max(ret->value, sizeof ret->value, "wiops", lim->io_ops_s);
}

/* memory.max does not count what is in swap, so what may be reclaimed from an idle sandbox is in addition to it. */
static struct cgroup_limits with_idle(const struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim)
{
	struct cgroup_limits all = *lim;
	uint64_t part = lim->mem_bytes / IDLE_PART;

	if (t->swap_bytes && lim->mem_bytes)
		all.swap_bytes += !id ? t->swap_bytes : part < IDLE_MAX_BYTES ? part : IDLE_MAX_BYTES;
	return all;
}

static int apply(struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim, struct err *e)
{
	const struct cgroup_limits all = with_idle(t, id, lim);
	struct cgroup_setting set[CGROUP_SETTINGS_MAX];
	size_t n = cgroup_v2_settings(&all, set);

	for (size_t i = 0; i < n; i++) {
		int r = cgroup_write(t->v2_fd, id, set[i].file, set[i].value);

		if (r < 0 && !(set[i].optional && r == -ENOENT))
			return err_set(e, -r, "set %s to '%s': %s", set[i].file, set[i].value, strerror(-r));
	}
	return 0;
}

/* No limit and no io controller is fine: there is nothing to remove. */
static int apply_io(struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim, struct err *e)
{
	bool wanted = lim->io_bytes_s || lim->io_ops_s;
	struct cgroup_setting set;

	for (size_t k = 0; k < t->n_disks; k++) {
		cgroup_v2_io(lim, t->disks[k], &set);
		int r = cgroup_write(t->v2_fd, id, set.file, set.value);

		if (r < 0 && (wanted || r != -ENOENT))
			return err_set(e, -r, "set io.max to '%s': %s", set.value, strerror(-r));
	}
	return 0;
}

static int v2_cpu(struct cgroup_tree *t, const char *id, uint32_t permille)
{
	char value[48];

	if (permille)
		(void)snprintf(value, sizeof value, "%" PRIu64 " %u", (uint64_t)permille * CPU_PERIOD_US / 1000,
		    CPU_PERIOD_US);
	else
		(void)snprintf(value, sizeof value, "max %u", CPU_PERIOD_US);
	return cgroup_write(t->v2_fd, id, "cpu.max", value);
}

static int hand_on(int fd, struct err *e)
{
	static const char *const controllers[] = { "+memory", "+pids", "+cpu", "+io", "+cpuset" };

	for (size_t i = 0; i < ARRAY_LEN(controllers); i++) {
		int r = cgroup_write(fd, NULL, "cgroup.subtree_control", controllers[i]);

		if (r < 0 && i < 2)
			return err_set(e, -r, "hand on controller '%s': %s", controllers[i], strerror(-r));
	}
	return 0;
}

/* Recreates a leftover empty cgroup: Linux (seen with 6.1.190 and 6.18) kills every process that is cloned into a
 * cgroup to which cgroup.kill was ever written. A cgroup in use stays. */
static int make_fresh(int parent, const char *id, struct err *e)
{
	int r = mkdirat(parent, id, 0755);

	if (r < 0 && errno == EEXIST && unlinkat(parent, id, AT_REMOVEDIR) == 0)
		r = mkdirat(parent, id, 0755);
	return r < 0 && errno != EEXIST && errno != EBUSY && errno != ENOTEMPTY ? err_sys(e, "make '%s'", id) : 0;
}

/* Since 6.14, and in older maintained kernels since 2025, Linux counts the writes to cgroup.kill per cgroup, and
 * kills a new process if the count of its cgroup differs from the one read when the clone began. But that is read
 * from the cgroup of the parent: a process started in a cgroup that had been killed cannot clone into another one,
 * and no process can clone into a cgroup that has been killed. Processes can still be moved there. */
bool cgroup_v2_births(int parent_fd)
{
	char name[32];
	struct err e;
	int status = -1, pidfd = -1;

	(void)snprintf(name, sizeof name, "_birth-%d", (int)getpid());
	if (make_fresh(parent_fd, name, &e) < 0)
		return false;
	autoclose int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	pid_t pid = fd < 0 ? -1 : userns_fork(0, fd, &pidfd);

	if (pid == 0)
		_exit(0);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	fd_close(pidfd);
	for (int i = 0; i < REMOVE_TRIES && unlinkat(parent_fd, name, AT_REMOVEDIR) < 0 && errno == EBUSY; i++)
		(void)nanosleep(&(struct timespec) { .tv_nsec = REMOVE_AGAIN_NS },
		    NULL); /* it may remain for a moment after wait() has returned */
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int v2_open(struct cgroup_tree *t, const char *mountinfo, struct err *e)
{
	char at[256];

	if (cgroup_find_mount(mountinfo, "cgroup2", NULL, at, sizeof at) < 0)
		return err_set(e, ENOENT, "find the cgroup2 mount");
	t->v2_root_fd = open(at, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->v2_root_fd < 0)
		return err_sys(e, "open '%s'", at);
	if (hand_on(t->v2_root_fd, e) < 0)
		return -e->no;
	if (mkdirat(t->v2_root_fd, t->parent, 0755) < 0 && errno != EEXIST)
		return err_sys(e, "make '%s'", t->parent);
	t->v2_fd = openat(t->v2_root_fd, t->parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (t->v2_fd < 0)
		return err_sys(e, "open '%s'", t->parent);
	t->v2_moves = !cgroup_v2_births(t->v2_fd);
	if (t->v2_moves)
		log_info("cannot clone into a cgroup: processes are moved there instead", "name=%s", t->parent);
	return 0;
}

static int v2_limit_all(struct cgroup_tree *t, struct err *e)
{
	struct cgroup_limits all = { .mem_bytes = t->mem_total_bytes, .pids = t->pids_total };
	char weight[16];

	if (hand_on(t->v2_fd, e) < 0)
		return -e->no;
	(void)snprintf(weight, sizeof weight, "%u", t->cpu_weight);
	(void)cgroup_write(t->v2_fd, NULL, "cpu.weight", weight);
	return apply(t, NULL, &all, e);
}

/* No processors and no cpuset controller is fine: there is nothing to remove. */
static int apply_cpus(struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim, struct err *e)
{
	int r = cgroup_write(t->v2_fd, id, "cpuset.cpus", lim->cpus[0] ? lim->cpus : "\n");

	return r < 0 && r != -ENOENT ? err_set(e, -r, "set cpuset.cpus to '%s': %s", lim->cpus, strerror(-r)) : 0;
}

static int v2_make(struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim, struct err *e)
{
	if (make_fresh(t->v2_fd, id, e) < 0)
		return -e->no;
	if ((lim->io_bytes_s || lim->io_ops_s) && apply_io(t, id, lim, e) < 0)
		return -e->no;
	if (lim->cpus[0] && apply_cpus(t, id, lim, e) < 0)
		return -e->no;
	return apply(t, id, lim, e);
}

static int v2_limit(struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim, struct err *e)
{
	return apply_io(t, id, lim, e) < 0 || apply_cpus(t, id, lim, e) < 0 ? -e->no : apply(t, id, lim, e);
}

/* Reading the file once makes poll() report only what happens from now on. There is no inotify instance: closing one
 * waits for an SRCU grace period, some 14 ms, in which the warden could do nothing else. */
int cgroup_v2_watch(int dirfd, const char *id, const char *file, int *ret_fd, struct err *e)
{
	autoclose int dir = openat(dirfd, id, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	autoclose int fd = dir < 0 ? -1 : openat(dir, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	char z[1024];

	if (fd < 0 || pread(fd, z, sizeof z, 0) < 0)
		return err_sys(e, "watch %s", file);
	*ret_fd = take_fd(&fd);
	return 0;
}

static int v2_oom_watch(struct cgroup_tree *t, const char *id, int *ret_fd, struct err *e)
{
	return cgroup_v2_watch(t->v2_fd, id, "memory.events", ret_fd, e) < 0 ? -e->no : CGROUP_OOM_PRIORITY;
}

static int v2_seat(struct cgroup_tree *t, const char *id, struct cgroup_seat *ret, struct err *e)
{
	autoclose int dir = openat(t->v2_fd, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (dir < 0)
		return err_sys(e, "open the cgroup");
	int fd = openat(dir, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(e, "open cgroup.procs");
	ret->procs[ret->n_procs++] = fd;
	if (!t->v2_moves)
		ret->into_fd = take_fd(&dir);
	return 0;
}

static int v2_freeze(struct cgroup_tree *t, const char *id, bool on, struct err *e)
{
	int r = cgroup_write(t->v2_fd, id, "cgroup.freeze", on ? "1" : "0");

	if (r < 0)
		return err_set(e, -r, "set cgroup.freeze: %s", strerror(-r));
	return on ? cgroup_look_frozen(t->v2_fd, id, "cgroup.events", "frozen 1", e) : 0;
}

static bool v2_is_frozen(struct cgroup_tree *t, const char *id)
{
	return cgroup_says(t->v2_fd, id, "cgroup.freeze", "1");
}

static int v2_freezer(struct cgroup_tree *t)
{
	return t->v2_fd;
}

/* In v2 a frozen task dies of SIGKILL at once; this kills tasks that were just being forked. */
static int v2_after_kill(struct cgroup_tree *t, const char *id)
{
	return cgroup_write(t->v2_fd, id, "cgroup.kill", "1");
}

static int v2_usage(struct cgroup_tree *t, const char *id, struct cgroup_usage *ret, struct err *e)
{
	char path[128], z[8192];
	uint64_t v;
	struct cgroup_usage u = { 0 };
	int r = cgroup_number(t->v2_fd, id, "memory.current", &u.mem_bytes);

	if (r < 0)
		return err_set(e, -r, "read memory.current: %s", strerror(-r));
	(void)snprintf(path, sizeof path, "%s/memory.stat", id);
	if (file_read(t->v2_fd, path, z, sizeof z) >= 0)
		(void)cgroup_field(z, "file", &u.mem_cache_bytes);
	(void)cgroup_number(t->v2_fd, id, "memory.swap.current", &u.swap_bytes);
	(void)snprintf(path, sizeof path, "%s/memory.events", id);
	if (file_read(t->v2_fd, path, z, sizeof z) >= 0 && cgroup_field(z, "oom_kill", &v) == 0)
		u.oom_kills = (uint32_t)v;
	(void)snprintf(path, sizeof path, "%s/cpu.stat", id);
	if (file_read(t->v2_fd, path, z, sizeof z) >= 0 && cgroup_field(z, "usage_usec", &v) == 0)
		u.cpu_ns = v * 1000;
	if (cgroup_number(t->v2_fd, id, "pids.current", &v) == 0)
		u.pids = (uint32_t)v;
	*ret = u;
	return 0;
}

static int v2_detail(struct cgroup_tree *t, const char *id, struct cgroup_detail *ret)
{
	const struct {
		const char *key;
		uint64_t *to;
	} fields[] = {
		{ "file", &ret->cache },
		{ "file_mapped", &ret->mapped },
		{ "file_dirty", &ret->dirty },
		{ "file_writeback", &ret->writeback },
		{ "slab", &ret->slab },
		{ "slab_reclaimable", &ret->slab_reclaimable },
	};
	char path[128], z[8192];
	uint64_t v;
	int r = cgroup_number(t->v2_fd, id, "memory.current", &ret->mem_bytes);

	if (r < 0)
		return r;
	(void)cgroup_number(t->v2_fd, id, "memory.swap.current", &ret->swap_bytes);
	(void)snprintf(path, sizeof path, "%s/memory.stat", id);
	if (file_read(t->v2_fd, path, z, sizeof z) >= 0) {
		cgroup_memory_fields(z, "", ret);
		for (size_t i = 0; i < ARRAY_LEN(fields); i++)
			(void)cgroup_field(z, fields[i].key, fields[i].to);
	}
	(void)snprintf(path, sizeof path, "%s/cpu.stat", id);
	if (file_read(t->v2_fd, path, z, sizeof z) >= 0) {
		ret->cpu_user_ns = cgroup_field(z, "user_usec", &v) == 0 ? v * 1000 : 0;
		ret->cpu_system_ns = cgroup_field(z, "system_usec", &v) == 0 ? v * 1000 : 0;
	}
	ret->pids = cgroup_number(t->v2_fd, id, "pids.current", &v) == 0 ? (uint32_t)v : 0;
	return 0;
}

static int v2_all_memory(struct cgroup_tree *t, uint64_t *ret_bytes)
{
	return cgroup_memory_sum(t->v2_fd, "anon", "shmem", ret_bytes);
}

static int v2_cpu_used(struct cgroup_tree *t, const char *id, uint64_t *ret_ns)
{
	char path[128], z[2048];
	uint64_t us;

	(void)snprintf(path, sizeof path, "%s/cpu.stat", id);
	ssize_t n = file_read(t->v2_fd, path, z, sizeof z);

	if (n < 0)
		return (int)n;
	if (cgroup_field(z, "usage_usec", &us) < 0)
		return -ENOTSUP;
	*ret_ns = us * 1000;
	return 0;
}

static int v2_memory(struct cgroup_tree *t, const char *id, uint64_t *ret_bytes)
{
	return cgroup_number(t->v2_fd, id, "memory.current", ret_bytes);
}

/* -EAGAIN: less than that could be reclaimed. */
static int v2_reclaim(struct cgroup_tree *t, const char *id)
{
	int r = cgroup_write(t->v2_fd, id, "memory.reclaim", RECLAIM_STEP);

	return r == -EAGAIN ? 0 : r == 0 || r == -EINTR ? 1 : r;
}

static int v2_remove(struct cgroup_tree *t, const char *id, struct err *e)
{
	int r = cgroup_rmdir_tree(t->v2_fd, id);

	return r < 0 ? err_set(e, -r, "remove the cgroup: %s", strerror(-r)) : 0;
}

static void v2_remove_all(struct cgroup_tree *t)
{
	(void)cgroup_rmdir_tree(t->v2_root_fd, t->parent);
}

const struct cgroup_backend cgroup_v2 = {
	.open = v2_open,
	.limit_all = v2_limit_all,
	.make = v2_make,
	.limit = v2_limit,
	.io = apply_io,
	.cpu = v2_cpu,
	.oom_watch = v2_oom_watch,
	.seat = v2_seat,
	.freeze = v2_freeze,
	.is_frozen = v2_is_frozen,
	.freezer = v2_freezer,
	.after_kill = v2_after_kill,
	.usage = v2_usage,
	.detail = v2_detail,
	.all_memory = v2_all_memory,
	.cpu_used = v2_cpu_used,
	.memory = v2_memory,
	.reclaim = v2_reclaim,
	.remove = v2_remove,
	.remove_all = v2_remove_all,
};

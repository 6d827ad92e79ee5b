/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup_v1: one directory per sandbox in each hierarchy that limits or counts something.
 *
 * There are three exceptions, because moving a process costs a grace period of the kernel. devices: the list of
 * allowed nodes is the same for all, so it is set on the parent and every sandbox is put into the parent itself.
 * blkio: few sandboxes have an I/O limit, and only those have a directory there. cpuset: sandboxes that may use
 * all processors have none. If a hierarchy is missing, its limit is not enforced; without memory and pids we do
 * not start. */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "engine/cgroup/impl.h"

enum { V1_MEMORY, V1_PIDS, V1_CPU, V1_CPUACCT, V1_FREEZER, V1_BLKIO, V1_CPUSET, V1_DEVICES };
static const char *const v1_names[CGROUP_V1_MAX] = { "memory", "pids", "cpu", "cpuacct", "freezer", "blkio", "cpuset",
	"devices" };

#define CPU_PERIOD_US 100000u
#define CPU_SHARES_ONE 1024u   /* the kernel's default */
#define CPU_SHARES_MAX 262144u /* the kernel's maximum */
#define MOVE_PASSES 64
#define SOCKETS_PART 16 /* the fraction of its memory that the kernel gives TCP of the host's */
#define SOCKETS_MIN (16ull << 20)

/* null, zero, full, random, urandom, tty, ptmx and pts: read and write, never mknod. */
static const char *const v1_devices[] = {
	"c 1:3 rw",
	"c 1:5 rw",
	"c 1:7 rw",
	"c 1:8 rw",
	"c 1:9 rw",
	"c 5:0 rw",
	"c 5:2 rw",
	"c 136:* rw",
};

size_t cgroup_v1_settings(const struct cgroup_limits *lim, struct cgroup_setting ret[CGROUP_SETTINGS_MAX])
{
	size_t n = 0;

	if (lim->mem_bytes) {
		/* memsw is memory and swap together, and may not be below the first. */
		ret[n] = (struct cgroup_setting) { "memory", "memory.limit_in_bytes", .value = "" };
		(void)snprintf(ret[n++].value, sizeof ret->value, "%" PRIu64, lim->mem_bytes);
		ret[n] = (struct cgroup_setting) { "memory", "memory.memsw.limit_in_bytes", .optional = true };
		(void)snprintf(ret[n++].value, sizeof ret->value, "%" PRIu64, lim->mem_bytes + lim->swap_bytes);
		/* v1 does not charge TCP and UDP queues as memory: without a limit, one sandbox could take the
		 * share of all. */
		uint64_t sockets = lim->mem_bytes / SOCKETS_PART;

		if (sockets < SOCKETS_MIN)
			sockets = SOCKETS_MIN;
		ret[n] = (struct cgroup_setting) { "memory", "memory.kmem.tcp.limit_in_bytes", .optional = true };
		(void)snprintf(ret[n++].value, sizeof ret->value, "%" PRIu64, sockets);
	}
	if (lim->pids) {
		ret[n] = (struct cgroup_setting) { "pids", "pids.max", .value = "" };
		(void)snprintf(ret[n++].value, sizeof ret->value, "%u", lim->pids);
	}
	if (lim->cpu_permille) {
		ret[n] = (struct cgroup_setting) { "cpu", "cpu.cfs_period_us", .value = "" };
		(void)snprintf(ret[n++].value, sizeof ret->value, "%u", CPU_PERIOD_US);
		ret[n] = (struct cgroup_setting) { "cpu", "cpu.cfs_quota_us", .value = "" };
		(void)snprintf(ret[n++].value, sizeof ret->value, "%" PRIu64,
		    (uint64_t)lim->cpu_permille * CPU_PERIOD_US / 1000);
	}
	if (lim->cpu_weight) {
		ret[n] = (struct cgroup_setting) { "cpu", "cpu.shares", .value = "" };
		(void)snprintf(ret[n++].value, sizeof ret->value, "%" PRIu64,
		    (uint64_t)lim->cpu_weight * CPU_SHARES_ONE / 100);
	}
	return n;
}

void cgroup_v1_io(const struct cgroup_limits *lim, uint64_t dev, struct cgroup_setting ret[CGROUP_V1_IO])
{
	static const char *const files[CGROUP_V1_IO] = {
		"blkio.throttle.read_bps_device",
		"blkio.throttle.write_bps_device",
		"blkio.throttle.read_iops_device",
		"blkio.throttle.write_iops_device",
	};

	for (size_t i = 0; i < CGROUP_V1_IO; i++) {
		ret[i] = (struct cgroup_setting) { "blkio", files[i], .value = "" };
		(void)snprintf(ret[i].value, sizeof ret->value, "%u:%u %" PRIu64, major(dev), minor(dev),
		    i < 2 ? lim->io_bytes_s : lim->io_ops_s); /* 0 removes the limit */
	}
}

static int v1_index(const char *controller)
{
	for (int i = 0; i < CGROUP_V1_MAX; i++) {
		if (strcmp(v1_names[i], controller) == 0)
			return i;
	}
	return -1;
}

static int put(struct cgroup_tree *t, const char *id, const struct cgroup_setting *set, struct err *e)
{
	int fd = t->v1_fd[v1_index(set->controller)];
	int r = fd < 0 ? 0 : cgroup_write(fd, id, set->file, set->value);

	if (r < 0 && !(set->optional && (r == -ENOENT || r == -EOPNOTSUPP)))
		return err_set(e, -r, "set %s to '%s': %s", set->file, set->value, strerror(-r));
	return 0;
}

static int apply(struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim, struct err *e)
{
	struct cgroup_setting set[CGROUP_SETTINGS_MAX];
	size_t n = cgroup_v1_settings(lim, set);

	for (size_t i = 0; i < n; i++) {
		if (put(t, id, &set[i], e) < 0)
			return -e->no;
	}
	return 0;
}

static bool has_io(const struct cgroup_limits *lim)
{
	return lim->io_bytes_s || lim->io_ops_s;
}

static int apply_io(struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim, struct err *e)
{
	struct cgroup_setting set[CGROUP_V1_IO];

	for (size_t k = 0; k < t->n_disks; k++) {
		cgroup_v1_io(lim, t->disks[k], set);
		for (size_t i = 0; i < CGROUP_V1_IO; i++) {
			if (put(t, id, &set[i], e) < 0)
				return -e->no;
		}
	}
	return 0;
}

static int make_io(struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim, struct err *e)
{
	if (t->v1_fd[V1_BLKIO] < 0)
		return err_set(e, ENOTSUP, "this host has no blkio cgroup, so io cannot be limited");
	if (mkdirat(t->v1_fd[V1_BLKIO], id, 0755) < 0 && errno != EEXIST)
		return err_sys(e, "make it for blkio");
	return apply_io(t, id, lim, e);
}

/* Without the controller the sandbox runs on all processors, but its CPU quota still holds. */
static int make_cpus(struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim, struct err *e)
{
	int fd = t->v1_fd[V1_CPUSET];
	char all[1024] = "", mems[1024] = "";

	if (fd < 0)
		return 0;
	(void)file_read(fd, "cpuset.cpus", all, sizeof all);
	(void)file_read(fd, "cpuset.mems", mems, sizeof mems);
	if (mkdirat(fd, id, 0755) < 0 && errno != EEXIST)
		return err_sys(e, "make it for cpuset");
	int r = cgroup_write(fd, id, "cpuset.mems", mems);

	if (r >= 0)
		r = cgroup_write(fd, id, "cpuset.cpus", lim->cpus[0] ? lim->cpus : all);
	return r < 0 ? err_set(e, -r, "set cpuset.cpus to '%s': %s", lim->cpus, strerror(-r)) : 0;
}

/* v1 creates a cpuset empty: copy the values of its parent. */
static void fill_cpuset(int fd, int root)
{
	static const char *const files[] = { "cpuset.cpus", "cpuset.mems" };
	char z[1024];

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		if (file_read(root, files[i], z, sizeof z) > 0)
			(void)cgroup_write(fd, NULL, files[i], z);
	}
}

static bool has_dir(const struct cgroup_tree *t, int which, const char *id)
{
	struct stat st;

	return t->v1_fd[which] >= 0 && fstatat(t->v1_fd[which], id, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int open_parent(const char *mount, const char *parent, int *ret_root, int *ret_fd, struct err *e)
{
	autoclose int root = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		return err_sys(e, "open '%s'", mount);
	if (mkdirat(root, parent, 0755) < 0 && errno != EEXIST)
		return err_sys(e, "make '%s/%s'", mount, parent);
	int fd = openat(root, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return err_sys(e, "open '%s/%s'", mount, parent);
	*ret_fd = fd;
	*ret_root = take_fd(&root);
	return 0;
}

/* Controllers mounted together (cpu,cpuacct) are one directory: the second finds it made. Its procs file is then
 * written twice, and the second write does nothing. */
static int v1_open(struct cgroup_tree *t, const char *mountinfo, struct err *e)
{
	char at[256];

	for (int i = 0; i < CGROUP_V1_MAX; i++) {
		int r = cgroup_find_mount(mountinfo, "cgroup", v1_names[i], at, sizeof at);

		if (r < 0 && i > V1_PIDS)
			continue;
		if (r < 0)
			return err_set(e, -r, "no v1 hierarchy of the %s controller", v1_names[i]);
		if (open_parent(at, t->parent, &t->v1_root_fd[i], &t->v1_fd[i], e) < 0)
			return -e->no;
	}
	return 0;
}

static int limit_devices(int fd, struct err *e)
{
	int r = cgroup_write(fd, NULL, "devices.deny", "a");

	for (size_t i = 0; r >= 0 && i < ARRAY_LEN(v1_devices); i++)
		r = cgroup_write(fd, NULL, "devices.allow", v1_devices[i]);
	return r < 0 ? err_set(e, -r, "limit devices: %s", strerror(-r)) : 0;
}

/* A weight of 100 equals one busy task of the host on each processor: the weight of a group is spread over the
 * processors where it runs, and at the top of v1 it competes with single tasks. */
uint32_t cgroup_v1_shares_all(uint32_t weight, long cpus)
{
	uint64_t shares = (uint64_t)weight * CPU_SHARES_ONE / 100 * (uint64_t)(cpus > 0 ? cpus : 1);

	return shares < 2 ? 2 : shares > CPU_SHARES_MAX ? CPU_SHARES_MAX : (uint32_t)shares;
}

static int v1_limit_all(struct cgroup_tree *t, struct err *e)
{
	struct cgroup_limits all = { .mem_bytes = t->mem_total_bytes,
		.swap_bytes = t->swap_bytes,
		.pids = t->pids_total };

	/* Lowering memsw below memory and raising memory above memsw are both refused, so remove the old memsw
	 * limit first. */
	(void)cgroup_write(t->v1_fd[V1_MEMORY], NULL, "memory.memsw.limit_in_bytes", "-1");
	if (apply(t, NULL, &all, e) < 0)
		return -e->no;
	if (t->v1_fd[V1_CPU] >= 0) {
		char shares[16];

		(void)snprintf(shares, sizeof shares, "%u",
		    cgroup_v1_shares_all(t->cpu_weight, sysconf(_SC_NPROCESSORS_ONLN)));
		(void)cgroup_write(t->v1_fd[V1_CPU], NULL, "cpu.shares", shares);
	}
	if (t->v1_fd[V1_CPUSET] >= 0)
		fill_cpuset(t->v1_fd[V1_CPUSET], t->v1_root_fd[V1_CPUSET]);
	if (t->v1_fd[V1_DEVICES] >= 0)
		return limit_devices(t->v1_fd[V1_DEVICES], e);
	return 0;
}

static int v1_make(struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim, struct err *e)
{
	for (int i = 0; i < V1_BLKIO; i++) {
		if (t->v1_fd[i] >= 0 && mkdirat(t->v1_fd[i], id, 0755) < 0 && errno != EEXIST)
			return err_sys(e, "make it for %s", v1_names[i]);
	}
	if (has_io(lim) && make_io(t, id, lim, e) < 0)
		return -e->no;
	/* A cpuset that is mounted together with another controller has a directory by now. */
	if ((lim->cpus[0] || has_dir(t, V1_CPUSET, id)) && make_cpus(t, id, lim, e) < 0)
		return -e->no;
	return apply(t, id, lim, e);
}

/* Whether that process is in this cgroup of the sandbox. Our parent may be below another cgroup, as in a
 * container. */
static bool is_moved(const struct cgroup_tree *t, int which, const char *id, struct str pid)
{
	char own[1024], path[48], want[64], name[24];

	(void)snprintf(path, sizeof path, "/proc/%.*s/cgroup", STR_ARG(pid));
	(void)snprintf(want, sizeof want, "/%s/%s", t->parent, id);
	if (file_read(AT_FDCWD, path, own, sizeof own) <= 0)
		return true; /* it has exited */
	(void)snprintf(name, sizeof name, ":%s:", v1_names[which]);
	const char *at = strstr(own, name);
	size_t n = at ? strcspn(at, "\n") : 0, m = strlen(want);

	return n >= m && memcmp(at + n - m, want, m) == 0;
}

/* Moves all processes of the sandbox; a new process starts in the cgroup of its parent. Returns how many were
 * moved. */
static int move_pass(struct cgroup_tree *t, int which, const char *id, int to)
{
	char path[128], z[65536];
	int moved = 0;

	(void)snprintf(path, sizeof path, "%s/cgroup.procs", id);
	if (file_read(t->v1_fd[V1_PIDS], path, z, sizeof z) <= 0)
		return 0;
	struct str text = str_of(z);

	while (text.p) {
		struct str pid = str_cut(&text, '\n');

		if (pid.n > 0 && pid.n < 12 && !is_moved(t, which, id, pid))
			moved += write(to, pid.p, pid.n) == (ssize_t)pid.n;
	}
	return moved;
}

static int move_all(struct cgroup_tree *t, int which, const char *id, struct err *e)
{
	char path[128];

	(void)snprintf(path, sizeof path, "%s/cgroup.procs", id);
	autoclose int to = openat(t->v1_fd[which], path, O_WRONLY | O_CLOEXEC);

	if (to < 0)
		return err_sys(e, "open the %s cgroup", v1_names[which]);
	for (int i = 0; i < MOVE_PASSES; i++) {
		if (move_pass(t, which, id, to) == 0)
			return 0;
	}
	return err_set(e, EBUSY, "it forks faster than its processes can be moved");
}

/* Sets memory and memsw (memory with swap) in an order in which the first never exceeds the second. */
static int limit_memory(struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim, struct err *e)
{
	struct cgroup_setting set[CGROUP_SETTINGS_MAX];
	uint64_t had = 0;

	(void)cgroup_v1_settings(&(struct cgroup_limits) { .mem_bytes = lim->mem_bytes, .swap_bytes = lim->swap_bytes },
	    set);
	(void)cgroup_number(t->v1_fd[V1_MEMORY], id, "memory.limit_in_bytes", &had);
	bool up = lim->mem_bytes > had;

	if (put(t, id, &set[up ? 1 : 0], e) < 0 || put(t, id, &set[up ? 0 : 1], e) < 0)
		return -e->no;
	return put(t, id, &set[2], e);
}

static int v1_cpu(struct cgroup_tree *t, const char *id, uint32_t permille)
{
	char value[24] = "-1";

	if (permille)
		(void)snprintf(value, sizeof value, "%" PRIu64, (uint64_t)permille * CPU_PERIOD_US / 1000);
	return t->v1_fd[V1_CPU] < 0 ? 0 : cgroup_write(t->v1_fd[V1_CPU], id, "cpu.cfs_quota_us", value);
}

/* A sandbox that never had an I/O limit has no directory there. */
static int v1_io(struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim, struct err *e)
{
	return has_dir(t, V1_BLKIO, id) ? apply_io(t, id, lim, e) : 0;
}

static int limit_cpus(struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim, struct err *e)
{
	bool had = has_dir(t, V1_CPUSET, id);

	if (t->v1_fd[V1_CPUSET] < 0 || (!had && !lim->cpus[0]))
		return 0;
	return make_cpus(t, id, lim, e) < 0 ? -e->no : had ? 0 : move_all(t, V1_CPUSET, id, e);
}

static int v1_limit(struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim, struct err *e)
{
	struct cgroup_limits rest = { .cpu_permille = lim->cpu_permille, .pids = lim->pids };

	if (limit_memory(t, id, lim, e) < 0 || apply(t, id, &rest, e) < 0 || limit_cpus(t, id, lim, e) < 0)
		return -e->no;
	if (has_io(lim))
		return make_io(t, id, lim, e) < 0 ? -e->no : move_all(t, V1_BLKIO, id, e);
	return v1_io(t, id, lim, e);
}

static int v1_oom_watch(struct cgroup_tree *t, const char *id, int *ret_fd, struct err *e)
{
	char path[128], z[32];
	autoclose int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), control = -1;

	if (fd < 0)
		return err_sys(e, "make an eventfd");
	(void)snprintf(path, sizeof path, "%s/memory.oom_control", id);
	control = openat(t->v1_fd[V1_MEMORY], path, O_RDONLY | O_CLOEXEC);
	if (control < 0)
		return err_sys(e, "open memory.oom_control");
	(void)snprintf(z, sizeof z, "%d %d", fd, control);
	int r = cgroup_write(t->v1_fd[V1_MEMORY], id, "cgroup.event_control", z);

	if (r < 0)
		return err_set(e, -r, "ask for its events: %s", strerror(-r));
	*ret_fd = take_fd(&fd);
	return 0;
}

/* A process that writes 0 to "tasks" moves its own thread, and the kernel waits for nothing: see cgroup.h. */
static int v1_seat(struct cgroup_tree *t, const char *id, struct cgroup_seat *ret, struct err *e)
{
	for (int i = 0; i < CGROUP_V1_MAX; i++) {
		char path[128];

		if (t->v1_fd[i] < 0)
			continue;
		(void)snprintf(path, sizeof path, "%s%stasks", i == V1_DEVICES ? "" : id, i == V1_DEVICES ? "" : "/");
		int fd = openat(t->v1_fd[i], path, O_WRONLY | O_CLOEXEC);

		if (fd < 0 && (i == V1_BLKIO || i == V1_CPUSET) && errno == ENOENT)
			continue;
		if (fd < 0)
			return err_sys(e, "open the %s cgroup", v1_names[i]);
		ret->procs[ret->n_procs++] = fd;
	}
	return 0;
}

static int v1_freeze(struct cgroup_tree *t, const char *id, bool on, struct err *e)
{
	int fd = t->v1_fd[V1_FREEZER];

	if (fd < 0)
		return err_set(e, ENOTSUP, "freeze: this host has no freezer");
	int r = cgroup_write(fd, id, "freezer.state", on ? "FROZEN" : "THAWED");

	if (r < 0)
		return err_set(e, -r, "set freezer.state: %s", strerror(-r));
	return on ? cgroup_look_frozen(fd, id, "freezer.state", "FROZEN", e) : 0;
}

static bool v1_is_frozen(struct cgroup_tree *t, const char *id)
{
	int fd = t->v1_fd[V1_FREEZER];

	return cgroup_says(fd, id, "freezer.state", "FROZEN") || cgroup_says(fd, id, "freezer.state", "FREEZING");
}

static int v1_freezer(struct cgroup_tree *t)
{
	return t->v1_fd[V1_FREEZER];
}

/* Does what cgroup.kill does in v2: kills also processes that are not below the killed process, or for which there
 * was no pidfd. */
static void v1_kill_listed(struct cgroup_tree *t, const char *id)
{
	char path[128], z[16384];

	(void)snprintf(path, sizeof path, "%s/cgroup.procs", id);
	if (file_read(t->v1_fd[V1_PIDS], path, z, sizeof z) <= 0)
		return;
	struct str text = str_of(z);

	while (text.p) {
		uint64_t pid;

		if (str_to_u64(str_cut(&text, '\n'), INT32_MAX, &pid) == 0 && pid > 1)
			(void)kill((pid_t)pid, SIGKILL);
	}
}

static int v1_after_kill(struct cgroup_tree *t, const char *id)
{
	v1_kill_listed(t, id);
	return t->v1_fd[V1_FREEZER] < 0 ? 0 : cgroup_write(t->v1_fd[V1_FREEZER], id, "freezer.state", "THAWED");
}

static int v1_usage(struct cgroup_tree *t, const char *id, struct cgroup_usage *ret, struct err *e)
{
	char path[128], z[4096];
	uint64_t v;
	struct cgroup_usage u = { 0 };
	int r = cgroup_number(t->v1_fd[V1_MEMORY], id, "memory.usage_in_bytes", &u.mem_bytes);

	if (r < 0)
		return err_set(e, -r, "read memory.usage_in_bytes: %s", strerror(-r));
	(void)snprintf(path, sizeof path, "%s/memory.stat", id);
	if (file_read(t->v1_fd[V1_MEMORY], path, z, sizeof z) >= 0) {
		(void)cgroup_field(z, "cache", &u.mem_cache_bytes);
		(void)cgroup_field(z, "swap", &u.swap_bytes);
	}
	(void)snprintf(path, sizeof path, "%s/memory.oom_control", id);
	if (file_read(t->v1_fd[V1_MEMORY], path, z, sizeof z) >= 0 && cgroup_field(z, "oom_kill", &v) == 0)
		u.oom_kills = (uint32_t)v;
	if (cgroup_number(t->v1_fd[V1_PIDS], id, "pids.current", &v) == 0)
		u.pids = (uint32_t)v;
	if (t->v1_fd[V1_CPUACCT] >= 0)
		(void)cgroup_number(t->v1_fd[V1_CPUACCT], id, "cpuacct.usage", &u.cpu_ns);
	*ret = u;
	return 0;
}

#define TICK_NS 10000000u /* unit of cpuacct.stat, whatever the kernel's own tick is */

static int v1_detail(struct cgroup_tree *t, const char *id, struct cgroup_detail *ret)
{
	const struct {
		const char *key;
		uint64_t *to;
	} fields[] = {
		{ "total_cache", &ret->cache },
		{ "total_mapped_file", &ret->mapped },
		{ "total_dirty", &ret->dirty },
		{ "total_writeback", &ret->writeback },
		{ "total_swap", &ret->swap_bytes },
	};
	char path[128], z[4096];
	uint64_t v;
	int r = cgroup_number(t->v1_fd[V1_MEMORY], id, "memory.usage_in_bytes", &ret->mem_bytes);

	if (r < 0)
		return r;
	(void)cgroup_number(t->v1_fd[V1_MEMORY], id, "memory.kmem.usage_in_bytes", &ret->slab);
	(void)snprintf(path, sizeof path, "%s/memory.stat", id);
	if (file_read(t->v1_fd[V1_MEMORY], path, z, sizeof z) >= 0) {
		cgroup_memory_fields(z, "total_", ret);
		for (size_t i = 0; i < ARRAY_LEN(fields); i++)
			(void)cgroup_field(z, fields[i].key, fields[i].to);
	}
	(void)snprintf(path, sizeof path, "%s/cpuacct.stat", id);
	if (t->v1_fd[V1_CPUACCT] >= 0 && file_read(t->v1_fd[V1_CPUACCT], path, z, sizeof z) >= 0) {
		ret->cpu_user_ns = cgroup_field(z, "user", &v) == 0 ? v * TICK_NS : 0;
		ret->cpu_system_ns = cgroup_field(z, "system", &v) == 0 ? v * TICK_NS : 0;
	}
	ret->pids = cgroup_number(t->v1_fd[V1_PIDS], id, "pids.current", &v) == 0 ? (uint32_t)v : 0;
	return 0;
}

static int v1_all_memory(struct cgroup_tree *t, uint64_t *ret_bytes)
{
	return cgroup_memory_sum(t->v1_fd[V1_MEMORY], "total_rss", "total_shmem", ret_bytes);
}

static int v1_cpu_used(struct cgroup_tree *t, const char *id, uint64_t *ret_ns)
{
	return t->v1_fd[V1_CPUACCT] < 0 ? -ENOTSUP : cgroup_number(t->v1_fd[V1_CPUACCT], id, "cpuacct.usage", ret_ns);
}

static int v1_memory(struct cgroup_tree *t, const char *id, uint64_t *ret_bytes)
{
	return cgroup_number(t->v1_fd[V1_MEMORY], id, "memory.usage_in_bytes", ret_bytes);
}

/* Despite the name, the group may have processes. */
static int v1_reclaim(struct cgroup_tree *t, const char *id)
{
	int r = cgroup_write(t->v1_fd[V1_MEMORY], id, "memory.force_empty", "0");

	return r == -EINTR ? 1 : r;
}

static int v1_remove(struct cgroup_tree *t, const char *id, struct err *e)
{
	for (int i = 0; i < V1_DEVICES; i++) {
		int r = t->v1_fd[i] < 0 ? 0 : cgroup_rmdir_tree(t->v1_fd[i], id);

		if (r < 0)
			return err_set(e, -r, "remove the %s cgroup: %s", v1_names[i], strerror(-r));
	}
	return 0;
}

static void v1_remove_all(struct cgroup_tree *t)
{
	for (int i = 0; i < CGROUP_V1_MAX; i++) {
		if (t->v1_root_fd[i] >= 0)
			(void)cgroup_rmdir_tree(t->v1_root_fd[i], t->parent);
	}
}

const struct cgroup_backend cgroup_v1 = {
	.open = v1_open,
	.limit_all = v1_limit_all,
	.make = v1_make,
	.limit = v1_limit,
	.io = v1_io,
	.cpu = v1_cpu,
	.oom_watch = v1_oom_watch,
	.seat = v1_seat,
	.freeze = v1_freeze,
	.is_frozen = v1_is_frozen,
	.freezer = v1_freezer,
	.after_kill = v1_after_kill,
	.usage = v1_usage,
	.detail = v1_detail,
	.all_memory = v1_all_memory,
	.cpu_used = v1_cpu_used,
	.memory = v1_memory,
	.reclaim = v1_reclaim,
	.remove = v1_remove,
	.remove_all = v1_remove_all,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Units of engine/cgroup: what is written to and read from the kernel's files, for both kinds of host. */
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/cgroup/impl.h"
#include "engine/userns.h"
#include "unit.h"

static const char hybrid[] =
    "30 24 0:26 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
    "31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "32 30 0:28 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
    "33 30 0:29 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd\n"
    "34 30 0:30 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

static void mounts_are_found_by_controller(void **state)
{
	char at[64];

	(void)state;
	assert_int_equal(cgroup_find_mount(hybrid, "cgroup", "memory", at, sizeof at), 0);
	assert_string_equal(at, "/sys/fs/cgroup/memory");
	assert_int_equal(cgroup_find_mount(hybrid, "cgroup", "cpuacct", at, sizeof at), 0);
	assert_string_equal(at, "/sys/fs/cgroup/cpu,cpuacct");
	assert_int_equal(cgroup_find_mount(hybrid, "cgroup2", NULL, at, sizeof at), 0);
	assert_string_equal(at, "/sys/fs/cgroup/unified");
	assert_int_equal(cgroup_find_mount(hybrid, "cgroup", "pids", at, sizeof at), -ENOENT);
	assert_int_equal(cgroup_find_mount("", "cgroup", "pids", at, sizeof at), -ENOENT);
	assert_int_equal(cgroup_find_mount(hybrid, "cgroup", "memory", at, 8), -ENAMETOOLONG);
}

static const char *value_of(const struct cgroup_setting *s, size_t n, const char *file)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(s[i].file, file) == 0)
			return s[i].value;
	}
	return "(none)";
}

static const struct cgroup_limits some = { .mem_bytes = 512 << 20, .cpu_permille = 1500, .pids = 100 };

static void v1_limits_as_the_kernel_wants_them(void **state)
{
	struct cgroup_setting s[CGROUP_SETTINGS_MAX];
	size_t n = cgroup_v1_settings(&some, s);

	(void)state;
	assert_string_equal(value_of(s, n, "memory.limit_in_bytes"), "536870912");
	assert_string_equal(value_of(s, n, "memory.memsw.limit_in_bytes"), "536870912");
	assert_string_equal(value_of(s, n, "memory.kmem.tcp.limit_in_bytes"), "33554432");
	assert_string_equal(value_of(s, n, "pids.max"), "100");
	assert_string_equal(value_of(s, n, "cpu.cfs_period_us"), "100000");
	assert_string_equal(value_of(s, n, "cpu.cfs_quota_us"), "150000");
	assert_int_equal(cgroup_v1_settings(&(struct cgroup_limits) { 0 }, s), 0);
}

static void v2_limits_as_the_kernel_wants_them(void **state)
{
	struct cgroup_setting s[CGROUP_SETTINGS_MAX];
	size_t n = cgroup_v2_settings(&some, s);

	(void)state;
	assert_string_equal(value_of(s, n, "memory.max"), "536870912");
	assert_string_equal(value_of(s, n, "memory.swap.max"), "0");
	assert_string_equal(value_of(s, n, "pids.max"), "100");
	assert_string_equal(value_of(s, n, "cpu.max"), "150000 100000");
	assert_int_equal(cgroup_v2_settings(&(struct cgroup_limits) { 0 }, s), 0);
}

static const struct cgroup_limits slow = { .io_bytes_s = 10 << 20, .io_ops_s = 500 };

static void io_of_a_disk(void **state)
{
	struct cgroup_setting s[CGROUP_V1_IO], v2;

	(void)state;
	cgroup_v1_io(&slow, makedev(7, 3), s);
	assert_string_equal(value_of(s, CGROUP_V1_IO, "blkio.throttle.read_bps_device"), "7:3 10485760");
	assert_string_equal(value_of(s, CGROUP_V1_IO, "blkio.throttle.write_iops_device"), "7:3 500");
	cgroup_v1_io(&(struct cgroup_limits) { .io_ops_s = 5 }, makedev(7, 3), s);
	assert_string_equal(value_of(s, CGROUP_V1_IO, "blkio.throttle.write_bps_device"), "7:3 0");
	cgroup_v2_io(&slow, makedev(259, 1), &v2);
	assert_string_equal(v2.value, "259:1 rbps=10485760 wbps=10485760 riops=500 wiops=500");
	cgroup_v2_io(&(struct cgroup_limits) { .io_bytes_s = 1 }, makedev(8, 0), &v2);
	assert_string_equal(v2.value, "8:0 rbps=1 wbps=1 riops=max wiops=max");
}

static void all_sandboxes_are_one_task_per_processor(void **state)
{
	(void)state;
	assert_int_equal(cgroup_v1_shares_all(100, 2), 2048);
	assert_int_equal(cgroup_v1_shares_all(50, 1), 512);
	assert_int_equal(cgroup_v1_shares_all(1, 1), 10);
	assert_int_equal(cgroup_v1_shares_all(10000, 128), 262144);
	assert_int_equal(cgroup_v1_shares_all(100, -1), 1024);
}

static void disks_count_once(void **state)
{
	struct cgroup_tree t = { .be = &cgroup_v2 };

	(void)state;
	cgroup_disks(&t, (uint64_t[]) { 7, 0, 7, 9 }, 4);
	assert_int_equal(t.n_disks, 2);
	assert_int_equal(t.disks[1], 9);
}

static void swap_is_beyond_the_memory(void **state)
{
	const struct cgroup_limits both = { .mem_bytes = 1000, .swap_bytes = 24 };
	struct cgroup_setting s[CGROUP_SETTINGS_MAX];
	size_t n = cgroup_v1_settings(&both, s);

	(void)state;
	assert_string_equal(value_of(s, n, "memory.memsw.limit_in_bytes"), "1024");
	n = cgroup_v2_settings(&both, s);
	assert_string_equal(value_of(s, n, "memory.swap.max"), "24");
}

static void fields_are_found_whole(void **state)
{
	uint64_t v = 0;

	(void)state;
	assert_int_equal(cgroup_field("oom 1\noom_kill 3\n", "oom_kill", &v), 0);
	assert_int_equal(v, 3);
	assert_int_equal(cgroup_field("total_cache 9\ncache 7\n", "cache", &v), 0);
	assert_int_equal(v, 7);
	assert_int_equal(cgroup_field("cache\n", "cache", &v), -ENOENT);
	assert_int_equal(cgroup_field("", "cache", &v), -ENOENT);
	assert_true(cgroup_has_word("cpuset cpu io memory pids\n", "pids"));
	assert_false(cgroup_has_word("cpuset io\n", "cpu"));
}

/* A directory that looks like a cgroup of v2: the files are there before anything is written. */
static int fake_v2(char dir[64], const char *id)
{
	static const char *const files[] = {
		"io.max",
		"memory.max",
		"memory.current",
		"memory.stat",
		"memory.events",
		"cpu.max",
		"cpu.stat",
		"pids.max",
		"pids.current",
		"cgroup.freeze",
		"cgroup.events",
		"cgroup.kill",
		"cgroup.procs",
	};
	int fd;

	(void)strcpy(dir, "/tmp/unit-cgroup-XXXXXX");
	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(fd, id, 0755), 0);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		char path[64];

		(void)snprintf(path, sizeof path, "%s/%s", id, files[i]);
		close(openat(fd, path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	}
	return fd;
}

/* Other limits, and word of a kill. */
static void v2_changes(struct cgroup_tree *t)
{
	const struct cgroup_limits less = { .mem_bytes = 64 << 20, .cpu_permille = 500, .pids = 20, .io_ops_s = 9 };
	struct err e = ERR_INIT;
	char z[512];
	int fd;

	cgroup_disks(t, (uint64_t[]) { makedev(8, 16) }, 1);
	assert_int_equal(cgroup_v2.limit(t, "box", &less, &e), 0);
	assert_true(file_read(t->v2_fd, "box/memory.max", z, sizeof z) > 0);
	assert_int_equal(strncmp(z, "67108864", 8), 0);
	assert_true(file_read(t->v2_fd, "box/io.max", z, sizeof z) > 0);
	assert_string_equal(z, "8:16 rbps=max wbps=max riops=9 wiops=9");
	assert_int_equal(cgroup_io(t, "box", &(struct cgroup_limits) { 0 }, &e), 0); /* H2: while it is frozen */
	assert_true(file_read(t->v2_fd, "box/io.max", z, sizeof z) > 0);
	assert_string_equal(z, "8:16 rbps=max wbps=max riops=max wiops=max");
	assert_true(file_read(t->v2_fd, "box/memory.max", z, sizeof z) > 0);
	assert_int_equal(strncmp(z, "67108864", 8), 0);
	assert_int_equal(cgroup_cpu(t, "box", 0), 0); /* H7: while processes are killed for want of memory */
	assert_true(file_read(t->v2_fd, "box/cpu.max", z, sizeof z) > 0);
	assert_int_equal(strncmp(z, "max 100000", 10), 0);
	assert_int_equal(cgroup_cpu(t, "box", 500), 0);
	assert_true(file_read(t->v2_fd, "box/cpu.max", z, sizeof z) > 0);
	assert_int_equal(strncmp(z, "50000 100000", 12), 0);
	assert_int_equal(cgroup_v2.limit(t, "nobox", &less, &e), -ENOENT);
	assert_int_equal(cgroup_v2.oom_watch(t, "box", &fd, &e), CGROUP_OOM_PRIORITY);
	assert_int_equal(file_write(t->v2_fd, "box/memory.events", "oom_kill 2\n"), 0);
	assert_true(pread(fd, z, sizeof z, 0) > 0);
	assert_int_equal(strncmp(z, "oom_kill 2\n", 11), 0);
	close(fd);
	assert_int_equal(cgroup_v2.oom_watch(t, "nobox", &fd, &e), -ENOENT);
}

/* Who was born there has no need to go there; a copy of a zygote was born with the zygote. */
static void v2_moves_who_was_born_elsewhere(void **state)
{
	struct cgroup_tree t = { .be = &cgroup_v2, .v2_root_fd = -1 };
	struct cgroup_seat seat;
	struct err e = ERR_INIT;
	char dir[64], z[96];

	(void)state;
	t.v2_fd = fake_v2(dir, "box");
	assert_int_equal(cgroup_seat_open(&t, "box", &seat, &e), 0);
	assert_true(seat.into_fd >= 0);
	assert_int_equal(cgroup_sit(&seat, 41, &e), 0);
	assert_int_equal(file_read(t.v2_fd, "box/cgroup.procs", z, sizeof z), 0);
	assert_int_equal(cgroup_move(&seat, 42, &e), 0);
	assert_true(file_read(t.v2_fd, "box/cgroup.procs", z, sizeof z) > 0);
	assert_string_equal(z, "42");
	cgroup_seat_close(&seat);
	assert_int_equal(cgroup_seat_open(&t, "nobox", &seat, &e), -ENOENT);
	close(t.v2_fd);
	(void)snprintf(z, sizeof z, "rm -r %s", dir);
	assert_int_equal(system(z), 0);
}

/* What is cloned into a cgroup that was killed once dies, too. */
static void v2_makes_an_empty_one_anew(void **state)
{
	const struct cgroup_limits none = { 0 };
	struct cgroup_tree t = { .be = &cgroup_v2, .v2_root_fd = -1 };
	struct err e = ERR_INIT;
	struct stat st;
	char dir[64], z[96];

	(void)state;
	t.v2_fd = fake_v2(dir, "used");
	assert_int_equal(mkdirat(t.v2_fd, "left", 0700), 0);
	assert_int_equal(fchmodat(t.v2_fd, "used", 0700, 0), 0);
	assert_int_equal(cgroup_v2.make(&t, "used", &none, &e), 0);
	(void)cgroup_v2.make(&t, "left", &none, &e); /* there are no files to write to */
	assert_int_equal(fstatat(t.v2_fd, "used", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(fstatat(t.v2_fd, "left", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0755);
	close(t.v2_fd);
	(void)snprintf(z, sizeof z, "rm -r %s", dir);
	assert_int_equal(system(z), 0);
}

static void put(int dir, const char *file, const char *value)
{
	if (file_write(dir, file, value) < 0)
		_exit(2);
}

/* In a process of its own that goes into `dir`: 0 if one that is begun from there sits in `box`. */
static int begin_from(int parent, const char *dir, const char *box)
{
	struct cgroup_tree t = { .be = &cgroup_v2, .v2_fd = parent, .v2_root_fd = -1 };
	char procs[64], z[4096] = "";
	struct cgroup_seat seat;
	struct err e = ERR_INIT;
	int pidfd, status;

	(void)snprintf(procs, sizeof procs, "%s/cgroup.procs", dir);
	put(parent, procs, "0");
	t.v2_moves = !cgroup_v2_births(parent);
	if (cgroup_seat_open(&t, box, &seat, &e) < 0)
		return 3;
	pid_t pid = userns_fork(0, seat.into_fd, &pidfd);

	if (pid == 0) {
		if (cgroup_sit(&seat, 0, &e) < 0 || file_read(AT_FDCWD, "/proc/self/cgroup", z, sizeof z) < 0)
			_exit(4);
		char *at = strstr(z, "0::"), *tail = at ? strstr(at, box) : NULL;

		_exit(tail && strcmp(tail + strlen(box), "\n") == 0 ? 0 : 5);
	}
	return waitpid(pid, &status, 0) != pid ? 6 : WIFEXITED(status) ? WEXITSTATUS(status) : 7;
}

static int in_child(int parent, const char *dir, const char *box)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(begin_from(parent, dir, box));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* Needs a real one, but no controllers in it. */
static int open_real_v2(char name[32])
{
	static char mountinfo[256 * 1024];
	char at[256];

	(void)snprintf(name, 32, "atoll-unit-%d", (int)getpid());
	if (file_read(AT_FDCWD, "/proc/self/mountinfo", mountinfo, sizeof mountinfo) < 0 ||
	    cgroup_find_mount(mountinfo, "cgroup2", NULL, at, sizeof at) < 0)
		return -1;
	int root = open(at, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (root >= 0 && mkdirat(root, name, 0755) < 0) {
		close(root);
		return -1;
	}
	return root;
}

/* A process may be in it for a moment longer than wait() knows. */
static void remove_empty(int dir, const char *name)
{
	for (int i = 0; i < 10000 && unlinkat(dir, name, AT_REMOVEDIR) < 0 && errno == EBUSY; i++)
		usleep(1000);
	assert_int_equal(faccessat(dir, name, F_OK, 0), -1);
}

static void v2_sandboxes_begin_even_from_a_cgroup_that_was_killed(void **state)
{
	static const char *const dirs[] = { "fresh", "killed", "box" };
	char name[32];
	int root = open_real_v2(name), parent, got[2] = { -1, -1 };

	(void)state;
	if (root < 0)
		skip(); /* not root, or no cgroup2 in this kernel */
	parent = openat(root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(mkdirat(parent, dirs[i], 0755), 0);
	if (file_write(parent, "killed/cgroup.kill", "1") == 0) { /* since 5.14 */
		got[0] = in_child(parent, "fresh", "box");
		got[1] = in_child(parent, "killed", "box");
	}
	for (size_t i = 0; i < 3; i++)
		remove_empty(parent, dirs[i]);
	close(parent);
	remove_empty(root, name); /* nothing of a trial is left in it */
	close(root);
	if (got[0] == -1)
		skip();
	assert_int_equal(got[0], 0);
	assert_int_equal(got[1], 0);
}

#define WATCHED 64

/* Waits for a change of the file as the warden's loop does, and reads it; false: nothing has changed. */
static bool changed(int epoll, int fd, int timeout_ms)
{
	struct epoll_event ev;
	char z[1024];

	if (epoll_wait(epoll, &ev, 1, timeout_ms) != 1)
		return false;
	assert_true(ev.events & EPOLLPRI);
	assert_true(pread(fd, z, sizeof z, 0) > 0);
	return true;
}

static pid_t sit_and_wait(int parent)
{
	pid_t pid = fork();

	if (pid == 0) {
		put(parent, "box/cgroup.procs", "0");
		(void)pause();
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

static long times_it_waited(void)
{
	struct rusage u;

	assert_int_equal(getrusage(RUSAGE_SELF, &u), 0);
	return u.ru_nvcsw;
}

/* cgroup.events stands for memory.events, which a kernel with v1 controllers does not have: the kernel reports both
 * in the same way. */
static void a_change_is_reported_once(int parent)
{
	struct err e = ERR_INIT;
	int fd, epoll = epoll_create1(EPOLL_CLOEXEC);

	assert_int_equal(cgroup_v2_watch(parent, "box", "cgroup.events", &fd, &e), 0);
	assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &(struct epoll_event) { .events = EPOLLPRI }), 0);
	assert_false(changed(epoll, fd, 0));
	pid_t pid = sit_and_wait(parent);

	assert_true(changed(epoll, fd, 10000));
	assert_false(changed(epoll, fd, 0));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(changed(epoll, fd, 10000));
	assert_int_equal(cgroup_v2_watch(parent, "nobox", "cgroup.events", &(int) { -1 }, &e), -ENOENT);
	remove_empty(parent, "box");
	char z[64];

	assert_int_equal(pread(fd, z, sizeof z, 0), -1); /* the sign to stop, since it is reported for ever */
	close(fd);
	close(epoll);
}

static void closing_waits_for_nothing(int parent)
{
	struct err e = ERR_INIT;
	int fds[WATCHED];

	assert_int_equal(mkdirat(parent, "box", 0755), 0);
	for (size_t i = 0; i < WATCHED; i++)
		assert_int_equal(cgroup_v2_watch(parent, "box", "cgroup.events", &fds[i], &e), 0);
	long before = times_it_waited();

	for (size_t i = 0; i < WATCHED; i++)
		close(fds[i]);
	assert_true(times_it_waited() - before < WATCHED / 4); /* an inotify instance waits each time (H1) */
	remove_empty(parent, "box");
}

static void v2_reports_changes_and_closes_without_waiting(void **state)
{
	char name[32];
	int root = open_real_v2(name), parent;

	(void)state;
	if (root < 0)
		skip(); /* not root, or no cgroup2 in this kernel */
	parent = openat(root, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(parent, "box", 0755), 0);
	a_change_is_reported_once(parent);
	closing_waits_for_nothing(parent);
	close(parent);
	remove_empty(root, name);
	close(root);
}

/* A service manager finds no place for the daemon in a cgroup below which ours were left. */
static void v2_is_at_the_top_whoever_started_us(void **state)
{
	static const char *const made[] = { "cgroup.subtree_control", "atoll3/cgroup.subtree_control",
		"atoll3/pids.max", "atoll3/memory.max", "atoll3/cpu.weight" };
	struct cgroup_tree t = { .be = &cgroup_v2,
		.parent = "atoll3",
		.mem_total_bytes = 1 << 30,
		.pids_total = 99,
		.cpu_weight = 100,
		.v2_fd = -1,
		.v2_root_fd = -1 };
	struct err e = ERR_INIT;
	char dir[64], z[128];
	int fd;

	(void)state;
	fd = fake_v2(dir, "atoll3");
	for (size_t i = 0; i < sizeof made / sizeof *made; i++)
		close(openat(fd, made[i], O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	(void)snprintf(z, sizeof z, "30 23 0:26 / %s rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n", dir);
	assert_int_equal(cgroup_v2.open(&t, z, &e), 0);
	assert_int_equal(cgroup_v2.limit_all(&t, &e), 0);
	for (size_t i = 0; i < 2; i++) {
		assert_true(file_read(fd, made[i], z, sizeof z) > 0);
		assert_int_equal(z[0], '+');
	}
	assert_true(file_read(fd, "atoll3/pids.max", z, sizeof z) > 0);
	assert_string_equal(z, "99");
	assert_int_equal(faccessat(fd, "daemon", F_OK, 0), -1);
	close(t.v2_fd);
	close(t.v2_root_fd);
	close(fd);
	(void)snprintf(z, sizeof z, "rm -r %s", dir);
	assert_int_equal(system(z), 0);
}

static void v2_files_are_written_and_read(void **state)
{
	char dir[64], z[64], cmd[96];
	struct err e = ERR_INIT;
	struct cgroup_usage u;
	struct cgroup_tree t = { .be = &cgroup_v2, .v2_root_fd = -1 };

	(void)state;
	t.v2_fd = fake_v2(dir, "box");
	assert_int_equal(cgroup_v2.make(&t, "box", &some, &e), 0); /* memory.swap.max is missing: fine */
	assert_true(file_read(t.v2_fd, "box/memory.max", z, sizeof z) > 0);
	assert_string_equal(z, "536870912");
	assert_int_equal(file_write(t.v2_fd, "box/memory.current", "4096\n"), 0);
	assert_int_equal(file_write(t.v2_fd, "box/memory.stat", "anon 1024\nfile 2048\n"), 0);
	assert_int_equal(file_write(t.v2_fd, "box/memory.events", "low 0\noom 2\noom_kill 1\n"), 0);
	assert_int_equal(file_write(t.v2_fd, "box/cpu.stat", "usage_usec 1500\nuser_usec 1\n"), 0);
	assert_int_equal(file_write(t.v2_fd, "box/pids.current", "7\n"), 0);
	assert_int_equal(cgroup_v2.usage(&t, "box", &u, &e), 0);
	assert_int_equal(u.mem_bytes, 4096);
	assert_int_equal(u.mem_cache_bytes, 2048);
	assert_int_equal(u.oom_kills, 1);
	assert_int_equal(u.cpu_ns, 1500000);
	assert_int_equal(u.pids, 7);
	assert_int_equal(file_write(t.v2_fd, "box/cgroup.events", "populated 1\nfrozen 1\n"), 0);
	assert_int_equal(cgroup_v2.freeze(&t, "box", true, &e), 0);
	assert_int_equal(file_write(t.v2_fd, "box/cgroup.events", "populated 1\nfrozen 0\n"), 0);
	assert_int_equal(cgroup_v2.freeze(&t, "box", true, &e), -EAGAIN);
	assert_true(file_read(t.v2_fd, "box/cgroup.freeze", z, sizeof z) > 0);
	assert_int_equal(z[0], '1'); /* still asked for */
	assert_int_equal(cgroup_v2.freeze(&t, "box", false, &e), 0);
	assert_true(file_read(t.v2_fd, "box/cgroup.freeze", z, sizeof z) > 0);
	assert_int_equal(z[0], '0');
	assert_int_equal(cgroup_v2.usage(&t, "nobox", &u, &e), -ENOENT);
	v2_changes(&t);
	close(t.v2_fd);
	(void)snprintf(cmd, sizeof cmd, "rm -r %s", dir);
	assert_int_equal(system(cmd), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mounts_are_found_by_controller),
		cmocka_unit_test(v1_limits_as_the_kernel_wants_them),
		cmocka_unit_test(v2_limits_as_the_kernel_wants_them),
		cmocka_unit_test(io_of_a_disk),
		cmocka_unit_test(disks_count_once),
		cmocka_unit_test(all_sandboxes_are_one_task_per_processor),
		cmocka_unit_test(swap_is_beyond_the_memory),
		cmocka_unit_test(fields_are_found_whole),
		cmocka_unit_test(v2_is_at_the_top_whoever_started_us),
		cmocka_unit_test(v2_moves_who_was_born_elsewhere),
		cmocka_unit_test(v2_makes_an_empty_one_anew),
		cmocka_unit_test(v2_sandboxes_begin_even_from_a_cgroup_that_was_killed),
		cmocka_unit_test(v2_files_are_written_and_read),
		cmocka_unit_test(v2_reports_changes_and_closes_without_waiting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

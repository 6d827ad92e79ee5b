/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup: selects the backend, and holds what both need. */
#include "engine/cgroup/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <time.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "engine/cgroup/impl.h"

#define RESERVE_MIN (512ull << 20) /* the host's reserve: at least this much, or this fraction of its memory */
#define RESERVE_PART 10
#define STRAY_TRIES 100
#define STRAY_WAIT_NS 5000000
#define FREEZE_LOOKS 4
#define FREEZE_LOOK_NS 250000
#define MOUNTINFO_MAX (256 << 10)

bool cgroup_has_word(const char *text, const char *word)
{
	struct str s = str_of(text);

	while (s.p) {
		struct str w = str_cut(&s, ' ');

		if (w.n && w.p[w.n - 1] == '\n')
			w.n--;
		if (str_is(w, word))
			return true;
	}
	return false;
}

static bool has_option(struct str opts, const char *word)
{
	while (opts.p) {
		if (str_is(str_cut(&opts, ','), word))
			return true;
	}
	return false;
}

/* 36 35 98:0 /root /mount/point rw,noatime shared:1 - type source super,options */
static bool mount_line(struct str line, const char *type, const char *controller, struct str *ret_point)
{
	struct str f[5];

	for (size_t i = 0; i < ARRAY_LEN(f); i++)
		f[i] = str_cut(&line, ' ');
	while (line.p && !str_is(str_cut(&line, ' '), "-"))
		;
	if (!line.p || !str_is(str_cut(&line, ' '), type))
		return false;
	(void)str_cut(&line, ' ');
	if (!line.p || (controller && !has_option(line, controller)))
		return false;
	*ret_point = f[4];
	return true;
}

int cgroup_find_mount(const char *mountinfo, const char *type, const char *controller, char *ret, size_t size)
{
	struct str s = str_of(mountinfo), point;

	while (s.p) {
		if (mount_line(str_cut(&s, '\n'), type, controller, &point))
			return str_copy(ret, size, point) ? 0 : -ENAMETOOLONG;
	}
	return -ENOENT;
}

int cgroup_field(const char *text, const char *key, uint64_t *ret)
{
	struct str s = str_of(text);

	while (s.p) {
		struct str line = str_cut(&s, '\n');

		if (str_is(str_cut(&line, ' '), key) && line.p)
			return str_to_u64(line, UINT64_MAX, ret);
	}
	return -ENOENT;
}

static void path_of(char z[128], const char *id, const char *file)
{
	(void)snprintf(z, 128, "%s%s%s", id ? id : "", id ? "/" : "", file);
}

int cgroup_write(int dirfd, const char *id, const char *file, const char *value)
{
	char path[128];

	path_of(path, id, file);
	return file_write(dirfd, path, value);
}

int cgroup_number(int dirfd, const char *id, const char *file, uint64_t *ret)
{
	char path[128], z[64];

	path_of(path, id, file);
	ssize_t n = file_read(dirfd, path, z, sizeof z);

	if (n < 0)
		return (int)n;
	if (n > 0 && z[n - 1] == '\n')
		n--;
	return str_to_u64((struct str) { z, (size_t)n }, UINT64_MAX, ret);
}

int cgroup_rmdir_tree(int dirfd, const char *name)
{
	if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d) {
		fd_close(fd);
		return -errno;
	}
	for (struct dirent *de; (de = readdir(d));) {
		if (de->d_type == DT_DIR && de->d_name[0] != '.')
			(void)unlinkat(fd, de->d_name, AT_REMOVEDIR);
	}
	(void)closedir(d);
	return unlinkat(dirfd, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno : 0;
}

/* Freezing is a request: tasks stop at their next return to user space, which may take a while for a task that
 * waits for the disk. An idle sandbox is frozen in less than a millisecond, so this waits that long; the caller
 * must call again for the rest. */
int cgroup_look_frozen(int dirfd, const char *id, const char *file, const char *want, struct err *e)
{
	char path[128], z[256];

	path_of(path, id, file);
	for (int i = 0; i < FREEZE_LOOKS; i++) {
		ssize_t n = file_read(dirfd, path, z, sizeof z);

		if (n < 0)
			return err_set(e, (int)-n, "read '%s'", file);
		if (strstr(z, want))
			return 0;
		(void)nanosleep(&(struct timespec) { .tv_nsec = FREEZE_LOOK_NS }, NULL);
	}
	return err_set(e, EAGAIN, "a process of it is busy in the kernel");
}

bool cgroup_says(int dirfd, const char *id, const char *file, const char *want)
{
	char path[128], z[256];

	path_of(path, id, file);
	return file_read(dirfd, path, z, sizeof z) >= 0 && strstr(z, want);
}

uint32_t cgroup_host_pids(void)
{
	uint64_t ids = 32768, tasks = UINT64_MAX;

	(void)cgroup_number(AT_FDCWD, NULL, "/proc/sys/kernel/pid_max", &ids);
	(void)cgroup_number(AT_FDCWD, NULL, "/proc/sys/kernel/threads-max", &tasks);
	if (tasks < ids)
		ids = tasks; /* set by the kernel from the host's memory; applies to root too */
	return (uint32_t)(ids - ids / 8);
}

static void totals(struct cgroup_tree *t, uint64_t aside_bytes)
{
	struct sysinfo si;

	t->pids_total = cgroup_host_pids();
	if (t->mem_total_bytes || sysinfo(&si) < 0)
		return;
	uint64_t all = (uint64_t)si.totalram * si.mem_unit, keep = all / RESERVE_PART;

	if (keep < RESERVE_MIN)
		keep = RESERVE_MIN;
	keep += aside_bytes;
	t->mem_total_bytes = all > 2 * keep ? all - keep : all / 2;
}

static const struct cgroup_backend *pick(const char *mountinfo, struct err *e)
{
	char at[256], path[300], z[512];

	if (cgroup_find_mount(mountinfo, "cgroup2", NULL, at, sizeof at) == 0) {
		(void)snprintf(path, sizeof path, "%s/cgroup.controllers", at);
		if (file_read(AT_FDCWD, path, z, sizeof z) >= 0 && cgroup_has_word(z, "memory") &&
		    cgroup_has_word(z, "pids"))
			return &cgroup_v2;
	}
	if (cgroup_find_mount(mountinfo, "cgroup", "memory", at, sizeof at) == 0)
		return &cgroup_v1;
	(void)err_set(e, ENOENT, "no cgroup hierarchy with the memory controller is mounted, neither v2 nor v1");
	return NULL;
}

int cgroup_tree_open(uint32_t instance, const struct cgroup_totals *all, struct cgroup_tree **ret, struct err *e)
{
	autofree char *mountinfo = malloc(MOUNTINFO_MAX);
	autofree struct cgroup_tree *t = malloc(sizeof *t);
	ssize_t n;

	if (!mountinfo || !t)
		return err_set(e, ENOMEM, "open the cgroup tree");
	n = file_read(AT_FDCWD, "/proc/self/mountinfo", mountinfo, MOUNTINFO_MAX);
	if (n < 0)
		return err_set(e, (int)-n, "read /proc/self/mountinfo");
	*t = (struct cgroup_tree) { .be = pick(mountinfo, e),
		.mem_total_bytes = all->mem_bytes,
		.swap_bytes = all->swap_bytes,
		.cpu_weight = all->cpu_weight ? all->cpu_weight : 100,
		.v2_fd = -1,
		.v2_root_fd = -1 };
	memset(t->v1_fd, -1, sizeof t->v1_fd);
	memset(t->v1_root_fd, -1, sizeof t->v1_root_fd);
	if (!t->be)
		return -e->no;
	(void)snprintf(t->parent, sizeof t->parent, "atoll%u", instance);
	totals(t, all->aside_bytes);
	int r = t->be->open(t, mountinfo, e);

	if (r >= 0)
		r = t->be->limit_all(t, e);
	if (r < 0) {
		cgroup_tree_close(take_ptr(&t), false);
		return err_wrap(e, "prepare cgroup '%s'", "atoll");
	}
	*ret = take_ptr(&t);
	return 0;
}

/* Reopens the parent directory if it is not ours any more, and returns 1. The fd keeps its number, so that it is
 * valid for code that copied the number before a fork. */
static int mend_parent(const struct cgroup_tree *t, int root, int fd, struct err *e)
{
	struct stat ours, now;

	if (fd < 0)
		return 0;
	if (fstat(fd, &ours) == 0 && fstatat(root, t->parent, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	    ours.st_dev == now.st_dev && ours.st_ino == now.st_ino)
		return 0;
	if (mkdirat(root, t->parent, 0755) < 0 && errno != EEXIST)
		return err_sys(e, "make cgroup '%s' again", t->parent);
	autoclose int new = openat(root, t->parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	return new < 0 || dup3(new, fd, O_CLOEXEC) < 0 ? err_sys(e, "open cgroup '%s' again", t->parent) : 1;
}

int cgroup_tree_mend(struct cgroup_tree *t, struct err *e)
{
	int gone = 0, r = mend_parent(t, t->v2_root_fd, t->v2_fd, e);

	for (size_t i = 0; r >= 0 && i < CGROUP_V1_MAX; i++) {
		gone += r;
		r = mend_parent(t, t->v1_root_fd[i], t->v1_fd[i], e);
	}
	if (r < 0)
		return r;
	gone += r;
	if (gone == 0)
		return 0;
	log_warn("the parent cgroup of the sandboxes was removed, creating it again", "name=%s", t->parent);
	return t->be->limit_all(t, e) < 0 ? err_wrap(e, "limit cgroup '%s' again", t->parent) : 1;
}

void cgroup_tree_close(struct cgroup_tree *t, bool remove)
{
	if (!t)
		return;
	if (remove)
		t->be->remove_all(t);
	for (size_t i = 0; i < CGROUP_V1_MAX; i++) {
		fd_close(t->v1_fd[i]);
		fd_close(t->v1_root_fd[i]);
	}
	fd_close(t->v2_fd);
	fd_close(t->v2_root_fd);
	free(t);
}

int cgroup_make(struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim, struct err *e)
{
	if (cgroup_tree_mend(t, e) < 0)
		return -e->no;
	if (t->be->make(t, id, lim, e) < 0) {
		struct err ignored;

		(void)t->be->remove(t, id, &ignored);
		return err_wrap(e, "make cgroup");
	}
	return 0;
}

void cgroup_disks(struct cgroup_tree *t, const uint64_t *dev, size_t n)
{
	t->n_disks = 0;
	for (size_t i = 0; i < n && t->n_disks < CGROUP_DISKS_MAX; i++) {
		size_t k = 0;

		while (k < t->n_disks && t->disks[k] != dev[i])
			k++;
		if (dev[i] && k == t->n_disks)
			t->disks[t->n_disks++] = dev[i];
	}
}

int cgroup_limit(struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim, struct err *e)
{
	return t->be->limit(t, id, lim, e) < 0 ? err_wrap(e, "limit it") : 0;
}

int cgroup_cpu(struct cgroup_tree *t, const char *id, uint32_t permille)
{
	return t->be->cpu(t, id, permille);
}

int cgroup_io(struct cgroup_tree *t, const char *id, const struct cgroup_limits *lim, struct err *e)
{
	return t->be->io(t, id, lim, e) < 0 ? err_wrap(e, "limit its io") : 0;
}

int cgroup_oom_watch(struct cgroup_tree *t, const char *id, int *ret_fd, struct err *e)
{
	int r = t->be->oom_watch(t, id, ret_fd, e);

	return r < 0 ? err_wrap(e, "watch its memory") : r;
}

int cgroup_seat_open(struct cgroup_tree *t, const char *id, struct cgroup_seat *ret, struct err *e)
{
	*ret = CGROUP_SEAT_NONE;
	if (t->be->seat(t, id, ret, e) < 0) {
		cgroup_seat_close(ret);
		return -e->no;
	}
	return 0;
}

void cgroup_seat_close(struct cgroup_seat *s)
{
	fd_close(s->into_fd);
	while (s->n_procs > 0)
		fd_close(s->procs[--s->n_procs]);
	s->into_fd = -1;
}

int cgroup_sit(const struct cgroup_seat *s, int pid, struct err *e)
{
	return s->into_fd >= 0 ? 0 : cgroup_move(s, pid, e);
}

int cgroup_move(const struct cgroup_seat *s, int pid, struct err *e)
{
	char z[16];
	int n = snprintf(z, sizeof z, "%d", pid);

	for (size_t i = 0; i < s->n_procs; i++) {
		if (write(s->procs[i], z, (size_t)n) != n)
			return err_sys(e, "enter the cgroup");
	}
	return 0;
}

int cgroup_freeze(struct cgroup_tree *t, const char *id, bool on, struct err *e)
{
	return t->be->freeze(t, id, on, e);
}

int cgroup_freezer(struct cgroup_tree *t, const char *id, int *ret_fd, struct err *e)
{
	int at = t->be->freezer(t);

	if (at < 0)
		return err_set(e, ENOTSUP, "this host has no freezer");
	*ret_fd = openat(at, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return *ret_fd < 0 ? err_sys(e, "open the freezer of '%s'", id) : 0;
}

int cgroup_after_kill(struct cgroup_tree *t, const char *id)
{
	return t->be->after_kill(t, id);
}

int cgroup_usage(struct cgroup_tree *t, const char *id, struct cgroup_usage *ret, struct err *e)
{
	return t->be->usage(t, id, ret, e);
}

int cgroup_detail(struct cgroup_tree *t, const char *id, struct cgroup_detail *ret)
{
	*ret = (struct cgroup_detail) { 0 };
	return t->be->detail(t, id, ret);
}

void cgroup_memory_fields(const char *text, const char *prefix, struct cgroup_detail *ret)
{
	const struct {
		const char *key;
		uint64_t *to;
	} fields[] = {
		{ "shmem", &ret->shmem },
		{ "active_anon", &ret->active_anon },
		{ "inactive_anon", &ret->inactive_anon },
		{ "active_file", &ret->active_file },
		{ "inactive_file", &ret->inactive_file },
		{ "unevictable", &ret->unevictable },
	};
	char key[48];

	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		(void)snprintf(key, sizeof key, "%s%s", prefix, fields[i].key);
		(void)cgroup_field(text, key, fields[i].to);
	}
}

size_t cgroup_dirs(struct cgroup_tree *t, int *ret[CGROUP_DIRS_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < CGROUP_V1_MAX; i++) {
		if (t->v1_fd[i] >= 0)
			ret[n++] = &t->v1_fd[i];
	}
	if (t->v2_fd >= 0)
		ret[n++] = &t->v2_fd;
	return n;
}

bool cgroup_is_frozen(struct cgroup_tree *t, const char *id)
{
	return t->be->is_frozen(t, id);
}

int cgroup_cpu_used(struct cgroup_tree *t, const char *id, uint64_t *ret_ns)
{
	return t->be->cpu_used(t, id, ret_ns);
}

int cgroup_memory(struct cgroup_tree *t, const char *id, uint64_t *ret_bytes)
{
	return t->be->memory(t, id, ret_bytes);
}

int cgroup_reclaim(struct cgroup_tree *t, const char *id)
{
	return t->be->reclaim(t, id);
}

int cgroup_all_memory(struct cgroup_tree *t, uint64_t *ret_bytes)
{
	return t->be->all_memory(t, ret_bytes);
}

/* Sums two fields of the parent's memory.stat. */
int cgroup_memory_sum(int dirfd, const char *first, const char *second, uint64_t *ret)
{
	char z[8192];
	uint64_t a, b;
	ssize_t n = file_read(dirfd, "memory.stat", z, sizeof z);

	if (n < 0)
		return (int)n;
	if (cgroup_field(z, first, &a) < 0 || cgroup_field(z, second, &b) < 0)
		return -ENOENT;
	*ret = a + b;
	return 0;
}

int cgroup_remove(struct cgroup_tree *t, const char *id, struct err *e)
{
	return t->be->remove(t, id, e);
}

static void kill_members(int dirfd, const char *id)
{
	char path[128], text[16384];

	path_of(path, id, "cgroup.procs");
	if (file_read(dirfd, path, text, sizeof text) < 0)
		return;
	struct str s = str_of(text);

	while (s.p) {
		uint64_t pid;

		if (str_to_u64(str_cut(&s, '\n'), INT32_MAX, &pid) == 0 && pid > 1)
			(void)kill((pid_t)pid, SIGKILL);
	}
}

/* A set-up process may have been moved into only some of the v1 hierarchies. */
void cgroup_kill(struct cgroup_tree *t, const char *id)
{
	for (size_t i = 0; i < CGROUP_V1_MAX; i++) {
		if (t->v1_fd[i] >= 0)
			kill_members(t->v1_fd[i], id);
	}
	if (t->v2_fd >= 0)
		kill_members(t->v2_fd, id);
	(void)t->be->after_kill(t, id);
}

void cgroup_end(struct cgroup_tree *t, const char *id)
{
	struct err e = ERR_INIT;

	for (int i = 0; i < STRAY_TRIES; i++) {
		cgroup_kill(t, id);
		if (t->be->remove(t, id, &e) >= 0)
			return;
		(void)nanosleep(&(struct timespec) { .tv_nsec = STRAY_WAIT_NS }, NULL);
	}
	log_warn("could not kill the processes of a cgroup", "id=%s err=%s", id, e.text);
}

static bool is_of(const char *name, const char *prefix)
{
	return prefix ? strncmp(name, prefix, strlen(prefix)) == 0 : name[0] != '.' && name[0] != '_';
}

static void keep_only_in(struct cgroup_tree *t, int dirfd, const char *prefix, bool (*keep)(const char *id, void *arg),
    void *arg)
{
	int fd = dirfd < 0 ? -1 : openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d) {
		fd_close(fd);
		return;
	}
	for (struct dirent *de; (de = readdir(d));) {
		if (de->d_type == DT_DIR && is_of(de->d_name, prefix) && !keep(de->d_name, arg))
			cgroup_end(t, de->d_name);
	}
	(void)closedir(d);
}

void cgroup_keep_only_of(struct cgroup_tree *t, const char *prefix, bool (*keep)(const char *id, void *arg), void *arg)
{
	for (size_t i = 0; i < CGROUP_V1_MAX; i++)
		keep_only_in(t, t->v1_fd[i], prefix, keep, arg);
	keep_only_in(t, t->v2_fd, prefix, keep, arg);
}

void cgroup_keep_only(struct cgroup_tree *t, bool (*keep)(const char *id, void *arg), void *arg)
{
	cgroup_keep_only_of(t, NULL, keep, arg);
}

/* Reads only the beginning, since the file may be long. 0: no process. */
static int first_pid(int dirfd, const char *id)
{
	char path[128], z[24];
	uint64_t pid;

	path_of(path, id, "cgroup.procs");
	autoclose int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, z, sizeof z);
	struct str s = { z, n > 0 ? (size_t)n : 0 };

	return s.n && str_to_u64(str_cut(&s, '\n'), INT32_MAX, &pid) == 0 ? (int)pid : 0;
}

/* Returns one of the parent directories: every process of a sandbox is in all hierarchies. */
static int any_parent(const struct cgroup_tree *t)
{
	int at = t->v2_fd;

	for (size_t i = 0; at < 0 && i < CGROUP_V1_MAX; i++)
		at = t->v1_fd[i];
	return at;
}

FILE *cgroup_procs(int cgroup_fd)
{
	int fd = openat(cgroup_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (!f)
		fd_close(fd);
	return f;
}

FILE *cgroup_procs_of(const struct cgroup_tree *t, const char *id)
{
	autoclose int fd = openat(any_parent(t), id, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? NULL : cgroup_procs(fd);
}

void cgroup_names(struct cgroup_tree *t, void (*fn)(void *arg, const char *id), void *arg)
{
	int at = any_parent(t), fd = at < 0 ? -1 : openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d) {
		fd_close(fd);
		return;
	}
	for (struct dirent *de; (de = readdir(d));) {
		if (de->d_type == DT_DIR && is_of(de->d_name, NULL))
			fn(arg, de->d_name);
	}
	(void)closedir(d);
}

struct each {
	struct cgroup_tree *t;
	void (*fn)(struct cgroup_tree *t, const char *id, int pid);
};

static void each_one(void *arg, const char *id)
{
	const struct each *each = arg;
	int pid = first_pid(any_parent(each->t), id);

	if (pid > 0)
		each->fn(each->t, id, pid);
}

void cgroup_each(struct cgroup_tree *t, void (*fn)(struct cgroup_tree *t, const char *id, int pid))
{
	struct each each = { t, fn };

	cgroup_names(t, each_one, &each);
}

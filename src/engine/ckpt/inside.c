/* SPDX-License-Identifier: Apache-2.0 */
/* inside: checks that everything the processes of a sandbox can reach belongs to that sandbox. */
#include "engine/ckpt/inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "engine/disk/volume.h"

#define MOUNTS_MAX 512
#define NAMESPACES 9
#define ANON_INODE_MAGIC 0x09041934 /* newer than <linux/magic.h>, or missing there */
#define AIO_RING_MAGIC 0xa10a10a1
#define PIDFS_MAGIC 0x50494446

struct mount {
	uint64_t id;
	uint32_t dev; /* as fdinfo prints it for a watch: major << 20 | minor */
};

struct inside {
	struct mount mounts[MOUNTS_MAX];
	size_t n_mounts;
	uint64_t memory[2]; /* ids of the kernel's internal mounts that memfds are on; 0: none */
	uint64_t namespaces[NAMESPACES];
	uint64_t pid_ns, mnt_ns;
	struct statx base; /* stx_ino 0: none */
	int proc;          /* /proc/PID of the process being checked */
	pid_t pid;
};

/* With a name, which is a link in /proc/PID: of what it leads to. */
static int look(int at, const char *name, struct statx *ret)
{
	unsigned want = STATX_TYPE | STATX_INO | STATX_MNT_ID;
	int flags = AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT | (name[0] ? 0 : AT_EMPTY_PATH);

	if (statx(at, name, flags, want, ret) < 0)
		return -errno;
	return ret->stx_mask & STATX_MNT_ID ? 0 : -ENOTSUP;
}

/* --- what is its own ---------------------------------------------------------------------------------------- */

static int read_mount(struct inside *in, struct str line, struct err *e)
{
	struct str id = str_cut(&line, ' '), parent = str_cut(&line, ' ');
	struct str minor = str_cut(&line, ' '), major = str_cut(&minor, ':');
	uint64_t number, high, low;

	(void)parent;
	if (!minor.p || str_to_u64(id, UINT64_MAX, &number) < 0 || str_to_u64(major, 0xfff, &high) < 0 ||
	    str_to_u64(minor, 0xfffff, &low) < 0)
		return err_set(e, EBADMSG, "its mounts cannot be read");
	if (in->n_mounts == MOUNTS_MAX)
		return err_set(e, E2BIG, "it has more than %d mounts", MOUNTS_MAX);
	in->mounts[in->n_mounts++] = (struct mount) { number, (uint32_t)(high << 20 | low) };
	return 0;
}

static int read_mounts(struct inside *in, pid_t init, struct err *e)
{
	autofree char *text = NULL;

	if (volume_mounts_read(init, &text, e) < 0)
		return -e->no;
	struct str rest = str_of(text);

	while (rest.p) {
		struct str line = str_cut(&rest, '\n');

		if (line.n && read_mount(in, line, e) < 0)
			return -e->no;
	}
	return 0;
}

/* Reads the inodes of a process's namespaces; 0 for those that this kernel does not have. */
static void read_namespaces(struct inside *in, pid_t pid)
{
	static const char *const names[NAMESPACES] = {
		"pid",
		"mnt",
		"net",
		"user",
		"uts",
		"ipc",
		"cgroup",
		"time",
		"pid_for_children",
	};
	char path[64];
	struct stat st;

	for (size_t i = 0; i < NAMESPACES; i++) {
		(void)snprintf(path, sizeof path, "/proc/%d/ns/%s", pid, names[i]);
		in->namespaces[i] = stat(path, &st) == 0 ? st.st_ino : 0;
	}
	in->pid_ns = in->namespaces[0];
	in->mnt_ns = in->namespaces[1];
}

/* Finds the kernel's internal mounts for memfds by creating memfds of our own. */
static void read_memory(struct inside *in)
{
	static const unsigned kinds[] = { MFD_CLOEXEC, MFD_CLOEXEC | MFD_HUGETLB };
	struct statx st;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		autoclose int fd = memfd_create("inside", kinds[i]);

		in->memory[i] = fd >= 0 && look(fd, "", &st) == 0 ? st.stx_mnt_id : 0;
	}
}

static bool is_own_mount(const struct inside *in, uint64_t id)
{
	for (size_t i = 0; i < in->n_mounts; i++) {
		if (in->mounts[i].id == id)
			return true;
	}
	return false;
}

static bool is_own_namespace(const struct inside *in, uint64_t ino)
{
	for (size_t i = 0; i < NAMESPACES; i++) {
		if (in->namespaces[i] == ino)
			return true;
	}
	return false;
}

static bool is_own_dev(const struct inside *in, uint64_t dev)
{
	for (size_t i = 0; i < in->n_mounts; i++) {
		if (in->mounts[i].dev == dev)
			return true;
	}
	return false;
}

/* --- one reference ------------------------------------------------------------------------------------------ */

static int foreign(const char *name, struct err *e)
{
	return err_set(e, ESTALE,
	    "one of its processes got something that is not of the sandbox (%s): "
	    "a file of a volume is not what it was",
	    name);
}

/* Parses an fdinfo line of a watch: "inotify wd:1 ino:2 sdev:3 ..." The device identifies what is watched. */
static bool is_foreign_watch(const struct inside *in, const char *line)
{
	bool watches = strncmp(line, "inotify ", 8) == 0 || strncmp(line, "fanotify ", 9) == 0;
	const char *dev = watches ? strstr(line, " sdev:") : NULL;

	return dev && !is_own_dev(in, strtoull(dev + 6, NULL, 16));
}

static int check_watches(const struct inside *in, const char *name, struct err *e)
{
	char path[64];
	autofree char *line = NULL;
	size_t size = 0;
	bool bad = false;

	(void)snprintf(path, sizeof path, "fdinfo/%s", name + 3); /* the N of "fd/N" */
	int fd = openat(in->proc, path, O_RDONLY | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (!f) {
		(void)err_sys(e, "open '%s' of process %d", path, in->pid);
		fd_close(fd);
		return -e->no;
	}
	while (!bad && getline(&line, &size, f) > 0)
		bad = is_foreign_watch(in, line);
	(void)fclose(f);
	return bad ? foreign(name, e) : 0;
}

static bool is_base(const struct inside *in, const struct statx *st)
{
	return in->base.stx_ino && in->base.stx_ino == st->stx_ino && in->base.stx_dev_major == st->stx_dev_major &&
	    in->base.stx_dev_minor == st->stx_dev_minor;
}

/* Of what is on no mount of the sandbox. */
static int check_kind(const struct inside *in, const char *name, struct err *e)
{
	autoclose int fd = openat(in->proc, name, O_PATH | O_CLOEXEC);
	struct statx st;
	struct statfs fs;

	if (fd < 0 && (errno == ENOENT || errno == ESRCH))
		return 0;
	if (fd < 0 || fstatfs(fd, &fs) < 0)
		return err_sys(e, "look at '%s' of process %d", name, in->pid);
	int r = look(fd, "", &st);

	if (r < 0)
		return err_set(e, -r, "look at '%s' of process %d: %s", name, in->pid, strerror(-r));
	switch ((uint64_t)fs.f_type) {
	case PIPEFS_MAGIC:
	case SOCKFS_MAGIC:
	case AIO_RING_MAGIC:
	case PIDFS_MAGIC:
		return 0;
	case ANON_INODE_MAGIC:
		return str_starts(str_of(name), "fd/") ? check_watches(in, name, e) : 0;
	case NSFS_MAGIC:
		return is_own_namespace(in, st.stx_ino) ? 0 : foreign(name, e);
	default:
		return st.stx_mnt_id == in->memory[0] || st.stx_mnt_id == in->memory[1] ? 0 : foreign(name, e);
	}
}

static int check(const struct inside *in, const char *name, struct err *e)
{
	struct statx st;
	int r = look(in->proc, name, &st);

	if (r == -ENOENT || r == -ESRCH) /* the process has exited */
		return 0;
	if (r < 0)
		return err_set(e, -r, "look at '%s' of process %d: %s", name, in->pid, strerror(-r));
	if (is_own_mount(in, st.stx_mnt_id))
		return 0;
	if (str_starts(str_of(name), "map_files/") && is_base(in, &st))
		return 0;
	return check_kind(in, name, e);
}

/* --- one process -------------------------------------------------------------------------------------------- */

static int check_all(const struct inside *in, const char *dir, struct err *e)
{
	char name[300];
	int fd = openat(in->proc, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	int r = 0;

	if (!d) {
		fd_close(fd);
		return errno == ENOENT || errno == ESRCH ? 0 : err_sys(e, "list '%s' of process %d", dir, in->pid);
	}
	for (struct dirent *de; r == 0 && (de = readdir(d));) {
		if (de->d_name[0] == '.')
			continue;
		(void)snprintf(name, sizeof name, "%s/%s", dir, de->d_name);
		r = check(in, name, e);
	}
	(void)closedir(d);
	return r;
}

/* CRIU restores all threads of a process with one file table, one root and one working directory. */
static int check_process(struct inside *in, struct err *e)
{
	static const char *const single[] = { "cwd", "root", "exe" };

	for (size_t i = 0; i < ARRAY_LEN(single); i++) {
		if (check(in, single[i], e) < 0)
			return -e->no;
	}
	return check_all(in, "fd", e) < 0 ? -e->no : check_all(in, "map_files", e);
}

static int visit(struct inside *in, struct err *e)
{
	char path[32];
	struct stat pid_ns, mnt_ns;

	(void)snprintf(path, sizeof path, "/proc/%d", in->pid);
	autoclose int proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	in->proc = proc;
	if (proc < 0 || fstatat(proc, "ns/pid", &pid_ns, 0) < 0)
		return errno == ENOENT || errno == ESRCH ? 0 : err_sys(e, "look at process %d", in->pid);
	if (pid_ns.st_ino != in->pid_ns)
		return 0;
	if (fstatat(proc, "ns/mnt", &mnt_ns, 0) < 0)
		return errno == ENOENT ? 0 : err_sys(e, "look at the mounts of process %d", in->pid); /* it exited */
	if (mnt_ns.st_ino != in->mnt_ns)
		return foreign("ns/mnt", e);
	return check_process(in, e);
}

int inside_check(FILE *pids, pid_t init, int base_fd, struct err *e)
{
	autofree struct inside *in = calloc(1, sizeof *in);
	bool met = false;
	int pid;

	if (!in)
		return err_set(e, ENOMEM, "out of memory");
	if (base_fd >= 0 && look(base_fd, "", &in->base) < 0)
		return err_set(e, EIO, "look at the base");
	read_namespaces(in, init);
	read_memory(in);
	if (!in->pid_ns || !in->mnt_ns)
		return err_set(e, ESRCH, "it has ended");
	if (read_mounts(in, init, e) < 0)
		return -e->no;
	while (fscanf(pids, "%d", &pid) == 1) {
		in->pid = pid;
		met |= pid == init;
		if (visit(in, e) < 0)
			return -e->no;
	}
	return met ? 0 : err_set(e, ESRCH, "its pid 1 is not in its cgroup");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* atoll backup: copies the state of a running server to a directory.
 *
 * The database is copied as of one moment. The disks and checkpoints that this copy lists, and all volumes, are then
 * snapshotted within the storage, which takes milliseconds each. If one of them no longer exists, the database has
 * changed meanwhile, and everything is started again. btrfs-send(1) writes the snapshots to files one by one; no path
 * inside them is opened here. */
#include "cli/host/backup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/host/sums.h"
#include "cli/paths.h"
#include "cli/settings.h"
#include "engine/disk/btrfs.h"
#include "store/copy.h"

#define TRIES 5
#define NAME_SIZE 40
#define LOOK_NS 50000000
/* If the server reports no progress for this long, it is considered hung. Sandboxes whose memory is missing from the
 * backup are then listed. */
#define STILL_MS 20000

struct part {
	char name[NAME_SIZE]; /* without "+KIND" */
	char kind;
};

struct backup {
	char *state, *storage; /* absolute */
	char *dir;             /* output directory; has a temporary name until it is complete */
	int dir_fd, storage_fd;
	struct part *parts; /* parts that are snapshotted in the storage */
	size_t n_parts, n_volumes;
	struct part *unwritten; /* ids of paused sandboxes whose memory is not in the backup */
	size_t n_unwritten;
	int version; /* schema version */
};

/* --- snapshots in the storage ------------------------------------------------------------------------------- */

static void copy_name(const struct part *p, char ret[NAME_SIZE + 8])
{
	(void)snprintf(ret, NAME_SIZE + 8, "%s%c+" BACKUP_COPY, p->name, p->kind);
}

static void drop_copies(struct backup *b)
{
	for (size_t i = 0; i < b->n_parts; i++) {
		char z[NAME_SIZE + 8];

		copy_name(&b->parts[i], z);
		(void)btrfs_subvol_delete(b->storage_fd, z);
	}
	b->n_parts = b->n_volumes = b->n_unwritten = 0;
}

static int copy_part(struct backup *b, const char *name, char kind, struct err *e)
{
	struct part *grown = realloc(b->parts, (b->n_parts + 1) * sizeof *grown), p = { .kind = kind };
	char from[NAME_SIZE + 4], to[NAME_SIZE + 8];
	autoclose int fd = -1;

	if (!grown)
		return err_set(e, ENOMEM, "out of memory");
	b->parts = grown;
	if ((size_t)snprintf(p.name, sizeof p.name, "%s", name) >= sizeof p.name)
		return err_set(e, EBADMSG, "'%s' is not a valid part name", name);
	(void)snprintf(from, sizeof from, "%s+%c", name, kind);
	fd = openat(b->storage_fd, from, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT ? -ENOENT : err_sys(e, "open '%s' in the pool", from);
	if (kind == 'm' && faccessat(fd, "record", F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return -ENOENT; /* still being written */
	copy_name(&p, to);
	(void)btrfs_subvol_delete(b->storage_fd, to); /* left by an interrupted backup */
	if (btrfs_snapshot(fd, b->storage_fd, to, true, e) < 0)
		return -e->no;
	b->parts[b->n_parts++] = p;
	b->n_volumes += kind == 'v';
	return 0;
}

static int note_unwritten(struct backup *b, const char *id)
{
	struct part *grown = realloc(b->unwritten, (b->n_unwritten + 1) * sizeof *grown);

	if (!grown)
		return -ENOMEM;
	b->unwritten = grown;
	(void)snprintf(grown[b->n_unwritten++].name, NAME_SIZE, "%s", id);
	return 0;
}

static int on_part(void *user, enum store_part what, const char *name, uint64_t bytes)
{
	struct backup *b = user;
	struct err e = ERR_INIT;

	(void)bytes;
	if (what == STORE_UNWRITTEN)
		return note_unwritten(b, name);
	int r = copy_part(b, name, what == STORE_VOLUME ? 'v' : 'd', &e);

	if (r == 0 && what == STORE_KEPT && (r = copy_part(b, name, 'm', &e)) == -ENOENT)
		r = 0; /* there is a disk, but no checkpoint */
	if (r < 0 && r != -ENOENT)
		say("%s", e.text);
	return r;
}

/* Copies the database and the storage as of the same moment. Volumes, whose contents are only in the storage, are
 * some milliseconds newer. */
static int copy_both(struct backup *b, struct err *e)
{
	autofree char *from = str_fmt("%s/front/atoll.db", b->state), *to = str_fmt("%s/atoll.db", b->dir);
	int r = -EAGAIN;

	if (!from || !to)
		return err_set(e, ENOMEM, "out of memory");
	for (int i = 0; i < TRIES && r != 0; i++) {
		drop_copies(b);
		(void)unlink(to);
		if (store_copy(from, to, e) < 0)
			return -e->no;
		r = store_parts(to, on_part, b, &b->version, e);
		if (r < 0 && r != -ENOENT)
			return e->no ? -e->no : err_set(e, -r, "copy within the pool");
	}
	return r == 0 ? 0 : err_set(e, EAGAIN, "the stored sandboxes and snapshots keep changing; try again");
}

/* --- files -------------------------------------------------------------------------------------------------- */

static int run_btrfs(const char *const *argv, struct err *e)
{
	int status = 0;

	if (cli_child_run(argv, true, &status, e) < 0)
		return -e->no;
	return status == 0 ? 0 : err_set(e, EIO, "'btrfs %s' failed", argv[1]);
}

static int write_streams(struct backup *b, struct err *e)
{
	for (size_t i = 0; i < b->n_parts; i++) {
		char z[NAME_SIZE + 8];

		copy_name(&b->parts[i], z);
		autofree char *file = str_fmt("%s/%s+%c" BACKUP_STREAM, b->dir, b->parts[i].name, b->parts[i].kind),
			      *from = str_fmt("%s/%s", b->storage, z);

		if (!file || !from)
			return err_set(e, ENOMEM, "out of memory");
		if (run_btrfs((const char *[]) { "btrfs", "send", "-q", "-f", file, from, NULL }, e) < 0)
			return -e->no;
	}
	return 0;
}

/* --- memory that is not on disk yet ------------------------------------------------------------------------- */

/* Returns the last byte of the file if it has grown, else '\0'; see sandbox_hurry_open() in the front. */
static char last_word(int fd, off_t *size)
{
	struct stat st;
	char word = '\0';

	if (fstat(fd, &st) < 0 || st.st_size <= *size)
		return '\0';
	*size = st.st_size;
	return pread(fd, &word, 1, st.st_size - 1) == 1 ? word : '\0';
}

/* Writes the request for write_memories() to the file. The front owns the directory, so anything but a regular file
 * with one link is refused. Returns -ENOENT if the server does not support this. */
static int ask_for_memory(const char *path, struct err *e)
{
	struct stat st;
	autoclose int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return err_sys(e, "open '%s'", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1)
		return err_set(e, EINVAL, "'%s' is not a regular file", path);
	if (ftruncate(fd, 0) < 0 || write(fd, "r", 1) != 1)
		return err_sys(e, "write to '%s'", path);
	return take_fd(&fd);
}

/* The memory of a sandbox that was just paused is not on disk yet. A file asks the server to write it, and the server
 * reports its progress in the same file. Waits until it is done, or reports nothing for STILL_MS. */
static int write_memories(const struct backup *b, struct err *e)
{
	autofree char *path = str_fmt("%s/front/" BACKUP_HURRY, b->state);
	uint64_t since = clock_mono_ms();
	off_t size = 1; /* of our request */
	char word = '\0';

	if (!path)
		return err_set(e, ENOMEM, "out of memory");
	autoclose int fd = ask_for_memory(path, e);

	if (fd == -ENOENT) {
		*e = ERR_INIT;
		return 0;
	}
	if (fd < 0)
		return fd;
	while (word != 'd' && clock_mono_ms() - since < STILL_MS) {
		(void)nanosleep(&(struct timespec) { .tv_nsec = LOOK_NS }, NULL);
		word = last_word(fd, &size);
		if (word)
			since = clock_mono_ms();
	}
	return 0;
}

static void tell_unwritten(const struct backup *b)
{
	for (size_t i = 0; i < b->n_unwritten; i++)
		say("the memory of sandbox '%s' could not be written to disk ('atoll info %s' shows why); from this "
		    "backup it can only boot from its disk",
		    b->unwritten[i].name, b->unwritten[i].name);
}

/* If needed is set, a missing file is an error. */
static int copy_file(const struct backup *b, const char *from, const char *name, bool needed, struct err *e)
{
	autofree char *path = str_fmt("%s/%s", b->state, from);
	struct stat st;
	autoclose int in = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY) : -1;

	if (in < 0 && errno == ENOENT && !needed)
		return 0;
	/* The front owns the directory, so the path may be a pipe or any other file. */
	if (in < 0 || fstat(in, &st) < 0)
		return err_sys(e, "copy '%s/%s'", b->state, from);
	if (!S_ISREG(st.st_mode))
		return err_set(e, EBADMSG, "copy '%s/%s': not a regular file", b->state, from);
	autoclose int out = openat(b->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (out < 0)
		return err_sys(e, "copy '%s/%s'", b->state, from);
	while (st.st_size > 0) {
		ssize_t n = sendfile(out, in, NULL, (size_t)st.st_size);

		if (n <= 0)
			return err_set(e, n < 0 ? errno : EIO, "copy '%s/%s': %s", b->state, from,
			    strerror(n < 0 ? errno : EIO));
		st.st_size -= n;
	}
	return 0;
}

/* Copies the files of a directory in the state directory to DIR-NAME. */
static int copy_dir(const struct backup *b, const char *dir, struct err *e)
{
	autofree char *path = str_fmt("%s/%s", b->state, dir);
	DIR *d = path ? opendir(path) : NULL;

	if (!d)
		return 0;
	for (struct dirent *de; e->no == 0 && (de = readdir(d));) {
		autofree char *from = str_fmt("%s/%s", dir, de->d_name), *to = str_fmt("%s-%s", dir, de->d_name);

		if (de->d_name[0] != '.' && (de->d_type == DT_REG || de->d_type == DT_UNKNOWN) &&
		    (!from || !to || copy_file(b, from, to, true, e) < 0) && !e->no)
			(void)err_set(e, ENOMEM, "out of memory");
	}
	(void)closedir(d);
	return -e->no;
}

/* Copies another database of the front; it may be missing. */
static int copy_db(const struct backup *b, const char *name, struct err *e)
{
	autofree char *from = str_fmt("%s/front/%s", b->state, name), *to = str_fmt("%s/%s", b->dir, name);

	if (!from || !to)
		return err_set(e, ENOMEM, "out of memory");
	return access(from, F_OK) < 0 && errno == ENOENT ? 0 : store_copy(from, to, e);
}

/* Copies the audit trail. The database comes last: on start, the server adds records to the files that only the
 * database has. */
static int copy_audit(const struct backup *b, struct err *e)
{
	if (copy_file(b, "front/audit.key", "audit.key", false, e) < 0 || copy_dir(b, "audit", e) < 0 ||
	    copy_db(b, "audit.db", e) < 0)
		return -e->no;
	return copy_db(b, "notebooks.db", e) < 0 ? -e->no
						 : copy_file(b, "agent/sessions.log", "sessions.log", false, e);
}

static int write_manifest(const struct backup *b, struct err *e)
{
	autofree char *image = str_fmt("%s/pool.img", b->state);
	char now[CLOCK_RFC3339_SIZE];
	struct stat st;

	if (!image || stat(image, &st) < 0)
		return err_sys(e, "inspect '%s'", image ? image : b->state);
	clock_rfc3339(clock_wall_ms(), now);
	autofree char *text = str_fmt("format=%d\natoll=" ATOLL_VERSION "\nmade=%s\nschema=%d\npool_bytes=%llu\n",
	    BACKUP_FORMAT, now, b->version, (unsigned long long)st.st_size);
	autoclose int fd = openat(b->dir_fd, "manifest", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	return !text || fd < 0 || fd_write_all(fd, text, strlen(text)) < 0 ? err_sys(e, "write the manifest") : 0;
}

/* Signs the backup with a key that is not in it, so that write access to the backup is not enough to forge one. */
static int sign(const struct backup *b, struct err *e)
{
	autofree char *key = str_fmt("%s/" BACKUP_KEY, b->state);

	return key ? sums_write(b->dir_fd, key, e) : err_set(e, ENOMEM, "out of memory");
}

static int write_all(struct backup *b, struct err *e)
{
	if (write_memories(b, e) < 0 || copy_both(b, e) < 0 || write_streams(b, e) < 0 ||
	    copy_file(b, "key", "key", true, e) < 0 || copy_file(b, "sdk-key", "sdk-key", false, e) < 0 ||
	    copy_file(b, "front/secrets.key", "secrets.key", false, e) < 0 || copy_dir(b, "tls", e) < 0 ||
	    copy_audit(b, e) < 0 || write_manifest(b, e) < 0 || sign(b, e) < 0)
		return -e->no;
	return syncfs(b->dir_fd) < 0 ? err_sys(e, "sync to disk") : 0;
}

/* --- the running server ------------------------------------------------------------------------------------- */

/* The storage is mounted only in the warden's mount namespace. */
int backup_join_warden(const char *run_dir, struct err *e)
{
	autofree char *file = str_fmt("%s/warden.pid", run_dir);
	char text[32], ns[48];
	uint64_t pid;
	int n = file ? file_read(AT_FDCWD, file, text, sizeof text) : -ENOMEM;

	if (n < 0)
		return err_set(e, -n,
		    "no running server found ('%s': %s). If it was started with --run, use the same --run here; if it "
		    "is stopped, copy the state directory",
		    file ? file : "", strerror(-n));
	text[strcspn(text, "\n")] = '\0';
	if (str_to_u64(str_of(text), INT32_MAX, &pid) < 0)
		return err_set(e, EBADMSG, "'%s' contains no pid", file);
	(void)snprintf(ns, sizeof ns, "/proc/%llu/ns/mnt", (unsigned long long)pid);
	autoclose int fd = open(ns, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || setns(fd, CLONE_NEWNS) < 0)
		return err_sys(e, "reach the server (pid %llu)", (unsigned long long)pid);
	return 0;
}

int backup_lock(int storage_fd, struct err *e)
{
	if (flock(storage_fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		say("waiting for another backup, export or import of this server");
	while (flock(storage_fd, LOCK_EX) < 0) {
		if (errno != EINTR)
			return err_sys(e, "lock the pool");
	}
	return 0;
}

/* Removes the snapshots of an interrupted backup, which take up space. We hold the lock, so no other backup uses
 * them. */
static void drop_stale(const struct backup *b)
{
	int fd = openat(b->storage_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d) {
		fd_close(fd);
		return;
	}
	for (struct dirent *de; (de = readdir(d));) {
		const char *at = strchr(de->d_name, '+');

		if (at && strcmp(at + 1, BACKUP_COPY) == 0)
			(void)btrfs_subvol_delete(b->storage_fd, de->d_name);
	}
	(void)closedir(d);
}

static int open_places(struct backup *b, struct err *e)
{
	autofree char *image = str_fmt("%s/pool.img", b->state);

	if (!image || access(image, F_OK) < 0)
		return err_set(e, ENOTSUP, "the server has no storage pool (no_pool is set): stop it and copy '%s'",
		    b->state);
	b->storage_fd = open(b->storage, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (b->storage_fd < 0)
		return err_sys(e, "open '%s'", b->storage);
	if (backup_lock(b->storage_fd, e) < 0)
		return -e->no;
	drop_stale(b);
	if (mkdir(b->dir, 0700) < 0)
		return errno == EEXIST
		    ? err_set(e, EEXIST, "'%s' exists, left by an interrupted backup: remove it first", b->dir)
		    : err_sys(e, "make '%s'", b->dir);
	b->dir_fd = open(b->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return b->dir_fd < 0 ? err_sys(e, "open '%s'", b->dir) : 0;
}

static void remove_half(const struct backup *b)
{
	DIR *d = opendir(b->dir);

	for (struct dirent *de; d && (de = readdir(d));)
		(void)unlinkat(dirfd(d), de->d_name, 0);
	if (d)
		(void)closedir(d);
	(void)rmdir(b->dir);
}

static int backup(const char *state, const char *run_dir, const char *to)
{
	autofree char *from = path_absolute(state),
		      *run = run_dir ? path_absolute(run_dir)
	    : from                   ? path_run_dir(from)
				     : NULL;
	autofree char *at = path_absolute(to), *storage = run ? str_fmt("%s/private/pool", run) : NULL,
		      *dir = at ? str_fmt("%s.partial", at) : NULL;
	struct backup b = { .dir_fd = -1, .storage_fd = -1, .state = from, .storage = storage, .dir = dir };
	struct err e = ERR_INIT;

	if (!from || !storage || !dir)
		return fail("out of memory");
	if (access(at, F_OK) == 0)
		return fail("'%s' already exists: choose another name", at);
	if (backup_join_warden(run, &e) == 0 && open_places(&b, &e) == 0 && write_all(&b, &e) == 0 &&
	    rename(b.dir, at) < 0)
		(void)err_sys(&e, "rename '%s'", b.dir);
	size_t n = b.n_parts, volumes = b.n_volumes;

	if (!e.no)
		tell_unwritten(&b);
	if (b.storage_fd >= 0)
		drop_copies(&b);
	if (e.no && b.dir_fd >= 0)
		remove_half(&b);
	if (!e.no)
		(void)printf("%s: databases, keys, audit trail, %zu volumes, %zu sandbox disks and memory images\n", at,
		    volumes, n - volumes);
	fd_close(b.dir_fd);
	fd_close(b.storage_fd);
	free(b.parts);
	free(b.unwritten);
	return e.no ? fail("%s", e.text) : 0;
}

static int run(const struct verb *v, int argc, char **argv)
{
	const char *state = STATE_DIR_DEFAULT, *run_dir = NULL;
	const struct opt opts[] = { { "state", 0, OPT_STR, &state }, { "run", 0, OPT_STR, &run_dir } };
	int n,
	    rc = verb_operands(v, opts, ARRAY_LEN(opts),
		OPERANDS_ONE("missing operand: a directory that does not exist yet"), argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (geteuid() != 0)
		return fail("'atoll backup' must run as root, which alone can read the server's state: use sudo");
	return backup(state, run_dir, argv[0]);
}

const struct verb verb_backup = {
	.name = "backup",
	.summary = "Back up the state of a running server to a directory",
	.synopsis = "DIR [--state DIR] [--run DIR]",
	.help = "      --state DIR  state directory of the server (default: " STATE_DIR_DEFAULT ")\n"
		"      --run DIR    runtime directory of the server (default: as 'atoll serve' chooses it)\n"
		"\n"
		"DIR must not exist. The backup contains the databases, keys, certificates, the audit\n"
		"trail, notebooks, volumes, paused sandboxes, snapshots and built templates. The file\n"
		"SHA256SUMS is signed with export.key of the state directory. That key is not in the\n"
		"backup, and 'atoll restore' needs it: store a copy of it elsewhere. The backup contains\n"
		"secrets, so protect it like the server.\n"
		"\n"
		"The server keeps running. Running sandboxes are not included: pause or snapshot what\n"
		"must not be lost. The memory of recently paused sandboxes is written to disk first;\n"
		"failures are reported. Templates that come with atoll are not included; they are\n"
		"rebuilt where they are missing.\n",
	.run = run,
	.operand = OPERAND_FILE,
};

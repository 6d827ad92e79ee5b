/* SPDX-License-Identifier: Apache-2.0 */
/* atoll restore: creates a state directory from a backup. The whole backup is verified before anything is written,
 * and no existing file is overwritten. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/host/backup.h"
#include "cli/host/sums.h"
#include "cli/paths.h"
#include "cli/sandbox/snapshot_file.h"
#include "cli/settings.h"
#include "engine/disk/btrfs.h"
#include "store/copy.h"

#define NAME_SIZE 40

struct restore {
	char *from, *dir; /* absolute; dir has a temporary name until complete */
	char *at;         /* mount point of the storage */
	int from_fd, dir_fd, storage_fd;
	uint64_t storage_bytes;
	uid_t uid; /* the front's user */
	gid_t gid;
	size_t n_parts;
	struct sums sums;     /* expected checksums of the files */
	const char *key_file; /* NULL: the signature is not checked */
};

/* --- reading the backup ------------------------------------------------------------------------------------- */

static int manifest_number(const char *text, const char *name, uint64_t *ret, struct err *e)
{
	struct str rest = str_of(text);

	while (rest.p) {
		struct str value = str_cut(&rest, '\n'), key = str_cut(&value, '=');

		if (str_is(key, name) && str_to_u64(value, UINT64_MAX, ret) == 0)
			return 0;
	}
	return err_set(e, EBADMSG, "the manifest has no '%s'", name);
}

static int read_manifest(struct restore *r, struct err *e)
{
	char text[4096];
	uint64_t format;
	int n = file_read(r->from_fd, "manifest", text, sizeof text);

	if (n < 0)
		return err_set(e, -n, "'%s' is not a backup: it has no manifest", r->from);
	if (manifest_number(text, "format", &format, e) < 0)
		return -e->no;
	if (format != BACKUP_FORMAT)
		return err_set(e, EPROTO,
		    "the backup has format %llu and this program supports %d: it was made by a newer atoll",
		    (unsigned long long)format, BACKUP_FORMAT);
	return manifest_number(text, "pool_bytes", &r->storage_bytes, e);
}

/* --- files -------------------------------------------------------------------------------------------------- */

static int put_file(const struct restore *r, const char *name, const char *to, bool fronts, struct err *e)
{
	autoclose int in = -1, out = -1;
	struct stat st;
	int no = sums_copy(r->from_fd, &r->sums, name, r->dir, &in, e);

	if (no < 0)
		return no == -ENOENT && !e->no ? 0 : no;
	out = openat(r->dir_fd, to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (out < 0 || fstat(in, &st) < 0)
		return err_sys(e, "write '%s'", to);
	while (st.st_size > 0) {
		ssize_t n = sendfile(out, in, NULL, (size_t)st.st_size);

		if (n <= 0)
			return err_set(e, n < 0 ? errno : EIO, "write '%s': %s", to, strerror(n < 0 ? errno : EIO));
		st.st_size -= n;
	}
	return fronts && fchown(out, r->uid, r->gid) < 0 ? err_sys(e, "give '%s' away", to) : 0;
}

/* Restores the files whose names begin with "DIR-" to DIR. */
static int put_dir(const struct restore *r, DIR *d, const char *dir, struct err *e)
{
	size_t n = strlen(dir);

	rewinddir(d);
	for (struct dirent *de; e->no == 0 && (de = readdir(d));) {
		if (strncmp(de->d_name, dir, n) != 0 || de->d_name[n] != '-')
			continue;
		autofree char *to = str_fmt("%s/%s", dir, de->d_name + n + 1);

		if (mkdirat(r->dir_fd, dir, 0700) < 0 && errno != EEXIST)
			(void)err_sys(e, "make '%s/%s'", r->dir, dir);
		else if (to)
			(void)put_file(r, de->d_name, to, false, e);
	}
	return -e->no;
}

static int put_files(const struct restore *r, struct err *e)
{
	static const struct {
		const char *name, *to;
		bool fronts;
	} files[] = {
		{ "atoll.db", "front/atoll.db", true },
		{ "secrets.key", "front/secrets.key", true },
		{ "audit.key", "front/audit.key", true },
		{ "audit.db", "front/audit.db", true },
		{ "notebooks.db", "front/notebooks.db", true },
		{ "sessions.log", "agent/sessions.log", true },
		{ "key", "key", false },
		{ "sdk-key", "sdk-key", false },
	};
	static const char *const dirs[] = { "front", "agent" };
	DIR *d = fdopendir(dup(r->from_fd));

	if (!d)
		return err_sys(e, "read '%s'", r->from);
	for (size_t i = 0; e->no == 0 && i < ARRAY_LEN(dirs); i++) {
		if (mkdirat(r->dir_fd, dirs[i], 0700) < 0 || fchownat(r->dir_fd, dirs[i], r->uid, r->gid, 0) < 0)
			(void)err_sys(e, "make '%s/%s'", r->dir, dirs[i]);
	}
	for (size_t i = 0; e->no == 0 && i < ARRAY_LEN(files); i++)
		(void)put_file(r, files[i].name, files[i].to, files[i].fronts, e);
	if (e->no == 0 && put_dir(r, d, "tls", e) == 0)
		(void)put_dir(r, d, "audit", e);
	(void)closedir(d);
	return -e->no;
}

/* --- the storage -------------------------------------------------------------------------------------------- */

static int run_tool(const char *const *argv, struct err *e)
{
	int status = 0;

	if (cli_child_run(argv, true, &status, e) < 0)
		return -e->no;
	return status == 0 ? 0 : err_set(e, EIO, "'%s %s' failed", argv[0], argv[1]);
}

/* Creates the storage as the server does. It is mounted in a private mount namespace, so the mount disappears when
 * this process ends. */
static int make_storage(struct restore *r, struct err *e)
{
	autofree char *image = str_fmt("%s/pool.img", r->dir);
	autoclose int fd = image ? open(image, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
	bool simple;

	if (fd < 0)
		return err_sys(e, "make '%s/pool.img'", r->dir);
	int no = posix_fallocate(fd, 0, (off_t)r->storage_bytes);

	if (no)
		return err_set(e, no, "reserve %llu MiB for '%s': %s", (unsigned long long)(r->storage_bytes >> 20),
		    image, strerror(no));
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || mkdir(r->at, 0700) < 0)
		return err_sys(e, "create the storage pool's directory");
	if (run_tool((const char *[]) { "mkfs.btrfs", "-q", "-f", "-K", "-m", "single", "-L", "atoll", image, NULL },
		e) < 0 ||
	    run_tool((const char *[]) { "mount", "-t", "btrfs", "-o", "loop,nodiscard,noatime", image, r->at, NULL },
		e) < 0)
		return -e->no;
	r->storage_fd = open(r->at, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->storage_fd < 0)
		return err_sys(e, "open the pool");
	/* Enable quotas while the storage is empty: simple quotas count only later writes. */
	return btrfs_metadata_room(r->storage_fd, e) < 0 ? -e->no : btrfs_quota_enable(r->storage_fd, &simple, e);
}

/* Receives from our private copy. -C confines btrfs to the storage by chroot(2). */
static int receive_stream(const struct restore *r, int in, struct err *e)
{
	char file[32];

	(void)snprintf(file, sizeof file, "/proc/self/fd/%d", in);
	if (fd_cloexec(in, false) < 0)
		return err_sys(e, "forward a stream");
	return run_tool((const char *[]) { "btrfs", "receive", "-q", "-C", "-f", file, r->at, NULL }, e);
}

static int receive(struct restore *r, const char *name, char kind, uint64_t bytes, struct err *e)
{
	autofree char *file = str_fmt("%s+%c" BACKUP_STREAM, name, kind);
	char got[NAME_SIZE + 8], to[NAME_SIZE + 4];
	autoclose int in = -1, fd = -1, own = -1;

	if (!file || strlen(name) >= NAME_SIZE || strchr(name, '/'))
		return err_set(e, EBADMSG, "'%s' is not a valid part name", name);
	int had = sums_copy(r->from_fd, &r->sums, file, r->dir, &in, e);

	if (had == -ENOENT && !e->no)
		return kind == 'm' ? 0 : err_set(e, ENOENT, "the backup lacks '%s'", file);
	if (had < 0 || receive_stream(r, in, e) < 0)
		return -e->no;
	(void)snprintf(got, sizeof got, "%s%c+" BACKUP_COPY, name, kind);
	(void)snprintf(to, sizeof to, "%s+%c", name, kind);
	fd = openat(r->storage_fd, got, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return err_sys(e, "find '%s' in the pool", got);
	if (btrfs_snapshot(fd, r->storage_fd, to, kind == 'd', e) < 0)
		return -e->no;
	int no = -btrfs_subvol_delete(r->storage_fd, got);

	if (no)
		return err_set(e, no, "remove '%s': %s", got, strerror(no));
	own = kind == 'v' ? openat(r->storage_fd, to, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) : -1;
	r->n_parts++;
	return kind == 'v' ? btrfs_limit(own, bytes, e) : 0;
}

struct receiving {
	struct restore *r;
	struct err *e;
};

static int on_part(void *user, enum store_part what, const char *name, uint64_t bytes)
{
	struct receiving *rc = user;

	if (what == STORE_UNWRITTEN) /* its disk is a part of its own */
		return 0;
	if (what == STORE_VOLUME)
		return receive(rc->r, name, 'v', bytes, rc->e);
	return receive(rc->r, name, 'd', 0, rc->e) < 0 ? -rc->e->no : receive(rc->r, name, 'm', 0, rc->e);
}

static int fill_storage(struct restore *r, struct err *e)
{
	autofree char *db = str_fmt("%s/front/atoll.db", r->dir);
	struct receiving rc = { r, e };
	int version, no = db ? store_parts(db, on_part, &rc, &version, e) : err_set(e, ENOMEM, "out of memory");

	if (no == 0 && (syncfs(r->storage_fd) < 0 || chown(db, r->uid, r->gid) < 0))
		no = err_sys(e, "finish the pool");
	fd_close(take_fd(&r->storage_fd));
	if (umount2(r->at, 0) < 0 && no == 0)
		no = err_sys(e, "unmount the pool");
	(void)rmdir(r->at);
	return no;
}

/* --- the verb ----------------------------------------------------------------------------------------------- */

static int find_user(struct restore *r, const char *user, struct err *e)
{
	const struct passwd *pw = getpwnam(user);

	if (!pw)
		return err_set(e, ENOENT, "user '%s' does not exist: run atoll's scripts/setup first, or use --user",
		    user);
	r->uid = pw->pw_uid;
	r->gid = pw->pw_gid;
	return 0;
}

static bool is_empty(const char *path)
{
	DIR *d = opendir(path);
	bool empty = true;

	if (!d)
		return errno == ENOENT;
	for (struct dirent *de; (de = readdir(d));)
		empty = empty && (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0);
	(void)closedir(d);
	return empty;
}

/* The restored server uses the key that signed the backup. */
static int keep_key(const struct restore *r, struct err *e)
{
	uint8_t key[SNAPSHOT_KEY_BYTES];

	if (!r->key_file)
		return 0;
	if (snapshot_key(r->key_file, false, key, e) < 0)
		return -e->no;
	autoclose int fd = openat(r->dir_fd, BACKUP_KEY, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int no = fd < 0 ? -errno : fd_write_all(fd, key, sizeof key);

	explicit_bzero(key, sizeof key);
	return no < 0 ? err_set(e, -no, "write '%s/" BACKUP_KEY "': %s", r->dir, strerror(-no)) : 0;
}

static int restore_all(struct restore *r, const char *state, struct err *e)
{
	if (mkdir(r->dir, 0700) < 0)
		return err_sys(e, "make '%s'", r->dir);
	r->dir_fd = open(r->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->dir_fd < 0)
		return err_sys(e, "open '%s'", r->dir);
	if (put_files(r, e) < 0 || keep_key(r, e) < 0 || make_storage(r, e) < 0 || fill_storage(r, e) < 0)
		return -e->no;
	(void)rmdir(state); /* if it is empty */
	return syncfs(r->dir_fd) < 0 || rename(r->dir, state) < 0 ? err_sys(e, "rename '%s'", r->dir) : 0;
}

static int restore(const char *from, const char *state, const char *user, const char *key_file)
{
	autofree char *source = path_absolute(from), *to = path_absolute(state);
	autofree char *dir = to ? str_fmt("%s.restoring", to) : NULL, *at = dir ? str_fmt("%s/pool", dir) : NULL;
	struct restore r = { .from_fd = -1,
		.dir_fd = -1,
		.storage_fd = -1,
		.from = source,
		.dir = dir,
		.at = at,
		.key_file = key_file };
	struct err e = ERR_INIT;

	if (!source || !at)
		return fail("out of memory");
	if (!is_empty(to))
		return fail("'%s' is not empty: a backup is restored only to an empty directory", to);
	r.from_fd = open(r.from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r.from_fd < 0)
		(void)err_sys(&e, "open '%s'", r.from);
	else if (sums_read(r.from_fd, key_file, &r.sums, &e) == 0 && read_manifest(&r, &e) == 0 &&
	    sums_check(r.from_fd, &r.sums, &e) == 0 && find_user(&r, user, &e) == 0)
		(void)restore_all(&r, to, &e);
	fd_close(r.from_fd);
	fd_close(r.dir_fd);
	fd_close(r.storage_fd);
	sums_done(&r.sums);
	if (!e.no)
		(void)printf("%s: %zu volumes, disks and memory images; start it with 'atoll serve --state %s'\n", to,
		    r.n_parts, to);
	else if (access(r.dir, F_OK) == 0)
		say("the incomplete state in '%s' can be deleted", r.dir);
	return e.no ? fail("%s", e.text) : 0;
}

static int run(const struct verb *v, int argc, char **argv)
{
	const char *state = STATE_DIR_DEFAULT, *user = "atoll", *key_file = NULL;
	bool is_unsigned = false;
	const struct opt opts[] = { { "state", 0, OPT_STR, &state }, { "user", 0, OPT_STR, &user },
		{ "key-file", 0, OPT_STR, &key_file }, { "unsigned", 0, OPT_FLAG, &is_unsigned } };
	int n,
	    rc = verb_operands(v, opts, ARRAY_LEN(opts),
		OPERANDS_ONE("missing operand: a directory written by 'atoll backup'"), argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (geteuid() != 0)
		return fail("'atoll restore' must run as root: use sudo");
	if (!key_file == !is_unsigned)
		return usage_error(v,
		    "--key-file FILE is required: the " BACKUP_KEY
		    " of the server that made the backup; or use --unsigned to skip the signature check");
	return restore(argv[0], state, user, key_file);
}

const struct verb verb_restore = {
	.name = "restore",
	.summary = "Create a state directory from a backup",
	.synopsis = "DIR --key-file FILE | --unsigned [--state DIR] [--user NAME]",
	.help = "      --key-file FILE  " BACKUP_KEY " of the server that made the backup, which the backup does not\n"
		"                       contain; it is copied to the new state directory\n"
		"      --unsigned       do not check the signature: for a backup of an older atoll, or if the\n"
		"                       key is lost. Use it only if nobody else could write to the backup,\n"
		"                       because root restores whatever it contains\n"
		"      --state DIR      state directory to create; must be empty or absent\n"
		"                       (default: " STATE_DIR_DEFAULT ")\n"
		"      --user NAME      user that the front runs as (default: atoll)\n"
		"\n"
		"The signature and all checksums are verified before anything is written. Sandboxes that\n"
		"were running during the backup are reported as ended. Paused ones can be resumed if\n"
		"their template exists.\n",
	.run = run,
	.operand = OPERAND_FILE,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* atoll snapshot: exports a snapshot of a running server to a file, and imports it (cli/sandbox/snapshot_file.h). */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "base/fd.h"
#include "base/rand.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/host/backup.h"
#include "cli/host/sums.h"
#include "cli/paths.h"
#include "cli/sandbox/snapshot_file.h"
#include "cli/settings.h"
#include "engine/disk/btrfs.h"
#include "store/copy.h"
#include "store/db.h"
#include "store/snapshots.h"

#define NAME_SIZE 40
#define KEPT_MEMORY 2u /* as in front/sandbox/sandbox.h */

struct job {
	char *state, *storage, *key_file;
	int storage_fd;
	struct err e;
};

struct place_opts {
	const char *state, *run, *key_file;
};

static void job_done(struct job *j)
{
	fd_close(j->storage_fd);
	free(j->state);
	free(j->storage);
	free(j->key_file);
}

/* Resolves the paths, then enters the warden's mount namespace, in which the storage is mounted. */
static int job_open(struct job *j, const struct place_opts *o, struct err *e)
{
	*j = (struct job) { .storage_fd = -1, .state = path_absolute(o->state) };
	autofree char *run = o->run ? path_absolute(o->run) : j->state ? path_run_dir(j->state) : NULL;

	j->storage = run ? str_fmt("%s/private/pool", run) : NULL;
	j->key_file = o->key_file ? path_absolute(o->key_file) : j->state ? str_fmt("%s/export.key", j->state) : NULL;
	if (!j->storage || !j->key_file)
		return err_set(e, ENOMEM, "out of memory");
	if (backup_join_warden(run, e) < 0)
		return -e->no;
	j->storage_fd = open(j->storage, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return j->storage_fd < 0 ? err_sys(e, "open the pool '%s' (does the server have one?)", j->storage)
				 : backup_lock(j->storage_fd, e);
}

/* Runs btrfs with fd as its standard input or output. */
static int run_btrfs(char *const argv[], int fd, int as, struct err *e)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		if (dup2(fd, as) == as)
			(void)execvp("btrfs", argv);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid < 0)
		return err_sys(e, "fork");
	return WIFEXITED(status) && WEXITSTATUS(status) == 0
	    ? 0
	    : err_set(e, EIO, "'btrfs %s' failed (package btrfs-progs)", argv[1]);
}

/* --- export ------------------------------------------------------------------------------------------------- */

struct found {
	struct str want, tag;
	json_t *meta;
	char kept[NAME_SIZE];
	bool memory;
	unsigned n;
};

static int on_row(void *user, const struct snapshot_row *r)
{
	struct found *f = user;

	if (!str_is(f->want, r->template_id) && !(r->alias && str_is(f->want, r->alias)))
		return 0;
	if (!str_is(f->tag, r->tag) || f->n++ > 0 || !str_copy(f->kept, sizeof f->kept, str_of(r->kept_name)))
		return 0;
	f->memory = r->kept & KEPT_MEMORY;
	f->meta = json_pack("{s:s*,s:s,s:b,s:{s:s,s:s,s:s},s:{s:I,s:I,s:i,s:i},s:I}", "alias", r->alias, "tag", r->tag,
	    "memory", f->memory, "template", "id", r->base_id, "name", r->base_name, "key", r->base_key, "limits",
	    "memory", (json_int_t)r->mem_bytes, "disk", (json_int_t)r->disk_bytes, "cpu", (int)r->cpu_permille, "pids",
	    (int)r->pids, "created", (json_int_t)r->created_ms);
	return 0;
}

/* Reads a copy of the database, because the server is using its own. */
static int find_row(const struct job *j, const char *ref, const char *beside, struct found *ret, struct err *e)
{
	autofree char *from = str_fmt("%s/front/atoll.db", j->state), *copy = str_fmt("%s.db", beside);
	struct store *st = NULL;
	struct str rest = str_of(ref), name = str_cut(&rest, ':');
	struct str alias = name, ns = str_cut(&alias, '/');

	*ret = (struct found) { .want = alias.p ? alias : ns, .tag = rest.p ? rest : str_of("default") };
	if (!from || !copy)
		return err_set(e, ENOMEM, "out of memory");
	if (store_copy(from, copy, e) == 0 && store_open(copy, &st, e) == 0)
		(void)snapshots_each(st, on_row, ret, e);
	store_close(st);
	(void)unlink(copy);
	if (e->no == 0 && ret->n != 1)
		(void)err_set(e, ENOENT,
		    ret->n ? "more than one team has a snapshot '%s': use its ID" : "snapshot '%s' does not exist",
		    ref);
	if (e->no == 0 && !ret->meta)
		(void)err_set(e, ENOMEM, "out of memory");
	return -e->no;
}

/* Writes one part from a read-only copy, which does not change meanwhile. */
static int send_part(const struct job *j, const char *name, char kind, int out, uint64_t *ret_bytes, struct err *e)
{
	char from[NAME_SIZE + 4], copy[NAME_SIZE + 8];
	off_t began = lseek(out, 0, SEEK_CUR);

	(void)snprintf(from, sizeof from, "%s+%c", name, kind);
	(void)snprintf(copy, sizeof copy, "%s%c+" BACKUP_COPY, name, kind);
	autoclose int fd = openat(j->storage_fd, from, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return err_sys(e, "open '%s' in the pool", from);
	(void)btrfs_subvol_delete(j->storage_fd, copy);
	if (btrfs_snapshot(fd, j->storage_fd, copy, true, e) < 0)
		return -e->no;
	autofree char *path = str_fmt("%s/%s", j->storage, copy);

	(void)run_btrfs((char *const[]) { "btrfs", "send", "-q", path, NULL }, out, STDOUT_FILENO, e);
	(void)btrfs_subvol_delete(j->storage_fd, copy);
	*ret_bytes = (uint64_t)(lseek(out, 0, SEEK_CUR) - began);
	return -e->no;
}

static int write_file(const struct job *j, const struct found *f, int out, struct err *e)
{
	json_t *kept = json_string(f->kept);
	uint8_t key[SNAPSHOT_KEY_BYTES], mac[SNAPSHOT_MAC_BYTES];
	uint64_t disk = 0, memory = 0;
	struct snapshot_head h;

	(void)json_object_set_new(f->meta, "kept", kept); /* the base name of its parts */
	autofree char *meta = json_dumps(f->meta, JSON_COMPACT);

	if (!meta || snapshot_key(j->key_file, true, key, e) < 0)
		return e->no ? -e->no : err_set(e, ENOMEM, "out of memory");
	if (lseek(out, sizeof h, SEEK_SET) < 0 || fd_write_all(out, meta, strlen(meta)) < 0)
		return err_sys(e, "write it");
	if (send_part(j, f->kept, 'd', out, &disk, e) < 0 ||
	    (f->memory && send_part(j, f->kept, 'm', out, &memory, e) < 0))
		return -e->no;
	snapshot_head_make(&h, (uint32_t)strlen(meta), disk, memory);
	if (pwrite(out, &h, sizeof h, 0) != sizeof h)
		return err_sys(e, "write it");
	uint64_t n = sizeof h + strlen(meta) + disk + memory;

	if (snapshot_mac(out, n, key, mac, e) < 0)
		return -e->no;
	OPENSSL_cleanse(key, sizeof key);
	return pwrite(out, mac, sizeof mac, (off_t)n) != sizeof mac || fsync(out) < 0 ? err_sys(e, "write it") : 0;
}

static int export_to(const struct place_opts *o, const char *ref, const char *to)
{
	autofree char *at = path_absolute(to), *half = at ? str_fmt("%s.partial", at) : NULL;
	struct err e = ERR_INIT;
	struct found f = { 0 };
	struct job j;

	if (!half)
		return fail("out of memory");
	if (access(at, F_OK) == 0)
		return fail("'%s' already exists: choose another name", at);
	autoclose int out = -1;

	if (job_open(&j, o, &e) == 0 && find_row(&j, ref, half, &f, &e) == 0) {
		out = open(half, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (out < 0)
			(void)err_sys(&e, "make '%s'", half);
		else if (write_file(&j, &f, out, &e) == 0 && rename(half, at) < 0)
			(void)err_sys(&e, "rename '%s'", half);
		if (out >= 0 && e.no)
			(void)unlink(half);
	}
	json_decref(f.meta);
	job_done(&j);
	if (e.no)
		return fail("%s", e.text);
	(void)printf("%s: disk%s\n", at, f.memory ? " and memory" : "");
	return 0;
}

/* --- import ------------------------------------------------------------------------------------------------- */

static int check_file(const struct job *j, int in, struct snapshot_head *h, json_t **ret_meta, struct err *e)
{
	uint8_t key[SNAPSHOT_KEY_BYTES], want[SNAPSHOT_MAC_BYTES], has[SNAPSHOT_MAC_BYTES];
	char head[sizeof *h];
	struct stat st;
	ssize_t n = pread(in, head, sizeof head, 0);

	if (n < 0 || fstat(in, &st) < 0)
		return err_sys(e, "read it");
	if (!S_ISREG(st.st_mode))
		return err_set(e, EBADMSG, "not a file");
	if (snapshot_head_check(head, (size_t)n, (uint64_t)st.st_size, h, e) < 0)
		return -e->no;
	uint64_t before = (uint64_t)st.st_size - SNAPSHOT_MAC_BYTES;

	if (snapshot_key(j->key_file, false, key, e) < 0 || snapshot_mac(in, before, key, want, e) < 0)
		return -e->no;
	OPENSSL_cleanse(key, sizeof key);
	if (pread(in, has, sizeof has, (off_t)before) != sizeof has || CRYPTO_memcmp(has, want, sizeof has) != 0)
		return err_set(e, EBADMSG, "the file is damaged or was not signed with the key '%s'", j->key_file);
	autofree char *meta = malloc(h->meta_bytes);

	if (!meta || pread(in, meta, h->meta_bytes, sizeof *h) != (ssize_t)h->meta_bytes)
		return err_set(e, EIO, "read it");
	*ret_meta = json_loadb(meta, h->meta_bytes, 0, NULL);
	return *ret_meta ? 0 : err_set(e, EBADMSG, "the header is damaged");
}

/* Makes a private copy: what is verified must be what is read later, even if another process can write to the file. */
static int copy_file(const struct job *j, int given, int *ret_fd, struct err *e)
{
	struct stat st;

	if (fstat(given, &st) < 0)
		return err_sys(e, "read it");
	return S_ISREG(st.st_mode) ? private_copy(given, j->state, ret_fd, e) : err_set(e, EBADMSG, "not a file");
}

/* Receives a part into the storage as NEW+kind. */
static int receive_part(const struct job *j, int in, uint64_t at, const char *old, const char *new, char kind,
    struct err *e)
{
	char got[NAME_SIZE + 8], to[NAME_SIZE + 4];

	(void)snprintf(got, sizeof got, "%s%c+" BACKUP_COPY, old, kind);
	(void)snprintf(to, sizeof to, "%s+%c", new, kind);
	(void)btrfs_subvol_delete(j->storage_fd, got);
	if (lseek(in, (off_t)at, SEEK_SET) < 0)
		return err_sys(e, "read it");
	if (run_btrfs((char *const[]) { "btrfs", "receive", "-q", "-e", "-C", j->storage, NULL }, in, STDIN_FILENO,
		e) == 0) {
		autoclose int fd = openat(j->storage_fd, got, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

		if (fd < 0)
			(void)err_sys(e, "find '%s' in the pool", got);
		else
			(void)btrfs_snapshot(fd, j->storage_fd, to, kind == 'd', e);
	}
	(void)btrfs_subvol_delete(j->storage_fd, got);
	return -e->no;
}

static void drop_new(const struct job *j, const char *new)
{
	char z[NAME_SIZE + 4];

	for (const char *kind = "dm"; *kind; kind++) {
		(void)snprintf(z, sizeof z, "%s+%c", new, *kind);
		(void)btrfs_subvol_delete(j->storage_fd, z);
	}
}

/* Registers the imported parts with the server. Without a response, the server may already own them, so they must not
 * be deleted. If it does not, it removes them on its next start. */
static int adopt(const struct settings_opts *conn, json_t *meta, const char *new, const char *name, bool *ret_unsure)
{
	autoatoll struct atoll *a = NULL;
	struct atoll_error e;
	char id[256];

	(void)json_object_set_new(meta, "kept", json_string(new));
	if (name)
		(void)json_object_set_new(meta, "name", json_string(name));
	autofree char *body = json_dumps(meta, JSON_COMPACT);

	if (!body)
		return fail("out of memory");
	if (settings_connect(conn, &a) != 0)
		return EXIT_FAILURE;
	if (atoll_snapshot_adopt(a, body, id, sizeof id, &e) < 0) {
		*ret_unsure = e.status == 0;
		return fail("%s%s", e.text,
		    *ret_unsure ? "; it may have been imported anyway: check 'GET /snapshots' before importing it again"
				: "");
	}
	(void)puts(id);
	return 0;
}

static int import_from(const struct place_opts *o, const char *from, const char *name)
{
	autofree char *at = path_absolute(from);
	autoclose int given = at ? open(at, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1, in = -1;
	struct err e = ERR_INIT;
	struct snapshot_head h;
	json_t *meta = NULL;
	char new[NAME_SIZE] = "k";
	struct job j;
	int rc = EXIT_FAILURE;
	bool unsure = false;

	if (given < 0)
		return fail("open '%s': %s", from, strerror(errno));
	if (job_open(&j, o, &e) == 0 && copy_file(&j, given, &in, &e) == 0 && check_file(&j, in, &h, &meta, &e) == 0) {
		const char *old = json_string_value(json_object_get(meta, "kept"));
		uint64_t disk_at = sizeof h + h.meta_bytes;

		rand_label(new + 1, 19);
		if (!old || strlen(old) >= NAME_SIZE ||
		    strspn(old, "abcdefghijklmnopqrstuvwxyz0123456789") != strlen(old))
			(void)err_set(&e, EBADMSG, "the header is damaged");
		else if (receive_part(&j, in, disk_at, old, new, 'd', &e) == 0 && h.memory_bytes)
			(void)receive_part(&j, in, disk_at + h.disk_bytes, old, new, 'm', &e);
		rc = e.no ? EXIT_FAILURE
			  : adopt(&(struct settings_opts) { .state_dir = o->state }, meta, new, name, &unsure);
		if (rc != 0 && !unsure)
			drop_new(&j, new);
	}
	json_decref(meta);
	job_done(&j);
	return e.no ? fail("'%s': %s", from, e.text) : rc;
}

/* --- verbs -------------------------------------------------------------------------------------------------- */

#define PLACE_OPTS(o) \
	{ "state", 0, OPT_STR, &(o).state }, { "run", 0, OPT_STR, &(o).run }, \
	{ \
		"key-file", 0, OPT_STR, &(o).key_file \
	}
#define PLACE_HELP \
	"      --state DIR      state directory of the server (default: " STATE_DIR_DEFAULT ")\n" \
	"      --run DIR        runtime directory of the server (default: as 'atoll serve' chooses it)\n" \
	"      --key-file FILE  signing key, 32 bytes (default: export.key in the state directory,\n" \
	"                       which is created if it is missing)\n"

static int run_export(const struct verb *v, int argc, char **argv)
{
	struct place_opts o = { .state = STATE_DIR_DEFAULT };
	const struct opt opts[] = { PLACE_OPTS(o) };
	int n,
	    rc = verb_operands(v, opts, ARRAY_LEN(opts),
		((struct operands) { 2, 2, "missing operand: a snapshot and a file that does not exist yet" }), argc,
		argv, &n);

	if (rc >= 0)
		return rc;
	if (geteuid() != 0)
		return fail("'atoll snapshot export' must run as root on the server's machine: use sudo");
	return export_to(&o, argv[0], argv[1]);
}

static int run_import(const struct verb *v, int argc, char **argv)
{
	struct place_opts o = { .state = STATE_DIR_DEFAULT };
	const char *name = NULL;
	const struct opt opts[] = { PLACE_OPTS(o), { "name", 0, OPT_STR, &name } };
	int n,
	    rc = verb_operands(v, opts, ARRAY_LEN(opts),
		OPERANDS_ONE("missing operand: a file written by 'atoll snapshot export'"), argc, argv, &n);

	if (rc >= 0)
		return rc;
	if (geteuid() != 0)
		return fail("'atoll snapshot import' must run as root on the server's machine: use sudo");
	return import_from(&o, argv[0], name);
}

static const struct verb snapshot_export = {
	.name = "snapshot export",
	.summary = "Export a snapshot of a running server to a file",
	.synopsis = "SNAPSHOT FILE [--state DIR] [--run DIR] [--key-file FILE]",
	.help = PLACE_HELP "\n"
			   "The file contains the disk, the memory if it was saved, and a signature. It is not\n"
			   "encrypted: anyone who has the file can read the sandbox's data.\n",
	.run = run_export,
	.operand = OPERAND_FILE,
};

static const struct verb snapshot_import = {
	.name = "snapshot import",
	.summary = "Import a snapshot file into a running server",
	.synopsis = "FILE [--name NAME[:TAG]] [--state DIR] [--run DIR] [--key-file FILE]",
	.help = PLACE_HELP "      --name NAME[:TAG]  new name of the snapshot\n"
			   "\n"
			   "The file must be signed with the same key, because a restored memory image is trusted\n"
			   "completely. To import snapshots of another server, copy its export.key and install the\n"
			   "same templates. A file that is refused leaves nothing behind.\n",
	.run = run_import,
	.operand = OPERAND_FILE,
};

static const struct verb *const subs[] = { &snapshot_export, &snapshot_import, NULL };

const struct verb verb_snapshot = {
	.name = "snapshot",
	.summary = "Export snapshots to files and import them",
	.synopsis = "export | import ...",
	.help = "",
	.run = verb_group,
	.subs = subs,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* cli/template/context: packs files of a directory into an archive. */
#include "cli/template/context.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <glob.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/tar.h"

#define IGNORE_FILE ".dockerignore"
#define IGNORE_MAX (1024 * 1024)
#define CHUNK (256 * 1024)

/* --- archives ----------------------------------------------------------------------------------------------------- */

int archive_begin(struct archive *a, struct err *e)
{
	const char *tmp = getenv("TMPDIR");

	*a = ARCHIVE_NONE;
	a->fd = open(tmp && *tmp ? tmp : "/tmp", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (a->fd < 0)
		a->fd = memfd_create("archive", MFD_CLOEXEC);
	return a->fd < 0 ? err_sys(e, "create a temporary file") : 0;
}

int archive_put(struct archive *a, const void *p, size_t n, struct err *e)
{
	int r = fd_write_all(a->fd, p, n);

	a->bytes += n;
	return r < 0 ? err_set(e, -r, "write a temporary file: %s", strerrordesc_np(-r)) : 0;
}

int archive_finish(struct archive *a, struct err *e)
{
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	unsigned char room[16384], digest[EVP_MAX_MD_SIZE];
	unsigned n_digest = 0;
	ssize_t n = -1;

	if (md && EVP_DigestInit_ex(md, EVP_sha256(), NULL) == 1 && lseek(a->fd, 0, SEEK_SET) == 0) {
		while ((n = read(a->fd, room, sizeof room)) > 0)
			(void)EVP_DigestUpdate(md, room, (size_t)n);
		(void)EVP_DigestFinal_ex(md, digest, &n_digest);
	}
	EVP_MD_CTX_free(md);
	if (n < 0 || n_digest != 32 || lseek(a->fd, 0, SEEK_SET) < 0)
		return err_set(e, EIO, "read a temporary file");
	for (unsigned i = 0; i < n_digest; i++)
		(void)snprintf(a->hash + 2 * i, 3, "%02x", digest[i]);
	return 0;
}

void archive_done(struct archive *a)
{
	fd_close(a->fd);
	*a = ARCHIVE_NONE;
}

static int put_zeroes(struct archive *a, size_t n, struct err *e)
{
	static const char zeroes[TAR_END_SIZE];

	return archive_put(a, zeroes, n, e);
}

static int put_head(struct archive *a, const struct tar_entry *t, struct err *e)
{
	autobuf struct buf head = BUF_INIT(64 * 1024);

	if (tar_put_entry(&head, t) < 0 || head.bad)
		return err_set(e, ENAMETOOLONG, "the name '%.100s...' is too long", t->name);
	a->files++;
	return archive_put(a, head.p, head.n, e);
}

static int put_file(struct archive *a, const char *path, struct tar_entry *t, struct err *e)
{
	autoclose int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	autofree char *room = malloc(CHUNK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_sys(e, "read '%s'", path);
	t->type = TAR_FILE;
	t->size = (uint64_t)st.st_size;
	if (!room || put_head(a, t, e) < 0)
		return e->no ? -e->no : err_set(e, ENOMEM, "out of memory");
	for (uint64_t left = t->size; left > 0;) {
		ssize_t n = read(fd, room, left < CHUNK ? (size_t)left : CHUNK);

		if (n <= 0)
			return err_set(e, EIO, "'%s' changed while being read", path);
		if (archive_put(a, room, (size_t)n, e) < 0)
			return -e->no;
		left -= (uint64_t)n;
	}
	return put_zeroes(a, tar_padding(t->size), e);
}

int archive_of_text(const char *name, struct str text, struct archive *ret, struct err *e)
{
	struct archive a;
	struct tar_entry t = { .type = TAR_FILE, .name = name, .target = "", .size = text.n, .mode = 0644 };

	if (archive_begin(&a, e) < 0)
		return -e->no;
	if (put_head(&a, &t, e) < 0 || archive_put(&a, text.p, text.n, e) < 0 ||
	    put_zeroes(&a, tar_padding(text.n), e) < 0 || put_zeroes(&a, TAR_END_SIZE, e) < 0 ||
	    archive_finish(&a, e) < 0) {
		archive_done(&a);
		return -e->no;
	}
	*ret = a;
	return 0;
}

/* --- the directory ------------------------------------------------------------------------------------------------ */

/* Sets *ret to -1 if the file does not exist. */
static int open_ignore(const char *before, const char *name, int *ret, struct err *e)
{
	autofree char *path = str_fmt("%s%s", before, name);

	*ret = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	return !path                      ? err_set(e, ENOMEM, "out of memory")
	    : *ret < 0 && errno != ENOENT ? err_sys(e, "open '%s'", path)
					  : 0;
}

static int read_ignore(struct context *c, const char *dockerfile, struct err *e)
{
	autofree char *text = malloc(IGNORE_MAX);
	autoclose int fd = -1;

	if (open_ignore(dockerfile, IGNORE_FILE, &fd, e) < 0 ||
	    (fd < 0 && open_ignore(c->dir, "/" IGNORE_FILE, &fd, e) < 0))
		return -e->no;
	if (fd < 0)
		return 0;
	ssize_t n = text ? read(fd, text, IGNORE_MAX) : 0;

	if (n < 0 || n == IGNORE_MAX)
		return err_set(e, EFBIG, "the " IGNORE_FILE " is too large");
	return text && (n == 0 || ignore_parse((struct str) { text, (size_t)n }, &c->ignore) == 0)
	    ? 0
	    : err_set(e, ENOMEM, "out of memory");
}

int context_open(const char *dir, const char *dockerfile, struct context *ret, struct err *e)
{
	struct context c = { .dir = realpath(dir, NULL) };

	if (!c.dir)
		return err_sys(e, "open '%s'", dir);
	if (read_ignore(&c, dockerfile, e) < 0) {
		context_done(&c);
		return -e->no;
	}
	*ret = c;
	return 0;
}

void context_done(struct context *c)
{
	free(c->dir);
	ignore_done(&c->ignore);
	*c = (struct context) { 0 };
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static bool is_pattern(const char *source)
{
	return strpbrk(source, "*?[") != NULL;
}

struct packing {
	const struct context *c;
	struct archive *a;
	size_t strip;          /* bytes of a path to remove for its name in the archive */
	const char *dir;       /* prefix of names in the archive; "": none */
	struct ignore exclude; /* applies to the part of a path after `from` */
	size_t from;           /* in bytes */
	struct err *e;
};

/* For a path such as "a//./", n may exceed its length. */
static const char *behind(const FTSENT *f, size_t n)
{
	return f->fts_path + (n < f->fts_pathlen ? n : f->fts_pathlen);
}

/* mtime stays 0, so that touching a file does not change the archive. */
static int add_entry(const struct packing *pk, const FTSENT *f)
{
	const struct context *c = pk->c;
	struct archive *a = pk->a;
	struct err *e = pk->e;
	const char *name = f->fts_path + strlen(c->dir), *rest = behind(f, pk->strip);
	char target[PATH_MAX + 1] = "";

	while (*name == '/')
		name++;
	while (*rest == '/')
		rest++;
	autofree char *own = str_fmt("%s%s%s", pk->dir, *pk->dir && *rest ? "/" : "", rest);

	if (!own)
		return err_set(e, ENOMEM, "out of memory");
	const char *below = behind(f, pk->from);

	while (*below == '/')
		below++;
	if (pk->exclude.n && ignore_has(&pk->exclude, *below || f->fts_info == FTS_D ? below : f->fts_name))
		return 0;
	struct tar_entry t = { .name = *own ? own : ".", .target = target, .mode = f->fts_statp->st_mode & 0777 };

	if (*name && f->fts_info != FTS_D && ignore_has(&c->ignore, name))
		return 0;
	if (f->fts_info == FTS_D) {
		t.type = TAR_DIR;
		/* An ignored directory gets no entry: extracting the files in it that are not ignored creates it. */
		return !*own || ignore_has(&c->ignore, name) ? 0 : put_head(a, &t, e);
	}
	if (f->fts_info == FTS_F)
		return put_file(a, f->fts_path, &t, e);
	if (f->fts_info != FTS_SL && f->fts_info != FTS_SLNONE)
		return err_set(e, EINVAL, "'%s' is not a file, directory or link", f->fts_path);
	ssize_t n = readlink(f->fts_path, target, sizeof target - 1);

	if (n < 0)
		return err_sys(e, "read '%s'", f->fts_path);
	target[n] = '\0';
	t.type = TAR_SYMLINK;
	return put_head(a, &t, e);
}

/* only: a pattern for whole paths relative to the context, or NULL for all. */
static int add_tree(const struct packing *pk, char *path, const char *only)
{
	struct err *e = pk->e;
	size_t n_dir = strlen(pk->c->dir) + 1;
	char *roots[] = { path, NULL };
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	FTSENT *f;
	int r = walk ? 0 : err_sys(e, "read '%s'", path);

	while (r == 0 && (errno = 0, f = fts_read(walk))) {
		if (f->fts_info == FTS_DNR || f->fts_info == FTS_ERR || f->fts_info == FTS_NS)
			r = err_set(e, f->fts_errno, "read '%s': %s", f->fts_path, strerrordesc_np(f->fts_errno));
		else if (f->fts_info != FTS_DP &&
		    (!only ||
			(f->fts_info != FTS_D && f->fts_pathlen > n_dir &&
			    ignore_match(only, str_of(f->fts_path + n_dir)))))
			r = add_entry(pk, f);
	}
	if (walk)
		(void)fts_close(walk);
	return r;
}

/* True if no directory of the path is a link that leads out of the context. */
static bool is_inside(const struct context *c, const char *path)
{
	autofree char *parent = str_dup(str_of(path));
	char *slash = parent ? strrchr(parent, '/') : NULL;
	size_t n = strlen(c->dir);

	if (!slash || strcmp(path, c->dir) == 0)
		return slash != NULL;
	*slash = '\0';
	autofree char *real = realpath(*parent ? parent : "/", NULL);

	return real && strncmp(real, c->dir, n) == 0 && (real[n] == '\0' || real[n] == '/' || strcmp(c->dir, "/") == 0);
}

static bool goes_up(const char *path)
{
	struct str rest = str_of(path);

	while (rest.p) {
		if (str_is(str_cut(&rest, '/'), ".."))
			return true;
	}
	return false;
}

/* Finds the files that a source matches. Returns -ENOENT if there are none. */
static int find_all(const struct context *c, const char *source, glob_t *ret, struct err *e)
{
	const char *below = source;

	while (*below == '/' || (below[0] == '.' && below[1] == '/'))
		below++;
	if (goes_up(below))
		return err_set(e, EINVAL, "'%s' is outside the build context", source);
	autofree char *pattern = strcmp(below, ".") == 0 || !*below ? strdup(c->dir) : str_fmt("%s/%s", c->dir, below);
	int r = pattern ? glob(pattern, 0, NULL, ret) : GLOB_NOSPACE;

	for (size_t i = 0; r == 0 && i < ret->gl_pathc; i++) {
		char *path = ret->gl_pathv[i];

		for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
			path[n - 1] = '\0';
	}
	return r == 0 ? 0 : err_set(e, r == GLOB_NOMATCH ? ENOENT : EIO, "'%s' is not in the build context", source);
}

/* Adds one match of a pattern, as Docker does: a file under its last component, a directory by its contents. */
static int add_match(struct packing *pk, char *path, const char *dir)
{
	const char *slash = strrchr(path, '/');
	struct stat st;

	if (lstat(path, &st) < 0)
		return err_sys(pk->e, "read '%s'", path);
	pk->strip = S_ISDIR(st.st_mode) ? strlen(path) : slash ? (size_t)(slash - path) : 0;
	pk->dir = dir;
	pk->from = strlen(path);
	return add_tree(pk, path, NULL);
}

/* For COPY --parents: names are relative to the context, or to the part before "/./". */
static int add_parents(struct packing *pk, const char *source)
{
	const struct context *c = pk->c;
	const char *pivot = strstr(source, "/./");
	glob_t g = { 0 };

	if (goes_up(source) || (pivot && strpbrk(source, "*?[") && strpbrk(source, "*?[") < pivot))
		return err_set(pk->e, EINVAL, "'%s': outside the build context, or a pattern precedes \"/./\"", source);
	autofree char *flat = pivot ? str_fmt("%.*s%s", (int)(pivot - source), source, pivot + 2) : strdup(source);

	pk->strip = pk->from = strlen(c->dir) + (pivot ? 1 + (size_t)(pivot - source) : 0);
	if (!flat)
		return err_set(pk->e, ENOMEM, "out of memory");
	if (strstr(flat, "**"))
		return add_tree(pk, c->dir, flat);
	int r = find_all(c, flat, &g, pk->e);

	for (size_t i = 0; r == 0 && i < g.gl_pathc; i++)
		r = is_inside(c, g.gl_pathv[i]) ? add_tree(pk, g.gl_pathv[i], NULL)
						: err_set(pk->e, EINVAL, "'%s' is outside the build context", source);
	globfree(&g);
	return r;
}

static int nothing_found(const char *source, struct err *e)
{
	return err_set(e, ENOENT, "everything in '%s' is excluded by " IGNORE_FILE ", or it is empty", source);
}

static int add_all(struct packing *pk, const char *source)
{
	const struct context *c = pk->c;
	struct err *e = pk->e;
	autofree char *dir = is_pattern(source) ? str_dup((struct str) { source, strcspn(source, "*?[") }) : NULL;
	char *slash = dir ? strrchr(dir, '/') : NULL;
	glob_t g = { 0 };

	if (dir)
		*(slash ? slash : dir) = '\0';
	if (find_all(c, source, &g, e) < 0)
		return -e->no;
	int r = 0;

	for (size_t i = 0; r == 0 && i < g.gl_pathc; i++) {
		char *path = g.gl_pathv[i];

		if (!is_inside(c, path))
			r = err_set(e, EINVAL, "'%s' is outside the build context", source);
		else
			r = dir ? add_match(pk, path, dir) : (pk->from = strlen(path), add_tree(pk, path, NULL));
	}
	globfree(&g);
	return r;
}

int context_single(const struct context *c, const char *source, char **ret, struct err *e)
{
	glob_t g = { 0 };

	*ret = NULL;
	if (!is_pattern(source))
		return 0;
	if (find_all(c, source, &g, e) < 0)
		return -e->no;
	if (g.gl_pathc == 1)
		*ret = strdup(g.gl_pathv[0] + strlen(c->dir) + 1);
	bool no_memory = g.gl_pathc == 1 && !*ret;

	globfree(&g);
	return no_memory ? err_set(e, ENOMEM, "out of memory") : 0;
}

static int pack_into(const struct context *c, const char *source, const struct context_how *how, struct archive *a,
    struct err *e)
{
	struct packing pk = { .c = c, .a = a, .strip = strlen(c->dir), .dir = "", .e = e };

	if (how->exclude && ignore_parse(str_of(how->exclude), &pk.exclude) < 0)
		return err_set(e, ENOMEM, "out of memory");
	int r = how->parents ? add_parents(&pk, source) : add_all(&pk, source);

	ignore_done(&pk.exclude);
	return r < 0 ? r : a->files == 0 && !how->exclude ? nothing_found(source, e) : put_zeroes(a, TAR_END_SIZE, e);
}

int context_pack(const struct context *c, const char *source, const struct context_how *how, struct archive *ret,
    struct err *e)
{
	struct archive a;

	if (archive_begin(&a, e) < 0)
		return -e->no;
	if (pack_into(c, source, how, &a, e) < 0 || archive_finish(&a, e) < 0) {
		archive_done(&a);
		return -e->no;
	}
	*ret = a;
	return 0;
}

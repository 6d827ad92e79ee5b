/* SPDX-License-Identifier: Apache-2.0 */
/* front/console/files: walks the directory, sorts what it found, chooses forms. */
#include "front/console/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "front/util/mem.h"
#include "front/util/token.h"

#define DEPTH_MAX 4
#define FILES_MAX 512
#define BYTES_MAX (64u << 20)

struct console_files {
	struct console_file **v; /* by name */
	size_t n, bytes;
};

static const struct {
	const char *end, *name;
} codings[CODINGS] = {
	[CODING_GZIP] = { ".gz", "gzip" },
	[CODING_ZSTD] = { ".zst", "zstd" },
	[CODING_BROTLI] = { ".br", "br" },
};

static const char *type_of(const char *name)
{
	static const struct {
		const char *end, *type;
	} types[] = {
		{ ".html", "text/html; charset=utf-8" },
		{ ".js", "text/javascript; charset=utf-8" },
		{ ".mjs", "text/javascript; charset=utf-8" },
		{ ".css", "text/css; charset=utf-8" },
		{ ".json", "application/json" },
		{ ".map", "application/json" },
		{ ".webmanifest", "application/manifest+json" },
		{ ".svg", "image/svg+xml" },
		{ ".png", "image/png" },
		{ ".ico", "image/x-icon" },
		{ ".woff2", "font/woff2" },
		{ ".wasm", "application/wasm" },
		{ ".txt", "text/plain; charset=utf-8" },
	};

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		if (str_ends(str_of(name), types[i].end))
			return types[i].type;
	}
	return "application/octet-stream";
}

bool console_name_is_hashed(const char *name)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
	const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;

	for (const char *dash = strchr(base, '-'); dash; dash = strchr(dash + 1, '-')) {
		if (dash > base && strspn(dash + 1, digits) == 8 && dash[9] == '.')
			return true;
	}
	return false;
}

/* --- reading ------------------------------------------------------------------------------------------------- */

static bool name_is_plain(const char *name)
{
	static const char ok[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

	return name[0] != '.' && name[strspn(name, ok)] == '\0';
}

static void set_etag(struct file_form *f, enum coding c)
{
	uint8_t hash[SHA256_SIZE];
	char *at = f->etag;

	sha256((struct str) { f->p, f->n }, hash);
	*at++ = '"';
	for (size_t i = 0; i < 16; i++)
		at += sprintf(at, "%02x", hash[i]);
	(void)sprintf(at, "-%d\"", (int)c);
}

static int read_form(struct console_files *fs, int fd, const char *name, size_t size, enum coding c,
    struct file_form *f, struct err *e)
{
	if (size > BYTES_MAX - fs->bytes)
		return err_set(e, EFBIG, "the files of the console have more than %u bytes", BYTES_MAX);
	f->p = must_alloc(size + 1);
	f->n = size;
	int r = fd_read_all(fd, f->p, size);

	if (r < 0)
		return err_set(e, -r, "read '%s': %s", name, strerror(-r));
	fs->bytes += size;
	set_etag(f, c);
	return 0;
}

/* The entry of a name; a new one if there is none. */
static struct console_file *entry(struct console_files *fs, struct str name)
{
	struct console_file *file;

	for (size_t i = 0; i < fs->n; i++) {
		if (str_is(name, fs->v[i]->name))
			return fs->v[i];
	}
	file = must_alloc(sizeof *file);
	(void)str_copy(file->name, sizeof file->name, name);
	fs->v = must_grow(fs->v, (fs->n + 1) * sizeof(struct console_file *));
	fs->v[fs->n++] = file;
	return file;
}

static int read_file(struct console_files *fs, int dir, const char *base, const char *path, struct err *e)
{
	autoclose int fd = openat(dir, base, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct str name = str_of(path);
	enum coding c = CODING_NONE;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == ELOOP ? 0 : err_sys(e, "open '%s'", path);
	if (!S_ISREG(st.st_mode))
		return 0;
	if (fs->n >= FILES_MAX)
		return err_set(e, EFBIG, "the console has more than %d files", FILES_MAX);
	for (enum coding k = CODING_GZIP; k < CODINGS; k++) {
		if (str_ends(name, codings[k].end)) {
			c = k;
			name.n -= strlen(codings[k].end);
		}
	}
	return read_form(fs, fd, path, (size_t)st.st_size, c, &entry(fs, name)->forms[c], e);
}

static int read_dir(struct console_files *fs, int dir, const char *prefix, int depth, struct err *e);

static int read_entry(struct console_files *fs, int dir, const char *prefix, const struct dirent *d, int depth,
    struct err *e)
{
	char path[FILE_NAME_SIZE];
	int n = snprintf(path, sizeof path, "%s%s", prefix, d->d_name);

	if (!name_is_plain(d->d_name))
		return 0;
	if (n < 0 || (size_t)n + 1 >= sizeof path)
		return err_set(e, ENAMETOOLONG, "'%s%s' is too long", prefix, d->d_name);
	if (d->d_type != DT_DIR)
		return read_file(fs, dir, d->d_name, path, e);
	if (depth >= DEPTH_MAX)
		return err_set(e, ELOOP, "'%s' is too deep", path);
	(void)strcat(path, "/");

	autoclose int below = openat(dir, d->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return below < 0 ? err_sys(e, "open '%s'", path) : read_dir(fs, below, path, depth + 1, e);
}

static int read_dir(struct console_files *fs, int dir, const char *prefix, int depth, struct err *e)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *en;

	if (!d) {
		(void)err_sys(e, "read the directory '%s'", prefix);
		fd_close(fd);
		return -e->no;
	}
	while (r == 0 && (en = readdir(d)))
		r = read_entry(fs, dir, prefix, en, depth, e);
	(void)closedir(d);
	return r;
}

static int by_name(const void *a, const void *b)
{
	const struct console_file *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static void file_free(struct console_file *file)
{
	for (size_t i = 0; i < CODINGS; i++)
		free(file->forms[i].p);
	free(file);
}

/* A compressed form without the file itself is of no use: not every client can read it. */
static void settle(struct console_files *fs)
{
	size_t n = 0;

	for (size_t i = 0; i < fs->n; i++) {
		struct console_file *file = fs->v[i];

		if (!file->forms[CODING_NONE].p) {
			file_free(file);
			continue;
		}
		file->type = type_of(file->name);
		file->is_hashed = console_name_is_hashed(file->name);
		fs->v[n++] = file;
	}
	fs->n = n;
	if (n > 0)
		qsort(fs->v, n, sizeof(struct console_file *), by_name);
}

int console_files_read(int dir_fd, struct console_files **ret, struct err *e)
{
	struct console_files *fs = must_alloc(sizeof *fs);

	if (read_dir(fs, dir_fd, "", 0, e) < 0) {
		console_files_free(fs);
		return -e->no;
	}
	settle(fs);
	*ret = fs;
	return 0;
}

void console_files_free(struct console_files *fs)
{
	for (size_t i = 0; fs && i < fs->n; i++)
		file_free(fs->v[i]);
	if (fs)
		free(fs->v);
	free(fs);
}

size_t console_files_count(const struct console_files *fs)
{
	return fs->n;
}

size_t console_files_bytes(const struct console_files *fs)
{
	return fs->bytes;
}

/* --- finding ------------------------------------------------------------------------------------------------- */

const struct console_file *console_file_find(const struct console_files *fs, struct str name)
{
	struct console_file wanted, *key = &wanted;

	if (!str_copy(wanted.name, sizeof wanted.name, name) || memchr(name.p, '\0', name.n))
		return NULL;
	struct console_file **at = fs->n ? bsearch(&key, fs->v, fs->n, sizeof(struct console_file *), by_name) : NULL;

	return at ? *at : NULL;
}

const char *coding_name(enum coding c)
{
	return codings[c].name;
}

/* "q=0" and "q=0.000" refuse a coding. */
static bool is_refused(struct str params)
{
	struct str q = str_trim(params);

	if (q.n < 3 || (q.p[0] != 'q' && q.p[0] != 'Q') || q.p[1] != '=' || q.p[2] != '0')
		return false;
	for (size_t i = 3; i < q.n; i++) {
		if (q.p[i] != '0' && q.p[i] != '.')
			return false;
	}
	return true;
}

enum coding console_file_choose(const struct console_file *file, struct str accept)
{
	enum coding best = CODING_NONE;

	while (accept.n > 0) {
		struct str params = str_trim(str_cut(&accept, ','));
		struct str name = str_trim(str_cut(&params, ';'));

		for (enum coding c = CODING_GZIP; c < CODINGS; c++) {
			if (c > best && file->forms[c].p && str_ieq(name, str_of(codings[c].name)) &&
			    !is_refused(params))
				best = c;
		}
	}
	return best;
}

bool etag_listed(struct str list, const char *etag)
{
	while (list.n > 0) {
		struct str one = str_trim(str_cut(&list, ','));

		if (str_starts(one, "W/"))
			str_skip(&one, 2);
		if (str_is(one, etag) || str_is(one, "*"))
			return true;
	}
	return false;
}

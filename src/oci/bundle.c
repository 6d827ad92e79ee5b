/* SPDX-License-Identifier: Apache-2.0 */
/* oci/bundle: an index of names, built in one pass over the archive. */
#include "oci/bundle.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "oci/expand.h"
#include "oci/tape.h"

#define FILES_MAX 4096 /* remembered; an image never has that many */
#define LINKS_MAX 8    /* followed in a chain */
#define PIECE (256u << 10)

struct entry {
	char *name, *link; /* link: another name in the archive; NULL: a file */
	uint64_t at, size;
};

struct bundle {
	int fd;
	bool is_dir;
	bool compressed; /* the files of a compressed tar cannot be read by offset */
	struct entry *v;
	size_t n, cap;
	uint64_t pos; /* of the pass: offset after the reader's current block */
	int rc;
};

void bundle_free(struct bundle *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->n; i++) {
		free(b->v[i].name);
		free(b->v[i].link);
	}
	free(b->v);
	free(b);
}

/* "./a//b" and "a/b" are the same name; "x/../y" is resolved, because links in old archives need it. NULL: out of
 * memory, or it leads outside. */
static char *tidy(struct str dir, const char *name)
{
	autobuf struct buf out = BUF_INIT(TAPE_NAME_MAX);
	struct str rest = str_of(name);

	buf_str(&out, dir);
	while (rest.p) {
		struct str part = str_cut(&rest, '/');

		if (part.n == 0 || str_is(part, "."))
			continue;
		if (str_is(part, "..")) {
			if (out.n == 0)
				return NULL;
			while (out.n > 0 && out.p[--out.n] != '/')
				;
			continue;
		}
		if (out.n > 0)
			buf_ch(&out, '/');
		buf_str(&out, part);
	}
	return out.bad ? NULL : str_dup(out.n ? buf_view(&out) : STR_LIT(""));
}

/* --- the pass over a tar --- */

static int on_entry(void *user, const struct tape_entry *en)
{
	struct bundle *b = user;
	struct entry x = { .at = b->pos, .size = en->size };

	if (b->n == FILES_MAX || (en->type != TAPE_FILE && en->type != TAPE_SYMLINK && en->type != TAPE_HARDLINK) ||
	    en->sparse)
		return 0;
	x.name = tidy(STR_NULL, en->name);
	if (!x.name)
		return 0;
	if (en->type == TAPE_SYMLINK) {
		const char *slash = strrchr(x.name, '/');

		x.link = tidy((struct str) { x.name, slash ? (size_t)(slash - x.name) : 0 }, en->target);
	} else if (en->type == TAPE_HARDLINK) {
		x.link = tidy(STR_NULL, en->target);
	}
	if (b->n == b->cap) {
		size_t cap = b->cap ? 2 * b->cap : 64;
		struct entry *v = reallocarray(b->v, cap, sizeof *v);

		if (!v) {
			free(x.name);
			free(x.link);
			return -ENOMEM;
		}
		b->v = v;
		b->cap = cap;
	}
	b->v[b->n++] = x;
	return 0;
}

static int on_data(void *user, uint64_t at, const void *p, size_t n)
{
	(void)user, (void)at, (void)p, (void)n;
	return 0;
}

static int on_end(void *user)
{
	(void)user;
	return 0;
}

static const struct tape_ops ops = { .on_entry = on_entry, .on_data = on_data, .on_end = on_end };

struct pass {
	struct bundle *b;
	struct tape *t;
};

/* Block by block, so that the offset of each entry's content is known. */
static int put_blocks(void *user, const void *p, size_t n)
{
	struct pass *s = user;
	const char *from = p;
	int rc = 0;

	while (rc == 0 && n > 0) {
		size_t now = TAPE_BLOCK - (size_t)(s->b->pos % TAPE_BLOCK);

		now = now < n ? now : n;
		s->b->pos += now;
		rc = tape_put(s->t, from, now);
		from += now;
		n -= now;
	}
	return rc;
}

static int pass_over(struct bundle *b, struct err *e)
{
	struct pass s = { b, tape_new(&ops, b) };
	struct expand *x = expand_new(UINT64_MAX / 2, put_blocks, &s);
	autofree char *piece = malloc(PIECE);
	ssize_t n = 0;
	int rc = s.t && x && piece ? 0 : err_set(e, ENOMEM, "out of memory");

	while (rc == 0 && (n = read(b->fd, piece, PIECE)) > 0) {
		if (expand_out(x) == 0 && n > 4 && ((unsigned char)piece[0] == 0x1f || (unsigned char)piece[0] == 0x28))
			b->compressed = true; /* no name in a tar starts with this byte */
		rc = expand_put(x, piece, (size_t)n, e);
		if (rc == -EBADMSG && s.t)
			(void)err_set(e, EBADMSG, "bad archive: %s", tape_why(s.t));
	}
	if (rc == 0 && n < 0)
		rc = err_sys(e, "read the archive");
	if (rc == 0 && !tape_complete(s.t))
		rc = err_set(e, EBADMSG, "bad archive: it is cut off");
	tape_free(s.t);
	expand_free(x);
	return rc;
}

int bundle_open_tar(int fd, struct bundle **ret, struct err *e)
{
	struct bundle *b = calloc(1, sizeof *b);

	if (!b)
		return err_set(e, ENOMEM, "out of memory");
	b->fd = fd;
	if (lseek(fd, 0, SEEK_SET) < 0)
		(void)err_sys(e, "read the archive");
	else
		(void)pass_over(b, e);
	if (!e->no && b->compressed && !bundle_is_plain(b))
		(void)err_set(e, ENOTSUP,
		    "the archive is compressed as a whole: unpack it with gunzip or unzstd first");
	if (e->no) {
		bundle_free(b);
		return -e->no;
	}
	*ret = b;
	return 0;
}

int bundle_open_dir(int dir_fd, struct bundle **ret, struct err *e)
{
	struct bundle *b = calloc(1, sizeof *b);

	if (!b)
		return err_set(e, ENOMEM, "out of memory");
	b->fd = dir_fd;
	b->is_dir = true;
	*ret = b;
	return 0;
}

/* --- names --- */

static const struct entry *find(const struct bundle *b, const char *name, unsigned links)
{
	/* Of several entries with the same name the last one counts, as on disk. */
	for (size_t i = b->n; i-- > 0;) {
		if (strcmp(b->v[i].name, name) != 0)
			continue;
		if (!b->v[i].link)
			return &b->v[i];
		return links < LINKS_MAX ? find(b, b->v[i].link, links + 1) : NULL;
	}
	return NULL;
}

bool bundle_has(const struct bundle *b, const char *name)
{
	return b->is_dir ? faccessat(b->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 : find(b, name, 0) != NULL;
}

bool bundle_is_plain(const struct bundle *b)
{
	return !b->is_dir && !bundle_has(b, "manifest.json") &&
	    !(bundle_has(b, "oci-layout") && bundle_has(b, "index.json"));
}

static int open_below(const struct bundle *b, const char *name, struct bundle_file *ret, struct err *e)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	autoclose int fd = (int)syscall(SYS_openat2, b->fd, name, &how, sizeof how);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open '%.80s' of the layout", name);
	if (!S_ISREG(st.st_mode))
		return err_set(e, EBADMSG, "'%.80s' of the layout is not a file", name);
	*ret = (struct bundle_file) { take_fd(&fd), 0, (uint64_t)st.st_size };
	return 0;
}

int bundle_find(const struct bundle *b, const char *name, struct bundle_file *ret, struct err *e)
{
	if (b->is_dir)
		return open_below(b, name, ret, e);
	autofree char *clean = tidy(STR_NULL, name);
	const struct entry *x = clean ? find(b, clean, 0) : NULL;

	if (!x)
		return err_set(e, ENOENT, "the archive has no '%.80s'", name);
	int fd = fcntl(b->fd, F_DUPFD_CLOEXEC, 3);

	if (fd < 0)
		return err_sys(e, "open the archive again");
	*ret = (struct bundle_file) { fd, x->at, x->size };
	return 0;
}

int bundle_text(const struct bundle *b, const char *name, struct buf *ret, struct err *e)
{
	struct bundle_file f;

	if (bundle_find(b, name, &f, e) < 0)
		return -e->no;
	autoclose int fd = f.fd;
	buf_clear(ret);
	char *p = f.size <= ret->max ? buf_room(ret, (size_t)f.size) : NULL;

	if (!p && f.size > 0)
		return err_set(e, EFBIG, "'%.80s' is larger than %zu bytes", name, ret->max);
	while (ret->n < f.size) {
		ssize_t n = pread(fd, p + ret->n, (size_t)f.size - ret->n, (off_t)(f.at + ret->n));

		if (n <= 0)
			return n < 0 ? err_sys(e, "read '%.80s'", name)
				     : err_set(e, EBADMSG, "'%.80s' is cut off", name);
		ret->n += (size_t)n;
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/pack: reads a local directory as an archive. */
#include "cli/sandbox/pack.h"

#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/tar.h"
#include "cli/cli.h"

#define OUT_MAX (64 * 1024)

struct pack {
	FTS *walk;
	char *dir;
	size_t dir_len; /* length of the prefix to remove from names returned by fts(3) */
	int fd;         /* the file being read, or -1 */
	uint64_t left;  /* its bytes still to be read */
	size_t padding;
	struct buf out; /* headers and padding not yet returned */
	bool ended;
	size_t skipped;
};

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

int pack_new(const char *dir, struct pack **ret, struct err *e)
{
	struct pack *p = calloc(1, sizeof(*p));

	if (!p)
		return err_set(e, ENOMEM, "out of memory");
	p->fd = -1;
	p->out = BUF_INIT(OUT_MAX);
	p->dir = strdup(dir);
	char *roots[] = { p->dir, NULL };
	p->walk = p->dir ? fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name) : NULL;
	if (!p->walk) {
		pack_free(p);
		return err_sys(e, "read '%s'", dir);
	}
	p->dir_len = strlen(dir);
	*ret = p;
	return 0;
}

void pack_free(struct pack *p)
{
	if (!p)
		return;
	if (p->walk)
		(void)fts_close(p->walk);
	fd_close(p->fd);
	buf_done(&p->out);
	free(p->dir);
	free(p);
}

size_t pack_skipped(const struct pack *p)
{
	return p->skipped;
}

static int skip(struct pack *p, const FTSENT *f, const char *why)
{
	p->skipped++;
	say("'%s' is skipped: %s", f->fts_path, why);
	return 0;
}

static int put_entry(struct pack *p, const FTSENT *f, const struct tar_entry *t)
{
	int rc = tar_put_entry(&p->out, t);

	if (rc == -ENAMETOOLONG) {
		fd_close(take_fd(&p->fd));
		p->left = 0;
		p->padding = 0;
		return skip(p, f, strerrordesc_np(ENAMETOOLONG));
	}
	return rc;
}

/* The header gets the size of the open file, even if the file changes afterwards. */
static int open_file(struct pack *p, const FTSENT *f, struct tar_entry *t)
{
	struct stat st;

	p->fd = open(f->fts_accpath, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (p->fd < 0 || fstat(p->fd, &st) < 0)
		return skip(p, f, strerrordesc_np(errno));
	t->type = TAR_FILE;
	t->size = p->left = (uint64_t)st.st_size;
	p->padding = tar_padding(t->size);
	return put_entry(p, f, t);
}

static int add(struct pack *p, const FTSENT *f)
{
	const struct stat *st = f->fts_statp;
	const char *below = f->fts_level == 0 ? "" : f->fts_path + p->dir_len;
	char target[PATH_MAX + 1], name[PATH_MAX + 8];

	while (*below == '/')
		below++;
	if (snprintf(name, sizeof(name), "./%s%s", below, f->fts_info == FTS_D && *below ? "/" : "") >=
	    (int)sizeof(name))
		return skip(p, f, strerrordesc_np(ENAMETOOLONG));
	struct tar_entry t = { .name = name, .target = target, .mode = st->st_mode & 0777, .mtime_s = st->st_mtime };
	if (f->fts_info == FTS_F)
		return S_ISREG(st->st_mode) ? open_file(p, f, &t) : skip(p, f, "not a file");
	if (f->fts_info == FTS_D) {
		t.type = TAR_DIR;
		return put_entry(p, f, &t);
	}
	ssize_t n = readlink(f->fts_accpath, target, sizeof(target) - 1);
	if (n < 0)
		return skip(p, f, strerrordesc_np(errno));
	target[n] = '\0';
	t.type = TAR_SYMLINK;
	return put_entry(p, f, &t);
}

/* Writes the header of the next entry, or the end of the archive, to `out`. */
static int next(struct pack *p)
{
	FTSENT *f = fts_read(p->walk);

	if (!f && errno)
		return -errno;
	if (!f) {
		p->ended = true;
		for (size_t i = 0; i < TAR_END_SIZE; i++)
			buf_ch(&p->out, '\0');
		return p->out.bad ? -ENOMEM : 0;
	}
	switch (f->fts_info) {
	case FTS_DP:
		return 0;
	case FTS_D:
	case FTS_F:
	case FTS_SL:
	case FTS_SLNONE:
		return add(p, f);
	case FTS_DNR:
	case FTS_ERR:
	case FTS_NS:
		return skip(p, f, strerrordesc_np(f->fts_errno));
	case FTS_DC:
		return skip(p, f, "the directory contains itself");
	default:
		return skip(p, f, "not a file, directory or link");
	}
}

/* Reads from the open file. If the file was truncated meanwhile, it is padded with zeros to the size in the header. */
static ssize_t read_file(struct pack *p, char *to, size_t n)
{
	ssize_t got = 0;

	if (n > p->left)
		n = (size_t)p->left;
	if (n > 0) {
		got = read(p->fd, to, n);
		if (got < 0)
			return errno == EINTR ? 0 : -errno;
		if (got == 0) {
			memset(to, 0, n);
			got = (ssize_t)n;
		}
		p->left -= (uint64_t)got;
	}
	if (p->left == 0) {
		fd_close(take_fd(&p->fd));
		for (; p->padding > 0; p->padding--)
			buf_ch(&p->out, '\0');
	}
	return p->out.bad ? -ENOMEM : got;
}

ssize_t pack_read(struct pack *p, void *to, size_t n, struct err *e)
{
	size_t have = 0;

	while (have < n) {
		ssize_t rc = 0;

		if (p->out.n > 0) {
			size_t some = p->out.n < n - have ? p->out.n : n - have;

			memcpy((char *)to + have, p->out.p, some);
			buf_consume(&p->out, some);
			have += some;
		} else if (p->fd >= 0) {
			rc = read_file(p, (char *)to + have, n - have);
			have += rc > 0 ? (size_t)rc : 0;
		} else if (p->ended) {
			break;
		} else {
			rc = next(p);
		}
		if (rc < 0)
			return err_set(e, (int)-rc, "read '%s': %s", p->dir, strerrordesc_np((int)-rc));
	}
	return (ssize_t)have;
}

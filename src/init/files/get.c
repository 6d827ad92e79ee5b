/* SPDX-License-Identifier: Apache-2.0 */
/* files_get: GET /files: a whole file, or a part of it.
 *
 * The loop reads the file in pieces, as fast as the peer takes them. Only regular files are served: a FIFO would
 * block pid 1 and a device may never end. Files of /proc report size 0 but have content: they are read to their
 * end and sent in chunks. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "http/server.h"
#include "http/url.h"
#include "init/files/files.h"
#include "init/files/gzip.h"
#include "init/files/media.h"
#include "init/files/path.h"
#include "init/init.h"
#include "init/reply.h"
#include "init/text.h"
#include "loop/loop.h"
#include "loop/stream.h"

#define PIECE (256 * 1024)
#define SEND (1024 * 1024) /* as PIECE, for data that is not copied */
#define PIECES_PER_ROUND 4 /* then other requests get their turn */

struct download {
	struct http_req *rq; /* NULL: the request is over */
	struct loop *loop;
	int fd;
	uint64_t at, left; /* left: UINT64_MAX if the size is unknown */
	bool deferred;     /* send() is scheduled */
	bool waiting;      /* for room in the socket, with nothing queued */
	bool ended;
	struct gzip *gzip; /* NULL: not compressed */
	size_t n_first;
	char first[4096]; /* read in advance to find out whether the file is empty */
};

int files_param(struct http_req *rq, const char *name, char **ret)
{
	int rc = query_get(rq->query, name, ret);

	if (rc == 0 || rc == -ENOENT)
		return 0;
	if (rc == -EILSEQ)
		init_reply_error(rq, 400, "query parameter '%s' must not hold a NUL byte", name);
	else
		init_reply_error(rq, 400, "query parameter '%s' is not valid percent encoding", name);
	return rc;
}

int files_user(struct init *in, struct http_req *rq, struct user *ret)
{
	autousers struct userdb db = { 0 };
	autofree char *name = NULL;

	if (files_param(rq, "username", &name) < 0)
		return -EINVAL;
	userdb_load(&db);
	if (userdb_find(&db, str_of(name ? name : in->default_user), ret) < 0) {
		init_reply_error(rq, 401, "error looking up user '%s': user: unknown user %s",
		    name ? name : in->default_user, name ? name : in->default_user);
		return -ENOENT;
	}
	return 0;
}

static void free_later(void *p)
{
	struct download *d = p;

	fd_close(d->fd);
	gzip_free(d->gzip);
	free(d);
}

static void send_packed(void *user, struct str data)
{
	struct download *d = user;

	http_write(d->rq, data);
}

static void send_bytes(struct download *d, struct str data)
{
	if (d->gzip)
		gzip_feed(d->gzip, data, false, send_packed, d);
	else
		http_write(d->rq, data);
}

static void send_pieces(void *p);

static void again(struct download *d)
{
	if (d->deferred)
		return;
	d->deferred = true;
	loop_defer(d->loop, send_pieces, d);
}

/* Sends with sendfile(). Like send_piece(); -EOPNOTSUPP: not possible here. */
static int send_straight(struct download *d)
{
	off_t at = (off_t)d->at;
	ssize_t n = http_sendfile(d->rq, d->fd, &at, d->left < SEND ? (size_t)d->left : SEND);

	if (n < 0)
		return n == -ENODATA ? -EIO : (int)n; /* the file was truncated */
	d->at += (uint64_t)n;
	d->left -= (uint64_t)n;
	d->waiting = n == 0;
	return 1;
}

/* One piece. 1: more, 0: done, -errno. */
static int send_piece(struct download *d)
{
	static char data[PIECE]; /* one piece at a time: http_write() copies what it cannot send */
	size_t want = d->left < PIECE ? (size_t)d->left : PIECE;
	ssize_t n;

	if (want == 0)
		return 0;
	if (!d->gzip && d->left != UINT64_MAX) {
		int rc = send_straight(d);

		if (rc != -EOPNOTSUPP)
			return rc;
	}
	n = d->left == UINT64_MAX ? read(d->fd, data, want) : pread(d->fd, data, want, (off_t)d->at);
	if (n < 0 && errno == EINTR)
		return 1;
	if (n < 0 && errno == EAGAIN && d->left == UINT64_MAX)
		n = 0; /* a /proc file without end has no data now */
	if (n < 0)
		return -errno;
	if (n == 0)
		return d->left == UINT64_MAX ? 0 : -EIO; /* the file was truncated */
	send_bytes(d, (struct str) { data, (size_t)n });
	d->at += (uint64_t)n;
	if (d->left != UINT64_MAX)
		d->left -= (uint64_t)n;
	return 1;
}

static void send_pieces(void *p)
{
	struct download *d = p;
	int rc = 1;

	d->deferred = d->waiting = false;
	if (!d->rq) {
		free_later(d);
		return;
	}
	for (int i = 0; rc > 0; i++) {
		if (d->waiting || http_queued(d->rq) > STREAM_HIGH)
			return; /* on_drain continues */
		if (i == PIECES_PER_ROUND) {
			again(d);
			return;
		}
		rc = send_piece(d);
	}
	d->ended = true;
	if (rc < 0) {
		http_abort(d->rq); /* Content-Length was sent: the peer must see that the body is incomplete */
		return;
	}
	if (d->gzip)
		gzip_feed(d->gzip, STR_NULL, true, send_packed, d);
	http_end(d->rq);
}

static void on_drain(struct http_req *rq)
{
	struct download *d = rq->user;

	if (!d->ended)
		again(d);
}

static void on_close(struct http_req *rq, bool lost)
{
	struct download *d = rq->user;

	(void)lost;
	d->rq = NULL;
	if (!d->deferred)
		free_later(d);
}

static const struct http_req_ops download_ops = { .on_drain = on_drain, .on_close = on_close };

/* Opens path for reading if it is a regular file. The fd, or -1 and the request is answered. */
static int open_file(struct http_req *rq, const char *path, struct stat *ret)
{
	autoclose int fd = -1;
	int no;

	/* stat() comes before open(), because opening a device can have side effects. */
	if (stat(path, ret) < 0 ||
	    (!S_ISDIR(ret->st_mode) && S_ISREG(ret->st_mode) &&
		(fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) < 0)) {
		no = errno;
		if (no == ENOENT)
			init_reply_error(rq, 404, "path '%s' does not exist", path);
		else if (no == ENOTDIR || no == ENAMETOOLONG || no == ELOOP)
			init_reply_error(rq, 400, "error checking if path exists '%s': %s", path, text_errno(no));
		else
			init_reply_error(rq, 500, "error opening file '%s': %s", path, text_errno(no));
		return -1;
	}
	if (S_ISDIR(ret->st_mode)) {
		init_reply_error(rq, 400, "path '%s' is a directory", path);
		return -1;
	}
	if (fd < 0 || fstat(fd, ret) < 0 || !S_ISREG(ret->st_mode)) {
		init_reply_error(rq, 400, "path '%s' is not a regular file", path);
		return -1;
	}
	return take_fd(&fd);
}

struct part {
	int status;
	uint64_t from, n;
};

/* Checks conditional headers against a file that has a date but no entity tag. 0: send it, else the status to
 * answer. */
static int check_conditions(const struct http_req *rq, const struct stat *st)
{
	struct str match = http_header_get(&rq->headers, "if-match"),
		   none = http_header_get(&rq->headers, "if-none-match");
	time_t t;

	if (match.n ? !str_is(match, "*")
		    : media_date_parse(http_header_get(&rq->headers, "if-unmodified-since"), &t) && st->st_mtime > t)
		return 412;
	if (none.n ? str_is(none, "*")
		   : media_date_parse(http_header_get(&rq->headers, "if-modified-since"), &t) && st->st_mtime <= t)
		return 304;
	return 0;
}

/* Evaluates conditional and range headers. */
static struct part choose_part(const struct http_req *rq, const struct stat *st)
{
	struct str range = http_header_get(&rq->headers, "range");
	struct str if_range = http_header_get(&rq->headers, "if-range");
	struct part all = { 200, 0, (uint64_t)st->st_size }, some = { 206, 0, 0 };
	int unmet = check_conditions(rq, st);
	time_t t;

	if (unmet)
		return (struct part) { unmet, 0, 0 };
	if (!range.p || st->st_size == 0)
		return all;
	if (if_range.p && (!media_date_parse(if_range, &t) || t != st->st_mtime))
		return all;
	switch (media_range(range, all.n, &some.from, &some.n)) {
	case 1:
		return some;
	case 0:
		return all;
	default:
		return (struct part) { 416, 0, 0 };
	}
}

static void put_headers(struct buf *h, const char *path, const struct stat *st, const struct part *part)
{
	char date[MEDIA_DATE_SIZE];

	buf_z(h, "Content-Disposition: ");
	media_disposition(h, path_base(path));
	media_date(st->st_mtime, date);
	buf_fmt(h, "\r\nLast-Modified: %s\r\nVary: Accept-Encoding\r\nAccept-Ranges: bytes\r\n", date);
	if (part->status == 206)
		buf_fmt(h, "Content-Range: bytes %ju-%ju/%jd\r\n", (uintmax_t)part->from,
		    (uintmax_t)(part->from + part->n - 1), (intmax_t)st->st_size);
	if (part->status == 416)
		buf_fmt(h, "Content-Range: bytes */%jd\r\n", (intmax_t)st->st_size);
}

static void start_download(struct download *d, const char *path, const struct stat *st)
{
	autobuf struct buf headers = BUF_INIT(16 * 1024);
	struct part part = choose_part(d->rq, st);
	ssize_t n = st->st_size ? pread(d->fd, d->first, sizeof(d->first), 0) : read(d->fd, d->first, sizeof(d->first));
	const char *type;

	d->n_first = n > 0 ? (size_t)n : 0;
	type = media_type(path_base(path), (struct str) { d->first, d->n_first });
	put_headers(&headers, path, st, &part);
	if (part.status == 304 || part.status == 412 || part.status == 416) {
		d->ended = true;
		http_respond(d->rq, part.status, NULL, buf_cstr(&headers), STR_NULL);
		return;
	}
	if (st->st_size == 0 && d->n_first == 0) {
		d->ended = true;
		http_respond(d->rq, 200, type, buf_cstr(&headers), STR_NULL);
		return;
	}
	d->at = part.from;
	d->left = st->st_size ? part.n : UINT64_MAX;
	if (d->gzip)
		buf_z(&headers, "Content-Encoding: gzip\r\n");
	http_begin(d->rq, part.status, type, buf_cstr(&headers), st->st_size && !d->gzip ? (int64_t)part.n : -1);
	if (!st->st_size)
		send_bytes(d, (struct str) { d->first, d->n_first });
	send_pieces(d);
}

/* Ranges and conditions refer to the uncompressed bytes, so such requests are not compressed. */
static enum media_coding choose_coding(const struct http_req *rq)
{
	static const char *const plain_only[] = { "range", "if-range", "if-match", "if-none-match", "if-modified-since",
		"if-unmodified-since" };
	bool plain = false;

	for (size_t i = 0; i < ARRAY_LEN(plain_only); i++)
		plain |= http_header_get(&rq->headers, plain_only[i]).n > 0;
	return media_coding(http_header_get(&rq->headers, "accept-encoding"), plain);
}

/* Owns fd. */
void files_send(struct init *in, struct http_req *rq, int fd, const char *path, const struct stat *st)
{
	enum media_coding coding = choose_coding(rq);
	struct download *d;

	if (coding == MEDIA_NEITHER) {
		fd_close(fd);
		init_reply_error(rq, 406,
		    "error parsing Accept-Encoding: no acceptable encoding found, supported: [gzip]");
		return;
	}
	d = calloc(1, sizeof(*d));
	if (d && coding == MEDIA_GZIP)
		d->gzip = gzip_new();
	if (!d || (coding == MEDIA_GZIP && !d->gzip)) {
		free(d);
		fd_close(fd);
		init_reply_error(rq, 503, "out of memory");
		return;
	}
	d->rq = rq;
	d->loop = in->loop;
	d->fd = fd;
	rq->user = d;
	rq->ops = &download_ops;
	start_download(d, path, st);
}

void files_get(struct init *in, struct http_req *rq)
{
	autofree char *name = NULL, *path = NULL;
	struct user user;
	struct stat st;
	int fd;

	if (files_param(rq, "path", &name) < 0 || files_user(in, rq, &user) < 0)
		return;
	if (path_resolve(name ? name : "", user.home, in->default_workdir, &path) < 0) {
		init_reply_error(rq, 400,
		    "error expanding and resolving path '%s': cannot expand user-specific home dir", name);
		return;
	}
	fd = open_file(rq, path, &st);
	if (fd >= 0)
		files_send(in, rq, fd, path, &st);
}

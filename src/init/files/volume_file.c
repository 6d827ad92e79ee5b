/* SPDX-License-Identifier: Apache-2.0 */
/* volume_file: upload and download of whole files of a volume. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "http/server.h"
#include "init/files/files.h"
#include "init/files/path.h"
#include "init/files/sink.h"
#include "init/files/volume.h"
#include "init/users.h"

void volume_file_get(struct init *in, struct http_req *rq)
{
	autofree char *path = NULL;
	struct stat st;
	int fd = -1;

	if (volume_path(rq, &path) < 0)
		return;
	/* stat() comes before open(), because opening a FIFO would block. */
	if (stat(path, &st) < 0)
		volume_errno(rq, errno, "read", path);
	else if (!S_ISREG(st.st_mode))
		volume_fail(rq, 400, "invalid_request", "'%s' is not a file", path);
	else if ((fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) < 0 || fstat(fd, &st) < 0)
		volume_errno(rq, errno, "read", path);
	else
		files_send(in, rq, take_fd(&fd), path, &st);
	fd_close(fd);
}

/* --- put ---------------------------------------------------------------------------------------------------- */

struct upload {
	struct volume_target t;
	struct sink sink;
	bool failed;
};

static void upload_fail(struct http_req *rq, const struct sink_error *e)
{
	struct upload *u = rq->user;

	u->failed = true;
	volume_fail(rq, e->status,
	    e->status == 507       ? "no_space"
		: e->status == 400 ? "invalid_request"
				   : "internal",
	    "%s", e->text);
}

static void on_body(struct http_req *rq, struct str data)
{
	struct upload *u = rq->user;
	struct sink_error e = { 0 };

	if (!u->failed && sink_write(&u->sink, data, &e) < 0)
		upload_fail(rq, &e);
}

static void on_body_end(struct http_req *rq)
{
	struct upload *u = rq->user;
	struct sink_error e = { 0 };

	if (u->failed)
		return;
	if (fchmod(u->sink.fd, u->t.mode) < 0)
		(void)sink_fail(&e, 500, "change the mode of '%s' failed", u->t.path);
	else if (sink_finish(&u->sink, NULL, &e) == 0)
		volume_reply(rq, 201, u->t.path, true);
	if (e.status)
		upload_fail(rq, &e);
}

static void on_close(struct http_req *rq, bool lost)
{
	struct upload *u = rq->user;

	(void)lost;
	sink_discard(&u->sink);
	volume_target_done(&u->t);
	free(u);
}

static const struct http_req_ops upload_ops = { .on_body = on_body, .on_body_end = on_body_end, .on_close = on_close };

/* Without force, the file must not exist and its directory must. */
static int check_place(struct http_req *rq, const struct volume_target *t)
{
	autofree char *dir = path_dir(t->path);
	struct stat st;

	if (!dir) {
		volume_fail(rq, 503, "internal", "out of memory");
		return -ENOMEM;
	}
	if (stat(dir, &st) < 0 || (errno = S_ISDIR(st.st_mode) ? 0 : ENOTDIR)) {
		int no = errno;

		volume_errno(rq, no, "write to", no == ENOENT ? dir : t->path);
		return -no;
	}
	if (!t->force && lstat(t->path, &st) == 0) {
		volume_errno(rq, EEXIST, "write", t->path);
		return -EEXIST;
	}
	return 0;
}

void volume_file_put(struct init *in, struct http_req *rq)
{
	struct volume_target t = { 0 };
	struct sink_error e = { 0 };
	struct upload *u;

	(void)in;
	if (volume_target(rq, VOLUME_FILE_MODE, &t) < 0)
		return;
	if (volume_parents(rq, &t) < 0 || check_place(rq, &t) < 0) {
		volume_target_done(&t);
		return;
	}
	u = calloc(1, sizeof(*u));
	if (!u) {
		volume_target_done(&t);
		volume_fail(rq, 503, "internal", "out of memory");
		return;
	}
	u->t = t;
	u->sink.fd = -1;
	rq->user = u;
	rq->ops = &upload_ops;
	if (sink_open(&u->sink, t.path, &(struct user) { .uid = t.uid, .gid = t.gid }, NULL, &e) < 0)
		upload_fail(rq, &e);
	u->sink.durable = true;
}

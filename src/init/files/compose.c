/* SPDX-License-Identifier: Apache-2.0 */
/* compose: POST /files/compose: concatenates several files into one and removes them.
 *
 * The result is written next to its destination and renamed when it is complete, so a failure leaves everything
 * unchanged. One piece is copied per loop iteration, so that large files do not block other requests. The work
 * continues after the client has disconnected. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/rand.h"
#include "http/json.h"
#include "http/server.h"
#include "init/files/dirs.h"
#include "init/files/files.h"
#include "init/files/path.h"
#include "init/files/sink.h"
#include "init/init.h"
#include "init/reply.h"
#include "init/text.h"
#include "loop/loop.h"

#define BODY_MAX (1024 * 1024)
#define SOURCES_MAX 10000
#define STEP (4 * 1024 * 1024) /* bytes; takes a few milliseconds if they have to be copied */
#define COPY_SIZE (256 * 1024)
#define OPEN_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

struct compose {
	struct http_req *rq; /* NULL: the client has disconnected */
	struct init *in;
	struct buf body;
	struct user user;
	char **sources;
	size_t n_sources, at;
	char *destination, *partial;
	int from, to; /* -1: not open */
	bool working; /* step() is scheduled */
	struct sink_error error;
};

static void compose_free(struct compose *m)
{
	for (size_t i = 0; i < m->n_sources; i++)
		free(m->sources[i]);
	free(m->sources);
	fd_close(m->from);
	fd_close(m->to);
	if (m->partial)
		(void)unlink(m->partial);
	free(m->partial);
	free(m->destination);
	buf_done(&m->body);
	free(m);
}

/* The request. */

static int resolve(struct compose *m, const char *what, const char *path, char **ret)
{
	if (strlen(path) >= PATH_MAX || path_resolve(path, m->user.home, m->in->default_workdir, ret) < 0)
		return sink_fail(&m->error, 400, "error resolving %s path '%.200s'", what, path);
	return 0;
}

static int add_source(struct compose *m, const json_t *item)
{
	const char *given = json_string_value(item);
	char *path = NULL;
	struct stat st;

	if (!given)
		return sink_fail(&m->error, 400, "field 'source_paths' must be an array of strings");
	if (resolve(m, "source", given, &path) < 0)
		return -1;
	m->sources[m->n_sources++] = path;
	if (strcmp(path, m->destination) == 0)
		return sink_fail(&m->error, 400, "source path '%.200s' cannot be the same as destination", given);
	if (stat(path, &st) < 0)
		return sink_fail(&m->error, 404, "source file not found: %.200s", given);
	if (!S_ISREG(st.st_mode))
		return sink_fail(&m->error, 400, "source path is not a regular file: %.200s", given);
	return 0;
}

static int find_user(struct compose *m, const char *name)
{
	autousers struct userdb db = { 0 };

	userdb_load(&db);
	if (!name)
		name = m->in->default_user;
	if (userdb_find(&db, str_of(name), &m->user) == 0)
		return 0;
	return sink_fail(&m->error, 401, "error looking up user '%.100s': user: unknown user %.100s", name, name);
}

static int parse(struct compose *m, const json_t *body)
{
	const char *destination = "", *name = NULL;
	struct err e = ERR_INIT;
	json_t *list = NULL, *item;
	size_t i;

	if (json_get_arr(body, "source_paths", &list, &e) < 0 ||
	    json_get_str(body, "destination", &destination, &e) < 0 || json_get_str(body, "username", &name, &e) < 0)
		return sink_fail(&m->error, 400, "%s", e.text);
	if (json_array_size(list) == 0)
		return sink_fail(&m->error, 400, "source_paths must not be empty");
	if (json_array_size(list) > SOURCES_MAX)
		return sink_fail(&m->error, 400, "field 'source_paths' has more than %d items", SOURCES_MAX);
	if (!destination[0])
		return sink_fail(&m->error, 400, "destination is required");
	m->sources = calloc(json_array_size(list), sizeof(char *));
	if (!m->sources)
		return sink_fail(&m->error, 503, "out of memory");
	if (find_user(m, name) < 0 || resolve(m, "destination", destination, &m->destination) < 0)
		return -1;
	json_array_foreach(list, i, item)
	{
		if (add_source(m, item) < 0)
			return -1;
	}
	return 0;
}

static int fail_errno(struct compose *m, const char *what, const char *path, int no)
{
	if (no == ENOSPC || no == EDQUOT)
		return sink_fail(&m->error, 507, "not enough disk space available");
	return sink_fail(&m->error, 500, "%s %.1000s: %s", what, path, text_errno(no));
}

/* Opens the temporary file next to the destination. */
static int open_partial(struct compose *m)
{
	autofree char *dir = path_dir(m->destination), *at = NULL;
	char id[21];
	struct stat st;
	int rc;

	if (stat(m->destination, &st) == 0 && S_ISDIR(st.st_mode))
		return sink_fail(&m->error, 400, "path is a directory: %.1000s", m->destination);
	rc = dir ? dirs_ensure(dir, m->user.uid, m->user.gid, &at) : -ENOMEM;
	if (rc < 0)
		return fail_errno(m, "error ensuring directories:", at ? at : m->destination, -rc);
	rand_label(id, sizeof(id) - 1);
	m->partial = str_fmt("%s.compose.%s.tmp", m->destination, id);
	m->to = m->partial ? open(m->partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) : -1;
	if (m->to < 0)
		return fail_errno(m, "error creating destination file", m->destination, m->partial ? errno : ENOMEM);
	if (fchown(m->to, m->user.uid, m->user.gid) < 0)
		return fail_errno(m, "error changing file ownership of", m->destination, errno);
	return 0;
}

/* The work. */

static void answer(struct compose *m)
{
	autojson json_t *entry = json_object();

	if (m->error.status) {
		init_reply_error(m->rq, m->error.status, "%s", m->error.text);
		return;
	}
	(void)json_object_set_new(entry, "path", text_json(str_of(m->destination)));
	(void)json_object_set_new(entry, "name", text_json(path_base(m->destination)));
	(void)json_object_set_new(entry, "type", json_string("file"));
	init_reply_json(m->rq, 200, NULL, entry);
}

/* Renames the result to its destination and removes the sources, except one that is the result itself under
 * another name. */
static int settle(struct compose *m)
{
	struct stat whole, part;

	if (fstat(m->to, &whole) < 0 || rename(m->partial, m->destination) < 0)
		return fail_errno(m, "error finalizing compose of", m->destination, errno);
	free(take_ptr(&m->partial));
	for (size_t i = 0; i < m->n_sources; i++) {
		if (lstat(m->sources[i], &part) == 0 && (part.st_ino != whole.st_ino || part.st_dev != whole.st_dev))
			(void)unlink(m->sources[i]);
	}
	return 0;
}

/* Copies up to STEP bytes of the open source. Returns how many, 0 at its end, -errno. copy_file_range() is tried
 * first; files of /proc do not support it. */
static ssize_t copy_some(struct compose *m)
{
	static char data[COPY_SIZE];
	ssize_t n = copy_file_range(m->from, NULL, m->to, NULL, STEP, 0);

	if (n > 0)
		return n;
	if (n < 0 && errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
		return -errno;
	n = read(m->from, data, sizeof(data));
	if (n <= 0)
		return n < 0 ? -errno : 0;
	int rc = fd_write_all(m->to, data, (size_t)n);

	return rc < 0 ? rc : n;
}

/* 1: more to do, 0: all is copied, -1: failed. */
static int copy_step(struct compose *m)
{
	const char *path = m->sources[m->at];
	struct stat st;
	ssize_t n;

	if (m->from < 0) {
		m->from = open(path, OPEN_FLAGS);
		if (m->from < 0 || fstat(m->from, &st) < 0)
			return fail_errno(m, "error opening source file", path, errno);
		if (!S_ISREG(st.st_mode))
			return sink_fail(&m->error, 400, "source path is not a regular file: %.200s", path);
	}
	n = copy_some(m);
	if (n < 0)
		return fail_errno(m, "error composing source", path, (int)-n);
	if (n > 0)
		return 1;
	fd_close(take_fd(&m->from));
	return ++m->at < m->n_sources;
}

static void step(void *user)
{
	struct compose *m = user;
	int rc = copy_step(m);

	if (rc > 0) {
		loop_defer(m->in->loop, step, m);
		return;
	}
	if (rc == 0)
		(void)settle(m);
	m->working = false;
	if (m->rq)
		answer(m); /* on_close frees it */
	else
		compose_free(m);
}

static void on_body(struct http_req *rq, struct str data)
{
	struct compose *m = rq->user;

	buf_str(&m->body, data);
}

static void on_body_end(struct http_req *rq)
{
	struct compose *m = rq->user;
	autojson json_t *body = NULL;
	struct err e = ERR_INIT;

	if (m->body.bad)
		(void)sink_fail(&m->error, 413, "request body is larger than %d bytes", BODY_MAX);
	else if (json_read_object(buf_view(&m->body), false, &body, &e) < 0)
		(void)sink_fail(&m->error, 400, "invalid request body: %s", e.text);
	else if (parse(m, body) == 0 && open_partial(m) == 0) {
		m->working = true;
		loop_defer(m->in->loop, step, m);
		return;
	}
	answer(m);
}

static void on_close(struct http_req *rq, bool lost)
{
	struct compose *m = rq->user;

	(void)lost;
	m->rq = NULL;
	if (!m->working)
		compose_free(m);
}

static const struct http_req_ops compose_ops = { .on_body = on_body, .on_body_end = on_body_end, .on_close = on_close };

void files_compose(struct init *in, struct http_req *rq)
{
	struct compose *m = calloc(1, sizeof(*m));

	if (!m) {
		init_reply_error(rq, 503, "out of memory");
		return;
	}
	*m = (struct compose) { .rq = rq, .in = in, .body = BUF_INIT(BODY_MAX), .from = -1, .to = -1 };
	rq->user = m;
	rq->ops = &compose_ops;
}

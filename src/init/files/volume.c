/* SPDX-License-Identifier: Apache-2.0 */
/* volume: paths and directories of a volume. */
#include "init/files/volume.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "http/json.h"
#include "http/server.h"
#include "http/url.h"
#include "init/files/dirs.h"
#include "init/files/path.h"
#include "init/init.h"
#include "init/reply.h"
#include "init/text.h"
#include "loop/loop.h"

#define DEPTH_MAX 10
#define ENTRIES_MAX 100000
#define LIST_MAX (48 * 1024 * 1024)
#define BODY_MAX (64 * 1024)
#define STEP 1024
#define LOOK_MS 250

void volume_fail(struct http_req *rq, int status, const char *code, const char *fmt, ...)
{
	autojson json_t *body = json_object();
	autofree char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	(void)json_object_set_new(body, "code", json_string(code));
	(void)json_object_set_new(body, "message", text_json(str_of(text ? text : "out of memory")));
	init_reply_json(rq, status, NULL, body);
}

void volume_errno(struct http_req *rq, int no, const char *what, const char *path)
{
	switch (no) {
	case ENOENT:
		volume_fail(rq, 404, "path_not_found", "%s: path '%s' not found", what, path);
		break;
	case EEXIST:
		volume_fail(rq, 409, "path_already_exists", "%s: path '%s' already exists", what, path);
		break;
	case ENOTDIR:
	case EISDIR:
	case ENAMETOOLONG:
	case ELOOP:
	case EINVAL:
		volume_fail(rq, 400, "invalid_request", "%s '%.300s': %s", what, path, text_errno(no));
		break;
	case ENOSPC:
	case EDQUOT:
		volume_fail(rq, 507, "no_space", "%s '%s': the volume is full", what, path);
		break;
	default:
		volume_fail(rq, 500, "internal", "%s '%s': %s", what, path, text_errno(no));
	}
}

/* --- parameters of a request ------------------------------------------------------------------------------------- */

static int param(struct http_req *rq, const char *name, char **ret)
{
	int rc = query_get(rq->query, name, ret);

	if (rc == 0 || rc == -ENOENT)
		return 0;
	volume_fail(rq, 400, "invalid_request", "query parameter '%s' is malformed", name);
	return -EINVAL;
}

int volume_path(struct http_req *rq, char **ret)
{
	autofree char *given = NULL, *rooted = NULL;

	if (param(rq, "path", &given) < 0)
		return -EINVAL;
	if (!given || !given[0]) {
		volume_fail(rq, 400, "invalid_request", "query parameter 'path' is required");
		return -EINVAL;
	}
	rooted = str_fmt("/%s", given);
	*ret = rooted ? path_clean(rooted) : NULL;
	if (*ret && strlen(*ret) < PATH_MAX)
		return 0;
	free(take_ptr(ret));
	volume_fail(rq, 400, "invalid_request", "query parameter 'path' is too long");
	return -EINVAL;
}

static int param_number(struct http_req *rq, const char *name, unsigned max, unsigned *ret)
{
	autofree char *text = NULL;
	uint64_t v;

	if (param(rq, name, &text) < 0)
		return -EINVAL;
	if (!text)
		return 0;
	if (str_to_u64(str_of(text), max, &v) < 0) {
		volume_fail(rq, 400, "invalid_request", "query parameter '%s' must be an integer from 0 to %u", name,
		    max);
		return -EINVAL;
	}
	*ret = (unsigned)v;
	return 0;
}

int volume_target(struct http_req *rq, mode_t mode, struct volume_target *ret)
{
	struct volume_target t = { .uid = VOLUME_OWNER, .gid = VOLUME_OWNER, .mode = mode };
	autofree char *force = NULL;

	if (param_number(rq, "uid", VOLUME_ID_MAX, &t.uid) < 0 || param_number(rq, "gid", VOLUME_ID_MAX, &t.gid) < 0 ||
	    param_number(rq, "mode", 07777, &t.mode) < 0 || param(rq, "force", &force) < 0)
		return -EINVAL;
	if (force && strcmp(force, "true") != 0 && strcmp(force, "false") != 0) {
		volume_fail(rq, 400, "invalid_request", "query parameter 'force' must be true or false");
		return -EINVAL;
	}
	t.force = force && force[0] == 't';
	if (volume_path(rq, &t.path) < 0)
		return -EINVAL;
	*ret = t;
	return 0;
}

void volume_target_done(struct volume_target *t)
{
	free(t->path);
	t->path = NULL;
}

int volume_parents(struct http_req *rq, const struct volume_target *t)
{
	autofree char *path = strdup(t->path);

	for (char *p = path ? strchr(path + 1, '/') : NULL; p && t->force; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(path, VOLUME_DIR_MODE) == 0 ? chown(path, t->uid, t->gid) < 0 : errno != EEXIST) {
			volume_errno(rq, errno, "make directory", path);
			return -errno;
		}
		*p = '/';
	}
	return 0;
}

/* --- entries ----------------------------------------------------------------------------------------------------- */

static const char *type_of(mode_t mode)
{
	return S_ISREG(mode) ? "file" : S_ISDIR(mode) ? "directory" : S_ISLNK(mode) ? "symlink" : "unknown";
}

static json_t *time_json(struct timespec ts)
{
	char text[TEXT_TIME_SIZE];

	text_time(ts, text);
	return json_string(text);
}

static json_t *entry_json(const char *path, const struct stat *st)
{
	json_t *j = json_pack("{s:o,s:s,s:o,s:I,s:i,s:I,s:I,s:o,s:o,s:o}", "name", text_json(path_base(path)), "type",
	    type_of(st->st_mode), "path", text_json(str_of(path)), "size", (json_int_t)st->st_size, "mode",
	    (int)(st->st_mode & 07777), "uid", (json_int_t)st->st_uid, "gid", (json_int_t)st->st_gid, "atime",
	    time_json(st->st_atim), "mtime", time_json(st->st_mtim), "ctime", time_json(st->st_ctim));
	char to[PATH_MAX];
	ssize_t n = S_ISLNK(st->st_mode) ? readlink(path, to, sizeof(to)) : -1;

	if (n >= 0)
		(void)json_object_set_new(j, "target", text_json((struct str) { to, (size_t)n }));
	return j;
}

void volume_reply(struct http_req *rq, int status, const char *path, bool follow)
{
	struct stat st;

	if ((follow ? stat(path, &st) : lstat(path, &st)) < 0) {
		volume_errno(rq, errno, "look at", path);
		return;
	}
	autojson json_t *j = entry_json(path, &st);

	init_reply_json(rq, status, NULL, j);
}

static void path_get(struct init *in, struct http_req *rq)
{
	autofree char *path = NULL;

	(void)in;
	if (volume_path(rq, &path) == 0)
		volume_reply(rq, 200, path, false);
}

static void path_delete(struct init *in, struct http_req *rq)
{
	autofree char *path = NULL;
	struct remover *r = NULL;
	struct stat st;
	int rc;

	(void)in;
	if (volume_path(rq, &path) < 0)
		return;
	if (!path[1]) {
		volume_fail(rq, 400, "cannot_delete_root", "the root of a volume cannot be deleted; delete the volume");
		return;
	}
	rc = lstat(path, &st) < 0 ? -errno : remover_new(path, &r);
	while (r && (rc = remover_step(r, STEP)) > 0)
		;
	remover_free(r);
	if (rc < 0)
		volume_errno(rq, -rc, "delete", path);
	else
		http_respond(rq, 204, NULL, NULL, STR_NULL);
}

/* --- directories -------------------------------------------------------------------------------------------- */

struct listing {
	const char *root; /* "" for the top */
	struct buf out;
	size_t n;
};

static int on_entry(void *user, const char *rel)
{
	struct listing *l = user;
	autofree char *path = str_fmt("%s/%s", l->root, rel);
	struct stat st;

	if (!path || l->n == ENTRIES_MAX)
		return path ? -E2BIG : -ENOMEM;
	if (lstat(path, &st) < 0)
		return 0; /* removed meanwhile */
	autojson json_t *j = entry_json(path, &st);

	buf_ch(&l->out, l->n++ ? ',' : '[');
	json_put(&l->out, j);
	return l->out.bad ? -E2BIG : 0;
}

static void dir_get(struct init *in, struct http_req *rq)
{
	struct listing l = { .out = BUF_INIT(LIST_MAX) };
	autofree char *path = NULL;
	unsigned depth = 1;

	(void)in;
	if (volume_path(rq, &path) < 0 || param_number(rq, "depth", UINT32_MAX, &depth) < 0)
		return;
	if (depth > DEPTH_MAX) {
		volume_fail(rq, 400, "depth_out_of_range", "query parameter 'depth' must be from 1 to %d", DEPTH_MAX);
		return;
	}
	l.root = path[1] ? path : "";
	int rc = dirs_walk(path, depth ? depth : 1, on_entry, &l);

	if (rc == -E2BIG) {
		volume_fail(rq, 400, "invalid_request",
		    "there is too much below '%s' for one answer, ask with a smaller depth", path);
	} else if (rc < 0) {
		volume_errno(rq, -rc, "list", path);
	} else {
		buf_z(&l.out, l.n ? "]" : "[]");
		http_respond(rq, 200, "application/json; charset=utf-8", NULL, buf_view(&l.out));
	}
	buf_done(&l.out);
}

static void dir_post(struct init *in, struct http_req *rq)
{
	struct volume_target t = { 0 };
	struct stat st;
	bool made;

	(void)in;
	if (volume_target(rq, VOLUME_DIR_MODE, &t) < 0)
		return;
	if (volume_parents(rq, &t) == 0) {
		made = mkdir(t.path, 0700) == 0;
		if (made && (chown(t.path, t.uid, t.gid) < 0 || chmod(t.path, t.mode) < 0)) {
			volume_errno(rq, errno, "give away directory", t.path);
			(void)rmdir(t.path);
		} else if (made || (errno == EEXIST && t.force && stat(t.path, &st) == 0 && S_ISDIR(st.st_mode))) {
			volume_reply(rq, 201, t.path, true);
		} else {
			volume_errno(rq, errno == EINVAL ? EEXIST : errno, "make directory", t.path);
		}
	}
	volume_target_done(&t);
}

/* --- ids and mode ------------------------------------------------------------------------------------------- */

static void on_patch_body(struct http_req *rq, struct str data)
{
	buf_str(rq->user, data);
}

static int field(const json_t *o, const char *name, int64_t max, int64_t *ret)
{
	const json_t *v = json_object_get(o, name);

	if (!v || json_is_null(v))
		return 0;
	if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > max)
		return -EINVAL;
	*ret = json_integer_value(v);
	return 0;
}

static void patch(struct http_req *rq, const json_t *body, const char *path)
{
	int64_t uid = -1, gid = -1, mode = -1;

	if (field(body, "uid", VOLUME_ID_MAX, &uid) < 0 || field(body, "gid", VOLUME_ID_MAX, &gid) < 0)
		volume_fail(rq, 400, "invalid_request", "fields 'uid' and 'gid' must be integers from 0 to %d",
		    VOLUME_ID_MAX);
	else if (field(body, "mode", 07777, &mode) < 0)
		volume_fail(rq, 400, "invalid_request", "field 'mode' must be an integer from 0 to %d", 07777);
	/* The mode comes last, because chown() clears the setuid bits. */
	else if ((uid >= 0 || gid >= 0) && chown(path, (uid_t)uid, (gid_t)gid) < 0)
		volume_errno(rq, errno, "change owner of", path);
	else if (mode >= 0 && chmod(path, (mode_t)mode) < 0)
		volume_errno(rq, errno, "change mode of", path);
	else
		volume_reply(rq, 200, path, true);
}

static void on_patch_end(struct http_req *rq)
{
	struct buf *body = rq->user;
	autofree char *path = NULL;
	autojson json_t *j = NULL;
	struct err e = ERR_INIT;

	if (body->bad)
		volume_fail(rq, 413, "invalid_request", "request body is larger than %d bytes", BODY_MAX);
	else if (volume_path(rq, &path) < 0)
		return;
	else if (json_read_object(buf_view(body), false, &j, &e) < 0)
		volume_fail(rq, 400, "invalid_request", "%s", e.text);
	else
		patch(rq, j, path);
}

static void on_patch_close(struct http_req *rq, bool lost)
{
	(void)lost;
	buf_done(rq->user);
	free(rq->user);
}

static const struct http_req_ops patch_ops = { .on_body = on_patch_body,
	.on_body_end = on_patch_end,
	.on_close = on_patch_close };

static void path_patch(struct init *in, struct http_req *rq)
{
	struct buf *body = malloc(sizeof(*body));

	(void)in;
	if (!body) {
		volume_fail(rq, 503, "internal", "out of memory");
		return;
	}
	*body = BUF_INIT(BODY_MAX);
	rq->user = body;
	rq->ops = &patch_ops;
}

/* --- the server --------------------------------------------------------------------------------------------- */

static const struct {
	const char *method, *what;
	void (*serve)(struct init *in, struct http_req *rq);
} routes[] = {
	{ "GET", "path", path_get },
	{ "PATCH", "path", path_patch },
	{ "DELETE", "path", path_delete },
	{ "GET", "dir", dir_get },
	{ "POST", "dir", dir_post },
	{ "GET", "file", volume_file_get },
	{ "HEAD", "file", volume_file_get },
	{ "PUT", "file", volume_file_put },
};

static void on_request(void *user, struct http_req *rq)
{
	struct str rest = rq->path;
	bool known = false;

	for (int i = 0; i < 3; i++)
		(void)str_cut(&rest, '/'); /* "", volumecontent, the id */
	for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
		if (!str_is(rest, routes[i].what))
			continue;
		known = true;
		if (str_is(rq->method, routes[i].method)) {
			routes[i].serve(user, rq);
			return;
		}
	}
	volume_fail(rq, known ? 405 : 404, "invalid_request", known ? "method not allowed" : "no such path");
}

static const struct http_server_ops server_ops = { .on_request = on_request };

/* The server keeps running without a connection and does not report its end, so it is polled. */
static void on_tick(void *user)
{
	struct init *in = user;

	if (http_server_conns(in->server) == 0)
		loop_stop(in->loop);
	timer_arm(in->volume_timer, LOOK_MS);
}

int volume_main(int conn_fd)
{
	static struct init in;

	log_setup("atoll-volume", LOG_LVL_WARN);
	in.loop = loop_new();
	in.server = in.loop ? http_server_new(in.loop, -1, &server_ops, &in) : NULL;
	in.volume_timer = in.server ? timer_new(in.loop, on_tick, &in) : NULL;
	if (!in.volume_timer || http_server_adopt(in.server, conn_fd) < 0)
		return 1;
	timer_arm(in.volume_timer, LOOK_MS);
	loop_run(in.loop);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* files_post: POST /files: one file as the plain body, or any number as multipart parts.
 *
 *   body ─▶ [gunzip] ─▶ [multipart] ─▶ sink
 *
 * The first failure is answered at once and the rest of the body is dropped. Files that are complete by then stay. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/fd.h"
#include "http/gunzip.h"
#include "http/json.h"
#include "http/multipart.h"
#include "http/server.h"
#include "init/files/files.h"
#include "init/files/meta.h"
#include "init/files/path.h"
#include "init/files/sink.h"
#include "init/init.h"
#include "init/reply.h"
#include "init/text.h"

#define PARTS_MAX 10000

struct upload {
	struct init *in;
	struct http_req *rq;
	struct user user;
	char *path; /* from the query, or NULL */
	json_t *meta;
	json_t *entries;             /* the answer */
	json_t *seen;                /* paths written by this request */
	struct gunzip *gunzip;       /* NULL: not compressed */
	struct multipart *multipart; /* NULL: a plain body */
	struct sink sink;
	char *target;            /* path of the sink */
	char *parent;            /* of the last file, see sink_open() */
	bool in_file;            /* the sink is open */
	struct sink_error error; /* status 0: none */
};

static int resolve(struct upload *u, const char *path, char **ret)
{
	if (strlen(path) >= PATH_MAX)
		return sink_fail(&u->error, 400, "error resolving path: longer than %d bytes", PATH_MAX - 1);
	if (path_resolve(path, u->user.home, u->in->default_workdir, ret) < 0)
		return sink_fail(&u->error, 400, "error resolving path: failed to expand path '%s' for user '%s': %s",
		    path, u->user.name, "cannot expand user-specific home dir");
	return 0;
}

static int file_begin(struct upload *u, const char *path)
{
	autofree char *target = NULL;

	if (resolve(u, path, &target) < 0)
		return -1;
	if (json_object_get(u->seen, target))
		return sink_fail(&u->error, 400,
		    "you cannot upload multiple files to the same path '%s' in one upload request, "
		    "only the first specified file was uploaded",
		    target);
	if (json_array_size(u->entries) >= PARTS_MAX)
		return sink_fail(&u->error, 400, "more than %d files in one upload request", PARTS_MAX);
	if (sink_open(&u->sink, target, &u->user, &u->parent, &u->error) < 0)
		return -1;
	(void)json_object_set_new_nocheck(u->seen, target, json_true());
	free(u->target);
	u->target = take_ptr(&target);
	u->in_file = true;
	return 0;
}

static int file_data(struct upload *u, struct str data)
{
	if (sink_write(&u->sink, data, &u->error) == 0)
		return 0;
	u->in_file = false; /* sink_write() has closed the sink */
	return -1;
}

static int file_end(struct upload *u)
{
	json_t *entry, *meta;

	u->in_file = false;
	if (sink_finish(&u->sink, u->meta, &u->error) < 0)
		return -1;
	entry = json_object();
	(void)json_object_set_new(entry, "path", text_json(str_of(u->target)));
	(void)json_object_set_new(entry, "name", text_json(path_base(u->target)));
	(void)json_object_set_new(entry, "type", json_string("file"));
	/* what the file system really stored */
	meta = u->sink.created && json_object_size(u->meta) == 0 ? NULL : meta_read(u->target);
	if (meta)
		(void)json_object_set_new(entry, "metadata", meta);
	(void)json_array_append_new(u->entries, entry);
	return 0;
}

/* Multipart: parts that are not named "file" are skipped. */

static int on_part(void *user, struct str name, struct str filename)
{
	struct upload *u = user;
	autofree char *path = NULL;

	if (!str_is(name, "file"))
		return 0;
	if (u->path)
		return file_begin(u, u->path);
	if (!filename.p)
		return sink_fail(&u->error, 400,
		    "error getting multipart custom part file name: filename not found in "
		    "Content-Disposition header");
	if (memchr(filename.p, '\0', filename.n))
		return sink_fail(&u->error, 400, "filename of a part must not hold a NUL byte");
	path = str_dup(filename);
	return path ? file_begin(u, path) : sink_fail(&u->error, 500, "out of memory");
}

static int on_part_data(void *user, struct str data)
{
	struct upload *u = user;

	return u->in_file ? file_data(u, data) : 0;
}

static int on_part_end(void *user)
{
	struct upload *u = user;

	return u->in_file ? file_end(u) : 0;
}

static const struct multipart_ops part_ops = {
	.on_part = on_part,
	.on_data = on_part_data,
	.on_part_end = on_part_end,
};

/* The body. */

static int take_plain(void *user, struct str data)
{
	struct upload *u = user;

	if (!u->multipart)
		return file_data(u, data);
	if (multipart_feed(u->multipart, data) == 0)
		return 0;
	return u->error.status ? -1 : sink_fail(&u->error, 400, "error reading form: malformed multipart body");
}

static int take(struct upload *u, struct str data)
{
	int rc;

	if (!u->gunzip)
		return take_plain(u, data);
	rc = gunzip_feed(u->gunzip, data, take_plain, u);
	if (rc == 0 || u->error.status)
		return rc;
	return sink_fail(&u->error, 400, "error decompressing request body: not gzip data");
}

static int take_end(struct upload *u)
{
	if (u->gunzip && gunzip_end(u->gunzip) < 0)
		return sink_fail(&u->error, 400, "error decompressing request body: gzip data is cut short");
	if (!u->multipart)
		return file_end(u);
	if (multipart_end(u->multipart) < 0)
		return sink_fail(&u->error, 400, "error reading form: multipart body is cut short");
	return 0;
}

static void fail(struct upload *u)
{
	if (u->in_file)
		sink_discard(&u->sink);
	u->in_file = false;
	init_reply_error(u->rq, u->error.status, "%s", u->error.text);
}

static void on_body(struct http_req *rq, struct str data)
{
	struct upload *u = rq->user;

	if (!u->error.status && take(u, data) != 0)
		fail(u);
}

static void on_body_end(struct http_req *rq)
{
	struct upload *u = rq->user;

	if (u->error.status)
		return;
	if (take_end(u) < 0)
		fail(u);
	else
		init_reply_json(rq, 200, NULL, u->entries);
}

static void on_close(struct http_req *rq, bool lost)
{
	struct upload *u = rq->user;

	(void)lost;
	if (u->in_file)
		sink_discard(&u->sink);
	gunzip_free(u->gunzip);
	multipart_free(u->multipart);
	json_decref(u->meta);
	json_decref(u->entries);
	json_decref(u->seen);
	free(u->path);
	free(u->target);
	free(u->parent);
	free(u);
}

static const struct http_req_ops upload_ops = { .on_body = on_body, .on_body_end = on_body_end, .on_close = on_close };

/* The head. */

static int choose_coding(struct upload *u)
{
	struct str coding = http_header_get(&u->rq->headers, "content-encoding"), rest = coding;
	struct str name = str_trim(str_cut(&rest, ';'));

	if (name.n == 0 || str_ieq(name, STR_LIT("identity")))
		return 0;
	if (!str_ieq(name, STR_LIT("gzip")))
		return sink_fail(&u->error, 400,
		    "error decompressing request body: unsupported Content-Encoding: %.*s, "
		    "supported: [gzip]",
		    (int)(coding.n < 100 ? coding.n : 100), coding.p);
	u->gunzip = gunzip_new();
	return u->gunzip ? 0 : sink_fail(&u->error, 503, "out of memory");
}

static int choose_form(struct upload *u)
{
	struct str type = http_header_get(&u->rq->headers, "content-type"), rest = type;
	struct str media = str_trim(str_cut(&rest, ';'));

	if (str_ieq(media, STR_LIT("application/octet-stream"))) {
		if (!u->path)
			return sink_fail(&u->error, 400, "path query parameter is required for raw body upload");
		return file_begin(u, u->path);
	}
	if (media.n > 10 && str_ieq((struct str) { media.p, 10 }, STR_LIT("multipart/"))) {
		int rc = multipart_new(type, &part_ops, u, &u->multipart);

		return rc == 0 ? 0
			       : sink_fail(&u->error, rc == -EINVAL ? 400 : 503, "error parsing multipart form: %s",
				     rc == -EINVAL ? "no usable boundary in Content-Type" : "out of memory");
	}
	return sink_fail(&u->error, 400,
	    "unsupported content type: %.*s, expected multipart/form-data or "
	    "application/octet-stream",
	    (int)(type.n < 200 ? type.n : 200), type.n ? type.p : "");
}

static int prepare(struct upload *u)
{
	struct err e = ERR_INIT;

	if (choose_coding(u) < 0)
		return -1;
	if (meta_from_headers(&u->rq->headers, &u->meta, &e) < 0)
		return sink_fail(&u->error, 400, "%s", e.text);
	u->entries = json_array();
	u->seen = json_object();
	if (!u->entries || !u->seen)
		return sink_fail(&u->error, 503, "out of memory");
	return choose_form(u);
}

void files_post(struct init *in, struct http_req *rq)
{
	autofree char *path = NULL;
	struct user user;
	struct upload *u;

	if (files_param(rq, "path", &path) < 0 || files_user(in, rq, &user) < 0)
		return;
	u = calloc(1, sizeof(*u));
	if (!u) {
		init_reply_error(rq, 503, "out of memory");
		return;
	}
	u->in = in;
	u->rq = rq;
	u->user = user;
	u->path = take_ptr(&path);
	u->sink.fd = -1;
	rq->user = u;
	rq->ops = &upload_ops;
	if (prepare(u) < 0)
		fail(u);
}

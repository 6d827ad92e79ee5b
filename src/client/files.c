/* SPDX-License-Identifier: Apache-2.0 */
/* client/files: uploads and downloads files. */
#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"
#include "http/url.h"

static void put_target(struct buf *b, const char *path, const char *as_user)
{
	buf_z(b, "/files?path=");
	url_encode(b, str_of(path));
	if (as_user) {
		buf_z(b, "&username=");
		url_encode(b, str_of(as_user));
	}
}

int atoll_file_write(struct atoll_sandbox *sb, const char *path, const char *as_user, atoll_source *source, void *user,
    struct atoll_error *e)
{
	NEED(e, sb && path && source);
	autobuf struct buf target = BUF_INIT(64 * 1024);

	put_target(&target, path, as_user);
	if (target.bad)
		return client_fail(e, ENAMETOOLONG, 0, "the path is too long");

	autocall struct call c = CALL_INIT("POST", sb->envd_url, buf_cstr(&target));
	c.source = source;
	c.source_user = user;
	c.log.op = "write_file";
	c.log.sandbox = sb->id;
	c.log.counted = "fileCount";
	c.log.count = 1;
	c.timeout_ms = 0; /* any size; atoll_set_stop() can cancel it */
	if (!c.path || call_header(&c, "Content-Type: application/octet-stream") < 0 ||
	    call_header_sandbox(&c, sb, ENVD_PORT) < 0)
		return client_no_memory(e);
	return call_run(sb->a, &c, e);
}

int atoll_file_read(struct atoll_sandbox *sb, const char *path, const char *as_user, atoll_taker *taker, void *user,
    struct atoll_error *e)
{
	NEED(e, sb && path && taker);
	autobuf struct buf target = BUF_INIT(64 * 1024);

	put_target(&target, path, as_user);
	if (target.bad)
		return client_fail(e, ENAMETOOLONG, 0, "the path is too long");

	autocall struct call c = CALL_INIT("GET", sb->envd_url, buf_cstr(&target));
	c.taker = taker;
	c.taker_user = user;
	c.log.op = "read_file";
	c.log.sandbox = sb->id;
	c.log.counted = "fileCount";
	c.log.count = 1;
	c.timeout_ms = 0;
	if (!c.path || call_header_sandbox(&c, sb, ENVD_PORT) < 0)
		return client_no_memory(e);
	return call_run(sb->a, &c, e);
}

static int fill_file(const json_t *entry, struct atoll_file *f, struct atoll_error *e)
{
	int64_t size = json_number(entry, "size", 0);

	*f = (struct atoll_file) {
		.type = client_file_type(entry),
		.mode = (unsigned)json_number(entry, "mode", 0) & 0777,
		.size = size > 0 ? (uint64_t)size : 0,
		.is_link = json_text_or_null(entry, "symlinkTarget") != NULL,
	};
	if (!str_copy(f->path, sizeof(f->path), str_of(json_text(entry, "path"))))
		return client_fail(e, ENAMETOOLONG, 0, "the path is too long");
	return 0;
}

int atoll_file_stat(struct atoll_sandbox *sb, const char *path, const char *as_user, struct atoll_file *ret,
    struct atoll_error *e)
{
	NEED(e, sb && path && ret);
	autojson json_t *body = json_pack("{s:s}", "path", path), *answer = NULL;

	if (rpc_call(sb, as_user, "/filesystem.Filesystem/Stat", body, &answer, e) < 0)
		return -e->no;
	return fill_file(json_object_get(answer, "entry"), ret, e);
}

/* --- whole files --- */

#define WHOLE_MAX (64u * 1024 * 1024)

static ssize_t give_rest(void *user, void *p, size_t n)
{
	struct str *rest = user;

	if (n > rest->n)
		n = rest->n;
	if (n > 0)
		memcpy(p, rest->p, n);
	str_skip(rest, n);
	return (ssize_t)n;
}

int atoll_file_put(struct atoll_sandbox *sb, const char *path, const char *as_user, const void *p, size_t n,
    struct atoll_error *e)
{
	NEED(e, sb && path && (p || n == 0));
	struct str rest = { p ? p : "", n };

	return atoll_file_write(sb, path, as_user, give_rest, &rest, e);
}

static int keep(void *user, const void *p, size_t n)
{
	struct buf *b = user;

	buf_put(b, p, n);
	return b->bad;
}

int atoll_file_get(struct atoll_sandbox *sb, const char *path, const char *as_user, size_t max, char **ret,
    size_t *ret_n, struct atoll_error *e)
{
	NEED(e, sb && path && ret);
	size_t ceiling = max ? max : WHOLE_MAX;
	autobuf struct buf b = BUF_INIT(ceiling < SIZE_MAX ? ceiling + 1 : ceiling); /* plus the NUL */
	int rc = atoll_file_read(sb, path, as_user, keep, &b, e);

	if (b.bad || b.n > ceiling)
		return client_fail(e, EFBIG, 0, "'%s' has more than %zu bytes", path, ceiling);
	if (rc < 0)
		return rc;
	size_t n = b.n;
	buf_put(&b, "", 1);
	if (b.bad)
		return client_no_memory(e);
	if (ret_n)
		*ret_n = n;
	*ret = take_ptr(&b.p);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* client/files: content into a sandbox and out of it. */
#include <errno.h>
#include <string.h>

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
	autobuf struct buf target = BUF_INIT(64 * 1024);

	put_target(&target, path, as_user);
	if (target.bad)
		return client_fail(e, ENAMETOOLONG, 0, "the path is too long");

	autocall struct call c = CALL_INIT("POST", sb->a->sandbox_url, buf_cstr(&target));
	c.source = source;
	c.source_user = user;
	c.timeout_ms = 0;		/* as large as it is; atoll_set_stop() can end it */
	if (!c.path || call_header(&c, "Content-Type: application/octet-stream") < 0 || call_header_sandbox(&c, sb) < 0)
		return client_no_memory(e);
	return call_run(sb->a, &c, e);
}

int atoll_file_read(struct atoll_sandbox *sb, const char *path, const char *as_user, atoll_taker *taker, void *user,
		    struct atoll_error *e)
{
	autobuf struct buf target = BUF_INIT(64 * 1024);

	put_target(&target, path, as_user);
	if (target.bad)
		return client_fail(e, ENAMETOOLONG, 0, "the path is too long");

	autocall struct call c = CALL_INIT("GET", sb->a->sandbox_url, buf_cstr(&target));
	c.taker = taker;
	c.taker_user = user;
	c.timeout_ms = 0;
	if (!c.path || call_header_sandbox(&c, sb) < 0)
		return client_no_memory(e);
	return call_run(sb->a, &c, e);
}

static int fill_file(const json_t *entry, struct atoll_file *f, struct atoll_error *e)
{
	const char *type = json_text(entry, "type");
	int64_t size = json_number(entry, "size", 0);

	*f = (struct atoll_file) {
		.type = strcmp(type, "FILE_TYPE_FILE") == 0 ? ATOLL_FILE :
			strcmp(type, "FILE_TYPE_DIRECTORY") == 0 ? ATOLL_DIRECTORY : ATOLL_OTHER,
		.mode = (unsigned)json_number(entry, "mode", 0) & 0777, .size = size > 0 ? (uint64_t)size : 0,
		.is_link = json_text_or_null(entry, "symlinkTarget") != NULL,
	};
	if (!str_copy(f->path, sizeof(f->path), str_of(json_text(entry, "path"))))
		return client_fail(e, ENAMETOOLONG, 0, "the path is too long");
	return 0;
}

int atoll_file_stat(struct atoll_sandbox *sb, const char *path, const char *as_user, struct atoll_file *ret, struct atoll_error *e)
{
	autocall struct call c = CALL_INIT("POST", sb->a->sandbox_url, "/filesystem.Filesystem/Stat");
	autobuf struct buf body = BUF_INIT(64 * 1024);
	autojson json_t *message = json_pack("{s:s}", "path", path);
	autojson json_t *answer = NULL;

	if (!message)
		return client_fail(e, EINVAL, 0, "the path is not valid UTF-8");
	json_put(&body, message);
	if (body.bad)
		return client_fail(e, ENAMETOOLONG, 0, "the path is too long");
	if (call_header(&c, "Content-Type: application/json") < 0 || call_header(&c, "Connect-Protocol-Version: 1") < 0 ||
	    call_header_sandbox(&c, sb) < 0 || call_header_user(&c, as_user) < 0)
		return client_no_memory(e);
	c.body = buf_view(&body);
	if (call_run(sb->a, &c, e) < 0 || call_json(&c, JSON_OBJECT, &answer, e) < 0)
		return -e->no;
	return fill_file(json_object_get(answer, "entry"), ret, e);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* client/files: content into a sandbox. */
#include <errno.h>

#include "client/client.h"
#include "http/url.h"

int atoll_file_write(struct atoll_sandbox *sb, const char *path, const char *as_user, atoll_source *source, void *user,
		     struct atoll_error *e)
{
	autobuf struct buf target = BUF_INIT(64 * 1024);

	buf_z(&target, "/files?path=");
	url_encode(&target, str_of(path));
	if (as_user) {
		buf_z(&target, "&username=");
		url_encode(&target, str_of(as_user));
	}
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

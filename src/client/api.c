/* SPDX-License-Identifier: Apache-2.0 */
/* client/api: calls of the control API. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "client/client.h"
#include "http/url.h"

#define ENDED ": it ended at "

int api_call(struct atoll *a, struct call *c, struct atoll_error *e)
{
	if (!c->path)
		return client_no_memory(e);
	if (a->api_key && !a->keyless && call_header(c, "X-API-Key: %s", a->api_key) < 0)
		return client_no_memory(e);
	if (a->team && call_header(c, "X-Team-ID: %s", a->team) < 0)
		return client_no_memory(e);
	if (!a->api_key && a->access_token && call_header(c, "Authorization: Bearer %s", a->access_token) < 0)
		return client_no_memory(e);
	int rc = call_run(a, c, e);

	if (rc < 0 && e->status == 401 && !a->api_key && !a->access_token)
		return client_fail(e, EACCES, 401, "%s requires a key: set E2B_API_KEY", a->api_url);
	return rc;
}

int api_send(struct atoll *a, struct call *c, const json_t *body, struct atoll_error *e)
{
	autofree char *text = json_dumps(body, JSON_COMPACT);

	if (!text || call_header(c, "Content-Type: application/json") < 0)
		return client_no_memory(e);
	c->body = str_of(text);
	return api_call(a, c, e);
}

char *api_path(const char *prefix, const char *id, const char *tail)
{
	autobuf struct buf b = BUF_INIT(4096);

	buf_z(&b, prefix);
	url_encode(&b, str_of(id));
	buf_z(&b, tail);
	return b.bad ? NULL : str_dup(buf_view(&b));
}

int api_no_sandbox(struct atoll_error *e, const char *id)
{
	if (e->status != 404)
		return -e->no;
	/* How the sandbox ended; the server tells this only to its owner. */
	const char *end = strstr(e->text, ENDED);
	autofree char *fate = end ? strdup(end) : NULL;

	return client_fail(e, ENOENT, 404, "there is no sandbox '%s'%s", id, fate ? fate : "");
}

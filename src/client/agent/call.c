/* SPDX-License-Identifier: Apache-2.0 */
/* client/agent/call: calls the agent layer of a server. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"

#define REPORT_MS 5000

int atoll_agent_call(struct atoll *a, const char *method, const char *path, const char *body, char **ret,
    struct atoll_error *e)
{
	NEED(e, a && method && path);
	autocall struct call c = CALL_INIT(method, a->api_url, path);

	if (strncmp(path, "/agent/", 7) != 0 || strpbrk(path, " \r\n"))
		return client_fail(e, EINVAL, 0, "'%.80s' is not a path under /agent", path);
	c.timeout_ms = 0; /* no limit: the code may run for long; atoll_set_stop() can cancel it */
	if (body && call_header(&c, "Content-Type: application/json") < 0)
		return client_no_memory(e);
	c.body = body ? str_of(body) : STR_NULL;
	/* The body also describes a message that was refused or could not be run. */
	int rc = api_call(a, &c, e);
	char *text = str_dup(c.answer.n ? buf_view(&c.answer) : STR_LIT(""));

	if (!text)
		return client_no_memory(e);
	if (ret && (rc == 0 || c.answer.n > 0))
		*ret = take_ptr(&text);
	free(text);
	return rc;
}

int client_report(struct atoll *a, const char *body, struct atoll_error *e)
{
	autocall struct call c = CALL_INIT("POST", a->api_url, "/agent/tool-records");

	c.timeout_ms = REPORT_MS;
	if (call_header(&c, "Content-Type: application/json") < 0)
		return client_no_memory(e);
	c.body = str_of(body);
	return api_call(a, &c, e);
}

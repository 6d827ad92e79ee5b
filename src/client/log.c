/* SPDX-License-Identifier: Apache-2.0 */
/* client/log: writes one line per call: its name, outcome, duration and size.
 *
 * A line contains no content, file names or headers, so it contains no secrets. */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "client/client.h"
#include "http/json.h"

/* Returns "POST /sandboxes/i123/pause", without the query, which may contain paths. */
static json_t *name_of(const struct call *c)
{
	if (c->log.op)
		return json_string(c->log.op);
	return json_sprintf("%s %.*s", c->method, (int)strcspn(c->path, "?"), c->path);
}

static void add(json_t *o, const char *name, json_t *value)
{
	(void)json_object_set_new(o, name, value);
}

void call_log(const struct call *c)
{
	const struct atoll *a = c->log.a;
	char at[CLOCK_RFC3339_SIZE];

	if (!a->log && a->log_fd < 0)
		return;
	autojson json_t *o = json_object();
	autobuf struct buf line = BUF_INIT(8192);

	clock_rfc3339(clock_wall_ms(), at);
	add(o, "time", json_string(at));
	add(o, "level", json_string(c->log.failed ? "error" : "info"));
	add(o, "op", name_of(c));
	if (a->mock)
		add(o, "mock", json_true());
	if (c->log.sandbox)
		add(o, "sandbox", json_string(c->log.sandbox));
	add(o, "status", json_integer(c->status));
	if (c->log.failed)
		add(o, "error", json_string(strerrorname_np(c->log.failed)));
	uint64_t end_us = c->log.end_us ? c->log.end_us : clock_mono_us();

	add(o, "ms", json_real((double)(int64_t)((end_us - c->log.begin_us) / 100) / 10));
	add(o, "contentLength", json_integer((json_int_t)c->log.sent));
	add(o, "receivedLength", json_integer((json_int_t)c->log.received));
	if (c->log.counted)
		add(o, c->log.counted, json_integer((json_int_t)c->log.count));
	json_put(&line, o);
	if (a->log && buf_cstr(&line))
		a->log(a->log_user, buf_cstr(&line));
	buf_ch(&line, '\n');
	if (a->log_fd >= 0 && !line.bad)
		(void)fd_write_all(a->log_fd, line.p, line.n); /* a full disk must not fail the call */
}

/* SPDX-License-Identifier: Apache-2.0 */
/* client/mock/process: processes of a mock sandbox: one thread each, whose events are sent to every stream that is
 * connected to it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "client/mock/state.h"
#include "http/json.h"

static void put_event(struct mock_process *p, json_t *event)
{
	(void)json_array_append_new(p->events, json_pack("{s:o}", "event", event));
	(void)pthread_cond_broadcast(&p->sb->m->changed);
}

void mock_process_put(struct mock_process *p, const char *stream, const void *bytes, size_t n)
{
	autobuf struct buf b64 = BUF_INIT(4 * n + 8);

	base64_encode(&b64, (struct str) { bytes, n }, true);
	put_event(p, json_pack("{s:{s:s%}}", "data", stream, b64.n ? b64.p : "", b64.n));
}

static void *run(void *arg)
{
	struct mock_process *p = arg;
	struct mock *m = p->sb->m;

	(void)pthread_mutex_lock(&m->lock);
	int code = mock_command(p);
	char status[32];

	(void)snprintf(status, sizeof(status), "exit status %d", code);
	put_event(p,
	    json_pack("{s:{s:i,s:b,s:s}}", "end", "exitCode", code, "exited", code >= 0, "status",
		code >= 0 ? status : "signal: killed"));
	p->ended = true;
	mock_thread_end(m);
	return NULL;
}

static void stream(struct mock_call *c, struct mock_process *p, size_t from, bool is_first)
{
	uint64_t until = c->timeout_ms ? clock_mono_ms() + c->timeout_ms : UINT64_MAX;
	autojson json_t *start = json_pack("{s:{s:{s:I}}}", "event", "start", "pid", (json_int_t)p->pid);
	bool more;

	mock_stream_message(c, start);
	do {
		while (from < json_array_size(p->events) && !c->broken) {
			autojson json_t *one = json_incref(json_array_get(p->events, from++));

			mock_stream_message(c, one);
		}
		more = !p->ended || from < json_array_size(p->events);
	} while (more && (p->sb->running || p->sb->paused) && mock_stream_wait(c, until));
	if (!p->sb->running && !p->sb->paused) {
		c->broken = true;
	} else if (more && !c->broken) {
		p->killed = is_first || p->killed; /* the timeout of the start call kills the process */
		(void)pthread_cond_broadcast(&c->m->changed);
		mock_stream_end(c, "deadline_exceeded", "the timeout has expired");
	} else {
		mock_stream_end(c, "", "");
	}
}

static void start(struct mock_call *c, struct mock_sandbox *sb)
{
	struct mock_process *p = calloc(1, sizeof(*p));

	if (!p || !json_object_get(c->json, "process")) {
		free(p);
		mock_stream_end(c, "invalid_argument", "the command is missing");
		return;
	}
	p->sb = sb;
	p->pid = ++sb->next_pid;
	p->config = json_deep_copy(json_object_get(c->json, "process"));
	p->tag = json_incref(json_object_get(c->json, "tag"));
	p->events = json_array();
	p->input = BUF_INIT(16u * 1024 * 1024);
	p->with_input = !json_is_false(json_object_get(c->json, "stdin"));
	p->next = sb->processes;
	sb->processes = p;
	if (mock_thread(sb->m, run, p) < 0)
		p->ended = true;
	stream(c, p, 0, true);
}

static struct mock_process *find(const struct mock_call *c, const struct mock_sandbox *sb)
{
	const json_t *sel = json_object_get(c->json, "process"), *pid = json_object_get(sel, "pid"),
		     *tag = json_object_get(sel, "tag");

	for (struct mock_process *p = sb->processes; p; p = p->next) {
		if (!p->ended && ((pid && json_integer_value(pid) == p->pid) || (tag && json_equal(tag, p->tag))))
			return p;
	}
	return NULL;
}

static void list(struct mock_call *c, const struct mock_sandbox *sb)
{
	json_t *all = json_array();

	for (const struct mock_process *p = sb->processes; p; p = p->next) {
		if (!p->ended)
			(void)json_array_append_new(all,
			    json_pack("{s:O,s:I,s:O*}", "config", p->config, "pid", (json_int_t)p->pid, "tag", p->tag));
	}
	mock_json(c, 200, json_pack("{s:o}", "processes", all));
}

static void tell(struct mock_call *c, struct mock_process *p, const char *what)
{
	const char *text = json_string_value(json_object_get(json_object_get(c->json, "input"), "stdin"));

	if (strcmp(what, "SendSignal") == 0)
		p->killed = true;
	else if (strcmp(what, "CloseStdin") == 0)
		p->input_closed = true;
	else if (strcmp(what, "SendInput") == 0 && text) {
		autobuf struct buf bytes = BUF_INIT(16u * 1024 * 1024);

		(void)base64_decode(str_of(text), &bytes);
		buf_put(&p->input, bytes.p, bytes.n);
	}
	(void)pthread_cond_broadcast(&c->m->changed);
	/* The signal takes effect before the call returns, so a second signal finds no process. */
	while (p->killed && !p->ended && mock_stream_wait(c, UINT64_MAX))
		;
	mock_json(c, 200, json_object());
}

bool mock_processes(struct mock_call *c, struct mock_sandbox *sb)
{
	static const char prefix[] = "/process.Process/";
	const char *what = c->path + sizeof(prefix) - 1;

	if (strncmp(c->path, prefix, sizeof(prefix) - 1) != 0)
		return false;
	if (strcmp(what, "List") == 0) {
		list(c, sb);
		return true;
	}
	bool is_start = strcmp(what, "Start") == 0, is_stream = is_start || strcmp(what, "Connect") == 0;
	struct mock_process *p = is_start ? NULL : find(c, sb);

	if (is_stream)
		mock_stream_begin(c, "application/connect+json");
	if (is_start)
		start(c, sb);
	else if (p && is_stream)
		stream(c, p, json_array_size(p->events), false);
	else if (p)
		tell(c, p, what);
	else if (is_stream)
		mock_stream_end(c, "not_found", "no such process");
	else
		mock_rpc_refuse(c, 404, "not_found", "no such process");
	return true;
}

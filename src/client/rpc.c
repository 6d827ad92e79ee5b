/* SPDX-License-Identifier: Apache-2.0 */
/* client/rpc: calls the services of a sandbox: one message with a response, or a stream of messages. */
#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "client/client.h"
#include "client/event.h"
#include "http/connect.h"
#include "http/json.h"

#define MESSAGE_MAX (ENVELOPE_MAX + ENVELOPE_HEAD)

static int put_headers(struct call *c, const struct atoll_sandbox *sb, const char *as_user, const char *type)
{
	if (call_header(c, "Content-Type: %s", type) < 0 || call_header(c, "Connect-Protocol-Version: 1") < 0 ||
	    call_header_sandbox(c, sb, ENVD_PORT) < 0 || call_header_user(c, as_user) < 0)
		return -ENOMEM;
	return 0;
}

/* Returns the name of a call for the log. */
static const char *op_name(const char *path)
{
	static const struct {
		const char *method, *op;
	} names[] = {
		{ "/Start", "run_command" },
		{ "/List", "list_processes" },
		{ "/SendSignal", "signal_process" },
		{ "/Update", "resize_terminal" },
		{ "/Stat", "stat_file" },
		{ "/MakeDir", "make_directory" },
		{ "/Move", "rename_file" },
		{ "/ListDir", "list_directory" },
		{ "/Remove", "remove_file" },
		{ "/WatchDir", "watch" },
		{ "/CreateWatcher", "create_watcher" },
		{ "/GetWatcherEvents", "poll_watcher" },
		{ "/RemoveWatcher", "remove_watcher" },
	};
	const char *method = strrchr(path, '/');

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(method, names[i].method) == 0)
			return names[i].op;
	}
	return NULL;
}

static void count(struct call *c, const json_t *answer)
{
	static const struct {
		const char *field, *counted;
	} lists[] = {
		{ "entries", "fileCount" },
		{ "processes", "processCount" },
		{ "events", "eventCount" },
	};

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		const json_t *list = json_object_get(answer, lists[i].field);

		if (!list)
			continue;
		c->log.counted = lists[i].counted;
		c->log.count = json_array_size(list);
	}
}

int rpc_call(struct atoll_sandbox *sb, const char *as_user, const char *path, const json_t *body, json_t **ret,
    struct atoll_error *e)
{
	autocall struct call c = CALL_INIT("POST", sb->envd_url, path);
	autobuf struct buf text = BUF_INIT(1024 * 1024);
	autojson json_t *answer = NULL;

	if (!body)
		return client_fail(e, EINVAL, 0, "an argument is not valid UTF-8");
	json_put(&text, body);
	if (text.bad)
		return client_fail(e, E2BIG, 0, "an argument is too long");
	if (put_headers(&c, sb, as_user, "application/json") < 0)
		return client_no_memory(e);
	c.body = buf_view(&text);
	c.log.op = op_name(path);
	c.log.sandbox = sb->id;
	if (call_run(sb->a, &c, e) < 0)
		return e->status == 502 ? client_fail(e, ESRCH, 502, "sandbox '%s' has ended or is paused", sb->id)
					: -e->no;
	if (ret && call_json(&c, JSON_OBJECT, &answer, e) < 0)
		return -e->no;
	if (ret)
		*ret = json_incref(answer);
	count(&c, answer);
	return 0;
}

static int handle(struct rpc_stream *s, const struct envelope *env)
{
	struct event ev;

	if (event_parse(env, &ev, &s->data) < 0)
		return client_fail(s->e, EPROTO, 200, "the stream of %s is malformed", s->path);
	if (ev.kind == EVENT_ERROR)
		return client_fail(s->e, event_errno(&ev), 0, "%s", ev.message);
	return s->on_event(s->user, &ev, &s->data, s->e);
}

static int on_bytes(void *user, const void *p, size_t n)
{
	struct rpc_stream *s = user;
	struct envelope env;

	buf_put(&s->in, p, n);
	struct str in = buf_view(&s->in);
	while (s->rc == 0) {
		int rc = s->in.bad ? -EBADMSG : envelope_parse(&in, &env);

		if (rc < 0)
			s->rc = client_fail(s->e, EPROTO, 200, "the stream of %s is malformed", s->path);
		if (rc <= 0)
			break;
		s->rc = handle(s, &env);
	}
	buf_consume(&s->in, s->in.n - in.n);
	/* After the last message, read on to the end so that the connection can be reused; after an error, stop. */
	return s->rc < 0;
}

int rpc_stream(struct rpc_stream *s, const json_t *body, struct atoll_error *e)
{
	autocall struct call c = CALL_INIT("POST", s->sb->envd_url, s->path);
	autobuf struct buf text = BUF_INIT(ENVELOPE_MAX), message = BUF_INIT(MESSAGE_MAX);

	if (!body)
		return client_fail(e, EINVAL, 0, "an argument is not valid UTF-8");
	json_put(&text, body);
	envelope_put(&message, 0, buf_view(&text));
	if (text.bad || message.bad)
		return client_fail(e, E2BIG, 0, "an argument is too long");
	if (put_headers(&c, s->sb, s->as_user, "application/connect+json") < 0)
		return client_no_memory(e);
	if (s->timeout_ms != ATOLL_NO_TIMEOUT && call_header(&c, "Connect-Timeout-Ms: %u", s->timeout_ms) < 0)
		return client_no_memory(e);
	s->in = BUF_INIT(2 * MESSAGE_MAX);
	s->data = BUF_INIT(ENVELOPE_MAX);
	s->e = e;
	s->rc = 0;
	c.body = buf_view(&message);
	c.log.op = op_name(s->path);
	c.log.sandbox = s->sb->id;
	c.taker = on_bytes;
	c.taker_user = s;
	/* The server enforces the timeout; ours is a fallback. */
	c.timeout_ms = s->timeout_ms == ATOLL_NO_TIMEOUT ? 0 : (long)s->timeout_ms + 5000;
	struct atoll_error why;
	int rc = call_run(s->sb->a, &c, &why);

	buf_done(&s->in);
	buf_done(&s->data);
	if (s->rc < 0)
		client_redact(e, s->sb->a, s->sb->token);
	if (s->rc != 0)
		return s->rc;
	if (rc == 0 || why.no == ECONNRESET)
		return rc == 0 ? 0 : client_broke(s->sb, "it ended", e);
	*e = why;
	return why.status == 502 ? client_fail(e, ESRCH, 502, "sandbox '%s' has ended or is paused", s->sb->id) : rc;
}

int client_broke(struct atoll_sandbox *sb, const char *what, struct atoll_error *e)
{
	struct atoll_error why;

	if (atoll_sandbox_running(sb, &why) == 0)
		return client_fail(e, ESRCH, 0, "sandbox '%s' has ended (it was killed, or its timeout expired)",
		    sb->id);
	return client_fail(e, ECONNRESET, 0, "the connection to %s was lost before %s", sb->envd_url, what);
}

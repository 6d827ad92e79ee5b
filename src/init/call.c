/* SPDX-License-Identifier: Apache-2.0 */
/* call: one Connect RPC, from its request message to its answer or the end of its stream. */
#include "init/call.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "http/json.h"
#include "http/server.h"
#include "init/init.h"
#include "init/path.h"
#include "init/reply.h"
#include "init/text.h"

#define AUTH_MAX 1024
#define TIMEOUT_MAX_MS (10ull * 365 * 24 * 3600 * 1000)
#define KEEPALIVE_DEFAULT_S 90
#define KEEPALIVE_MAX_S 3600

static bool is_stream(const struct call *c)
{
	return c->rpc->kind != RPC_UNARY;
}

/* Answers. */

void call_begin(struct call *c)
{
	if (!http_started(c->rq))
		http_begin(c->rq, 200, "application/connect+json", NULL, -1);
}

void call_send_raw(struct call *c, struct str envelopes)
{
	if (c->answered)
		return;
	call_begin(c);
	http_write(c->rq, envelopes);
}

static void send_envelope(struct call *c, uint8_t flags, struct str json)
{
	autobuf struct buf out = BUF_INIT(CALL_REPLY_MAX + ENVELOPE_HEAD);

	envelope_put(&out, flags, json);
	call_send_raw(c, buf_view(&out));
}

void call_send(struct call *c, struct str json)
{
	send_envelope(c, 0, json);
}

static void stream_end(struct call *c, struct str last)
{
	send_envelope(c, ENVELOPE_END, last);
	c->answered = true;
	http_end(c->rq);
}

void call_end(struct call *c)
{
	if (!c->answered)
		stream_end(c, STR_LIT("{}"));
}

void call_reply(struct call *c, struct str json)
{
	if (c->answered)
		return;
	if (is_stream(c)) {
		call_send(c, json);
		call_end(c);
		return;
	}
	c->answered = true;
	http_respond(c->rq, 200, "application/json", call_legacy(c) ? "X-E2B-Legacy-SDK: true\r\n" : NULL, json);
}

void call_reply_json(struct call *c, const json_t *j)
{
	autobuf struct buf out = BUF_INIT(CALL_REPLY_MAX);

	json_put(&out, j);
	if (out.bad)
		call_fail(c, CONNECT_INTERNAL, "the answer is too large");
	else
		call_reply(c, buf_view(&out));
}

void call_fail(struct call *c, enum connect_code code, const char *fmt, ...)
{
	autobuf struct buf out = BUF_INIT(16 * CALL_TEXT_MAX);
	autojson json_t *err = json_object();
	char text[CALL_TEXT_MAX];
	va_list ap;

	if (c->answered)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	(void)json_object_set_new(err, "code", json_string(connect_code_name(code)));
	(void)json_object_set_new(err, "message", text_json(str_of(text)));
	if (is_stream(c)) {
		autojson json_t *last = json_pack("{s:O}", "error", err);

		json_put(&out, last);
		stream_end(c, buf_view(&out));
		return;
	}
	json_put(&out, err);
	c->answered = true;
	http_respond(c->rq, connect_code_status(code), "application/json", NULL, buf_view(&out));
}

size_t call_queued(const struct call *c)
{
	return c->answered ? 0 : http_queued(c->rq);
}

/* What the headers say. */

bool call_legacy(const struct call *c)
{
	return str_is(http_header_get(&c->rq->headers, "user-agent"), "connect-python");
}

int call_timeout_ms(struct call *c, uint64_t *ret)
{
	struct str v = http_header_get(&c->rq->headers, "connect-timeout-ms");
	uint64_t ms = 0;

	if (v.n && str_to_u64(v, TIMEOUT_MAX_MS, &ms) < 0) {
		call_fail(c, CONNECT_INVALID_ARGUMENT, "header 'Connect-Timeout-Ms' must be a number of milliseconds");
		return -EINVAL;
	}
	*ret = ms;
	return 0;
}

uint64_t call_keepalive_ms(const struct call *c)
{
	struct str v = http_header_get(&c->rq->headers, "keepalive-ping-interval");
	uint64_t s;

	if (str_to_u64(v, KEEPALIVE_MAX_S, &s) < 0 || s == 0)
		s = KEEPALIVE_DEFAULT_S;
	return s * 1000;
}

/* The name of "Authorization: Basic base64(name:)": 1, 0 for none, -EINVAL for one that cannot be read. */
static int basic_name(const struct http_req *rq, struct buf *out, struct str *ret)
{
	struct str v = http_header_get(&rq->headers, "authorization");
	struct str scheme = str_cut(&v, ' ');
	const char *colon;

	if (!str_ieq(scheme, STR_LIT("basic")))
		return 0;
	if (!v.p || base64_decode(str_trim(v), out) < 0 || out->bad || !out->n)
		return -EINVAL;
	colon = memchr(out->p, ':', out->n);
	if (!colon)
		return -EINVAL;
	*ret = (struct str) { out->p, (size_t)(colon - out->p) };
	return 1;
}

static int find_user(struct call *c)
{
	autobuf struct buf auth = BUF_INIT(AUTH_MAX);
	struct str name;
	int given = basic_name(c->rq, &auth, &name);

	if (given < 0) {		/* whoever was meant, it was not the default user */
		call_fail(c, CONNECT_UNAUTHENTICATED, "invalid username: header 'Authorization' cannot be read");
		return given;
	}
	userdb_load(&c->users);
	if (given) {
		if (userdb_find(&c->users, name, &c->user) == 0)
			return 0;
		call_fail(c, CONNECT_UNAUTHENTICATED, "invalid username: '%.*s'", STR_ARG(name));
		return -ENOENT;
	}
	if (userdb_find(&c->users, str_of(c->in->default_user), &c->user) == 0)
		return 0;
	call_fail(c, CONNECT_UNAUTHENTICATED, "invalid default user: '%s'", c->in->default_user);
	return -ENOENT;
}

int call_path(struct call *c, const json_t *msg, const char *field, char **ret)
{
	const char *path = "";
	struct err e = ERR_INIT;
	int rc;

	if (json_get_str(msg, field, &path, &e) < 0) {
		call_fail(c, CONNECT_INVALID_ARGUMENT, "%s", e.text);
		return -EINVAL;
	}
	if (strlen(path) >= PATH_MAX) {
		call_fail(c, CONNECT_INVALID_ARGUMENT, "field '%s' is longer than %d bytes", field, PATH_MAX - 1);
		return -EINVAL;
	}
	rc = path_resolve(path, c->user.home, c->in->default_workdir, ret);
	if (rc < 0)
		call_fail(c, rc == -EINVAL ? CONNECT_INVALID_ARGUMENT : CONNECT_INTERNAL,
			  "failed to expand path '%s' for user '%s': %s", path, c->user.name,
			  rc == -EINVAL ? "cannot expand user-specific home dir" : "out of memory");
	return rc;
}

/* The request. */

static void dispatch(struct call *c, struct str body)
{
	autojson json_t *msg = NULL;
	struct err e = ERR_INIT;

	if (json_read_object(body, true, &msg, &e) < 0) {
		call_fail(c, CONNECT_INVALID_ARGUMENT, "%s", e.text);
		return;
	}
	if (c->started) {
		c->rpc->more(c, msg);
		return;
	}
	c->started = true;
	if (find_user(c) == 0)
		c->rpc->start(c, msg);
	userdb_done(&c->users);
}

static void refuse_envelope(struct call *c, const char *why)
{
	c->refused = true;
	call_fail(c, CONNECT_INVALID_ARGUMENT, "request is not one enveloped message: %s", why);
}

/* Client streams: serves each complete message while they are wanted; the rest stays. */
static void take_messages(struct call *c)
{
	struct str in = buf_view(&c->body);
	struct envelope ev;
	int rc = 0;

	c->taking = true;
	while (!c->answered && !c->paused && (rc = envelope_parse(&in, &ev)) > 0) {
		if (ev.flags)
			refuse_envelope(c, "compressed messages are not supported");
		else
			dispatch(c, ev.body);
	}
	c->taking = false;
	if (rc < 0)
		refuse_envelope(c, "a message is too large");
	buf_consume(&c->body, c->body.n - in.n);
	if (!c->answered)
		http_body_want(c->rq, !c->paused);
}

void call_want(struct call *c, bool on)
{
	c->paused = !on;
	if (!c->taking && !c->answered)
		take_messages(c);
}

static void on_body(struct http_req *rq, struct str data)
{
	struct call *c = rq->user;

	if (c->answered || c->refused)
		return;
	buf_str(&c->body, data);
	if (c->body.bad) {
		c->refused = true;
		buf_done(&c->body);
		call_fail(c, CONNECT_INVALID_ARGUMENT, "request body is larger than %d bytes", CALL_BODY_MAX);
	} else if (c->rpc->kind == RPC_CLIENT_STREAM) {
		take_messages(c);
	}
}

static void on_body_end(struct http_req *rq)
{
	struct call *c = rq->user;
	struct str in = buf_view(&c->body);
	struct envelope ev;

	if (c->answered || c->refused)
		return;
	if (c->rpc->kind == RPC_UNARY) {
		dispatch(c, in);
	} else if (c->rpc->kind == RPC_SERVER_STREAM) {
		if (envelope_parse(&in, &ev) <= 0)
			refuse_envelope(c, "incomplete");
		else if (ev.flags)
			refuse_envelope(c, "compressed messages are not supported");
		else if (in.n)
			refuse_envelope(c, "more follows");
		else
			dispatch(c, ev.body);
	} else if (in.n) {
		refuse_envelope(c, "incomplete");
	} else {
		c->rpc->end(c);
	}
	buf_done(&c->body);
}

static void on_drain(struct http_req *rq)
{
	struct call *c = rq->user;

	if (c->on_drain && !c->answered)
		c->on_drain(c);
}

static void on_close(struct http_req *rq, bool lost)
{
	struct call *c = rq->user;

	(void)lost;
	c->answered = true;
	if (c->on_gone)
		c->on_gone(c);
	userdb_done(&c->users);
	buf_done(&c->body);
	free(c->stream);
	free(c);
}

static const struct http_req_ops call_ops = {
	.on_body = on_body, .on_body_end = on_body_end, .on_drain = on_drain, .on_close = on_close,
};

void call_new(struct init *in, struct http_req *rq, const struct rpc *rpc)
{
	struct str type = http_header_get(&rq->headers, "content-type");
	struct str media = str_trim(str_cut(&type, ';'));
	const char *want = rpc->kind == RPC_UNARY ? "application/json" : "application/connect+json";
	struct call *c;

	if (!str_ieq(media, str_of(want))) {
		reply_error(rq, 415, "content type '%.*s' is not supported here, expected %s", STR_ARG(media), want);
		return;
	}
	c = calloc(1, sizeof(*c));
	if (!c) {
		reply_error(rq, 503, "out of memory");
		return;
	}
	c->in = in;
	c->rq = rq;
	c->rpc = rpc;
	c->body = BUF_INIT(CALL_BODY_MAX + (rpc->kind == RPC_UNARY ? 0 : ENVELOPE_HEAD));
	rq->user = c;
	rq->ops = &call_ops;
}

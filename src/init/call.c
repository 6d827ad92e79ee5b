/* SPDX-License-Identifier: Apache-2.0 */
/* call: one Connect RPC, from its request message to its answer or the end of its stream. */
#include "init/call.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/fd.h"
#include "http/gunzip.h"
#include "http/json.h"
#include "http/protobuf.h"
#include "http/server.h"
#include "init/files/path.h"
#include "init/init.h"
#include "init/reply.h"
#include "loop/loop.h"

#define AUTH_MAX (64 * 1024) /* more than a request head can hold */
#define TIMEOUT_MAX_MS (10ull * 365 * 24 * 3600 * 1000)
#define KEEPALIVE_DEFAULT_S 90
#define KEEPALIVE_MAX_S 3600

/* Request headers. */

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

/* The name in "Authorization: Basic base64(name:)". As in E2B's envd, a malformed header counts as absent. */
static bool basic_name(const struct http_req *rq, struct buf *out, struct str *ret)
{
	struct str v = http_header_get(&rq->headers, "authorization");
	struct str scheme = str_cut(&v, ' ');
	const char *colon;

	if (!str_ieq(scheme, STR_LIT("basic")) || !v.p || base64_decode(str_trim(v), out) < 0 || out->bad || !out->n)
		return false;
	colon = memchr(out->p, ':', out->n);
	if (colon)
		*ret = (struct str) { out->p, (size_t)(colon - out->p) };
	return colon != NULL;
}

int call_user(const struct http_req *rq, const struct userdb *users, struct user *ret, struct err *e)
{
	autobuf struct buf auth = BUF_INIT(AUTH_MAX);
	struct str name;

	if (!basic_name(rq, &auth, &name))
		return 0;
	if (userdb_find(users, name, ret) == 0)
		return 1;
	return err_set(e, ENOENT, "invalid username: '%.*s'", STR_ARG(name));
}

static int find_user(struct call *c)
{
	struct err e = ERR_INIT;
	int given;

	userdb_load(&c->users);
	given = call_user(c->rq, &c->users, &c->user, &e);
	if (given > 0 || (given == 0 && userdb_find(&c->users, str_of(c->in->default_user), &c->user) == 0))
		return 0;
	if (given < 0)
		call_fail(c, CONNECT_UNAUTHENTICATED, "%s", e.text);
	else
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

/* Request body. */

static int read_message(struct call *c, struct str body, json_t **ret)
{
	struct err e = ERR_INIT;
	int rc = c->binary ? pb_read(c->rpc->request, body, ret, &e) : json_read_object(body, true, ret, &e);

	if (rc < 0)
		call_fail(c, rc == -ENOMEM ? CONNECT_INTERNAL : CONNECT_INVALID_ARGUMENT, "%s", e.text);
	return rc;
}

static void dispatch(struct call *c, struct str body)
{
	autojson json_t *msg = NULL;

	if (read_message(c, body, &msg) < 0)
		return;
	if (c->started) {
		c->rpc->more(c, msg);
		return;
	}
	c->started = true;
	if (find_user(c) == 0)
		c->rpc->start(c, msg);
	userdb_done(&c->users);
}

static void dispatch_gzip(struct call *c, struct str body)
{
	autobuf struct buf plain = BUF_INIT(CALL_BODY_MAX);
	int rc = gunzip_all(body, &plain);

	if (rc == -EFBIG) {
		call_fail(c, CONNECT_RESOURCE_EXHAUSTED, "a message is larger than %d bytes", CALL_BODY_MAX);
	} else if (rc < 0) {
		call_fail(c, CONNECT_INVALID_ARGUMENT, "a message cannot be decompressed: %s",
		    rc == -ENOMEM ? "out of memory" : "it is not gzip data");
	} else {
		dispatch(c, buf_view(&plain));
	}
}

static void refuse_envelope(struct call *c, const char *why)
{
	c->refused = true;
	call_fail(c, CONNECT_INVALID_ARGUMENT, "request is not one enveloped message: %s", why);
}

static void dispatch_envelope(struct call *c, const struct envelope *ev)
{
	if (ev->flags & ENVELOPE_END) {
		refuse_envelope(c, "the end of a stream is for answers");
	} else if (!(ev->flags & ENVELOPE_COMPRESSED) || !ev->body.n) {
		dispatch(c, ev->body);
	} else if (c->gzip) {
		dispatch_gzip(c, ev->body);
	} else {
		c->refused = true;
		call_fail(c, CONNECT_INTERNAL,
		    "a compressed message came without the header 'Connect-Content-Encoding'");
	}
}

/* Client streams: serves each complete message while delivery is not paused; the rest stays in the buffer. */
static void take_messages(struct call *c)
{
	struct str in = buf_view(&c->body);
	struct envelope ev;
	int rc = 0;

	c->taking = true;
	while (!c->answered && !c->paused && (rc = envelope_parse(&in, &ev)) > 0)
		dispatch_envelope(c, &ev);
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

static void take_one(struct call *c)
{
	struct str in = buf_view(&c->body);
	struct envelope ev;

	if (envelope_parse(&in, &ev) <= 0)
		refuse_envelope(c, "incomplete");
	else if (in.n)
		refuse_envelope(c, "more follows");
	else
		dispatch_envelope(c, &ev);
}

static void on_body_end(struct http_req *rq)
{
	struct call *c = rq->user;

	if (c->answered || c->refused)
		return;
	if (c->rpc->kind == RPC_SERVER_STREAM)
		take_one(c);
	else if (c->rpc->kind == RPC_CLIENT_STREAM && c->body.n)
		refuse_envelope(c, "incomplete");
	else if (c->rpc->kind == RPC_CLIENT_STREAM)
		c->rpc->end(c);
	else if (c->gzip && c->body.n)
		dispatch_gzip(c, buf_view(&c->body));
	else
		dispatch(c, buf_view(&c->body));
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
	timer_free(c->deadline);
	userdb_done(&c->users);
	buf_done(&c->body);
	free(c->stream);
	free(c);
}

static const struct http_req_ops call_ops = {
	.on_body = on_body,
	.on_body_end = on_body_end,
	.on_drain = on_drain,
	.on_close = on_close,
};

/* Request head. */

static void on_deadline(void *user)
{
	call_fail(user, CONNECT_DEADLINE_EXCEEDED, "context deadline exceeded");
}

/* 0, or the call has failed. */
static int check_head(struct call *c)
{
	bool stream = c->rpc->kind != RPC_UNARY;
	const struct http_headers *h = &c->rq->headers;
	struct str version = http_header_get(h, "connect-protocol-version");
	struct str coding = http_header_get(h, stream ? "connect-content-encoding" : "content-encoding");
	uint64_t ms;

	if (version.n && !str_is(version, "1")) {
		call_fail(c, CONNECT_INVALID_ARGUMENT, "header 'Connect-Protocol-Version' must be '1'");
		return -EINVAL;
	}
	c->gzip = str_ieq(coding, STR_LIT("gzip"));
	if (coding.n && !c->gzip && !str_ieq(coding, STR_LIT("identity"))) {
		call_fail(c, CONNECT_UNIMPLEMENTED, "unknown compression '%.*s': supported encodings are gzip",
		    (int)(coding.n < 100 ? coding.n : 100), coding.p);
		return -EINVAL;
	}
	if (call_timeout_ms(c, &ms) < 0)
		return -EINVAL;
	if (ms && c->rpc->kind != RPC_SERVER_STREAM) {
		c->deadline = timer_new(c->in->loop, on_deadline, c);
		if (c->deadline)
			timer_arm(c->deadline, ms);
	}
	return 0;
}

static void refuse_type(struct http_req *rq, bool stream, struct str type)
{
	const char *json = stream ? "application/connect+json" : "application/json";
	const char *proto = stream ? "application/connect+proto" : "application/proto";
	autofree char *accept = str_fmt("Accept-Post: %s, %s\r\n", json, proto);

	reply_refuse(rq, 415, accept, "content type '%.*s' is not supported here, expected %s or %s",
	    (int)(type.n < 100 ? type.n : 100), type.n ? type.p : "", json, proto);
}

void call_new(struct init *in, struct http_req *rq, const struct rpc *rpc)
{
	struct str type = http_header_get(&rq->headers, "content-type");
	struct str media = str_trim(str_cut(&type, ';'));
	bool stream = rpc->kind != RPC_UNARY;
	bool binary = str_ieq(media, str_of(stream ? "application/connect+proto" : "application/proto"));
	struct call *c;

	if (!binary && !str_ieq(media, str_of(stream ? "application/connect+json" : "application/json"))) {
		refuse_type(rq, stream, media);
		return;
	}
	c = calloc(1, sizeof(*c));
	if (!c) {
		init_reply_error(rq, 503, "out of memory");
		return;
	}
	c->in = in;
	c->rq = rq;
	c->rpc = rpc;
	c->binary = binary;
	c->body = BUF_INIT(CALL_BODY_MAX + (rpc->kind == RPC_UNARY ? 0 : ENVELOPE_HEAD));
	rq->user = c;
	rq->ops = &call_ops;
	(void)check_head(c);
}

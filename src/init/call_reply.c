/* SPDX-License-Identifier: Apache-2.0 */
/* call_reply: the answers of a call: messages as JSON or protobuf, errors as JSON. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/fd.h"
#include "http/json.h"
#include "http/protobuf.h"
#include "http/server.h"
#include "init/call.h"
#include "init/text.h"

#define LEGACY "X-E2B-Legacy-SDK: true\r\n"

static bool is_stream(const struct call *c)
{
	return c->rpc->kind != RPC_UNARY;
}

static const char *legacy_header(const struct call *c)
{
	return call_legacy(c) ? LEGACY : NULL;
}

static void put(const struct call *c, struct buf *out, const json_t *msg)
{
	if (c->binary)
		pb_put(out, c->rpc->response, msg);
	else
		json_put(out, msg);
}

/* Streams. */

void call_begin(struct call *c)
{
	if (!http_started(c->rq))
		http_begin(c->rq, 200, c->binary ? "application/connect+proto" : "application/connect+json",
		    legacy_header(c), -1);
}

void call_send_raw(struct call *c, struct str envelopes)
{
	if (c->answered)
		return;
	call_begin(c);
	http_write(c->rq, envelopes);
}

static void send_envelope(struct call *c, uint8_t flags, struct str body)
{
	autobuf struct buf out = BUF_INIT(CALL_REPLY_MAX + ENVELOPE_HEAD);

	envelope_put(&out, flags, body);
	call_send_raw(c, buf_view(&out));
}

void call_put(const struct call *c, struct buf *out, const json_t *msg)
{
	autobuf struct buf one = BUF_INIT(CALL_REPLY_MAX);

	put(c, &one, msg);
	envelope_put(out, 0, buf_view(&one));
}

void call_send(struct call *c, const json_t *msg)
{
	autobuf struct buf out = BUF_INIT(CALL_REPLY_MAX);

	put(c, &out, msg);
	send_envelope(c, 0, buf_view(&out));
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

size_t call_queued(const struct call *c)
{
	return c->answered ? 0 : http_queued(c->rq);
}

/* Complete answers. */

static void reply_bytes(struct call *c, struct str body)
{
	if (c->answered)
		return;
	if (is_stream(c)) {
		send_envelope(c, 0, body);
		call_end(c);
		return;
	}
	c->answered = true;
	http_respond(c->rq, 200, c->binary ? "application/proto" : "application/json", legacy_header(c), body);
}

void call_reply(struct call *c, const json_t *msg)
{
	autobuf struct buf out = BUF_INIT(CALL_REPLY_MAX);

	put(c, &out, msg);
	if (out.bad)
		call_fail(c, CONNECT_INTERNAL, "the answer is too large");
	else
		reply_bytes(c, buf_view(&out));
}

void call_reply_empty(struct call *c)
{
	reply_bytes(c, c->binary ? STR_NULL : STR_LIT("{}"));
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

/* Lists. */

void call_list_begin(struct call_list *l, struct call *c, const char *field)
{
	*l = (struct call_list) { .c = c, .field = field, .out = BUF_INIT(CALL_REPLY_MAX) };
	if (!c->binary)
		buf_fmt(&l->out, "{\"%s\":[", field);
}

int call_list_add(struct call_list *l, const json_t *item)
{
	if (l->c->binary) {
		pb_put_field(&l->out, l->c->rpc->response, l->field, item);
	} else {
		if (l->n)
			buf_ch(&l->out, ',');
		json_put(&l->out, item);
	}
	l->n++;
	return l->out.bad ? -E2BIG : 0;
}

void call_list_reply(struct call_list *l)
{
	if (!l->c->binary)
		buf_z(&l->out, "]}");
	if (l->out.bad)
		call_fail(l->c, CONNECT_RESOURCE_EXHAUSTED, "the answer is too large");
	else
		reply_bytes(l->c, buf_view(&l->out));
}

void call_list_done(struct call_list *l)
{
	buf_done(&l->out);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* pass: parses requests and serializes them again. */
#include "egress/pass.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/fd.h"
#include "egress/sni.h"
#include "http/message.h"
#include "loop/stream.h"

#define IN_MAX (1024 * 1024) /* read from the client and not yet passed on: a head, and a few reads */
#define HEAD_OUT_MAX (128 * 1024)
#define BULK (32 * 1024) /* an answer that arrives in pieces this large is spliced */

enum pass_state {
	PASS_HEAD, /* of a request */
	PASS_BODY,
	PASS_ASKED, /* an upgrade is requested: the answer decides */
	PASS_TUNNEL,
	PASS_LAST, /* nothing more is read from the client */
};

struct pass {
	struct stream *client, *server;
	char name[POLICY_NAME_SIZE];
	const struct pass_ops *ops;
	void *user;
	enum pass_state state;
	struct message m;
	struct http_headers headers;
	struct buf in;     /* from the client */
	struct buf answer; /* from the server, during an upgrade request */
	size_t scanned;
	bool client_eof, server_eof;
};

static void pass_drop(struct pass *p)
{
	buf_done(&p->in);
	buf_done(&p->answer);
	free(p);
}

void pass_free(struct pass *p)
{
	if (!p)
		return;
	stream_reset(p->client);
	stream_reset(p->server);
	pass_drop(p);
}

static void pass_over(struct pass *p, bool reset)
{
	const struct pass_ops *ops = p->ops;
	void *user = p->user;

	if (reset) {
		stream_reset(p->client);
		stream_reset(p->server);
	} else {
		stream_close_flushed(p->client);
		stream_close_flushed(p->server);
	}
	pass_drop(p);
	ops->on_end(user);
}

static void set_reading(struct pass *p)
{
	stream_read(p->client,
	    p->state != PASS_ASKED && p->state != PASS_LAST && !p->client_eof &&
		stream_queued(p->server) <= STREAM_HIGH);
	stream_read(p->server, !p->server_eof && stream_queued(p->client) <= STREAM_HIGH);
}

/* --- requests ------------------------------------------------------------------------------------------------ */

/* Both the request target and the Host field must name the allowed host. */
static bool is_ours(const struct pass *p)
{
	struct str target = p->m.target;
	char name[POLICY_NAME_SIZE];

	if (host_parse(http_header_get(&p->headers, "host"), name) < 0 || strcmp(name, p->name) != 0)
		return false;
	if (p->m.parser.method == HTTP_CONNECT)
		return false;
	if ((target.n > 0 && target.p[0] == '/') || str_is(target, "*"))
		return true;
	if (str_starts(target, "http://"))
		str_skip(&target, 7);
	else if (str_starts(target, "https://"))
		str_skip(&target, 8);
	else
		return false;
	target = str_cut(&target, '/');
	return !memchr(target.p, '@', target.n) && host_parse(target, name) == 0 && strcmp(name, p->name) == 0;
}

static bool is_set(const struct pass_fields *set, struct str name)
{
	for (size_t i = 0; set && i < set->n; i++) {
		if (str_ieq(set->v[i].name, name))
			return true;
	}
	return false;
}

static void put_field(struct buf *out, struct str name, struct str value)
{
	buf_str(out, name);
	buf_z(out, ": ");
	buf_str(out, value);
	buf_z(out, "\r\n");
}

static void put_head(struct pass *p, const struct pass_fields *set, bool drop_upgrade, struct buf *out)
{
	buf_z(out, llhttp_method_name((llhttp_method_t)p->m.parser.method));
	buf_ch(out, ' ');
	buf_str(out, p->m.target);
	buf_fmt(out, " HTTP/1.%d\r\n", p->m.parser.http_minor);
	for (size_t i = 0; i < p->headers.n; i++) {
		const struct http_header *h = &p->headers.v[i];

		if (is_set(set, h->name))
			continue;
		if (drop_upgrade &&
		    (str_ieq(h->name, STR_LIT("upgrade")) || str_ieq(h->name, STR_LIT("http2-settings"))))
			continue;
		put_field(out, h->name, h->value);
	}
	for (size_t i = 0; set && i < set->n; i++)
		put_field(out, set->v[i].name, set->v[i].value);
	buf_z(out, "\r\n");
}

/* Handles the head in the first n bytes of p->in. false: refused. */
static bool take_head(struct pass *p, size_t n)
{
	autobuf struct buf out = BUF_INIT(HEAD_OUT_MAX);
	const struct pass_fields *set = NULL;
	bool ok = true;

	if (message_request(&p->m, (struct str) { p->in.p, n }, &p->headers) < 0 || !is_ours(p))
		return false;
	/* The answer to TRACE contains the request, so fields set in it would be sent back to the sandbox. */
	if (p->ops->fields && p->m.parser.method != HTTP_TRACE)
		set = p->ops->fields(p->user, &ok);
	if (!ok)
		return false;
	bool h2c = http_header_has_token(&p->headers, "upgrade", "h2c");

	put_head(p, set, h2c, &out);
	if (out.bad)
		return false;
	stream_write(p->server, buf_view(&out));
	if (p->m.upgrade && !h2c) {
		p->state = PASS_ASKED;
		(void)stream_splice(p->server, p->client, 0); /* the answer has to be parsed */
	} else if (!p->m.done)
		p->state = PASS_BODY;
	return true;
}

/* Passes the body on with its framing, as far as it is parsed. -1: malformed, 0: more bytes are needed. */
static int take_body(struct pass *p, struct str *in)
{
	struct str rest = *in, piece;
	int r = message_body(&p->m, &rest, &piece);

	if (r < 0)
		return -1;
	if (rest.n < in->n)
		stream_write(p->server, (struct str) { in->p, in->n - rest.n });
	*in = rest;
	if (r == MESSAGE_END)
		p->state = PASS_HEAD;
	return r == MESSAGE_MORE ? 0 : 1;
}

static bool run_head(struct pass *p, struct str *in)
{
	ssize_t n = head_find(*in, &p->scanned);

	if (n < 0)
		return false;
	if (n == 0)
		return true;
	p->scanned = 0;
	/* The head is at the start: what preceded it has been consumed. */
	if (!take_head(p, (size_t)n))
		return false;
	str_skip(in, (size_t)n);
	buf_consume(&p->in, (size_t)n);
	*in = buf_view(&p->in);
	return true;
}

/* Passes on as much as possible now. false: the connection must be closed. */
static bool run(struct pass *p)
{
	for (;;) {
		struct str in = buf_view(&p->in);
		size_t before = in.n;
		enum pass_state state = p->state;

		if (stream_queued(p->server) > STREAM_HIGH)
			return true;
		if (p->state == PASS_HEAD) {
			if (in.n == 0)
				return true;
			if (!run_head(p, &in))
				return false;
		} else if (p->state == PASS_BODY) {
			if (take_body(p, &in) < 0)
				return false;
			buf_consume(&p->in, before - in.n);
		} else if (p->state == PASS_TUNNEL) {
			if (in.n)
				stream_write(p->server, in);
			buf_clear(&p->in);
			return true;
		} else {
			return true;
		}
		if (p->in.n == before && p->state == state)
			return true;
	}
}

/* Called after every event that may allow progress. */
static void step(struct pass *p)
{
	if (p->in.bad || !run(p)) {
		pass_over(p, true);
		return;
	}
	if (p->client_eof && p->in.n == 0)
		stream_finish(p->server);
	if (p->client_eof && p->server_eof)
		pass_over(p, false);
	else
		set_reading(p);
}

static void on_client_data(void *user, struct str data)
{
	struct pass *p = user;

	buf_str(&p->in, data);
	step(p);
}

static void on_client_eof(void *user)
{
	struct pass *p = user;

	p->client_eof = true;
	step(p);
}

/* --- answers ------------------------------------------------------------------------------------------------- */

/* Parses the answer to an upgrade, as far as it has arrived. false: malformed. */
static bool run_answer(struct pass *p)
{
	struct http_headers h;
	struct message m;

	while (p->state == PASS_ASKED) {
		size_t scanned = 0;
		ssize_t n = head_find(buf_view(&p->answer), &scanned);

		if (n <= 0)
			return n == 0 && !p->answer.bad;
		if (message_answer(&m, (struct str) { p->answer.p, (size_t)n }, false, false, &h) < 0)
			return false;
		stream_write(p->client, (struct str) { p->answer.p, (size_t)n });
		buf_consume(&p->answer, (size_t)n);
		if (m.parser.status_code == 101)
			p->state = PASS_TUNNEL;
		else if (m.parser.status_code >= 200)
			p->state = PASS_LAST;
	}
	if (p->answer.n)
		stream_write(p->client, buf_view(&p->answer));
	buf_done(&p->answer);
	return true;
}

static void on_server_data(void *user, struct str data)
{
	struct pass *p = user;

	if (p->state != PASS_ASKED) {
		stream_write(p->client, data);
		if (data.n >= BULK)
			(void)stream_splice(p->server, p->client, UINT64_MAX);
		set_reading(p);
		return;
	}
	buf_str(&p->answer, data);
	if (!run_answer(p))
		pass_over(p, true);
	else
		step(p);
}

static void on_server_moved(void *user, size_t n)
{
	(void)user;
	(void)n;
}

static void on_server_eof(void *user)
{
	struct pass *p = user;

	p->server_eof = true;
	stream_finish(p->client);
	if (p->client_eof || p->state == PASS_LAST || p->state == PASS_ASKED)
		pass_over(p, false);
	else
		set_reading(p);
}

/* --- both ---------------------------------------------------------------------------------------------------- */

static void on_drain(void *user)
{
	step(user);
}

static void on_error(void *user, int no)
{
	(void)no;
	pass_over(user, true);
}

static const struct stream_ops client_ops = { .on_data = on_client_data,
	.on_eof = on_client_eof,
	.on_drain = on_drain,
	.on_error = on_error };
static const struct stream_ops server_ops = { .on_data = on_server_data,
	.on_eof = on_server_eof,
	.on_drain = on_drain,
	.on_error = on_error,
	.on_moved = on_server_moved };

void pass_start(struct pass *p)
{
	step(p);
}

struct pass *pass_new(struct stream *client, struct stream *server, const char *name, struct str first,
    const struct pass_ops *ops, void *user)
{
	struct pass *p = calloc(1, sizeof *p);

	if (!p || !str_copy(p->name, sizeof p->name, str_of(name))) {
		free(p);
		stream_reset(client);
		stream_reset(server);
		return NULL;
	}
	p->client = client;
	p->server = server;
	p->ops = ops;
	p->user = user;
	p->in = BUF_INIT(IN_MAX);
	p->answer = BUF_INIT(HTTP_HEAD_MAX + 128 * 1024);
	buf_str(&p->in, first);
	stream_rebind(client, &client_ops, p);
	stream_rebind(server, &server_ops, p);
	return p;
}

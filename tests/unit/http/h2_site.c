/* SPDX-License-Identifier: Apache-2.0 */
/* The two ends of the units of http/h2, see h2_site.h. */
#include "h2_site.h"

#include <stdlib.h>
#include <string.h>

char block[65536];

/* --- the handler --- */

static void push(struct http_req *rq)
{
	struct site *t = rq->user;

	t->drains++;
	while (t->left) {
		size_t n = t->left < sizeof block ? t->left : sizeof block;

		http_write(rq, (struct str) { block, n });
		t->left -= n;
		if (http_queued(rq) > t->most_queued)
			t->most_queued = http_queued(rq);
		if (http_queued(rq) > STREAM_HIGH)
			return;
	}
	http_end(rq);
}

static void on_body(struct http_req *rq, struct str data)
{
	buf_str(&((struct site *)rq->user)->body, data);
}

static void on_body_end(struct http_req *rq)
{
	struct site *t = rq->user;

	if (str_is(rq->path, "/echo"))
		http_respond(rq, 200, "text/plain", NULL, buf_view(&t->body));
}

static void on_close(struct http_req *rq, bool lost)
{
	struct site *t = rq->user;

	t->closes++;
	t->lost += lost;
	for (size_t i = 0; i < t->n_held; i++) {
		if (t->held[i] == rq)
			t->held[i] = NULL;
	}
}

static const struct http_req_ops req_ops = { .on_body = on_body,
	.on_body_end = on_body_end,
	.on_drain = push,
	.on_close = on_close };

static void note(struct site *t, const struct http_req *rq)
{
	buf_fmt(&t->seen, "%.*s %.*s ? %.*s @ %.*s %lld\n", STR_ARG(rq->method), STR_ARG(rq->path), STR_ARG(rq->query),
	    STR_ARG(rq->host), (long long)rq->content_length);
	for (size_t i = 0; i < rq->headers.n; i++)
		buf_fmt(&t->seen, "%.*s=%.*s\n", STR_ARG(rq->headers.v[i].name), STR_ARG(rq->headers.v[i].value));
}

static void on_request(void *user, struct http_req *rq)
{
	struct site *t = user;

	rq->user = user;
	rq->ops = &req_ops;
	if (t->seen.n < 4096)
		note(t, rq);
	if (str_is(rq->path, "/hold")) {
		t->held[t->n_held++] = rq;
	} else if (str_is(rq->path, "/pause")) {
		http_body_want(rq, false);
		t->held[t->n_held++] = rq;
	} else if (str_is(rq->path, "/big")) {
		http_begin(rq, 200, NULL, "X-A: b\r\nConnection: close\r\n", BIG);
		push(rq);
	} else if (str_is(rq->path, "/stream")) {
		http_begin(rq, 200, NULL, NULL, -1);
		http_write(rq, STR_LIT("one"));
		http_write(rq, STR_LIT("two"));
		http_end(rq);
	} else if (str_is(rq->path, "/short")) {
		http_begin(rq, 200, NULL, NULL, 10);
		http_write(rq, STR_LIT("one"));
		http_end(rq);
	} else if (str_is(rq->path, "/abort")) {
		http_begin(rq, 200, NULL, NULL, -1);
		http_write(rq, STR_LIT("cut"));
		http_abort(rq);
		http_write(rq, STR_LIT("never"));
	} else if (str_is(rq->path, "/early")) {
		http_respond(rq, 413, NULL, NULL, STR_LIT("too much"));
	} else if (str_is(rq->path, "/give-up")) {
		http_close_after(rq);
		http_respond(rq, 413, NULL, NULL, STR_LIT("too much"));
	} else if (str_is(rq->path, "/free")) {
		http_server_free(take_ptr(&t->server));
	} else if (str_is(rq->path, "/none")) {
		http_respond(rq, 204, NULL, NULL, STR_LIT(""));
	} else if (!str_is(rq->path, "/echo")) {
		http_respond(rq, 200, "text/plain", "Set-Cookie: a=1\r\nset-cookie: b=2\r\nKeep-Alive: 5\r\n",
		    STR_LIT("ok"));
	}
}

static const struct http_server_ops server_ops = { .on_request = on_request };

/* --- the client --- */

static struct ask *ask_of(struct site *t, int32_t id)
{
	for (size_t i = t->n_asks; i-- > 0;) {
		if (t->asks[i].id == id)
			return &t->asks[i];
	}
	return NULL;
}

static int c_header(nghttp2_session *s, const nghttp2_frame *f, const uint8_t *n, size_t nn, const uint8_t *v,
    size_t nv, uint8_t fl, void *user)
{
	struct ask *a = ask_of(user, f->hd.stream_id);

	(void)s;
	(void)fl;
	if (nn == 7 && memcmp(n, ":status", 7) == 0) {
		int status = atoi((const char *)v);

		*(status < 200 ? &a->interim : &a->status) = status;
	} else {
		buf_fmt(&a->head, "%.*s=%.*s\n", (int)nn, n, (int)nv, v);
	}
	return 0;
}

static int c_data(nghttp2_session *s, uint8_t fl, int32_t id, const uint8_t *p, size_t n, void *user)
{
	struct ask *a = ask_of(user, id);

	(void)fl;
	buf_put(&a->body, p, n);
	nghttp2_session_consume_connection(s, n);
	if (!a->stall)
		nghttp2_session_consume_stream(s, id, n);
	return 0;
}

static int c_close(nghttp2_session *s, int32_t id, uint32_t code, void *user)
{
	struct ask *a = ask_of(user, id);

	(void)s;
	if (a) {
		a->closed = true;
		a->code = code;
	}
	return 0;
}

static int c_frame(nghttp2_session *s, const nghttp2_frame *f, void *user)
{
	struct site *t = user;

	(void)s;
	if (f->hd.type == NGHTTP2_GOAWAY) {
		t->goaway = f->goaway.error_code;
		t->said_goaway = true;
	}
	return 0;
}

static ssize_t c_upload(nghttp2_session *s, int32_t id, uint8_t *to, size_t n, uint32_t *flags,
    nghttp2_data_source *src, void *user)
{
	struct ask *a = ask_of(user, id);

	(void)s;
	(void)src;
	if (a->upload.n < n)
		n = a->upload.n;
	if (n == 0 && a->no_end)
		return NGHTTP2_ERR_DEFERRED;
	if (n)
		memcpy(to, a->upload.p, n);
	str_skip(&a->upload, n);
	if (a->upload.n == 0 && !a->no_end)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

void client_out(struct site *t)
{
	const uint8_t *p;
	ssize_t n;

	/* No more than the socket takes: the rest follows. */
	for (int i = 0; i < 8 && (n = nghttp2_session_mem_send(t->client, &p)) > 0; i++) {
		if (send(t->fd, p, (size_t)n, MSG_NOSIGNAL) != n)
			return;
	}
}

void turn(struct site *t)
{
	autobuf struct buf got = BUF_INIT(32 << 20);

	client_out(t);
	wire_turn(t->l);
	if (wire_recv(t->fd, &got))
		t->over = true;
	if (got.n)
		(void)nghttp2_session_mem_recv(t->client, (const uint8_t *)got.p, got.n);
}

void turns(struct site *t, int n)
{
	while (n-- > 0)
		turn(t);
}

struct ask *ask_with(struct site *t, const char *method, const char *path, const nghttp2_nv *more, size_t n_more,
    struct str upload, bool no_end)
{
	nghttp2_nv nv[160] = { NV(":method", method), NV(":scheme", "http"), NV(":path", path),
		NV(":authority", "x.test") };
	nghttp2_data_provider up = { .read_callback = c_upload };
	struct ask *a = &t->asks[t->n_asks++];

	assert_true(t->n_asks <= ASKS);
	memcpy(nv + 4, more ? more : nv, n_more * sizeof *nv);
	*a = (struct ask) { .head = BUF_INIT(65536), .body = BUF_INIT(32 << 20), .upload = upload, .no_end = no_end };
	a->id = nghttp2_submit_request(t->client, NULL, nv, 4 + n_more, upload.p || no_end ? &up : NULL, NULL);
	assert_true(a->id > 0);
	return a;
}

struct ask *ask(struct site *t, const char *path)
{
	return ask_with(t, "GET", path, NULL, 0, STR_NULL, false);
}

static nghttp2_session *client_new(struct site *t)
{
	nghttp2_session_callbacks *cb;
	nghttp2_option *opt;
	nghttp2_session *s;

	nghttp2_session_callbacks_new(&cb);
	nghttp2_option_new(&opt);
	nghttp2_option_set_no_auto_window_update(opt, 1);
	nghttp2_option_set_peer_max_concurrent_streams(opt, 5000);
	nghttp2_option_set_max_send_header_block_length(opt, 1 << 20);
	nghttp2_session_callbacks_set_on_header_callback(cb, c_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, c_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, c_close);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, c_frame);
	assert_int_equal(nghttp2_session_client_new2(&s, cb, t, opt), 0);
	nghttp2_session_callbacks_del(cb);
	nghttp2_option_del(opt);
	return s;
}

int set_up(void **state)
{
	struct site *t = calloc(1, sizeof *t);
	int sv[2];

	wire_pair(sv);
	t->l = loop_new();
	t->fd = sv[1];
	t->seen = BUF_INIT(1 << 20);
	t->body = BUF_INIT(32 << 20);
	t->left = BIG;
	t->server = http_server_new(t->l, -1, &server_ops, t);
	http_server_h2(t->server);
	assert_int_equal(http_server_adopt(t->server, sv[0]), 0);
	t->client = client_new(t);
	nghttp2_submit_settings(t->client, NGHTTP2_FLAG_NONE, NULL, 0);
	nghttp2_session_set_local_window_size(t->client, NGHTTP2_FLAG_NONE, 0, 64 << 20);
	for (size_t i = 0; i < sizeof block; i++)
		block[i] = (char)(i * 7 + i / 256);
	*state = t;
	return 0;
}

int tear_down(void **state)
{
	struct site *t = *state;

	fd_close(t->fd);
	wire_turns(t->l, 4);
	if (t->server) {
		assert_int_equal(t->server->h2_held, 0);
		assert_int_equal(t->server->h2_granted, 0);
		assert_int_equal(http_server_conns(t->server), 0);
	}
	http_server_free(t->server);
	wire_turns(t->l, 3);
	loop_free(t->l);
	nghttp2_session_del(t->client);
	for (size_t i = 0; i < t->n_asks; i++) {
		buf_done(&t->asks[i].head);
		buf_done(&t->asks[i].body);
	}
	buf_done(&t->seen);
	buf_done(&t->body);
	free(t);
	return 0;
}

void assert_answer(const struct ask *a, int status, const char *body)
{
	assert_int_equal(a->status, status);
	assert_true(str_is(buf_view(&a->body), body));
	assert_true(a->closed);
	assert_int_equal(a->code, 0);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Units of http/h2: requests and answers as handlers see them, back-pressure both ways, and what is refused. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nghttp2/nghttp2.h>

#include "http/conn.h"
#include "http/h2.h"
#include "loop/share.h"
#include "loop/stream.h"
#include "unit.h"
#include "wire.h"

#define ASKS 1200
#define BIG (4 << 20)

/* What the client knows of one of its requests. */
struct ask {
	int32_t id;
	int status, interim;
	struct buf head, body;
	bool closed;
	uint32_t code;     /* of the reset, if closed */
	struct str upload; /* what is left of it */
	bool no_end;       /* the upload never ends */
	bool stall;        /* windows are not opened */
};

struct site {
	struct loop *l;
	struct http_server *server;
	int fd;
	nghttp2_session *client;
	struct ask asks[ASKS];
	size_t n_asks;
	bool over; /* the server has closed */
	uint32_t goaway;
	bool said_goaway;

	/* the handler's side */
	struct http_req *held[ASKS];
	size_t n_held;
	struct buf seen, body;
	size_t left, most_queued;
	int closes, lost, drains;
};

static char block[65536];

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

static void client_out(struct site *t)
{
	const uint8_t *p;
	ssize_t n;

	/* No more than the socket takes: the rest follows. */
	for (int i = 0; i < 8 && (n = nghttp2_session_mem_send(t->client, &p)) > 0; i++) {
		if (send(t->fd, p, (size_t)n, MSG_NOSIGNAL) != n)
			return;
	}
}

static void turn(struct site *t)
{
	autobuf struct buf got = BUF_INIT(32 << 20);

	client_out(t);
	wire_turn(t->l);
	if (wire_recv(t->fd, &got))
		t->over = true;
	if (got.n)
		(void)nghttp2_session_mem_recv(t->client, (const uint8_t *)got.p, got.n);
}

static void turns(struct site *t, int n)
{
	while (n-- > 0)
		turn(t);
}

#define NV(n, v) { (uint8_t *)(n), (uint8_t *)(v), sizeof(n) - 1, strlen(v), NGHTTP2_NV_FLAG_NONE }

static struct ask *ask_with(struct site *t, const char *method, const char *path, const nghttp2_nv *more, size_t n_more,
    struct str upload, bool no_end)
{
	nghttp2_nv nv[160] = { NV(":method", method), NV(":scheme", "http"), NV(":path", path),
		NV(":authority", "x.test") };
	nghttp2_data_provider up = { .read_callback = c_upload };
	struct ask *a = &t->asks[t->n_asks++];

	assert_true(t->n_asks <= ASKS);
	memcpy(nv + 4, more, n_more * sizeof *more);
	*a = (struct ask) { .head = BUF_INIT(65536), .body = BUF_INIT(32 << 20), .upload = upload, .no_end = no_end };
	a->id = nghttp2_submit_request(t->client, NULL, nv, 4 + n_more, upload.p || no_end ? &up : NULL, NULL);
	assert_true(a->id > 0);
	return a;
}

static struct ask *ask(struct site *t, const char *path)
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

static int set_up(void **state)
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

static int tear_down(void **state)
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

static void assert_answer(const struct ask *a, int status, const char *body)
{
	assert_int_equal(a->status, status);
	assert_true(str_is(buf_view(&a->body), body));
	assert_true(a->closed);
	assert_int_equal(a->code, 0);
}

/* --- the cases --- */

static void a_request_is_what_a_handler_knows(void **state)
{
	struct site *t = *state;
	const nghttp2_nv more[] = { NV("cookie", "a=1"), NV("x-one", "1"), NV("cookie", "b=2"), NV("te", "trailers"),
		NV("cookie", "c=3") };
	struct ask *a = ask_with(t, "POST", "/echo?x=%20y", more, ARRAY_LEN(more), STR_LIT("the body"), false);

	turns(t, 6);
	assert_answer(a, 200, "the body");
	assert_true(str_is(buf_view(&t->seen),
	    "POST /echo ? x=%20y @ x.test -1\ncookie=a=1; b=2; c=3\nx-one=1\nte=trailers\n"));
	assert_true(str_is(buf_view(&a->head), "content-type=text/plain\ncontent-length=8\n"));
	assert_int_equal(t->closes, 1);
	assert_int_equal(t->lost, 0);
}

static void answers_have_their_heads_and_ends(void **state)
{
	struct site *t = *state;
	struct ask *plain = ask(t, "/"), *stream = ask(t, "/stream"), *none = ask(t, "/none");
	struct ask *head = ask_with(t, "HEAD", "/", NULL, 0, STR_NULL, false);
	struct ask *head_stream = ask_with(t, "HEAD", "/stream", NULL, 0, STR_NULL, false);

	turns(t, 6);
	assert_answer(plain, 200, "ok");
	assert_true(str_is(buf_view(&plain->head),
	    "content-type=text/plain\ncontent-length=2\nset-cookie=a=1\nset-cookie=b=2\n"));
	assert_answer(stream, 200, "onetwo");
	assert_answer(none, 204, "");
	assert_true(str_is(buf_view(&none->head), ""));
	assert_answer(head, 200, "");
	assert_non_null(memmem(head->head.p, head->head.n, "content-length=2", 16));
	assert_answer(head_stream, 200, "");
	assert_int_equal(t->closes, 5);
	assert_int_equal(t->lost, 0);
}

static void one_that_waits_does_not_stop_the_others(void **state)
{
	struct site *t = *state;
	struct ask *held = ask(t, "/hold");

	for (int i = 0; i < 300; i++) {
		struct ask *a = ask(t, "/");

		turns(t, 2);
		assert_answer(a, 200, "ok");
	}
	assert_int_equal(held->status, 0);
	http_respond(t->held[0], 200, NULL, NULL, STR_LIT("late"));
	turns(t, 3);
	assert_answer(held, 200, "late");
}

static int members(const struct share *sh)
{
	const struct share_member *m;
	int n = 0;

	LIST_FOREACH(m, &sh->members, all)
	n++;
	return n;
}

/* F2: with the connection itself a share has one member more than requests. */
static void a_connection_is_in_the_share_of_its_requests(void **state)
{
	struct site *t = *state;
	struct share one, other;

	share_init(&one, t->l);
	share_init(&other, t->l);
	for (int i = 0; i < 4; i++)
		(void)ask(t, "/hold");
	turns(t, 3);
	http_share(t->held[0], &one);
	http_share(t->held[1], &one);
	assert_int_equal(members(&one), 3);
	http_share(t->held[2], &other); /* now neither pays for it */
	assert_int_equal(members(&one), 2);
	assert_int_equal(members(&other), 1);
	struct ask *a = ask_with(t, "POST", "/echo", NULL, 0, STR_LIT("still served"), false);

	turns(t, 4);
	assert_answer(a, 200, "still served");
	http_respond(t->held[2], 200, NULL, NULL, STR_LIT(""));
	turns(t, 3);
	assert_int_equal(members(&other), 0);
	assert_int_equal(members(&one), 3);
	share_done(&one); /* the requests outlive their sandbox */
	http_share(t->held[3], &other);
	assert_int_equal(members(&other), 2);
	share_done(&other);
}

static void a_large_answer_goes_as_fast_as_it_is_read(void **state)
{
	struct site *t = *state;
	struct ask *a = ask(t, "/big");

	a->stall = true;
	turns(t, 20);
	assert_int_equal(a->body.n, 65535);
	assert_true(t->most_queued > STREAM_HIGH && t->most_queued < STREAM_HIGH + 2 * sizeof block + 100);
	assert_true(t->server->h2_held < STREAM_HIGH + 2 * sizeof block);
	size_t left = t->left;
	turns(t, 20);
	assert_int_equal(t->left, left);

	struct ask *other = ask(t, "/");
	turns(t, 4);
	assert_answer(other, 200, "ok");

	a->stall = false;
	nghttp2_session_consume_stream(t->client, a->id, 65535);
	turns(t, 800);
	assert_true(a->closed && a->code == 0);
	assert_int_equal(a->body.n, BIG);
	for (size_t i = 0; i < BIG; i += sizeof block)
		assert_memory_equal(a->body.p + i, block, sizeof block);
	assert_true(t->drains > 2);
	assert_true(str_is(buf_view(&a->head), "content-length=4194304\nx-a=b\n"));
}

static void a_body_comes_as_fast_as_it_is_wanted(void **state)
{
	struct site *t = *state;
	autobuf struct buf big = BUF_INIT(BIG);

	for (uint32_t i = 0; i < BIG; i += 4)
		buf_put(&big, &i, 4);
	struct ask *a = ask_with(t, "POST", "/pause", NULL, 0, buf_view(&big), false);
	turns(t, 40);
	assert_int_equal(t->body.n, 0);
	assert_int_equal(big.n - a->upload.n, 65535); /* the window, and not a byte more */
	struct ask *other = ask_with(t, "POST", "/hold", NULL, 0, STR_LIT("x"), false);
	turns(t, 4);
	assert_int_equal(t->body.n, 1); /* the other's body comes through */
	buf_clear(&t->body);
	http_respond(t->held[1], 200, NULL, NULL, STR_LIT("ok"));

	http_body_want(t->held[0], true);
	turns(t, 20);
	http_body_want(t->held[0], false);
	turns(t, 20);
	size_t so_far = t->body.n;
	turns(t, 20);
	assert_int_equal(t->body.n, so_far);
	http_body_want(t->held[0], true);
	turns(t, 400);
	assert_int_equal(t->body.n, BIG);
	assert_memory_equal(t->body.p, big.p, BIG);
	assert_int_equal(t->server->h2_granted, 1 << 20);
	http_respond(t->held[0], 200, NULL, NULL, STR_LIT("thanks"));
	turns(t, 4);
	assert_answer(a, 200, "thanks");
	assert_answer(other, 200, "ok");
}

static void what_is_cut_is_seen_to_be_cut(void **state)
{
	struct site *t = *state;
	struct ask *held = ask(t, "/hold"), *cut = ask(t, "/abort"), *less = ask(t, "/short");

	turns(t, 6);
	assert_true(cut->closed && cut->code == NGHTTP2_INTERNAL_ERROR);
	assert_true(less->closed && less->code == NGHTTP2_INTERNAL_ERROR);
	assert_int_equal(t->closes, 2);
	assert_int_equal(t->lost, 2);
	assert_false(held->closed);
	nghttp2_submit_rst_stream(t->client, NGHTTP2_FLAG_NONE, held->id, NGHTTP2_CANCEL);
	turns(t, 3);
	assert_int_equal(t->closes, 3);
	assert_int_equal(t->lost, 3);
	assert_false(t->over);
}

static void who_answers_early_need_not_read_on(void **state)
{
	struct site *t = *state;
	autobuf struct buf big = BUF_INIT(BIG);

	while (big.n < BIG)
		buf_put(&big, block, sizeof block);
	struct ask *small = ask_with(t, "POST", "/early", NULL, 0, (struct str) { big.p, 300000 }, false);
	turns(t, 60);
	assert_answer(small, 413, "too much"); /* it may finish */
	struct ask *large = ask_with(t, "POST", "/early", NULL, 0, buf_view(&big), false);
	turns(t, 400);
	assert_int_equal(large->status, 413);
	assert_true(large->closed && large->code == NGHTTP2_NO_ERROR && large->upload.n > 0);
	struct ask *at_once = ask_with(t, "POST", "/give-up", NULL, 0, buf_view(&big), false);
	turns(t, 10);
	assert_int_equal(at_once->status, 413);
	assert_true(at_once->closed && at_once->code == NGHTTP2_NO_ERROR);
	assert_true(str_is(buf_view(&at_once->body), "too much"));
	assert_int_equal(t->lost, 0);
}

static void continue_is_said_when_the_body_is_wanted(void **state)
{
	struct site *t = *state;
	const nghttp2_nv more[] = { NV("expect", "100-continue") };
	struct ask *a = ask_with(t, "POST", "/pause", more, 1, STR_NULL, true);

	turns(t, 6);
	assert_int_equal(a->interim, 0);
	http_body_want(t->held[0], true);
	turns(t, 3);
	assert_int_equal(a->interim, 100);
	a->upload = STR_LIT("now");
	a->no_end = false;
	nghttp2_session_resume_data(t->client, a->id);
	turns(t, 3);
	assert_true(str_is(buf_view(&t->body), "now"));
	http_respond(t->held[0], 200, NULL, NULL, STR_LIT("ok"));
	turns(t, 3);
	assert_answer(a, 200, "ok");
}

/* 400 and the like from us, or a reset from nghttp2: never a handler. */
static void assert_refused(struct site *t, const struct ask *a, int status)
{
	turns(t, 6);
	assert_true(a->closed);
	if (a->code == NGHTTP2_PROTOCOL_ERROR)
		assert_int_equal(a->status, 0);
	else
		assert_int_equal(a->status, status);
	assert_int_equal(t->closes, 0);
}

static void ambiguous_heads_are_refused(void **state)
{
	struct site *t = *state;
	static const nghttp2_nv bad[] = {
		NV("connection", "close"),
		NV("transfer-encoding", "chunked"),
		NV("upgrade", "websocket"),
		NV("te", "gzip"),
		NV("host", "other.test"),
		NV("content-length", "x"),
		NV("content-length", "-1"),
		NV("x-a", "b\r\nx-c: d"),
		NV("x-a", "\001"),
		NV("x a", "b"),
		NV("proxy-connection", "x"),
		NV(":path", "/other"),
		NV(":other", "x"),
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_refused(t, ask_with(t, "GET", "/", &bad[i], 1, STR_NULL, false), 400);
	assert_refused(t, ask(t, "no-slash"), 400);
	assert_refused(t, ask(t, "/a b"), 400);
	assert_refused(t, ask(t, "/a\r\nx: y"), 400);
	assert_refused(t, ask_with(t, "G T", "/", NULL, 0, STR_NULL, false), 400);
	assert_refused(t,
	    ask_with(t, "GET", "/", (nghttp2_nv[]) { NV("content-length", "5"), NV("content-length", "5") }, 2,
		STR_LIT("hello"), false),
	    400);
	assert_false(t->over);
	struct ask *good = ask(t, "/");
	turns(t, 4);
	assert_answer(good, 200, "ok");
}

static void heads_have_a_size(void **state)
{
	struct site *t = *state;
	static char large[40000];
	nghttp2_nv more[120];

	memset(large, 'a', sizeof large - 1);
	assert_refused(t, ask_with(t, "GET", "/", (nghttp2_nv[]) { NV("x", large) }, 1, STR_NULL, false), 431);
	large[31000] = '\0';
	struct ask *most = ask_with(t, "GET", "/", (nghttp2_nv[]) { NV("x", large) }, 1, STR_NULL, false);
	turns(t, 6);
	assert_answer(most, 200, "ok");
	t->closes = 0;
	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		more[i] = (nghttp2_nv)NV("x-many", "1");
	assert_refused(t, ask_with(t, "GET", "/", more, 101, STR_NULL, false), 431);
	struct ask *many = ask_with(t, "GET", "/", more, 100, STR_NULL, false);
	turns(t, 6);
	assert_answer(many, 200, "ok");
	/* A bomb: one large field, then a byte for each further copy of it. */
	t->closes = 0;
	large[3000] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		more[i] = (nghttp2_nv)NV("x-bomb", large);
	assert_refused(t, ask_with(t, "GET", "/", more, 120, STR_NULL, false), 431);
	assert_false(t->over);
}

static void more_requests_than_allowed_are_turned_away(void **state)
{
	struct site *t = *state;
	size_t refused = 0;

	for (int i = 0; i < H2_STREAMS_MAX + 20; i++)
		(void)ask(t, "/hold");
	turns(t, 200);
	for (size_t i = 0; i < t->n_asks; i++)
		refused += t->asks[i].closed && t->asks[i].code == NGHTTP2_REFUSED_STREAM;
	assert_int_equal(t->n_held, H2_STREAMS_MAX);
	/* nghttp2's client waits once it knows the limit, which it may learn in time. */
	assert_true(refused <= 20);
	assert_false(t->over);
}

static void assert_calmed(struct site *t)
{
	turns(t, 4);
	assert_true(t->said_goaway);
	assert_int_equal(t->goaway, NGHTTP2_ENHANCE_YOUR_CALM);
	assert_true(t->over);
	assert_int_equal(http_server_conns(t->server), 0);
}

static void rapid_resets_end_the_connection(void **state)
{
	struct site *t = *state;

	turns(t, 3);
	for (int i = 0; i < 1100 && !t->said_goaway && !t->over; i++) {
		struct ask *a = ask(t, "/hold");

		client_out(t);
		nghttp2_submit_rst_stream(t->client, NGHTTP2_FLAG_NONE, a->id, NGHTTP2_CANCEL);
		client_out(t);
		if (i % 8 == 0)
			turn(t);
	}
	assert_true(t->n_held < 600);
	assert_calmed(t);
	assert_int_equal(t->closes, (int)t->n_held);
}

static void resets_of_old_requests_are_cheap(void **state)
{
	struct site *t = *state;

	for (int i = 0; i < 1000; i++) {
		struct ask *a = ask(t, "/hold");

		turns(t, 2);
		http_begin(t->held[t->n_held - 1], 200, NULL, NULL, -1);
		turn(t);
		nghttp2_submit_rst_stream(t->client, NGHTTP2_FLAG_NONE, a->id, NGHTTP2_CANCEL);
	}
	turns(t, 4);
	assert_false(t->said_goaway);
	assert_int_equal(t->closes, 1000);
}

static void flood(struct site *t, const char *frame, size_t n, int times)
{
	turns(t, 3);
	for (int i = 0; i < times && !t->over; i++) {
		if (send(t->fd, frame, n, MSG_NOSIGNAL) < 0)
			turn(t);
		if (i % 64 == 0)
			turn(t);
	}
	turns(t, 20);
}

static void floods_of_frames_end_the_connection(void **state)
{
	struct site *t = *state;
	static const struct {
		const char *bytes;
		size_t n;
	} floods[] = {
		{ "\0\0\10\6\0\0\0\0\0"
		  "12345678",
		    17 },                    /* PING */
		{ "\0\0\0\4\0\0\0\0\0", 9 }, /* SETTINGS */
		{ "\0\0\5\2\0\0\0\0\3"
		  "\0\0\0\0\1",
		    14 }, /* PRIORITY */
		{ "\0\0\4\10\0\0\0\0\0"
		  "\0\0\0\1",
		    13 },                    /* WINDOW_UPDATE */
		{ "\0\0\0\0\0\0\0\0\1", 9 }, /* empty DATA on the first stream */
	};

	for (size_t i = 0; i < ARRAY_LEN(floods); i++) {
		(void)ask_with(t, "POST", "/hold", NULL, 0, STR_NULL, true);
		flood(t, floods[i].bytes, floods[i].n, 6000);
		assert_true(t->over);
		assert_int_equal(http_server_conns(t->server), 0);
		void *again = t;
		(void)tear_down(&again);
		(void)set_up(&again);
		*state = t = again;
	}
}

static void a_head_without_an_end_ends_the_connection(void **state)
{
	struct site *t = *state;
	static char frame[9 + 1000] = "\0\3\xe8\x9";

	turns(t, 3);
	/* HEADERS without END_HEADERS, then CONTINUATIONs: a literal field that is never finished, or nothing at
	 * all. */
	wire_send(t->fd, (struct str) { "\0\0\1\1\1\0\0\0\1\x82", 10 });
	frame[8] = 1;
	memset(frame + 9, 0, 1000);
	flood(t, frame, sizeof frame, 300);
	assert_true(t->over);
	assert_int_equal(http_server_conns(t->server), 0);

	void *again = t;
	(void)tear_down(&again);
	(void)set_up(&again);
	*state = t = again;
	turns(t, 3);
	wire_send(t->fd, (struct str) { "\0\0\1\1\1\0\0\0\1\x82", 10 });
	flood(t, "\0\0\0\x9\0\0\0\0\1", 9, 6000);
	assert_true(t->over);
	assert_int_equal(http_server_conns(t->server), 0);
}

/* Windows that never open: what waits for them stays below a bound, and others are served. */
static void stalled_readers_are_bounded(void **state)
{
	struct site *t = *state;
	const nghttp2_settings_entry none = { NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0 };

	nghttp2_submit_settings(t->client, NGHTTP2_FLAG_NONE, &none, 1);
	turns(t, 4);
	t->left = (size_t)1 << 40;
	for (int i = 0; i < 250; i++)
		ask(t, "/big")->stall = true;
	turns(t, 300);
	assert_int_equal(t->server->conns->n_streams, 250);
	assert_true(t->server->h2_held <= H2_HELD_MAX + STREAM_HIGH + 2 * sizeof block + 250 * sizeof block);
	struct ask *good = ask(t, "/none");
	turns(t, 4);
	assert_answer(good, 204, "");
}

static void the_end_of_the_connection_ends_its_requests(void **state)
{
	struct site *t = *state;

	(void)ask(t, "/hold");
	(void)ask(t, "/big");
	(void)ask_with(t, "POST", "/pause", NULL, 0, STR_LIT("x"), true);
	turns(t, 4);
	fd_close(take_fd(&t->fd));
	wire_turns(t->l, 4);
	assert_int_equal(t->closes, 3);
	assert_int_equal(t->lost, 3);
}

static void a_handler_may_end_the_server(void **state)
{
	struct site *t = *state;

	(void)ask(t, "/hold");
	(void)ask(t, "/big");
	turns(t, 4);
	(void)ask(t, "/free");
	(void)ask(t, "/");
	turns(t, 4);
	assert_int_equal(t->closes, 3);
	assert_true(t->over);
}

static void the_server_says_goodbye(void **state)
{
	struct site *t = *state;
	struct ask *held = ask(t, "/hold");

	turns(t, 3);
	http_server_stop_accepting(t->server);
	turns(t, 3);
	assert_true(t->said_goaway && t->goaway == 0 && !t->over);
	http_respond(t->held[0], 200, NULL, NULL, STR_LIT("last"));
	turns(t, 4);
	assert_answer(held, 200, "last");
	assert_true(t->over);
}

static void http1_is_served_on_the_same_port(void **state)
{
	struct site *t = *state;
	static const char *const first[] = { "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi",
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "PRI /echo HTTP/1.1\r\nHost: x\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n" };
	static const char *const want[] = { "HTTP/1.1 200 OK", "HTTP/1.1 200 OK", "HTTP/1.1 400", "HTTP/1.1 " };

	for (size_t i = 0; i < ARRAY_LEN(first); i++) {
		autobuf struct buf got = BUF_INIT(1 << 20);
		int sv[2];

		wire_pair(sv);
		assert_int_equal(http_server_adopt(t->server, sv[0]), 0);
		buf_clear(&t->body);
		for (const char *p = first[i]; *p; p++) {
			(void)!send(sv[1], p, 1, MSG_NOSIGNAL);
			wire_turn(t->l);
		}
		wire_turns(t->l, 4);
		(void)wire_recv(sv[1], &got);
		assert_true(str_starts(buf_view(&got), want[i]));
		fd_close(sv[1]);
		wire_turns(t->l, 3);
	}
}

static void a_preface_may_come_in_pieces(void **state)
{
	struct site *t = *state;
	const uint8_t *p;
	struct ask *a = ask(t, "/");
	ssize_t n;

	while ((n = nghttp2_session_mem_send(t->client, &p)) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			assert_int_equal(send(t->fd, p + i, 1, MSG_NOSIGNAL), 1);
			wire_turn(t->l);
		}
	}
	turns(t, 4);
	assert_answer(a, 200, "ok");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_request_is_what_a_handler_knows),
		CASE(answers_have_their_heads_and_ends),
		CASE(one_that_waits_does_not_stop_the_others),
		CASE(a_connection_is_in_the_share_of_its_requests),
		CASE(a_large_answer_goes_as_fast_as_it_is_read),
		CASE(a_body_comes_as_fast_as_it_is_wanted),
		CASE(what_is_cut_is_seen_to_be_cut),
		CASE(who_answers_early_need_not_read_on),
		CASE(continue_is_said_when_the_body_is_wanted),
		CASE(ambiguous_heads_are_refused),
		CASE(heads_have_a_size),
		CASE(more_requests_than_allowed_are_turned_away),
		CASE(rapid_resets_end_the_connection),
		CASE(resets_of_old_requests_are_cheap),
		CASE(floods_of_frames_end_the_connection),
		CASE(a_head_without_an_end_ends_the_connection),
		CASE(stalled_readers_are_bounded),
		CASE(the_end_of_the_connection_ends_its_requests),
		CASE(a_handler_may_end_the_server),
		CASE(the_server_says_goodbye),
		CASE(http1_is_served_on_the_same_port),
		CASE(a_preface_may_come_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

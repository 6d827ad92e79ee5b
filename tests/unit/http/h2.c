/* SPDX-License-Identifier: Apache-2.0 */
/* Units of http/h2: requests and answers as handlers see them, and back-pressure both ways. */
#include <stdint.h>
#include <string.h>

#include "h2_site.h"
#include "loop/share.h"

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
		CASE(the_end_of_the_connection_ends_its_requests),
		CASE(a_handler_may_end_the_server),
		CASE(the_server_says_goodbye),
		CASE(http1_is_served_on_the_same_port),
		CASE(a_preface_may_come_in_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

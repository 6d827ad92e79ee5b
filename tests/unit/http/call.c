/* SPDX-License-Identifier: Apache-2.0 */
/* Units of http/call: answers whole, cut, chunked, endless; connections kept or not. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "http/call.h"
#include "loop/stream.h"
#include "unit.h"
#include "wire.h"

struct caller {
	struct loop *l;
	struct http_call *c;
	int peer;
	struct buf got;
	int status, answers, datas, ends, error;
	int64_t length;
	bool upgrade, free_in_answer, free_in_data, done_in_end, reusable;
	int fd; /* what http_call_done() gave */
};

static void on_answer(void *user, const struct http_answer *a)
{
	struct caller *t = user;

	t->answers++;
	t->status = a->status;
	t->length = a->content_length;
	t->upgrade = a->upgrade;
	if (t->free_in_answer)
		http_call_free(take_ptr(&t->c));
}

static void on_data(void *user, struct str data)
{
	struct caller *t = user;

	t->datas++;
	buf_str(&t->got, data);
	if (t->free_in_data)
		http_call_free(take_ptr(&t->c));
}

static void on_end(void *user)
{
	struct caller *t = user;

	t->ends++;
	if (t->done_in_end)
		t->fd = http_call_done(take_ptr(&t->c), &t->reusable);
}

static void on_error(void *user, int no)
{
	struct caller *t = user;

	t->error = no;
	if (t->done_in_end)
		t->fd = http_call_done(take_ptr(&t->c), &t->reusable);
}

static const struct http_call_ops ops = { .on_answer = on_answer,
	.on_data = on_data,
	.on_end = on_end,
	.on_error = on_error };

static void call_begin(struct caller *t, bool is_head, bool is_connect)
{
	int sv[2];

	http_call_free(t->c);
	fd_close(t->peer);
	fd_close(take_fd(&t->fd));
	wire_pair(sv);
	t->peer = sv[1];
	buf_clear(&t->got);
	t->answers = t->ends = t->error = t->status = 0;
	t->c = http_call_new(t->l, sv[0], &ops, t);
	http_call_head(t->c, STR_LIT("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), is_head, is_connect);
}

static int set_up(void **state)
{
	struct caller *t = calloc(1, sizeof *t);

	t->l = loop_new();
	t->peer = t->fd = -1;
	t->got = BUF_INIT(1 << 20);
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct caller *t = *state;

	http_call_free(t->c);
	fd_close(t->peer);
	fd_close(t->fd);
	wire_turns(t->l, 3);
	loop_free(t->l);
	buf_done(&t->got);
	free(t);
	return 0;
}

/* The peer says this, byte by byte or at once, and hangs up if told so. */
static void peer_says(struct caller *t, struct str bytes, bool slowly, bool hang_up)
{
	for (; slowly && bytes.n; str_skip(&bytes, 1)) {
		(void)!send(t->peer, bytes.p, 1, MSG_NOSIGNAL);
		wire_turns(t->l, 2);
	}
	if (bytes.n)
		wire_send(t->peer, bytes);
	if (hang_up) {
		autobuf struct buf request = BUF_INIT(4 << 20);

		(void)wire_recv(t->peer, &request); /* closing with unread bytes would be a reset */
		fd_close(take_fd(&t->peer));
	}
	wire_turns(t->l, 5);
}

static void answers_are_read_whole(void **state)
{
	static const struct {
		const char *bytes, *body;
		int status;
		int64_t length;
		bool hang_up, reusable;
	} v[] = {
		{ "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc", 200, 3, false, true },
		{ "HTTP/1.1 200\r\nContent-Length: 3\r\n\r\nabc", "abc", 200, 3, false, true },
		{ "HTTP/1.1 204 No Content\r\n\r\n", "", 204, 0, false, true },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "abcde", 200,
		    -1, false, true },
		{ "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nA: b\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: "
		  "0\r\n\r\n",
		    "", 404, 0, false, true },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc", "abc", 200, 3, false, false },
		{ "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc", 200, 3, false, false },
		{ "HTTP/1.1 200 OK\r\n\r\nabc", "abc", 200, -1, true, false },
		{ "HTTP/1.0 200 OK\r\n\r\n", "", 200, -1, true, false },
	};
	struct caller *t = *state;

	t->done_in_end = true;
	for (size_t i = 0; i < 2 * ARRAY_LEN(v); i++) {
		call_begin(t, false, false);
		peer_says(t, str_of(v[i / 2].bytes), i % 2, v[i / 2].hang_up);
		assert_int_equal(t->error, 0);
		assert_int_equal(t->ends, 1);
		assert_int_equal(t->status, v[i / 2].status);
		assert_int_equal(t->length, v[i / 2].length);
		assert_string_equal(buf_cstr(&t->got), v[i / 2].body);
		assert_int_equal(t->reusable, v[i / 2].reusable);
		assert_int_equal(t->fd >= 0, v[i / 2].reusable);
	}
}

static void cut_and_wrong_answers_are_errors(void **state)
{
	static const struct {
		const char *bytes;
		int error;
	} v[] = {
		{ "", ECONNRESET },
		{ "HTTP/1.1 200 OK\r\nConte", ECONNRESET },
		{ "HTTP/1.1 100 Continue\r\n\r\n", ECONNRESET },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", ECONNRESET },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", ECONNRESET },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n", ECONNRESET },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", EBADMSG },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc", EBADMSG },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", EBADMSG },
		{ "SSH-2.0-OpenSSH_9.2\r\n\r\n", EBADMSG },
		{ "HTTP/1.1 200 OK\nContent-Length: 0\n\n", EBADMSG },
	};
	struct caller *t = *state;

	for (size_t i = 0; i < 2 * ARRAY_LEN(v); i++) {
		call_begin(t, false, false);
		peer_says(t, str_of(v[i / 2].bytes), i % 2, true);
		assert_int_equal(t->ends, 0);
		assert_int_equal(t->error, v[i / 2].error);
	}
}

static void surplus_bytes_spoil_the_connection(void **state)
{
	struct caller *t = *state;

	t->done_in_end = true;
	call_begin(t, false, false);
	peer_says(t, STR_LIT("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc"), false, false);
	assert_int_equal(t->ends, 1);
	assert_false(t->reusable);
}

static void head_answers_have_no_body(void **state)
{
	struct caller *t = *state;

	t->done_in_end = true;
	call_begin(t, true, false);
	peer_says(t, STR_LIT("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"), false, false);
	assert_int_equal(t->ends, 1);
	assert_int_equal(t->length, 3);
	assert_true(t->reusable);
}

static void upgrades_hand_over_the_connection(void **state)
{
	struct caller *t = *state;
	autobuf struct buf early = BUF_INIT(100);
	char z[4];

	call_begin(t, false, true);
	peer_says(t, STR_LIT("HTTP/1.1 200 OK\r\n\r\nearly"), false, false);
	assert_int_equal(t->ends, 0);
	assert_true(t->upgrade);
	struct stream *s = http_call_take(take_ptr(&t->c), &early);
	assert_non_null(s);
	assert_true(str_is(buf_view(&early), "early"));
	wire_send(t->peer, STR_LIT("x"));
	assert_int_equal(read(stream_fd(s), z, sizeof z), 1);
	stream_close(s);
	call_begin(t, false, false);
	peer_says(t, STR_LIT("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"),
	    false, false);
	assert_true(t->upgrade);
	call_begin(t, false, true);
	t->done_in_end = true;
	peer_says(t, STR_LIT("HTTP/1.1 502 Bad Gateway\r\nContent-Length: 2\r\n\r\nno"), false, false);
	assert_false(t->upgrade);
	assert_int_equal(t->ends, 1);
}

static void a_paused_answer_waits(void **state)
{
	struct caller *t = *state;

	call_begin(t, false, false);
	http_call_read(t->c, false);
	peer_says(t, STR_LIT("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"), false, false);
	assert_int_equal(t->answers, 0);
	http_call_read(t->c, true);
	assert_int_equal(t->answers, 0);
	wire_turns(t->l, 3);
	assert_int_equal(t->ends, 1);
	assert_string_equal(buf_cstr(&t->got), "abc");
}

static void an_early_answer_is_heard_through_a_broken_upload(void **state)
{
	static char block[1 << 20];
	struct caller *t = *state;

	call_begin(t, false, false);
	http_call_write(t->c, (struct str) { block, sizeof block });
	assert_true(http_call_queued(t->c) > 0);
	wire_send(t->peer, STR_LIT("HTTP/1.1 507 Insufficient Storage\r\nContent-Length: 4\r\n\r\nfull"));
	fd_close(take_fd(&t->peer));
	wire_turns(t->l, 5);
	assert_int_equal(t->error, 0);
	assert_int_equal(t->ends, 1);
	assert_int_equal(t->status, 507);
	assert_string_equal(buf_cstr(&t->got), "full");
}

/* The error is reported in a later turn, when the call is gone. */
static void a_connection_that_has_failed_is_not_kept(void **state)
{
	struct caller *t = *state;

	call_begin(t, false, false);
	peer_says(t, STR_LIT("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), false, false);
	assert_int_equal(t->ends, 1);
	http_call_read(t->c, false);
	assert_int_equal(shutdown(t->peer, SHUT_RD), 0);
	http_call_write(t->c, STR_LIT("the rest"));
	assert_null(http_call_keep(take_ptr(&t->c)));
	wire_turns(t->l, 5);
	assert_int_equal(t->error, 0);
}

static void a_kept_connection_may_fail_without_an_owner(void **state)
{
	struct caller *t = *state;

	call_begin(t, false, false);
	peer_says(t, STR_LIT("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"), false, false);
	struct stream *s = http_call_keep(take_ptr(&t->c));

	assert_non_null(s);
	assert_int_equal(shutdown(t->peer, SHUT_RD), 0);
	stream_write(s, STR_LIT("nobody owns it"));
	wire_turns(t->l, 5);
	assert_false(stream_is_quiet(s));
	stream_close(s);
}

static void a_call_may_be_freed_anywhere(void **state)
{
	struct caller *t = *state;

	t->free_in_answer = true;
	call_begin(t, false, false);
	peer_says(t, STR_LIT("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"), false, false);
	assert_int_equal(t->got.n, 0);
	t->free_in_answer = false;
	t->free_in_data = true;
	call_begin(t, false, false);
	peer_says(t, STR_LIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n"),
	    false, false);
	assert_string_equal(buf_cstr(&t->got), "ab"); /* small ones come together */
	assert_int_equal(t->ends, 0);
	t->free_in_data = false;
	t->done_in_end = true;
	call_begin(t, false, false);
	peer_says(t, STR_LIT(""), false, true);
	assert_int_equal(t->error, ECONNRESET);
	assert_int_equal(t->fd, -1);
}

/* F2: each piece costs the owner a system call at least, and the peer decides how small they are. */
static void small_chunks_come_together(void **state)
{
	struct caller *t = *state;
	autobuf struct buf answer = BUF_INIT(1 << 20), want = BUF_INIT(1 << 20);

	buf_z(&answer, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
	for (int i = 0; i < 1000; i++) {
		buf_fmt(&answer, "3\r\n%03d\r\n", i);
		buf_fmt(&want, "%03d", i);
	}
	buf_fmt(&answer, "1770\r\n%06000d\r\n2\r\nzz\r\n0\r\n\r\n", 7); /* a large one among them */
	buf_fmt(&want, "%06000dzz", 7);
	call_begin(t, false, false);
	peer_says(t, buf_view(&answer), false, false);
	assert_string_equal(buf_cstr(&t->got), buf_cstr(&want));
	assert_int_equal(t->ends, 1);
	assert_in_range(t->datas, 1, 5);
}

/* What came before an error is told first. */
static void chunks_before_a_bad_one_are_told(void **state)
{
	struct caller *t = *state;

	call_begin(t, false, false);
	peer_says(t, STR_LIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\nzz\r\n"), false,
	    false);
	assert_string_equal(buf_cstr(&t->got), "ab");
	assert_int_equal(t->error, EBADMSG);
	assert_int_equal(t->ends, 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(answers_are_read_whole),
		CASE(cut_and_wrong_answers_are_errors),
		CASE(surplus_bytes_spoil_the_connection),
		CASE(head_answers_have_no_body),
		CASE(upgrades_hand_over_the_connection),
		CASE(a_paused_answer_waits),
		CASE(an_early_answer_is_heard_through_a_broken_upload),
		CASE(a_connection_that_has_failed_is_not_kept),
		CASE(a_kept_connection_may_fail_without_an_owner),
		CASE(a_call_may_be_freed_anywhere),
		CASE(small_chunks_come_together),
		CASE(chunks_before_a_bad_one_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

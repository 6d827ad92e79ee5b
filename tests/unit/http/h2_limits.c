/* SPDX-License-Identifier: Apache-2.0 */
/* Units of http/h2: requests that are refused, and what ends the connection. */
#include <string.h>

#include "h2_site.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(ambiguous_heads_are_refused),
		CASE(heads_have_a_size),
		CASE(more_requests_than_allowed_are_turned_away),
		CASE(rapid_resets_end_the_connection),
		CASE(resets_of_old_requests_are_cheap),
		CASE(floods_of_frames_end_the_connection),
		CASE(a_head_without_an_end_ends_the_connection),
		CASE(stalled_readers_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

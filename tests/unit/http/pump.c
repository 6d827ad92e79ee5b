/* SPDX-License-Identifier: Apache-2.0 */
/* Units of http/pump: what passes both ways, a second try, one of the two leaves, upgrades. */
#include "pump_owner.h"

static void a_request_goes_up_and_its_answer_down(void **state)
{
	struct owner *t = *state;

	client_says(t, "POST /x?y HTTP/1.1\r\nHost: c\r\nContent-Length: 5\r\n\r\nhel");
	assert_string_equal(buf_cstr(&t->asked), "POST /x?y HTTP/1.1\r\nHost: up\r\nContent-Length: 5\r\n\r\nhel");
	client_says(t, "lo");
	assert_true(ends_with(&t->asked, "hello"));
	up_says(t, OK(3) "o");
	assert_true(has(&t->got, "HTTP/1.1 200 OK\r\n") && has(&t->got, "X-Passed: 200\r\n"));
	assert_true(has(&t->got, "Content-Length: 3\r\n") && ends_with(&t->got, "\r\n\r\no"));
	up_says(t, "ki");
	assert_true(ends_with(&t->got, "oki"));
	assert_string_equal(buf_cstr(&t->events), "body answer-200/3 done second end over");
	assert_int_equal(t->pump.up, 5);
	assert_int_equal(t->pump.down, 3);
	assert_int_equal(t->seen_body, 5);
	assert_int_equal(t->seen_answer, 3);
	assert_true(t->kept >= 0); /* for the next request */
}

static void chunks_are_made_anew_both_ways(void **state)
{
	struct owner *t = *state;

	client_says(t, "POST /x HTTP/1.1\r\nHost: c\r\nTransfer-Encoding: chunked\r\n\r\n3;ext=1\r\nabc\r\n");
	assert_true(ends_with(&t->asked, "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"));
	client_says(t, "2\r\nde\r\n0\r\n\r\n");
	assert_true(ends_with(&t->asked, "2\r\nde\r\n0\r\n\r\n"));
	up_says(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nwxyz\r\n");
	assert_true(has(&t->got, "ransfer-Encoding: chunked\r\n") && ends_with(&t->got, "\r\n\r\n4\r\nwxyz\r\n"));
	up_says(t, "0\r\n\r\n");
	assert_true(ends_with(&t->got, "0\r\n\r\n"));
	assert_string_equal(buf_cstr(&t->events), "body answer-200/-1 done second end over");
	assert_true(t->kept >= 0);
}

static void trailers_do_not_pass(void **state)
{
	struct owner *t = *state;

	client_says(t,
	    "POST /x HTTP/1.1\r\nHost: c\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Up: 1\r\n\r\n");
	assert_true(ends_with(&t->asked, "1\r\na\r\n0\r\n\r\n"));
	up_says(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nb\r\n0\r\nX-Down: 1\r\n\r\n");
	assert_true(ends_with(&t->got, "1\r\nb\r\n0\r\n\r\n"));
	assert_false(has(&t->asked, "X-Up") || has(&t->got, "X-Down"));
}

static void a_body_is_asked_for_when_there_is_an_upstream(void **state)
{
	struct owner *t = *state;

	t->patient = true;
	client_says(t, "PUT /x HTTP/1.1\r\nHost: c\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
	assert_int_equal(t->got.n, 0);
	send_up(t, false);
	settle(t);
	assert_string_equal(buf_cstr(&t->got), "HTTP/1.1 100 Continue\r\n\r\n");
	assert_false(has(&t->asked, "xpect"));
	client_says(t, "hi");
	assert_true(ends_with(&t->asked, "\r\n\r\nhi"));
	up_says(t, "HTTP/1.1 100 Continue\r\n\r\n" OK(0)); /* one of the upstream's own stays here */
	assert_true(has(&t->got, "200 OK"));
	assert_string_equal(buf_cstr(&t->events), "body answer-200/0 done second end over");
}

static void a_body_that_came_early_waits(void **state)
{
	struct owner *t = *state;

	t->patient = true;
	client_says(t, "POST /x HTTP/1.1\r\nHost: c\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n");
	assert_string_equal(buf_cstr(&t->events), "");
	send_up(t, false);
	settle(t);
	assert_true(ends_with(&t->asked, "\r\n\r\n2\r\nhi\r\n0\r\n\r\n"));
}

/* --- a second try --- */

static void a_dead_idle_connection_is_tried_again_once(void **state)
{
	struct owner *t = *state;

	t->idle = true;
	client_says(t, GET);
	assert_true(has(&t->asked, "GET /x"));
	up_leaves(t);
	assert_string_equal(buf_cstr(&t->events), "body again ");
	assert_string_equal(buf_cstr(&t->asked), "GET /x HTTP/1.1\r\nHost: up\r\nContent-Length: 0\r\n\r\n");
	up_leaves(t); /* that one was new */
	assert_string_equal(buf_cstr(&t->events), "body again broke second lost-broken over");
	assert_true(has(&t->got, "HTTP/1.1 502 "));
}

static void the_second_try_is_answered_like_the_first(void **state)
{
	struct owner *t = *state;

	t->idle = true;
	client_says(t, "POST /x HTTP/1.1\r\nHost: c\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
	up_leaves(t);
	assert_true(ends_with(&t->asked, "chunked\r\n\r\n0\r\n\r\n")); /* the end of the body goes up again */
	up_says(t, OK(2) "ok");
	assert_true(ends_with(&t->got, "ok"));
	assert_string_equal(buf_cstr(&t->events), "body again answer-200/2 done second end over");
}

static void a_new_connection_that_dies_is_not_tried_again(void **state)
{
	struct owner *t = *state;

	client_says(t, GET);
	up_leaves(t);
	assert_string_equal(buf_cstr(&t->events), "body broke second lost-broken over");
}

static void nothing_is_tried_again_after_the_first_byte(void **state)
{
	struct owner *t = *state;

	t->idle = true;
	client_says(t, GET);
	up_says(t, "H");
	up_leaves(t);
	assert_string_equal(buf_cstr(&t->events), "body broke second lost-broken over");
	assert_true(has(&t->got, "HTTP/1.1 502 "));
}

static void nor_after_an_interim_answer(void **state)
{
	struct owner *t = *state;

	t->idle = true;
	client_says(t, GET);
	up_says(t, "HTTP/1.1 102 Processing\r\n\r\n");
	up_leaves(t);
	assert_string_equal(buf_cstr(&t->events), "body broke second lost-broken over");
}

static void a_body_that_was_partly_sent_is_not_sent_again(void **state)
{
	struct owner *t = *state;

	t->idle = true;
	client_says(t, "POST /x HTTP/1.1\r\nHost: c\r\nContent-Length: 5\r\n\r\nh");
	assert_true(ends_with(&t->asked, "\r\n\r\nh"));
	up_leaves(t);
	assert_true(has(&t->got, "HTTP/1.1 502 "));
	assert_false(has(&t->events, "again"));
	client_says(t, "ello"); /* the rest is read and dropped */
	assert_string_equal(buf_cstr(&t->events), "broke second lost-broken over");
}

static void who_has_no_second_connection_gives_up(void **state)
{
	struct owner *t = *state;

	t->idle = t->no_second = true;
	client_says(t, GET);
	up_leaves(t);
	assert_string_equal(buf_cstr(&t->events), "body again broke second lost-broken over");
}

/* --- one of the two leaves --- */

static void a_client_that_leaves_takes_the_connection_along(void **state)
{
	struct owner *t = *state;

	client_says(t, GET);
	up_says(t, OK(9) "some");
	fd_close(take_fd(&t->client));
	wire_turns(t->l, 6);
	assert_true(wire_recv(t->up, &t->asked)); /* the upstream sees it */
	assert_string_equal(buf_cstr(&t->events), "body answer-200/9 left second gone");
}

static void a_client_that_leaves_before_it_is_connected(void **state)
{
	struct owner *t = *state;

	t->patient = true;
	client_says(t, GET);
	fd_close(take_fd(&t->client));
	wire_turns(t->l, 6);
	assert_string_equal(buf_cstr(&t->events), "body left second gone");
}

static void an_upstream_that_leaves_mid_answer_cuts_the_client_off(void **state)
{
	struct owner *t = *state;

	client_says(t, GET);
	up_says(t, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n");
	assert_true(ends_with(&t->got, "4\r\nhalf\r\n"));
	up_leaves(t);
	assert_true(wire_recv(t->client, &t->got));       /* closed, */
	assert_true(ends_with(&t->got, "4\r\nhalf\r\n")); /* ... and not ended */
	assert_string_equal(buf_cstr(&t->events), "body answer-200/-1 broke second lost-broken-cut gone");
}

static void an_owner_can_lose_the_upstream(void **state)
{
	struct owner *t = *state;

	client_says(t, GET);
	pump_reset(&t->pump);
	pump_lose(&t->pump, EHOSTDOWN);
	settle(t);
	assert_true(wire_recv(t->up, &t->asked));
	assert_string_equal(buf_cstr(&t->events), "body broke second lost-broken over");
	assert_true(has(&t->got, "HTTP/1.1 502 "));
}

static void an_answer_may_come_before_the_body_has_ended(void **state)
{
	struct owner *t = *state;

	client_says(t, "POST /x HTTP/1.1\r\nHost: c\r\nContent-Length: 4\r\n\r\nab");
	up_says(t, "HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n");
	assert_true(has(&t->got, "HTTP/1.1 413 "));
	assert_int_equal(t->kept, -1); /* a request is half sent on it */
	assert_true(wire_recv(t->up, &t->asked));
	client_says(t, "cd");
	assert_true(ends_with(&t->asked, "\r\n\r\nab"));
	assert_string_equal(buf_cstr(&t->events), "answer-413/0 done second end over");
}

static void nonsense_is_not_passed_on(void **state)
{
	struct owner *t = *state;

	t->bad_answer = true;
	client_says(t, GET);
	up_says(t, OK(0));
	assert_string_equal(buf_cstr(&t->events), "body answer-200/0 broke second lost-proto over");
	assert_true(has(&t->got, "HTTP/1.1 502 "));
}

static void a_connection_that_is_not_kept_is_not_given_back(void **state)
{
	struct owner *t = *state;

	client_says(t, GET);
	up_says(t, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
	assert_string_equal(buf_cstr(&t->events), "body answer-200/2 done second end over");
	assert_int_equal(t->kept, -1);
}

/* --- upgrades --- */

#define UPGRADE "GET /x HTTP/1.1\r\nHost: c\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
#define SWITCH "HTTP/1.1 101 Yes\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"

static void an_upgrade_hands_over_both_streams(void **state)
{
	struct owner *t = *state;

	client_says(t, UPGRADE "early");
	up_says(t, SWITCH "bird");
	assert_string_equal(buf_cstr(&t->got), "HTTP/1.1 101 Yes\r\n\r\n");
	assert_string_equal(buf_cstr(&t->early[0]), "early");
	assert_string_equal(buf_cstr(&t->early[1]), "bird");
	assert_string_equal(buf_cstr(&t->events), "body upgrade done second over");
	stream_write(t->tunnel[1], STR_LIT("up"));
	settle(t);
	assert_true(ends_with(&t->asked, "up"));
}

static void an_upgrade_that_was_not_asked_for_is_refused(void **state)
{
	struct owner *t = *state;

	client_says(t, GET);
	up_says(t, SWITCH);
	assert_string_equal(buf_cstr(&t->events), "body broke second lost-proto over");
}

static void an_upgrade_that_the_owner_does_not_do_is_refused(void **state)
{
	struct owner *t = *state;

	t->ops.on_upgrade = NULL;
	client_says(t, UPGRADE);
	up_says(t, SWITCH);
	assert_string_equal(buf_cstr(&t->events), "body broke second lost-proto over");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_request_goes_up_and_its_answer_down),
		TEST(chunks_are_made_anew_both_ways),
		TEST(trailers_do_not_pass),
		TEST(a_body_is_asked_for_when_there_is_an_upstream),
		TEST(a_body_that_came_early_waits),
		TEST(a_dead_idle_connection_is_tried_again_once),
		TEST(the_second_try_is_answered_like_the_first),
		TEST(a_new_connection_that_dies_is_not_tried_again),
		TEST(nothing_is_tried_again_after_the_first_byte),
		TEST(nor_after_an_interim_answer),
		TEST(a_body_that_was_partly_sent_is_not_sent_again),
		TEST(who_has_no_second_connection_gives_up),
		TEST(a_client_that_leaves_takes_the_connection_along),
		TEST(a_client_that_leaves_before_it_is_connected),
		TEST(an_upstream_that_leaves_mid_answer_cuts_the_client_off),
		TEST(an_owner_can_lose_the_upstream),
		TEST(an_answer_may_come_before_the_body_has_ended),
		TEST(nonsense_is_not_passed_on),
		TEST(a_connection_that_is_not_kept_is_not_given_back),
		TEST(an_upgrade_hands_over_both_streams),
		TEST(an_upgrade_that_was_not_asked_for_is_refused),
		TEST(an_upgrade_that_the_owner_does_not_do_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

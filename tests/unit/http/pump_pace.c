/* SPDX-License-Identifier: Apache-2.0 */
/* Units of http/pump: a slow end slows the other one, whether bytes are read or moved. */
#include "pump_owner.h"

/* Sends while it can, and lets the loop run; how much went. */
static size_t push(struct owner *t, int fd, size_t n)
{
	static char some[32768];
	size_t sent = 0;

	for (int full = 0; full < 20 && sent < n;) {
		size_t now = n - sent < sizeof some ? n - sent : sizeof some;
		ssize_t r = send(fd, some, now, MSG_NOSIGNAL);

		sent += r > 0 ? (size_t)r : 0;
		full = r > 0 ? 0 : full + 1;
		wire_turn(t->l);
	}
	return sent;
}

static void read_on(struct owner *t, int fd, struct buf *to, int from, size_t left, size_t want)
{
	for (int i = 0; i < 100000 && to->n < want; i++) {
		(void)wire_recv(fd, to);
		left -= push(t, from, left < 32768 ? left : 32768);
	}
	assert_int_equal(left, 0);
	settle(t);
}

static void check_slow_client(struct owner *t)
{
	autobuf struct buf head = BUF_INIT(200);

	client_says(t, GET);
	buf_fmt(&head, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", MANY);
	wire_send(t->up, buf_view(&head));
	size_t went = push(t, t->up, MANY);

	assert_in_range(went, 1, MANY / 4); /* the queue of the client, and what the kernel holds */
	read_on(t, t->client, &t->got, t->up, MANY - went, MANY);
	assert_int_equal(t->pump.down, MANY);
	assert_true(has(&t->events, "done second end over"));
}

static void a_slow_client_slows_the_upstream(void **state)
{
	struct owner *t = *state;

	check_slow_client(t);
	assert_int_equal(t->seen_answer, MANY);
}

static void also_where_the_answer_is_moved(void **state)
{
	struct owner *t = *state;

	t->ops.splice = true;
	check_slow_client(t);
	assert_in_range(t->seen_answer, 1, MANY / 2); /* most of it went past */
}

static void but_an_observer_that_reads_sees_all_of_it(void **state)
{
	struct owner *t = *state;

	t->ops.splice = t->reads = true;
	check_slow_client(t);
	assert_int_equal(t->seen_answer, MANY);
}

static void check_slow_upstream(struct owner *t)
{
	autobuf struct buf head = BUF_INIT(200);

	buf_fmt(&head, "POST /x HTTP/1.1\r\nHost: c\r\nContent-Length: %d\r\n\r\n", MANY);
	wire_send(t->client, buf_view(&head));
	size_t went = push(t, t->client, MANY);

	assert_in_range(went, 1, MANY / 4);
	read_on(t, t->up, &t->asked, t->client, MANY - went, MANY);
	assert_int_equal(t->pump.up, MANY);
	assert_int_equal(t->seen_body + t->moved_body, MANY);
	up_says(t, OK(0));
	assert_string_equal(buf_cstr(&t->events), "body answer-200/0 done second end over");
}

static void a_slow_upstream_slows_the_client(void **state)
{
	struct owner *t = *state;

	check_slow_upstream(t);
	assert_int_equal(t->moved_body, 0);
}

static void also_where_the_body_is_moved(void **state)
{
	struct owner *t = *state;

	t->ops.splice = true;
	check_slow_upstream(t);
	assert_in_range(t->moved_body, MANY / 2, MANY);
}

static void but_one_that_reads_the_body_sees_all_of_it(void **state)
{
	struct owner *t = *state;

	t->ops.splice = t->reads = true;
	check_slow_upstream(t);
	assert_int_equal(t->moved_body, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_slow_client_slows_the_upstream),
		TEST(also_where_the_answer_is_moved),
		TEST(but_an_observer_that_reads_sees_all_of_it),
		TEST(a_slow_upstream_slows_the_client),
		TEST(also_where_the_body_is_moved),
		TEST(but_one_that_reads_the_body_sees_all_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

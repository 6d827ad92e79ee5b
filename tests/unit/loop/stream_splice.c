/* SPDX-License-Identifier: Apache-2.0 */
/* Units of loop/stream: bytes that are moved from one stream to another. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../http/wire.h"
#include "loop/carrier.h"
#include "loop/stream.h"
#include "unit.h"

struct side {
	struct stream *s;
	int peer;
	struct buf got; /* by on_data */
	size_t moved;
	int moves, eofs, error;
	struct side *close_in_moved;
};

struct pair {
	struct loop *l;
	struct side from, to;
	struct buf out; /* what the peer of `to` has read */
};

static void on_data(void *user, struct str data)
{
	buf_str(&((struct side *)user)->got, data);
}

static void on_moved(void *user, size_t n)
{
	struct side *d = user;

	d->moved += n;
	d->moves++;
	if (d->close_in_moved)
		stream_close(take_ptr(&d->close_in_moved->s));
}

static void on_eof(void *user)
{
	((struct side *)user)->eofs++;
}

static void on_error(void *user, int no)
{
	((struct side *)user)->error = no;
}

static const struct stream_ops ops = { .on_data = on_data,
	.on_eof = on_eof,
	.on_error = on_error,
	.on_moved = on_moved };

static void side_open(struct pair *p, struct side *d)
{
	int sv[2];

	wire_pair(sv);
	d->s = stream_new(p->l, sv[0], &ops, d);
	d->peer = sv[1];
	d->got = BUF_INIT(64 << 20);
}

static int set_up(void **state)
{
	struct pair *p = calloc(1, sizeof *p);

	p->l = loop_new();
	side_open(p, &p->from);
	side_open(p, &p->to);
	p->out = BUF_INIT(64 << 20);
	stream_read(p->from.s, true);
	stream_read(p->to.s, true);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct pair *p = *state;

	stream_close(p->from.s);
	stream_close(p->to.s);
	fd_close(p->from.peer);
	fd_close(p->to.peer);
	wire_turns(p->l, 3);
	loop_free(p->l);
	buf_done(&p->from.got);
	buf_done(&p->to.got);
	buf_done(&p->out);
	free(p);
	return 0;
}

/* As many numbers as the socket takes. */
static uint32_t fill(int fd, uint32_t next, uint32_t end)
{
	static uint32_t v[1024];

	while (next < end) {
		uint32_t n = end - next < 1024 ? end - next : 1024;

		for (uint32_t i = 0; i < n; i++)
			v[i] = next + i;
		ssize_t sent = send(fd, v, n * sizeof *v, MSG_NOSIGNAL);
		if (sent < 0)
			break;
		assert_int_equal(sent % (ssize_t)sizeof *v, 0);
		next += (uint32_t)((size_t)sent / sizeof *v);
	}
	return next;
}

static void as_many_as_told_go_and_the_rest_is_read(void **state)
{
	struct pair *p = *state;

	assert_true(stream_splice(p->from.s, p->to.s, 6));
	wire_send(p->from.peer, STR_LIT("0123"));
	wire_turns(p->l, 2);
	wire_send(p->from.peer, STR_LIT("456789"));
	wire_turns(p->l, 3);
	(void)wire_recv(p->to.peer, &p->out);
	assert_true(str_is(buf_view(&p->out), "012345"));
	assert_int_equal(p->from.moved, 6);
	assert_true(str_is(buf_view(&p->from.got), "6789"));
	assert_int_equal(shutdown(p->from.peer, SHUT_WR), 0);
	wire_turns(p->l, 3);
	assert_int_equal(p->from.eofs, 1);
}

static void none_go_any_more_when_told_so(void **state)
{
	struct pair *p = *state;

	assert_true(stream_splice(p->from.s, p->to.s, UINT64_MAX));
	wire_send(p->from.peer, STR_LIT("0123"));
	wire_turns(p->l, 2);
	assert_true(stream_splice(p->from.s, p->to.s, 0));
	wire_send(p->from.peer, STR_LIT("4567"));
	wire_turns(p->l, 3);
	(void)wire_recv(p->to.peer, &p->out);
	assert_true(str_is(buf_view(&p->out), "0123"));
	assert_true(str_is(buf_view(&p->from.got), "4567"));
}

static void an_end_comes_before_its_time(void **state)
{
	struct pair *p = *state;

	assert_true(stream_splice(p->from.s, p->to.s, 1000));
	wire_send(p->from.peer, STR_LIT("0123"));
	assert_int_equal(shutdown(p->from.peer, SHUT_WR), 0);
	wire_turns(p->l, 4);
	assert_int_equal(p->from.moved, 4);
	assert_int_equal(p->from.eofs, 1);
}

static void a_slow_reader_gets_all_and_slows_the_writer(void **state)
{
	struct pair *p = *state;
	const uint32_t n = 2 << 20;
	uint32_t next = 0, held_most = 0;

	assert_true(stream_splice(p->from.s, p->to.s, n * sizeof n));
	for (int i = 0; i < 10; i++) {
		next = fill(p->from.peer, next, n);
		wire_turns(p->l, 3);
	}
	/* two sockets and a pipe hold that much, and no more is taken */
	assert_true(next * sizeof next < 4 << 20);
	while (p->out.n < n * sizeof n) {
		next = fill(p->from.peer, next, n);
		wire_turns(p->l, 2);
		held_most = stream_queued(p->to.s) > held_most ? (uint32_t)stream_queued(p->to.s) : held_most;
		assert_false(wire_recv(p->to.peer, &p->out));
	}
	assert_true(held_most > 0 && held_most <= CARRIER_MAX);
	assert_int_equal(p->from.moved, n * sizeof n);
	assert_int_equal(p->from.got.n, 0);
	for (uint32_t i = 0; i < n; i++)
		assert_memory_equal(p->out.p + i * sizeof i, &i, sizeof i);
}

static void all_goes_in_the_order_it_was_given(void **state)
{
	struct pair *p = *state;
	static char block[1 << 20];
	const uint32_t n = 128 << 10;
	uint32_t next = 0;

	stream_write(p->to.s, (struct str) { block, sizeof block });
	assert_true(stream_queued(p->to.s) > 0);
	assert_true(stream_splice(p->from.s, p->to.s, n * sizeof n));
	while (p->from.moved < n * sizeof n) {
		next = fill(p->from.peer, next, n);
		wire_turns(p->l, 3);
		if (p->from.moved < n * sizeof n)
			(void)wire_recv(p->to.peer, &p->out);
	}
	stream_write(p->to.s, STR_LIT("behind"));
	stream_close_flushed(take_ptr(&p->to.s)); /* what was moved but not sent is sent, too */
	for (int i = 0; i < 1000 && !wire_recv(p->to.peer, &p->out); i++)
		wire_turn(p->l);
	assert_int_equal(p->out.n, sizeof block + n * sizeof n + 6);
	for (uint32_t i = 0; i < n; i++)
		assert_memory_equal(p->out.p + sizeof block + i * sizeof i, &i, sizeof i);
	assert_memory_equal(p->out.p + p->out.n - 6, "behind", 6);
}

static void without_its_target_a_stream_is_read(void **state)
{
	struct pair *p = *state;
	static char block[1 << 20];

	stream_write(p->to.s, (struct str) { block, sizeof block });
	assert_true(stream_splice(p->from.s, p->to.s, 1000));
	wire_send(p->from.peer, STR_LIT("waits"));
	wire_turns(p->l, 3);
	assert_int_equal(p->from.moved, 0);
	assert_int_equal(p->from.got.n, 0);
	stream_close(take_ptr(&p->to.s));
	wire_turns(p->l, 3);
	assert_true(str_is(buf_view(&p->from.got), "waits"));
}

static void a_target_that_breaks_says_so(void **state)
{
	struct pair *p = *state;

	fd_close(take_fd(&p->to.peer));
	stream_read(p->to.s, false);
	assert_true(stream_splice(p->from.s, p->to.s, 1000));
	wire_send(p->from.peer, STR_LIT("lost"));
	wire_turns(p->l, 3);
	assert_int_equal(p->to.error, EPIPE);
	wire_send(p->from.peer, STR_LIT("read"));
	wire_turns(p->l, 3);
	assert_true(str_is(buf_view(&p->from.got), "read"));
	assert_false(stream_splice(p->from.s, p->to.s, 1000));
}

static void its_reader_may_close_it_when_told(void **state)
{
	struct pair *p = *state;

	p->from.close_in_moved = &p->from;
	assert_true(stream_splice(p->from.s, p->to.s, 1000));
	wire_send(p->from.peer, STR_LIT("once"));
	wire_turns(p->l, 3);
	assert_null(p->from.s);
	assert_int_equal(p->from.moves, 1);
	stream_write(p->to.s, STR_LIT(" more"));
	(void)wire_recv(p->to.peer, &p->out);
	assert_true(str_is(buf_view(&p->out), "once more"));
}

static void its_target_may_be_closed_when_told(void **state)
{
	struct pair *p = *state;

	p->from.close_in_moved = &p->to;
	assert_true(stream_splice(p->from.s, p->to.s, 1000));
	wire_send(p->from.peer, STR_LIT("moved"));
	wire_turns(p->l, 3);
	wire_send(p->from.peer, STR_LIT("read"));
	wire_turns(p->l, 3);
	assert_int_equal(p->from.moved, 5);
	assert_true(str_is(buf_view(&p->from.got), "read"));
}

static void a_paused_stream_moves_nothing(void **state)
{
	struct pair *p = *state;

	assert_true(stream_splice(p->from.s, p->to.s, 1000));
	stream_read(p->from.s, false);
	wire_send(p->from.peer, STR_LIT("later"));
	wire_turns(p->l, 3);
	assert_int_equal(p->from.moved, 0);
	stream_read(p->from.s, true);
	wire_turns(p->l, 3);
	assert_int_equal(p->from.moved, 5);
}

static void without_a_pipe_bytes_are_read(void **state)
{
	struct pair *p = *state;

	carrier_limit(0);
	struct carrier spare[16];
	int feed[2];
	size_t n = 0;
	assert_int_equal(pipe2(feed, O_CLOEXEC | O_NONBLOCK), 0);
	for (ssize_t r = 1; n < 16 && r == 1; n += r == 1) { /* those that earlier cases have left */
		spare[n] = (struct carrier)CARRIER_EMPTY;
		assert_int_equal(write(feed[1], "x", 1), 1);
		r = carrier_load(&spare[n], feed[0], 1);
		assert_true(r == 1 || r == -EMFILE);
	}
	fd_close(feed[0]);
	fd_close(feed[1]);
	assert_true(stream_splice(p->from.s, p->to.s, 1000));
	wire_send(p->from.peer, STR_LIT("copied"));
	wire_turns(p->l, 3);
	assert_int_equal(p->from.moved, 0);
	assert_true(str_is(buf_view(&p->from.got), "copied"));
	while (n > 0)
		carrier_drop(&spare[--n]);
	carrier_limit(1);
	assert_true(stream_splice(p->from.s, p->to.s, 1000));
	wire_send(p->from.peer, STR_LIT("moved"));
	wire_turns(p->l, 3);
	assert_int_equal(p->from.moved, 5);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(as_many_as_told_go_and_the_rest_is_read), CASE(none_go_any_more_when_told_so),
		CASE(none_go_any_more_when_told_so), CASE(an_end_comes_before_its_time),
		CASE(a_slow_reader_gets_all_and_slows_the_writer), CASE(all_goes_in_the_order_it_was_given),
		CASE(without_its_target_a_stream_is_read), CASE(a_target_that_breaks_says_so),
		CASE(its_reader_may_close_it_when_told), CASE(its_target_may_be_closed_when_told),
		CASE(a_paused_stream_moves_nothing), CASE(without_a_pipe_bytes_are_read), /* last: the limit stays */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

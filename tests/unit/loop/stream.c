/* SPDX-License-Identifier: Apache-2.0 */
/* Units of loop/stream: order, back-pressure, ends and errors. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../http/wire.h"
#include "loop/stream.h"
#include "unit.h"

struct end {
	struct loop *l;
	struct stream *s;
	int peer;
	struct buf got;
	int datas, eofs, drains, error, readies;
	bool close_in_data;
};

static void on_data(void *user, struct str data)
{
	struct end *e = user;

	e->datas++;
	buf_str(&e->got, data);
	if (e->close_in_data)
		stream_close(take_ptr(&e->s));
}

static void on_eof(void *user)
{
	((struct end *)user)->eofs++;
}

static void on_drain(void *user)
{
	((struct end *)user)->drains++;
}

static void on_error(void *user, int no)
{
	((struct end *)user)->error = no;
}

static void on_ready(void *user)
{
	((struct end *)user)->readies++;
}

static const struct stream_ops ops = {
	.on_data = on_data,
	.on_eof = on_eof,
	.on_drain = on_drain,
	.on_error = on_error,
	.on_ready = on_ready,
};

static int set_up(void **state)
{
	struct end *e = calloc(1, sizeof *e);
	int sv[2];

	wire_pair(sv);
	e->l = loop_new();
	e->s = stream_new(e->l, sv[0], &ops, e);
	e->peer = sv[1];
	e->got = BUF_INIT(64 << 20);
	*state = e;
	return 0;
}

static int tear_down(void **state)
{
	struct end *e = *state;

	stream_close(e->s);
	fd_close(e->peer);
	wire_turns(e->l, 3);
	loop_free(e->l);
	buf_done(&e->got);
	free(e);
	return 0;
}

static void reading_starts_off_and_can_pause(void **state)
{
	struct end *e = *state;

	wire_send(e->peer, STR_LIT("one"));
	wire_turns(e->l, 2);
	assert_int_equal(e->datas, 0);
	stream_read(e->s, true);
	wire_turns(e->l, 2);
	assert_true(str_is(buf_view(&e->got), "one"));
	stream_read(e->s, false);
	wire_send(e->peer, STR_LIT("two"));
	wire_turns(e->l, 3);
	assert_int_equal(e->datas, 1);
	stream_read(e->s, true);
	wire_turns(e->l, 2);
	assert_true(str_is(buf_view(&e->got), "onetwo"));
	assert_int_equal(shutdown(e->peer, SHUT_WR), 0);
	wire_turns(e->l, 3);
	assert_int_equal(e->eofs, 1);
	stream_write(e->s, STR_LIT("still"));
	wire_turns(e->l, 2);
	buf_clear(&e->got);
	(void)wire_recv(e->peer, &e->got);
	assert_true(str_is(buf_view(&e->got), "still"));
}

static void all_bytes_arrive_in_order_behind_a_full_socket(void **state)
{
	struct end *e = *state;
	uint32_t n = 0;

	for (; n < 500000; n++)
		stream_writev(e->s, (struct str[]) { { (char *)&n, 1 }, { NULL, 0 }, { (char *)&n + 1, 3 } }, 3);
	assert_true(stream_queued(e->s) > STREAM_HIGH);
	assert_int_equal(e->drains, 0);
	stream_finish(e->s);
	for (int i = 0; i < 1000 && !wire_recv(e->peer, &e->got); i++)
		wire_turn(e->l);
	assert_int_equal(stream_queued(e->s), 0);
	assert_int_equal(e->drains, 1);
	assert_int_equal(e->got.n, 4 * n);
	for (uint32_t i = 0; i < n; i++)
		assert_memory_equal(e->got.p + 4 * i, &i, 4);
}

static void a_stream_may_be_closed_by_its_reader(void **state)
{
	struct end *e = *state;

	e->close_in_data = true;
	stream_read(e->s, true);
	stream_write(e->s, STR_LIT("x"));
	wire_send(e->peer, STR_LIT("one"));
	wire_turns(e->l, 2);
	assert_null(e->s);
	assert_true(wire_recv(e->peer, &e->got));
	assert_int_equal(e->datas, 1);
}

static void write_errors_come_later_and_once(void **state)
{
	struct end *e = *state;

	fd_close(take_fd(&e->peer));
	stream_write(e->s, STR_LIT("x"));
	stream_write(e->s, STR_LIT("y"));
	assert_int_equal(e->error, 0);
	wire_turns(e->l, 2);
	assert_int_equal(e->error, EPIPE);
	e->error = 0;
	stream_write(e->s, STR_LIT("z"));
	stream_read(e->s, true);
	wire_turns(e->l, 3);
	assert_int_equal(e->error, 0);
	assert_int_equal(e->eofs, 0);
}

static void what_the_peer_said_is_read_before_the_error(void **state)
{
	struct end *e = *state;

	wire_send(e->peer, STR_LIT("goodbye"));
	fd_close(take_fd(&e->peer));
	stream_read(e->s, true);
	stream_write(e->s, STR_LIT("x"));
	wire_turns(e->l, 4);
	assert_true(str_is(buf_view(&e->got), "goodbye"));
	assert_int_equal(e->error, EPIPE);
}

static void a_closed_stream_still_flushes_and_listens(void **state)
{
	struct end *e = *state;
	static char block[1 << 20];

	wire_send(e->peer, STR_LIT("unread"));
	stream_write(e->s, (struct str) { block, sizeof block });
	stream_close_flushed(take_ptr(&e->s));
	bool closed = false;
	for (int i = 0; i < 200 && !closed; i++) {
		wire_turn(e->l);
		closed = wire_recv(e->peer, &e->got);
	}
	assert_true(closed);
	assert_int_equal(e->got.n, sizeof block);
	assert_int_equal(e->datas + e->eofs + e->drains + e->error, 0);
	wire_send(e->peer, STR_LIT("still open")); /* until we close, too */
	fd_close(take_fd(&e->peer));
	wire_turns(e->l, 4);
}

/* Peers that never hang up must not use up the fds. */
static void those_on_their_way_out_are_limited(void **state)
{
	struct end *e = *state;
	static char block[1 << 20];
	int peers[4];
	char z[4];

	loop_leaving_max(e->l, 2);
	for (size_t i = 0; i < ARRAY_LEN(peers); i++) {
		int sv[2];

		wire_pair(sv);
		peers[i] = sv[1];
		struct stream *s = stream_new(e->l, sv[0], &ops, e);

		if (i == 0)
			stream_write(s, (struct str) { block, sizeof block });
		stream_close_flushed(s);
		wire_turns(e->l, 2);
	}
	/* The first still sends; of the others, who only wait, the last is left. */
	assert_true(send(peers[0], "x", 1, MSG_NOSIGNAL) == 1);
	assert_int_equal(send(peers[1], "x", 1, MSG_NOSIGNAL), -1);
	assert_int_equal(send(peers[2], "x", 1, MSG_NOSIGNAL), -1);
	assert_true(send(peers[3], "x", 1, MSG_NOSIGNAL) == 1);
	assert_int_equal(recv(peers[3], z, sizeof z, MSG_DONTWAIT), 0);
	for (size_t i = 0; i < ARRAY_LEN(peers); i++)
		fd_close(peers[i]);
	wire_turns(e->l, 4);
}

/* One whose peer sends nothing and does not hang up goes with its loop. */
static void none_is_left_when_the_loop_ends(void **state)
{
	struct end *e = *state;

	for (int waits = 0; waits < 2; waits++) {
		static char block[1 << 20];
		int sv[2];

		wire_pair(sv);
		struct loop *l = loop_new();
		struct stream *s = stream_new(l, sv[0], &ops, e);

		if (!waits)
			stream_write(s, (struct str) { block, sizeof block });
		stream_close_flushed(s);
		wire_turns(l, 2);
		assert_int_equal(send(sv[1], "x", 1, MSG_NOSIGNAL), 1);
		loop_free(l);
		assert_int_equal(send(sv[1], "x", 1, MSG_NOSIGNAL), -1);
		fd_close(sv[1]);
	}
}

static void a_pipe_is_finished_by_closing_it(void **state)
{
	struct end *e = *state;
	char z[4];
	int p[2];

	assert_int_equal(pipe(p), 0);
	struct stream *out = stream_new(e->l, p[1], &ops, e);
	stream_write(out, STR_LIT("x"));
	stream_finish(out);
	assert_int_equal(read(p[0], z, sizeof z), 1);
	assert_int_equal(read(p[0], z, sizeof z), 0);
	stream_close(out);
	close(p[0]);
}

static void the_fd_can_be_taken_out(void **state)
{
	struct end *e = *state;
	char z[4];
	int fd = stream_take_fd(take_ptr(&e->s));

	wire_send(e->peer, STR_LIT("x"));
	wire_turns(e->l, 3);
	assert_int_equal(read(fd, z, sizeof z), 1);
	e->s = stream_new(e->l, fd, &ops, e);
	stream_read(e->s, true);
	wire_send(e->peer, STR_LIT("y"));
	wire_turns(e->l, 2);
	assert_true(str_is(buf_view(&e->got), "y"));
}

static void files_have_no_readiness(void **state)
{
	struct end *e = *state;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_null(stream_new(e->l, fd, &ops, e));
	assert_int_equal(close(fd), -1); /* closed all the same */
}

/* A filter that greets with '?', wants '!' back, turns all bits over, ends with '.' and chokes on '#'. */
struct toy {
	struct stream_filter base;
	bool ready;
};

static char toy_plain[4096];
static int toys_freed;

static int toy_decode(struct stream_filter *f, struct str in, struct str *ret, struct buf *out)
{
	struct toy *t = (struct toy *)f;
	int flags = 0;

	*ret = (struct str) { toy_plain, 0 };
	for (size_t i = 0; i < in.n; i++) {
		if (!t->ready && in.p[i] == '!') {
			t->ready = true;
			flags = STREAM_FILTER_READY;
		} else if (!t->ready) {
			buf_ch(out, '?');
		} else if (in.p[i] == '.') {
			return flags | STREAM_FILTER_END;
		} else if (in.p[i] == '#') {
			buf_z(out, "alert");
			return -EPROTO;
		} else {
			toy_plain[ret->n++] = (char)~in.p[i];
		}
	}
	return flags;
}

static int toy_encode(struct stream_filter *f, const struct str *v, size_t n, struct buf *out)
{
	(void)f;
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < v[i].n; k++)
			buf_ch(out, (char)~v[i].p[k]);
	}
	return 0;
}

static void toy_finish(struct stream_filter *f, struct buf *out)
{
	(void)f;
	buf_ch(out, '.');
}

static void toy_free(struct stream_filter *f)
{
	toys_freed++;
	free(f);
}

static const struct stream_filter_ops toy_ops = { toy_decode, toy_encode, toy_finish, toy_free };

static void toy_put(struct end *e)
{
	struct toy *t = calloc(1, sizeof *t);

	*t = (struct toy) { .base = { &toy_ops } };
	stream_filter(e->s, &t->base);
	stream_read(e->s, true);
}

static void a_filter_shakes_hands_before_its_owner_reads(void **state)
{
	struct end *e = *state;

	toy_put(e);
	wire_send(e->peer, STR_LIT("h"));
	wire_turns(e->l, 2);
	(void)wire_recv(e->peer, &e->got);
	assert_true(str_is(buf_view(&e->got), "?"));
	assert_int_equal(e->readies + e->datas, 0);
	buf_clear(&e->got);
	wire_send(e->peer, STR_LIT("!\x9e\x9d"));
	wire_turns(e->l, 2);
	assert_int_equal(e->readies, 1);
	assert_true(str_is(buf_view(&e->got), "ab"));
	stream_writev(e->s, (struct str[]) { STR_LIT("a"), STR_LIT("b") }, 2);
	stream_finish(e->s);
	buf_clear(&e->got);
	assert_true(wire_recv(e->peer, &e->got));
	assert_true(str_is(buf_view(&e->got), "\x9e\x9d."));
	stream_close(take_ptr(&e->s));
	wire_turns(e->l, 2);
	assert_int_equal(toys_freed, 1);
}

static int file_of(size_t n)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_true(fd >= 0);
	for (uint32_t i = 0; i < n / sizeof i; i++)
		assert_int_equal(write(fd, &i, sizeof i), sizeof i);
	return fd;
}

static void a_file_is_sent_as_its_reader_takes_it(void **state)
{
	struct end *e = *state;
	const size_t n = 3 << 20;
	int fd = file_of(n), waits = 0;
	off_t at = 0;
	ssize_t sent;

	stream_write(e->s, STR_LIT("head"));
	while ((size_t)at < n) {
		sent = stream_sendfile(e->s, fd, &at, n - (size_t)at);
		assert_true(sent >= 0);
		if (sent > 0)
			continue;
		waits++;
		wire_turns(e->l, 3);
		assert_int_equal(e->drains, waits - 1); /* not before there is room */
		(void)wire_recv(e->peer, &e->got);
		wire_turns(e->l, 3);
		assert_int_equal(e->drains, waits);
	}
	assert_true(waits > 0);
	assert_int_equal(stream_sendfile(e->s, fd, &at, 1), -ENODATA);
	wire_turns(e->l, 3);
	(void)wire_recv(e->peer, &e->got);
	assert_int_equal(e->got.n, 4 + n);
	for (uint32_t i = 0; i < n / sizeof i; i++)
		assert_memory_equal(e->got.p + 4 + i * sizeof i, &i, sizeof i);
	fd_close(fd);
}

static void a_file_waits_for_what_is_queued(void **state)
{
	struct end *e = *state;
	static char block[1 << 20];
	int fd = file_of(8);
	off_t at = 0;

	stream_write(e->s, (struct str) { block, sizeof block });
	assert_true(stream_queued(e->s) > 0);
	assert_int_equal(stream_sendfile(e->s, fd, &at, 8), 0);
	while (e->drains == 0) {
		(void)wire_recv(e->peer, &e->got);
		wire_turns(e->l, 2);
	}
	while (stream_queued(e->s)) {
		(void)wire_recv(e->peer, &e->got);
		wire_turns(e->l, 2);
	}
	assert_int_equal(stream_sendfile(e->s, fd, &at, 8), 8);
	(void)wire_recv(e->peer, &e->got);
	assert_int_equal(e->got.n, sizeof block + 8);
	fd_close(fd);
}

static void a_file_does_not_go_past_a_filter(void **state)
{
	struct end *e = *state;
	int fd = file_of(8);
	off_t at = 0;

	toy_put(e);
	assert_int_equal(stream_sendfile(e->s, fd, &at, 8), -EOPNOTSUPP);
	assert_int_equal(at, 0);
	fd_close(fd);
}

static void the_end_that_a_filter_sees_waits_for_the_reader(void **state)
{
	struct end *e = *state;

	toy_put(e);
	wire_send(e->peer, STR_LIT("!"));
	wire_turns(e->l, 2);
	wire_send(e->peer, STR_LIT("\x9e."));
	stream_read(e->s, true);
	wire_turns(e->l, 2);
	assert_true(str_is(buf_view(&e->got), "a"));
	assert_int_equal(e->eofs, 1);
	wire_send(e->peer, STR_LIT("\x9e")); /* behind the end nothing counts */
	wire_turns(e->l, 2);
	assert_int_equal(e->datas, 1);
}

static void a_filter_that_fails_tells_the_peer_first(void **state)
{
	struct end *e = *state;

	toy_put(e);
	wire_send(e->peer, STR_LIT("!#"));
	wire_turns(e->l, 2);
	assert_int_equal(e->error, EPROTO);
	(void)wire_recv(e->peer, &e->got);
	assert_true(str_is(buf_view(&e->got), "alert"));
}

static void another_owner_gets_the_rest(void **state)
{
	struct end *e = *state;
	struct end other = { .got = BUF_INIT(1024) };

	toy_put(e);
	wire_send(e->peer, STR_LIT("!\x9e"));
	wire_turns(e->l, 2);
	stream_rebind(e->s, &ops, &other);
	wire_send(e->peer, STR_LIT("\x9d"));
	wire_turns(e->l, 2);
	assert_int_equal(other.datas, 0);
	stream_read(e->s, true);
	wire_turns(e->l, 2);
	assert_true(str_is(buf_view(&e->got), "a"));
	assert_true(str_is(buf_view(&other.got), "b"));
	buf_done(&other.got);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(reading_starts_off_and_can_pause),
		CASE(a_filter_shakes_hands_before_its_owner_reads),
		CASE(a_file_is_sent_as_its_reader_takes_it),
		CASE(a_file_waits_for_what_is_queued),
		CASE(a_file_does_not_go_past_a_filter),
		CASE(the_end_that_a_filter_sees_waits_for_the_reader),
		CASE(a_filter_that_fails_tells_the_peer_first),
		CASE(another_owner_gets_the_rest),
		CASE(all_bytes_arrive_in_order_behind_a_full_socket),
		CASE(a_stream_may_be_closed_by_its_reader),
		CASE(write_errors_come_later_and_once),
		CASE(what_the_peer_said_is_read_before_the_error),
		CASE(a_closed_stream_still_flushes_and_listens),
		CASE(those_on_their_way_out_are_limited),
		CASE(none_is_left_when_the_loop_ends),
		CASE(a_pipe_is_finished_by_closing_it),
		CASE(the_fd_can_be_taken_out),
		CASE(files_have_no_readiness),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Units of loop/stream: small writes of one event are sent together. The peer is a packet socket, so that each of its
 * packets is one system call of the stream. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../http/wire.h"
#include "loop/stream.h"
#include "unit.h"

struct pair {
	struct loop *l;
	struct stream *in, *out;
	int in_peer, out_peer;
	void (*act)(struct pair *p);
	int errors;
};

static void on_data(void *user, struct str data)
{
	struct pair *p = user;

	(void)data;
	p->act(p);
}

static void on_eof(void *user)
{
	(void)user;
}

static void on_error(void *user, int no)
{
	(void)no;
	((struct pair *)user)->errors++;
}

static const struct stream_ops ops = {
	.on_data = on_data,
	.on_eof = on_eof,
	.on_error = on_error,
};

static struct stream *open_end(struct pair *p, int *ret_peer)
{
	int sv[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sv), 0);
	*ret_peer = sv[1];
	return stream_new(p->l, sv[0], &ops, p);
}

static int set_up(void **state)
{
	struct pair *p = calloc(1, sizeof *p);

	p->l = loop_new();
	p->in = open_end(p, &p->in_peer);
	p->out = open_end(p, &p->out_peer);
	stream_read(p->in, true);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct pair *p = *state;

	stream_close(p->in);
	stream_close(p->out);
	fd_close(p->in_peer);
	fd_close(p->out_peer);
	wire_turns(p->l, 3);
	loop_free(p->l);
	free(p);
	return 0;
}

/* Lets the loop handle one event, whose reader calls act. */
static void happen(struct pair *p, void (*act)(struct pair *p))
{
	p->act = act;
	wire_send(p->in_peer, STR_LIT("now"));
	wire_turns(p->l, 2);
}

static void assert_packet(const struct pair *p, const char *text)
{
	char got[64 * 1024];
	ssize_t n = recv(p->out_peer, got, sizeof got, MSG_DONTWAIT);

	assert_int_equal(n, (ssize_t)strlen(text));
	assert_memory_equal(got, text, strlen(text));
}

static void assert_silence(const struct pair *p)
{
	char c;

	assert_int_equal(recv(p->out_peer, &c, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

static void write_three(struct pair *p)
{
	stream_write(p->out, STR_LIT("head "));
	stream_writev(p->out, (struct str[]) { STR_LIT("first "), STR_LIT("piece ") }, 2);
	stream_write(p->out, STR_LIT("end"));
	assert_int_equal(stream_queued(p->out), 0);
	assert_silence(p);
}

static void one_event_sends_once(void **state)
{
	struct pair *p = *state;

	happen(p, write_three);
	assert_packet(p, "head first piece end");
	assert_silence(p);
}

static void writes_outside_of_an_event_are_sent_at_once(void **state)
{
	struct pair *p = *state;

	stream_write(p->out, STR_LIT("one"));
	assert_packet(p, "one");
	stream_write(p->out, STR_LIT("two"));
	assert_packet(p, "two");
}

static void deferred(void *user)
{
	write_three(user);
}

static void a_deferred_call_sends_once(void **state)
{
	struct pair *p = *state;

	loop_defer(p->l, deferred, p);
	wire_turns(p->l, 2);
	assert_packet(p, "head first piece end");
	assert_silence(p);
}

static void write_and_push(struct pair *p)
{
	stream_write(p->out, STR_LIT("early"));
	stream_push(p->out);
	assert_packet(p, "early");
	stream_write(p->out, STR_LIT("late"));
}

static void a_push_sends_within_the_event(void **state)
{
	struct pair *p = *state;

	happen(p, write_and_push);
	assert_packet(p, "late");
}

static void write_and_close(struct pair *p)
{
	stream_write(p->out, STR_LIT("bye"));
	stream_close(take_ptr(&p->out));
}

static void a_close_sends_what_was_written(void **state)
{
	struct pair *p = *state;

	happen(p, write_and_close);
	assert_packet(p, "bye");
}

static char large[32 * 1024 + 1];

static void write_small_and_large(struct pair *p)
{
	stream_write(p->out, STR_LIT("small"));
	stream_write(p->out, str_of(large));
	stream_write(p->out, STR_LIT("last"));
}

static void large_writes_do_not_wait_and_keep_the_order(void **state)
{
	struct pair *p = *state;

	memset(large, 'x', sizeof large - 1);
	happen(p, write_small_and_large);
	assert_packet(p, "small");
	assert_packet(p, large);
	assert_packet(p, "last");
}

static void write_twice(struct pair *p)
{
	stream_write(p->out, STR_LIT("one"));
	stream_write(p->out, STR_LIT("two"));
}

static void a_lost_peer_is_reported_once(void **state)
{
	struct pair *p = *state;

	fd_close(take_fd(&p->out_peer));
	happen(p, write_twice);
	wire_turns(p->l, 3);
	assert_int_equal(p->errors, 1);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(one_event_sends_once),
		CASE(writes_outside_of_an_event_are_sent_at_once),
		CASE(a_deferred_call_sends_once),
		CASE(a_push_sends_within_the_event),
		CASE(a_close_sends_what_was_written),
		CASE(large_writes_do_not_wait_and_keep_the_order),
		CASE(a_lost_peer_is_reported_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Units of http/server, the listening side: limits, refusals, exhaustion, resets over TCP. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include "base/log.h"
#include "http/server.h"
#include "unit.h"
#include "wire.h"

#define GET(path) STR_LIT("GET " path " HTTP/1.1\r\nHost: x\r\n\r\n")

struct site {
	struct loop *l;
	struct http_server *server;
	struct sockaddr_in at;
	bool refuse;
	int closes;
	struct http_req *held[2]; /* those of /hold */
	size_t n_held;
};

static void on_close(struct http_req *rq, bool lost)
{
	struct site *t = rq->user;

	(void)lost;
	t->closes++;
}

static const struct http_req_ops req_ops = { .on_close = on_close };

static void on_request(void *user, struct http_req *rq)
{
	rq->user = user;
	rq->ops = &req_ops;
	if (str_is(rq->path, "/abort")) {
		http_begin(rq, 200, NULL, NULL, -1);
		http_write(rq, STR_LIT("cut"));
		http_abort(rq);
	} else if (str_is(rq->path, "/hold")) {
		((struct site *)user)->held[((struct site *)user)->n_held++] = rq;
	} else {
		http_respond(rq, 200, NULL, NULL, STR_LIT("ok"));
	}
}

static void on_conn(void *user, int fd, bool *ret_refuse)
{
	struct site *t = user;

	assert_true(fd >= 0);
	*ret_refuse = t->refuse;
}

static const struct http_server_ops ops = { .on_request = on_request, .on_conn = on_conn };

static int set_up(void **state)
{
	struct site *t = calloc(1, sizeof *t);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t n = sizeof t->at;

	t->at = (struct sockaddr_in) { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_int_equal(bind(fd, (struct sockaddr *)&t->at, n), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&t->at, &n), 0);
	assert_int_equal(listen(fd, 64), 0);
	t->l = loop_new();
	t->server = http_server_new(t->l, fd, &ops, t);
	assert_non_null(t->server);
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct site *t = *state;

	http_server_free(t->server);
	wire_turns(t->l, 3);
	loop_free(t->l);
	free(t);
	return 0;
}

static int dial_from(struct site *t, const char *addr)
{
	struct sockaddr_in self = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	assert_int_equal(inet_pton(AF_INET, addr, &self.sin_addr), 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&self, sizeof self), 0);
	int rc = connect(fd, (struct sockaddr *)&t->at, sizeof t->at);
	assert_true(rc == 0 || errno == EINPROGRESS);
	return fd;
}

static int dial(struct site *t)
{
	return dial_from(t, "127.0.0.1");
}

static bool served(struct site *t, int fd)
{
	autobuf struct buf got = BUF_INIT(1 << 20);

	(void)!send(fd, GET("/").p, GET("/").n, MSG_NOSIGNAL);
	wire_turns(t->l, 8);
	(void)wire_recv(fd, &got);
	return got.n > 0;
}

static int served_from(struct site *t, const char *addr)
{
	int fd = dial_from(t, addr);

	assert_true(served(t, fd));
	return fd;
}

static bool is_closed(int fd)
{
	char z[16];

	return recv(fd, z, sizeof z, MSG_DONTWAIT) == 0;
}

static void close_all(const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
}

/* Not one of those that are at it loses its place. */
static void accepting_pauses_while_all_are_busy(void **state)
{
	struct site *t = *state;

	http_server_limit(t->server, 2);
	int a = dial(t), b = dial(t);
	wire_send(a, GET("/hold"));
	wire_send(b, GET("/hold"));
	wire_wait(t->l, 30);
	int c = dial(t);
	assert_false(served(t, c));
	assert_int_equal(http_server_conns(t->server), 2);
	assert_int_equal(http_server_evicted(t->server), 0);
	http_respond(t->held[1], 200, NULL, NULL, STR_LIT("ok"));
	wire_wait(t->l, 30); /* now b is idle, and gone for c */
	assert_true(served(t, c));
	assert_false(is_closed(a));
	assert_int_equal(http_server_evicted(t->server), 1);
	close_all((int[]) { a, b, c }, 3);
	wire_turns(t->l, 4);
	assert_int_equal(http_server_conns(t->server), 0);
}

static void the_longest_idle_gives_its_place_up_at_once(void **state)
{
	struct site *t = *state;

	http_server_limit(t->server, 3);
	int a = dial(t), b = dial(t), c = dial(t);
	assert_true(served(t, a));
	assert_true(served(t, b));
	assert_true(served(t, c));
	assert_true(served(t, a)); /* now b is the oldest */
	int d = dial(t);
	wire_turns(t->l, 6);
	assert_true(is_closed(b));
	assert_true(served(t, d));
	assert_true(served(t, a));
	assert_true(served(t, c));
	assert_int_equal(http_server_conns(t->server), 3);
	close_all((int[]) { a, b, c, d }, 4);
}

static void who_has_most_places_loses_first(void **state)
{
	struct site *t = *state;
	int few[2], many[12], more[6];

	http_server_limit(t->server, 14);
	for (size_t i = 0; i < ARRAY_LEN(few); i++) /* idle for longer than all the others */
		few[i] = served_from(t, i ? "127.0.0.3" : "127.0.0.2");
	for (size_t i = 0; i < ARRAY_LEN(many); i++)
		many[i] = served_from(t, "127.0.0.4");
	assert_int_equal(http_server_conns(t->server), 14);
	for (size_t i = 0; i < ARRAY_LEN(more); i++)
		more[i] = served_from(t, i % 2 ? "127.0.0.4" : "127.0.0.5");
	assert_int_equal(http_server_evicted(t->server), ARRAY_LEN(more));
	for (size_t i = 0; i < ARRAY_LEN(many); i++)
		assert_int_equal(is_closed(many[i]), i < ARRAY_LEN(more)); /* the oldest of them */
	for (size_t i = 0; i < ARRAY_LEN(few); i++)
		assert_true(served(t, few[i]));
	close_all(few, ARRAY_LEN(few));
	close_all(many, ARRAY_LEN(many));
	close_all(more, ARRAY_LEN(more));
}

static void an_unfinished_head_is_no_claim_to_a_place(void **state)
{
	struct site *t = *state;
	autobuf struct buf got = BUF_INIT(1 << 20);

	http_server_limit(t->server, 2);
	int a = served_from(t, "127.0.0.1"), b = served_from(t, "127.0.0.1");
	wire_send(a, STR_LIT("GET / HTTP/1.1\r\nHo"));
	wire_turns(t->l, 4); /* it is fresher than b now */
	int c = dial(t);
	wire_turns(t->l, 4);
	assert_true(is_closed(b));
	assert_true(served(t, c));
	int d = dial(t);
	wire_turns(t->l, 4);
	assert_true(served(t, d));
	(void)wire_recv(a, &got);
	assert_true(str_starts(buf_view(&got), "HTTP/1.1 503 "));
	assert_int_equal(http_server_evicted(t->server), 2);
	close_all((int[]) { a, b, c, d }, 4);
}

static void a_request_that_is_just_arriving_is_not_lost(void **state)
{
	struct site *t = *state;
	autobuf struct buf got = BUF_INIT(1 << 20);

	http_server_limit(t->server, 2);
	int a = served_from(t, "127.0.0.1"), b = served_from(t, "127.0.0.1");
	int c = dial(t); /* the listener is told of first, then a */
	wire_send(a, GET("/"));
	wire_turns(t->l, 4);
	(void)wire_recv(a, &got);
	assert_true(str_starts(buf_view(&got), "HTTP/1.1 200 "));
	assert_true(is_closed(b));
	close_all((int[]) { a, b, c }, 3);
}

static void who_has_just_come_is_left_alone_for_a_moment(void **state)
{
	struct site *t = *state;

	http_server_limit(t->server, 2);
	int a = dial(t), b = dial(t);
	wire_turns(t->l, 4);
	int c = dial(t);
	wire_send(c, GET("/hold"));
	wire_turns(t->l, 8);
	assert_int_equal(t->n_held, 0);
	assert_int_equal(http_server_evicted(t->server), 0);
	assert_true(served(t, b)); /* it has asked, so it is one of those that go */
	wire_wait(t->l, 200);
	assert_true(is_closed(b));
	assert_int_equal(t->n_held, 1);
	int d = dial(t);
	wire_send(d, GET("/hold"));
	wire_wait(t->l, 1200);
	assert_true(is_closed(a)); /* it has had its time */
	assert_int_equal(t->n_held, 2);
	close_all((int[]) { a, b, c, d }, 4);
}

static void a_head_has_its_time(void **state)
{
	struct site *t = *state;
	autobuf struct buf got = BUF_INIT(1 << 20);
	int a = dial(t), b = dial(t);

	http_server_head_timeout(t->server, 40);
	wire_turns(t->l, 4);
	wire_send(a, STR_LIT("GET / HTTP/1.1\r\nHo"));
	wire_wait(t->l, 200);
	(void)wire_recv(a, &got);
	assert_true(str_starts(buf_view(&got), "HTTP/1.1 408 "));
	assert_true(served(t, b)); /* which was only idle */
	close_all((int[]) { a, b }, 2);
}

static void refused_connections_are_closed(void **state)
{
	struct site *t = *state;

	t->refuse = true;
	int a = dial(t);
	assert_false(served(t, a));
	assert_int_equal(http_server_conns(t->server), 0);
	close(a);
}

static void stopping_leaves_open_connections(void **state)
{
	struct site *t = *state;
	int a = dial(t);

	assert_true(served(t, a));
	http_server_stop_accepting(t->server);
	int b = dial(t);
	assert_true(served(t, a));
	assert_false(served(t, b));
	close(a);
	close(b);
}

static void no_more_fds_is_no_busy_loop(void **state)
{
	struct site *t = *state;
	struct rlimit old, tight;
	int a = dial(t);
	struct timespec cpu0, cpu1;

	log_set_level(LOG_LVL_ERROR);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	tight = old;
	tight.rlim_cur = 3; /* those that are open stay usable */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu0);
	wire_wait(t->l, 300);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu1);
	assert_int_equal(http_server_conns(t->server), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_in_range((cpu1.tv_sec - cpu0.tv_sec) * 1000 + (cpu1.tv_nsec - cpu0.tv_nsec) / 1000000, 0, 100);
	wire_wait(t->l, 200);
	assert_true(served(t, a));
	close(a);
}

static void an_abort_is_a_reset(void **state)
{
	struct site *t = *state;
	int a = dial(t);
	char z[256];

	wire_turns(t->l, 3);
	wire_send(a, GET("/abort"));
	wire_wait(t->l, 30);
	ssize_t n = read(a, z, sizeof z);
	if (n > 0)
		n = read(a, z, sizeof z);
	assert_int_equal(n, -1);
	assert_int_equal(errno, ECONNRESET);
	assert_int_equal(t->closes, 1);
	close(a);
}

static void a_refusal_arrives_in_spite_of_unread_input(void **state)
{
	struct site *t = *state;
	static char block[1 << 20];
	autobuf struct buf got = BUF_INIT(1 << 20);
	int a = dial(t);

	wire_turns(t->l, 3);
	wire_send(a, STR_LIT("NONSENSE\r\n\r\n"));
	for (int i = 0; i < 20; i++) {
		(void)!send(a, block, sizeof block, MSG_NOSIGNAL);
		wire_turns(t->l, 2);
	}
	wire_wait(t->l, 30);
	(void)wire_recv(a, &got);
	assert_true(str_starts(buf_view(&got), "HTTP/1.1 400 Bad Request\r\n"));
	close(a);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(accepting_pauses_while_all_are_busy),
		CASE(the_longest_idle_gives_its_place_up_at_once),
		CASE(who_has_most_places_loses_first),
		CASE(an_unfinished_head_is_no_claim_to_a_place),
		CASE(a_request_that_is_just_arriving_is_not_lost),
		CASE(who_has_just_come_is_left_alone_for_a_moment),
		CASE(a_head_has_its_time),
		CASE(refused_connections_are_closed),
		CASE(stopping_leaves_open_connections),
		CASE(no_more_fds_is_no_busy_loop),
		CASE(an_abort_is_a_reset),
		CASE(a_refusal_arrives_in_spite_of_unread_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Units of http/server, the listening side: limits, refusals, exhaustion, resets over TCP. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include <cmocka.h>

#include "base/log.h"
#include "http/server.h"
#include "wire.h"

#define GET(path) STR_LIT("GET " path " HTTP/1.1\r\nHost: x\r\n\r\n")

struct site {
	struct loop *l;
	struct http_server *server;
	struct sockaddr_in at;
	bool refuse;
	int closes;
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

static int dial(struct site *t)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	int rc = connect(fd, (struct sockaddr *)&t->at, sizeof t->at);
	assert_true(rc == 0 || errno == EINPROGRESS);
	return fd;
}

static bool served(struct site *t, int fd)
{
	autobuf struct buf got = BUF_INIT(1 << 20);

	(void)!send(fd, GET("/").p, GET("/").n, MSG_NOSIGNAL);
	wire_wait(t->l, 30);
	(void)wire_recv(fd, &got);
	return got.n > 0;
}

static void accepting_pauses_at_the_limit(void **state)
{
	struct site *t = *state;

	http_server_limit(t->server, 2);
	int a = dial(t), b = dial(t), c = dial(t);
	assert_true(served(t, a));
	assert_true(served(t, b));
	assert_false(served(t, c));
	assert_int_equal(http_server_conns(t->server), 2);
	close(a);
	wire_wait(t->l, 30);
	assert_true(served(t, c));
	close(b);
	close(c);
	wire_turns(t->l, 4);
	assert_int_equal(http_server_conns(t->server), 0);
}

/* Not at once: who has just come may be about to ask. */
static void the_longest_idle_gives_its_place_up(void **state)
{
	struct site *t = *state;
	char z[16];

	http_server_limit(t->server, 3);
	int a = dial(t), b = dial(t), c = dial(t);
	assert_true(served(t, a));
	assert_true(served(t, b));
	assert_true(served(t, c));
	assert_true(served(t, a));			/* now b is the oldest */
	int d = dial(t);
	wire_wait(t->l, 300);
	assert_int_equal(recv(b, z, sizeof z, MSG_DONTWAIT), -1);
	wire_wait(t->l, 1700);
	assert_true(served(t, d));
	assert_int_equal(recv(b, z, sizeof z, MSG_DONTWAIT), 0);
	close(a);
	close(b);
	close(c);
	close(d);
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
	tight.rlim_cur = 3;			/* those that are open stay usable */
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
		CASE(accepting_pauses_at_the_limit),
		CASE(the_longest_idle_gives_its_place_up),
		CASE(refused_connections_are_closed),
		CASE(stopping_leaves_open_connections),
		CASE(no_more_fds_is_no_busy_loop),
		CASE(an_abort_is_a_reset),
		CASE(a_refusal_arrives_in_spite_of_unread_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

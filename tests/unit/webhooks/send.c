/* SPDX-License-Identifier: Apache-2.0 */
/* Units of hooks/send: names that nobody resolves hold up neither other deliveries nor the end. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../slow_names.h"
#include "base/fd.h"
#include "base/str.h"
#include "ipc/settings.h"
#include "unit.h"
#include "webhooks/send.h"

#define TOO_LONG_S 60 /* who waits for the resolver waits for ever: the test dies of it */

struct seen {
	unsigned n;
	struct hk_done last;
};

static void on_done(void *user, const struct hk_done *done)
{
	struct seen *s = user;

	s->n++;
	s->last = *done;
}

static struct sender *sender_open(struct seen *s, bool allow_own)
{
	static struct webhooks_options o;
	struct sender *ret = NULL;
	struct err e = ERR_INIT;

	o = (struct webhooks_options) { .webhook_allow_private = true, .webhook_allow_own = allow_own };
	assert_int_equal(sender_new(&o, on_done, s, &ret, &e), 0);
	return ret;
}

static struct sender *sender_make(struct seen *s)
{
	return sender_open(s, true);
}

static void add(struct sender *s, uint32_t seq, uint32_t timeout_ms, const char *url)
{
	struct hk_job m = { .head = { HK_VERSION, HK_JOB, seq },
		.timeout_ms = timeout_ms,
		.attempt = 1,
		.webhook = "w",
		.delivery = "d",
		.try = "t",
		.signature = "s" };

	assert_int_equal(sender_add(s, &m, str_of(url), STR_LIT("{}")), 0);
}

static void turn(struct sender *s)
{
	const int none[2] = { -1, -1 };
	bool ready[2];

	assert_int_equal(sender_wait(s, none, ready), 0);
}

/* A server that has answered before it is asked; its port. */
static int listening(uint16_t *ret_port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	*ret_port = ntohs(a.sin_port);
	return fd;
}

static void a_slow_name_is_a_timeout(void **state)
{
	struct seen seen = { .n = 0 };
	struct sender *s = sender_make(&seen);

	(void)state;
	add(s, 7, 200, "http://a.slow/");
	while (seen.n == 0)
		turn(s);
	assert_int_equal(seen.last.head.seq, 7);
	assert_int_equal(seen.last.outcome, HK_TIMEOUT);
	assert_int_equal(names_waiting(), 1); /* it was not waited for */
	sender_free(s);
	names_answer();
}

static void others_go_on_meanwhile(void **state)
{
	static const char ok[] = "HTTP/1.1 204 No Content\r\n\r\n";
	struct seen seen = { .n = 0 };
	struct sender *s = sender_make(&seen);
	uint16_t port;
	autoclose int door = listening(&port);
	autofree char *url = str_fmt("http://127.0.0.1:%u/", port);

	(void)state;
	add(s, 1, 60000, "http://b.slow/");
	while (names_waiting() == 0)
		turn(s);
	add(s, 2, 60000, url);
	autoclose int fd = -1;

	while ((fd = accept4(door, NULL, NULL, SOCK_CLOEXEC)) < 0)
		turn(s);
	assert_int_equal(write(fd, ok, sizeof ok - 1), (ssize_t)(sizeof ok - 1));
	while (seen.n == 0)
		turn(s);
	assert_int_equal(seen.last.head.seq, 2);
	assert_int_equal(seen.last.outcome, HK_OK);
	sender_free(s);
	names_answer();
}

/* W10: private addresses that are allowed are those of others. */
static void own_addresses_stay_closed(void **state)
{
	static const char *const own[] = { "127.0.0.1", "127.0.0.2", "[::1]", "[::ffff:127.0.0.1]" };
	struct seen seen = { .n = 0 };
	struct sender *s = sender_open(&seen, false);
	uint16_t port;
	autoclose int door = listening(&port);

	(void)state;
	for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
		autofree char *url = str_fmt("http://%s:%u/", own[i], port);

		add(s, (uint32_t)i + 1, 60000, url);
		while (seen.n <= i)
			turn(s);
		assert_int_equal(seen.last.outcome, HK_REFUSED);
	}
	assert_true(accept4(door, NULL, NULL, SOCK_CLOEXEC) < 0);
	sender_free(s);
}

static void nobody_waits_for_names_at_the_end(void **state)
{
	struct seen seen = { .n = 0 };
	struct sender *s = sender_make(&seen);

	(void)state;
	add(s, 1, 60000, "http://c.slow/");
	add(s, 2, 60000, "http://d.slow/");
	while (names_waiting() < 2)
		turn(s);
	sender_drop_all(s); /* the front has gone */
	assert_int_equal(names_waiting(), 2);
	sender_free(s); /* the warden, too */
	assert_int_equal(names_waiting(), 2);
	assert_int_equal(seen.n, 0);
	names_answer();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_name_is_a_timeout),
		cmocka_unit_test(others_go_on_meanwhile),
		cmocka_unit_test(own_addresses_stay_closed),
		cmocka_unit_test(nobody_waits_for_names_at_the_end),
	};

	(void)alarm(TOO_LONG_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Units of egress/socks: what is said to a proxy, and what it may answer. */
#include <stdint.h>

#include <stdlib.h>
#include <string.h>

#include "../http/wire.h"
#include "egress/socks.h"
#include "unit.h"

static struct loop *l;
static int c[2], result;
static struct socks *s;
static struct buf got;

static const struct rules_socks open_proxy = { .host = "p", .port = 1 };
static const struct rules_socks with_login = { .host = "p", .port = 1, .user = "me", .password = "pw" };

static void on_done(void *user, int fd)
{
	(void)user;
	result = fd;
	s = NULL;
}

static int set_up(void **state)
{
	(void)state;
	l = loop_new();
	wire_pair(c);
	got = BUF_INIT(1 << 20);
	result = 0;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	socks_cancel(s);
	s = NULL;
	if (result > 0)
		fd_close(result);
	fd_close(c[0]);
	wire_turns(l, 2);
	loop_free(l);
	buf_done(&got);
	return 0;
}

static void start(const struct rules_socks *how, const char *name)
{
	s = socks_new(l, c[1], how, name, 0x01020304, 443, on_done, NULL);
	assert_non_null(s);
	wire_turns(l, 3);
}

#define SAYS(text) says(STR_LIT(text))
static void says(struct str want)
{
	(void)wire_recv(c[0], &got);
	assert_int_equal(got.n, want.n);
	assert_memory_equal(got.p, want.p, want.n);
	buf_clear(&got);
}

#define ANSWER(text) answer(STR_LIT(text))
static void answer(struct str bytes)
{
	for (size_t i = 0; i < bytes.n; i++) {
		wire_send(c[0], (struct str) { bytes.p + i, 1 });
		wire_turns(l, 2);
	}
	wire_turns(l, 2);
}

static void by_name_without_a_login(void **state)
{
	(void)state;
	start(&open_proxy, "a.com");
	SAYS("\5\1\0");
	ANSWER("\5\0");
	SAYS("\5\1\0\3\5a.com\1\273");
	ANSWER("\5\0\0\1\0\0\0\0\0\0");
	assert_true(result > 0);
}

static void by_address_with_a_login(void **state)
{
	(void)state;
	start(&with_login, "");
	SAYS("\5\2\0\2");
	ANSWER("\5\2");
	SAYS("\1\2me\2pw");
	ANSWER("\1\0");
	SAYS("\5\1\0\1\1\2\3\4\1\273");
	ANSWER("\5\0\0\3\3abc\0\0");
	assert_true(result > 0);
	/* What follows is not taken. */
	wire_send(c[0], STR_LIT("hello"));
	char text[8];

	assert_int_equal(read(result, text, sizeof text), 5);
}

static void refusals_and_nonsense_end_it(void **state)
{
	static const struct str bad[][2] = {
		{ { "\4\0", 2 }, { NULL, 0 } },
		{ { "\5\377", 2 }, { NULL, 0 } },
		{ { "\5\2", 2 }, { NULL, 0 } },
		{ { "\5\0", 2 }, { "\5\5\0\1\0\0\0\0\0\0", 10 } },
		{ { "\5\0", 2 }, { "\4\0\0\1\0\0\0\0\0\0", 10 } },
		{ { "\5\0", 2 }, { "\5\0\0\7\0\0\0\0\0\0", 10 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		start(&open_proxy, "a.com");
		wire_send(c[0], bad[i][0]);
		wire_turns(l, 4);
		if (bad[i][1].p && !result)
			wire_send(c[0], bad[i][1]);
		wire_turns(l, 4);
		assert_true(result < 0);
		(void)tear_down(NULL);
		(void)set_up(NULL);
	}
	start(&open_proxy, "a.com");
	fd_close(take_fd(&c[0]));
	wire_turns(l, 3);
	assert_true(result < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(by_name_without_a_login, set_up, tear_down),
		cmocka_unit_test_setup_teardown(by_address_with_a_login, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refusals_and_nonsense_end_it, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* One struct atoll and one sandbox used by many threads at once, on the mock; and many of them made and freed at once.
 * To be built with -Db_sanitize=thread as well. Afterwards, calls without end: what they allocate must not grow. For
 * that the caches that each thread has of free memory are off (GLIBC_TUNABLES=glibc.malloc.tcache_count=0): mallinfo2()
 * counts what is in them as used. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atoll.h"
#include "unit.h"

#define THREADS 8
#define ROUNDS 25

static struct atoll *server;
static struct atoll_sandbox *sb;

static void quiet(void *user, const char *line)
{
	(void)__atomic_add_fetch((int *)user, line[0] == '{', __ATOMIC_RELAXED);
}

static int lines;
static const struct atoll_config CONFIG = { .mock = true, .log = quiet, .log_user = &lines, .no_env = true };

/* NULL: all went well. */
static const char *one_round(int number, int round, struct atoll_error *e)
{
	struct atoll_execution *x = NULL;
	struct atoll_output *o = NULL;
	char code[64], want[32], path[64], *back = NULL;
	size_t n = 0;
	const char *bad = NULL;

	(void)snprintf(code, sizeof(code), "%d * 1000 + %d", number, round);
	(void)snprintf(want, sizeof(want), "%d", number * 1000 + round);
	(void)snprintf(path, sizeof(path), "/tmp/t%d", number);
	if (atoll_run_code(sb, &(struct atoll_code) { .code = code }, NULL, &x, e) < 0 || !x->text ||
	    strcmp(x->text, want) != 0)
		bad = "code";
	else if (atoll_file_put(sb, path, NULL, want, strlen(want), e) < 0 ||
	    atoll_file_get(sb, path, NULL, 0, &back, &n, e) < 0 || strcmp(back, want) != 0)
		bad = "file";
	else if (atoll_command_run(sb, &(struct atoll_command) { .line = "echo x; exit 3" }, NULL, NULL, &o, e) < 0 ||
	    o->exit.code != 3)
		bad = "command";
	atoll_execution_free(x);
	atoll_output_free(o);
	free(back);
	return bad;
}

static void *work(void *arg)
{
	int number = (int)(intptr_t)arg;
	struct atoll_error e = { 0 };

	for (int i = 0; i < ROUNDS; i++) {
		const char *bad = one_round(number, i, &e);

		if (bad) {
			(void)fprintf(stderr, "thread %d: %s: %s\n", number, bad, e.text);
			return (void *)bad;
		}
	}
	return NULL;
}

static void *come_and_go(void *arg)
{
	struct atoll_error e;
	struct atoll *a = NULL;
	struct atoll_sandbox *own = NULL;
	const char *bad = NULL;

	(void)arg;
	for (int i = 0; i < 5 && !bad; i++) {
		if (atoll_new(&CONFIG, &a, &e) < 0 || atoll_sandbox_create(a, NULL, &own, &e) < 0)
			bad = "create";
		atoll_sandbox_close(&own);
		atoll_close(&a);
	}
	return (void *)bad;
}

static void all_at_once(void *(*fn)(void *))
{
	pthread_t t[THREADS];

	for (intptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, fn, (void *)i), 0);
	for (int i = 0; i < THREADS; i++) {
		void *bad = NULL;

		assert_int_equal(pthread_join(t[i], &bad), 0);
		assert_null(bad);
	}
}

static void a_sandbox_is_shared(void **state)
{
	(void)state;
	lines = 0;
	all_at_once(work);
	assert_true(lines >= THREADS * ROUNDS * 4);
}

static void servers_come_and_go(void **state)
{
	(void)state;
	all_at_once(come_and_go);
}

/* The mock is in this process too, and may still be putting away what it had for the last call. */
static size_t settled(void)
{
	size_t least = SIZE_MAX;

	for (int i = 0; i < 50; i++) {
		size_t now = mallinfo2().uordblks;

		least = now < least ? now : least;
		(void)poll(NULL, 0, 2);
	}
	return least;
}

static size_t calls(int n)
{
	struct atoll_error e;

	for (int i = 0; i < n; i++) {
		struct atoll_execution *x = NULL;

		if (atoll_run_code(sb, &(struct atoll_code) { .code = "print('x')\n1 + 1" }, NULL, &x, &e) < 0)
			fail_msg("%s", e.text);
		atoll_execution_free(x);
	}
	return settled();
}

static void what_is_allocated_does_not_grow(void **state)
{
	const char *tuned = getenv("GLIBC_TUNABLES");

	(void)state;
	if (!tuned || !strstr(tuned, "tcache_count=0"))
		skip();
	size_t before = calls(200), after = calls(2000);

	/* Buffers may settle a little; a leak of one small string per call would be 32 kB. */
	assert_in_range(after, 0, before + 8192);
}

static int begin(void **state)
{
	struct atoll_error e;

	(void)state;
	if (atoll_new(&CONFIG, &server, &e) == 0 && atoll_sandbox_create(server, NULL, &sb, &e) == 0)
		return 0;
	(void)fprintf(stderr, "%s\n", e.text);
	return -1;
}

static int end(void **state)
{
	(void)state;
	atoll_sandbox_free(sb);
	atoll_free(server);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sandbox_is_shared),
		cmocka_unit_test(servers_come_and_go),
		cmocka_unit_test(what_is_allocated_does_not_grow),
	};

	return cmocka_run_group_tests_name("threads", tests, begin, end);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Units of agent/worker: jobs on threads, posts on the loop. */
#include <stdint.h>

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "agent/worker.h"
#include "loop/loop.h"
#include "unit.h"

#define JOBS 500

static struct {
	struct loop *loop;
	struct worker_pool *work;
	pthread_t loop_thread;
	unsigned posted, wrong_thread;
	atomic_uint ran;
} t;

static void on_loop(void *arg)
{
	(void)arg;
	t.wrong_thread += !pthread_equal(pthread_self(), t.loop_thread);
	if (++t.posted == JOBS)
		loop_stop(t.loop);
}

static void job(void *arg)
{
	atomic_fetch_add(&t.ran, 1);
	worker_pool_post(t.work, on_loop, arg);
}

static void every_job_runs_and_every_post_comes_back_to_the_loop(void **state)
{
	(void)state;
	t.loop = loop_new();
	t.work = worker_pool_new(t.loop);
	t.loop_thread = pthread_self();
	assert_non_null(t.work);
	for (int i = 0; i < JOBS; i++)
		assert_int_equal(worker_pool_run(t.work, job, NULL), 0);
	loop_run(t.loop);
	assert_int_equal(atomic_load(&t.ran), JOBS);
	assert_int_equal(t.posted, JOBS);
	assert_int_equal(t.wrong_thread, 0);
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void wait_at_gate(void *arg)
{
	(void)arg;
	(void)pthread_mutex_lock(&gate);
	(void)pthread_mutex_unlock(&gate);
}

static void a_line_that_is_too_long_is_refused(void **state)
{
	int refused = 0;

	(void)state;
	(void)pthread_mutex_lock(&gate);
	for (int i = 0; i < WORKER_THREADS + WORKER_WAITING + 10; i++)
		refused += worker_pool_run(t.work, wait_at_gate, NULL) < 0;
	(void)pthread_mutex_unlock(&gate);
	assert_true(refused >= 10 && refused <= 10 + WORKER_THREADS);
	int r = -1;

	for (int i = 0; i < 10000 && (r = worker_pool_run(t.work, wait_at_gate, NULL)) < 0; i++)
		(void)usleep(1000);
	assert_int_equal(r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_job_runs_and_every_post_comes_back_to_the_loop),
		cmocka_unit_test(a_line_that_is_too_long_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

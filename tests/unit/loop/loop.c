/* SPDX-License-Identifier: Apache-2.0 */
/* Units of loop: order of calls, and objects that are freed where it hurts. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loop/loop.h"
#include "unit.h"

struct audit {
	struct loop *l;
	struct watch *w;
	struct timer *t;
	struct sigwatch *s;
	int n, last;
};

static void stop(void *l)
{
	loop_stop(l);
}

static void count(void *p)
{
	struct audit *tr = p;

	tr->n++;
}

static void count_again(void *p)
{
	struct audit *tr = p;

	if (++tr->n < 3)
		loop_defer(tr->l, count_again, tr);
	else
		loop_stop(tr->l);
}

static void deferred_calls_come_once_and_do_not_need_events(void **state)
{
	struct audit tr = { .l = loop_new() };

	(void)state;
	loop_defer(tr.l, count, &tr);
	loop_defer(tr.l, stop, tr.l);
	assert_int_equal(tr.n, 0);
	loop_run(tr.l);
	assert_int_equal(tr.n, 1);
	tr.n = 0;
	loop_defer(tr.l, count_again, &tr);
	loop_run(tr.l); /* would hang if the loop slept in between */
	assert_int_equal(tr.n, 3);
	loop_defer(tr.l, count, &tr);
	loop_free(tr.l); /* pending ones come now */
	assert_int_equal(tr.n, 4);
}

static void on_timer(void *user)
{
	struct audit *tr = user;

	tr->n++;
	timer_free(tr->t); /* inside its own callback */
	tr->t = NULL;
	loop_defer(tr->l, stop, tr->l);
}

static void a_timer_fires_once_and_may_free_itself(void **state)
{
	struct audit tr = { .l = loop_new() };

	(void)state;
	tr.t = timer_new(tr.l, on_timer, &tr);
	struct timer *never = timer_new(tr.l, on_timer, &tr);
	timer_arm(never, 1);
	timer_disarm(never);
	uint64_t before = loop_now_ms(tr.l);
	timer_arm(tr.t, 1000000);
	timer_arm(tr.t, 20); /* moves it */
	loop_run(tr.l);
	assert_int_equal(tr.n, 1);
	assert_in_range(loop_now_ms(tr.l) - before, 19, 10000);
	timer_free(never);
	timer_free(NULL);
	loop_free(tr.l);
}

static void on_event(void *user, int events)
{
	struct audit *tr = user;

	tr->n++;
	tr->last = events;
	watch_free(tr->w);
	tr->w = NULL;
	loop_stop(tr->l);
}

static void a_watch_may_free_itself_and_its_fd_can_be_watched_again(void **state)
{
	struct audit tr = { .l = loop_new() };
	int sv[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	for (int i = 0; i < 3; i++) {
		tr.w = watch_new(tr.l, sv[0], WATCH_OUT, on_event, &tr);
		assert_non_null(tr.w);
		loop_run(tr.l);
		assert_int_equal(tr.last, WATCH_OUT);
	}
	assert_int_equal(write(sv[1], "x", 1), 1);
	tr.w = watch_new(tr.l, sv[0], 0, on_event, &tr);
	loop_defer(tr.l, stop, tr.l);
	loop_run(tr.l);
	assert_int_equal(tr.n, 3); /* paused */
	watch_set(tr.w, WATCH_IN);
	loop_run(tr.l);
	assert_int_equal(tr.last, WATCH_IN);
	assert_int_equal(tr.n, 4);
	close(sv[0]);
	close(sv[1]);
	loop_free(tr.l);
}

static void errors_show_as_readable(void **state)
{
	struct audit tr = { .l = loop_new() };
	int p[2];

	(void)state;
	assert_int_equal(pipe(p), 0);
	close(p[0]); /* the write end has an error now */
	tr.w = watch_new(tr.l, p[1], WATCH_OUT, on_event, &tr);
	loop_run(tr.l);
	assert_int_equal(tr.last, WATCH_IN | WATCH_OUT);
	close(p[1]);
	loop_free(tr.l);
}

static void on_signal(void *user, int signo)
{
	struct audit *tr = user;

	tr->n++;
	tr->last = signo;
	sigwatch_free(tr->s);
	tr->s = NULL;
	loop_stop(tr->l);
}

static void signals_come_through_the_loop(void **state)
{
	struct audit tr = { .l = loop_new() };

	(void)state;
	tr.s = sigwatch_new(tr.l, SIGUSR1, on_signal, &tr);
	assert_non_null(tr.s);
	raise(SIGUSR1);
	loop_run(tr.l);
	assert_int_equal(tr.last, SIGUSR1);
	loop_free(tr.l);
}

static void a_lost_reader_is_no_death(void **state)
{
	struct loop *l = loop_new();
	struct sigaction sa;
	int p[2];

	(void)state;
	assert_int_equal(pipe(p), 0);
	close(p[0]);
	assert_int_equal(write(p[1], "x", 1), -1);
	close(p[1]);
	assert_int_equal(sigaction(SIGPIPE, NULL, &sa), 0);
	assert_ptr_not_equal(sa.sa_handler, SIG_IGN); /* programs that we start would inherit that */
	loop_free(l);
}

static void on_change(void *user, int events)
{
	struct audit *tr = user;

	tr->n++;
	tr->last = events;
	loop_stop(tr->l);
}

/* A file that is always readable, and reports a change as EPOLLERR and EPOLLPRI, as the files of cgroups do. */
static void a_change_of_a_kernel_file_is_a_priority_event(void **state)
{
	struct audit tr = { .l = loop_new() };

	(void)state;
	if (unshare(CLONE_NEWNS) < 0)
		skip(); /* not root */
	assert_int_equal(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	int fd = open("/proc/self/mounts", O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	assert_true(fd >= 0);
	tr.w = watch_new(tr.l, fd, WATCH_PRI, on_change, &tr);
	tr.t = timer_new(tr.l, stop, tr.l);
	timer_arm(tr.t, 1);
	loop_run(tr.l);
	assert_int_equal(tr.n, 0); /* readable, but not changed */
	assert_int_equal(mount("unit", "/mnt", "tmpfs", 0, NULL), 0);
	loop_run(tr.l);
	assert_int_equal(tr.n, 1);
	assert_int_equal(tr.last, WATCH_PRI);
	timer_arm(tr.t, 1);
	loop_run(tr.l);
	assert_int_equal(tr.n, 1);
	watch_free(tr.w);
	timer_free(tr.t);
	close(fd);
	loop_free(tr.l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deferred_calls_come_once_and_do_not_need_events),
		cmocka_unit_test(a_timer_fires_once_and_may_free_itself),
		cmocka_unit_test(a_watch_may_free_itself_and_its_fd_can_be_watched_again),
		cmocka_unit_test(errors_show_as_readable),
		cmocka_unit_test(signals_come_through_the_loop),
		cmocka_unit_test(a_lost_reader_is_no_death),
		cmocka_unit_test(a_change_of_a_kernel_file_is_a_priority_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

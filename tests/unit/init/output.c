/* SPDX-License-Identifier: Apache-2.0 */
/* Units of init/process/output: many commands that print at once are read in turns (F2). */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "init/init.h"
#include "init/process/impl.h"
#include "loop/loop.h"
#include "unit.h"

#define WRITERS 48 /* more than the credit of one rest serves */
#define READS 1500

struct writer {
	struct proc p;
	int fd; /* the end of the pipe that the command writes to */
	unsigned reads;
};

static struct init init;
static struct writer writers[WRITERS];
static unsigned n_reads;

/* The command writes its next small piece as soon as the one before is read. */
static void on_ready(void *user, int events)
{
	struct writer *w = user;
	ssize_t n = output_read(&w->p, &w->p.out[0]);

	(void)events;
	if (n < 0)
		return;
	assert_int_equal(n, 1);
	assert_int_equal(write(w->fd, "x", 1), 1);
	w->reads++;
	if (++n_reads == READS)
		loop_stop(init.loop);
}

static void begin(struct writer *w)
{
	int fd[2];

	assert_int_equal(pipe2(fd, O_CLOEXEC | O_NONBLOCK), 0);
	w->p.in = &init;
	w->p.out[1].fd = -1;
	w->fd = fd[1];
	w->p.next = init.procs.head; /* newest first */
	init.procs.head = &w->p;
	output_open(&w->p, &w->p.out[0], fd[0], "stdout", on_ready);
	assert_non_null(w->p.out[0].watch);
	assert_int_equal(write(w->fd, "x", 1), 1);
}

static void end(struct writer *w)
{
	output_close(&w->p.out[0]);
	(void)close(w->fd);
}

static void all_that_print_are_read_in_turns(void **state)
{
	(void)state;
	init.loop = loop_new();
	assert_non_null(init.loop);
	for (size_t i = 0; i < WRITERS; i++)
		begin(&writers[i]);
	loop_run(init.loop);
	for (size_t i = 0; i < WRITERS; i++)
		assert_in_range(writers[i].reads, READS / WRITERS / 2, 2 * READS / WRITERS);
	while (!init.procs.resting) /* so what is closed now is removed from the middle of the queue */
		for (size_t i = 0; i < WRITERS; i++)
			on_ready(&writers[i], 0);
	for (size_t i = 0; i < WRITERS; i += 2)
		end(&writers[i]);
	for (size_t i = 1; i < WRITERS; i += 2)
		end(&writers[i]);
	assert_null(init.procs.rests_first);
	timer_free(init.procs.rest);
	loop_free(init.loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_print_are_read_in_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

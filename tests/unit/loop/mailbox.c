/* SPDX-License-Identifier: Apache-2.0 */
/* Units of loop/mailbox: several threads post, one loop delivers. */
#include <pthread.h>
#include <stdlib.h>

#include "base/fd.h"
#include "loop/loop.h"
#include "loop/mailbox.h"
#include "unit.h"

#define THREADS 4
#define EACH 5000

struct world {
	struct loop *l;
	struct mailbox *box;
	unsigned next[THREADS]; /* the number of the next message of each thread */
	unsigned n;
};

struct letter {
	struct mail mail;
	struct world *w;
	unsigned from, number;
};

struct poster {
	pthread_t thread;
	struct world *w;
	unsigned from;
};

static void deliver(struct mail *m)
{
	struct letter *le = container_of(m, struct letter, mail);
	struct world *w = le->w;

	assert_int_equal(le->number, w->next[le->from]);
	w->next[le->from]++;
	if (++w->n == THREADS * EACH)
		loop_stop(w->l);
	free(le);
}

static void post(struct world *w, unsigned from, unsigned number)
{
	struct letter *le = malloc(sizeof *le);

	assert_non_null(le);
	*le = (struct letter) { .mail.deliver = deliver, .w = w, .from = from, .number = number };
	mailbox_post(w->box, &le->mail);
}

static void *run(void *user)
{
	struct poster *p = user;

	for (unsigned i = 0; i < EACH; i++)
		post(p->w, p->from, i);
	return NULL;
}

static void all_arrive_in_the_order_of_each_thread(void **state)
{
	struct world w = { .l = loop_new() };
	struct poster posters[THREADS];

	(void)state;
	w.box = mailbox_new(w.l);
	for (unsigned i = 0; i < THREADS; i++) {
		posters[i] = (struct poster) { .w = &w, .from = i };
		assert_int_equal(pthread_create(&posters[i].thread, NULL, run, &posters[i]), 0);
	}
	loop_run(w.l);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(posters[i].thread, NULL), 0);
	assert_int_equal(w.n, THREADS * EACH);
	mailbox_free(w.box);
	loop_free(w.l);
}

static void what_is_left_is_delivered_at_the_end(void **state)
{
	struct world w = { .l = loop_new() };

	(void)state;
	w.box = mailbox_new(w.l);
	post(&w, 0, 0);
	mailbox_empty(w.box);
	assert_int_equal(w.n, 1);
	post(&w, 0, 1);
	mailbox_free(w.box);
	assert_int_equal(w.n, 2);
	loop_free(w.l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_arrive_in_the_order_of_each_thread),
		cmocka_unit_test(what_is_left_is_delivered_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

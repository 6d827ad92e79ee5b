/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/link/start_queue: whose turn it is, what is refused, and who leaves early. */
#include "front/link/start_queue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "loop/loop.h"
#include "unit.h"

#define BUILDERS 2

struct world {
	struct loop *loop;
	struct timer *end;
	struct start_queue *q;
	char seen[8192]; /* names of what was sent; with an errno value: of what was refused */
};

struct one {
	struct start_ticket ticket;
	struct world *w;
	char name[16];
};

static void saw(struct world *w, const char *name)
{
	size_t n = strlen(w->seen);

	(void)snprintf(w->seen + n, sizeof w->seen - n, "%s%s", n ? " " : "", name);
}

static void on_send(struct start_ticket *t)
{
	struct one *o = container_of(t, struct one, ticket);

	saw(o->w, o->name);
}

static void on_over(struct start_ticket *t, int no, const char *text)
{
	struct one *o = container_of(t, struct one, ticket);
	char word[32];

	assert_non_null(text);
	(void)snprintf(word, sizeof word, "%s=%s", o->name, no == EAGAIN ? "again" : "cancelled");
	saw(o->w, word);
	start_queue_leave(o->w->q, t);
}

static void on_end(void *user)
{
	struct world *w = user;

	loop_stop(w->loop);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof *w);

	w->loop = loop_new();
	w->q = start_queue_new(w->loop, BUILDERS);
	w->end = timer_new(w->loop, on_end, w);
	assert_non_null(w->q);
	assert_non_null(w->end);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	assert_int_equal(start_queue_waiting(w->q), 0);
	timer_free(w->end);
	start_queue_free(w->q);
	loop_free(w->loop);
	free(w);
	return 0;
}

/* What was refused or withdrawn is told. */
static void turn(struct world *w)
{
	timer_arm(w->end, 1);
	loop_run(w->loop);
}

static void enter(struct world *w, struct one *o, const char *name, const char *team, const char *key)
{
	*o = (struct one) { .ticket = { .send = on_send, .over = on_over }, .w = w };
	(void)snprintf(o->name, sizeof o->name, "%s", name);
	start_queue_enter(w->q, &o->ticket, team, key);
}

static void leave(struct world *w, struct one *o)
{
	start_queue_leave(w->q, &o->ticket);
}

#define assert_saw(w, want) \
	do { \
		assert_string_equal((w)->seen, want); \
		(w)->seen[0] = '\0'; \
	} while (0)

static void as_many_at_a_time_as_there_are_builders(void **state)
{
	struct world *w = *state;
	struct one o[4];

	enter(w, &o[0], "0", "a", "");
	enter(w, &o[1], "1", "a", "");
	enter(w, &o[2], "2", "a", "");
	enter(w, &o[3], "3", "a", "");
	assert_saw(w, "0 1");
	assert_int_equal(start_queue_waiting(w->q), 2);
	leave(w, &o[1]);
	assert_saw(w, "2");
	leave(w, &o[0]);
	assert_saw(w, "3");
	leave(w, &o[2]);
	leave(w, &o[3]);
	assert_saw(w, "");
}

/* The single start of a team comes right after those that the warden has, however many of another team wait. */
static void teams_take_turns(void **state)
{
	struct world *w = *state;
	struct one many[10], few[2], single;

	for (size_t i = 0; i < 10; i++) {
		char name[8];

		(void)snprintf(name, sizeof name, "a%zu", i);
		enter(w, &many[i], name, "a", "");
	}
	enter(w, &few[0], "b0", "b", "");
	enter(w, &few[1], "b1", "b", "");
	enter(w, &single, "c0", "c", "");
	assert_saw(w, "a0 a1");
	leave(w, &many[0]);
	leave(w, &many[1]);
	leave(w, &many[2]);
	assert_saw(w, "a2 b0 c0");
	leave(w, &few[0]);
	leave(w, &single);
	leave(w, &many[3]);
	assert_saw(w, "a3 b1 a4");
	leave(w, &few[1]);
	for (size_t i = 4; i < 10; i++)
		leave(w, &many[i]);
	assert_saw(w, "a5 a6 a7 a8 a9");
}

static void keys_of_a_team_take_turns(void **state)
{
	struct world *w = *state;
	struct one x[4], y, other;

	enter(w, &x[0], "x0", "a", "x");
	enter(w, &x[1], "x1", "a", "x");
	enter(w, &x[2], "x2", "a", "x");
	enter(w, &x[3], "x3", "a", "x");
	enter(w, &y, "y0", "a", "y");
	enter(w, &other, "b0", "b", "x"); /* the same name of a key in another team */
	assert_saw(w, "x0 x1");
	leave(w, &x[0]);
	leave(w, &x[1]);
	leave(w, &x[2]);
	assert_saw(w, "x2 b0 y0");
	leave(w, &other);
	leave(w, &y);
	leave(w, &x[3]);
	assert_saw(w, "x3");
}

static void clients_come_before_the_warm_pool(void **state)
{
	struct world *w = *state;
	struct one pool[3], client[3];

	enter(w, &pool[0], "p0", NULL, "");
	enter(w, &pool[1], "p1", NULL, "");
	enter(w, &pool[2], "p2", NULL, "");
	enter(w, &client[0], "c0", "a", "");
	enter(w, &client[1], "c1", "a", "");
	assert_saw(w, "p0 p1");
	assert_int_equal(start_queue_waiting(w->q), 2);
	leave(w, &pool[0]);
	leave(w, &pool[1]);
	leave(w, &client[0]);
	assert_saw(w, "c0 c1 p2");
	leave(w, &client[1]);
	leave(w, &pool[2]);
}

static void the_team_with_most_is_refused_first(void **state)
{
	struct world *w = *state;
	const size_t max = BUILDERS * START_QUEUE_PER_BUILDER, n = BUILDERS + max;
	struct one *many = calloc(n + 1, sizeof *many), few, first;
	char newest[32];

	for (size_t i = 0; i < n; i++) {
		char name[16];

		(void)snprintf(name, sizeof name, "a%zu", i);
		enter(w, &many[i], name, "a", "");
	}
	assert_saw(w, "a0 a1");
	turn(w);
	assert_saw(w, "");
	enter(w, &few, "b", "b", ""); /* has its place: the newest of the others goes */
	assert_saw(w, "");
	turn(w);
	(void)snprintf(newest, sizeof newest, "a%zu=again", n - 1);
	assert_saw(w, newest);
	enter(w, &many[n], "late", "a", "");
	turn(w);
	assert_saw(w, "late=again");
	assert_int_equal(start_queue_refused(w->q), 2);
	assert_int_equal(start_queue_waiting(w->q), max);
	leave(w, &many[0]);
	leave(w, &many[1]);
	assert_saw(w, "a2 b");
	enter(w, &first, "c", "c", ""); /* there is room again */
	turn(w);
	assert_saw(w, "");
	start_queue_stop(w->q);
	leave(w, &few);
	leave(w, &first);
	for (size_t i = 2; i < n - 1; i++)
		leave(w, &many[i]);
	assert_saw(w, ""); /* nothing is sent after a stop */
	free(many);
}

static void a_withdrawn_one_is_told_and_not_sent(void **state)
{
	struct world *w = *state;
	struct one o[4];

	enter(w, &o[0], "0", "a", "");
	enter(w, &o[1], "1", "a", "");
	enter(w, &o[2], "2", "a", "");
	enter(w, &o[3], "3", NULL, "");
	start_queue_withdraw(w->q, &o[0].ticket); /* the warden has it */
	start_queue_withdraw(w->q, &o[2].ticket);
	start_queue_withdraw(w->q, &o[3].ticket);
	assert_saw(w, "0 1");
	leave(w, &o[3]); /* before it is told */
	turn(w);
	assert_saw(w, "2=cancelled");
	leave(w, &o[0]);
	leave(w, &o[1]);
	assert_saw(w, "");
}

static void one_that_waits_may_leave(void **state)
{
	struct world *w = *state;
	struct one o[4];

	enter(w, &o[0], "0", "a", "");
	enter(w, &o[1], "1", "a", "");
	enter(w, &o[2], "2", "b", "");
	enter(w, &o[3], "3", "a", "");
	leave(w, &o[2]);
	leave(w, &o[2]); /* twice does no harm */
	leave(w, &o[0]);
	assert_saw(w, "0 1 3");
	leave(w, &o[1]);
	leave(w, &o[3]);
}

static void without_a_queue_all_are_sent(void **state)
{
	struct world *w = *state;
	struct one o = { .ticket = { .send = on_send, .over = on_over }, .w = w, .name = "0" };

	start_queue_enter(NULL, &o.ticket, "a", "");
	start_queue_withdraw(NULL, &o.ticket);
	start_queue_leave(NULL, &o.ticket);
	assert_saw(w, "0");
	assert_int_equal(start_queue_builders(NULL), 0);
	assert_int_equal(start_queue_builders(w->q), BUILDERS);
}

#define QUEUE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		QUEUE_TEST(as_many_at_a_time_as_there_are_builders),
		QUEUE_TEST(teams_take_turns),
		QUEUE_TEST(keys_of_a_team_take_turns),
		QUEUE_TEST(clients_come_before_the_warm_pool),
		QUEUE_TEST(the_team_with_most_is_refused_first),
		QUEUE_TEST(a_withdrawn_one_is_told_and_not_sent),
		QUEUE_TEST(one_that_waits_may_leave),
		QUEUE_TEST(without_a_queue_all_are_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

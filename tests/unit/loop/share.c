/* SPDX-License-Identifier: Apache-2.0 */
/* Units of loop/share: who waits for whom (F2). Pieces of work are counted, each of a known time of the processor. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "../http/wire.h"
#include "base/clock.h"
#include "loop/share.h"
#include "loop/stream.h"
#include "unit.h"

#define FLOODERS 64
#define WORK_US 400    /* what one piece of the flood takes, at least */
#define SLICE_PIECES 4 /* so many of them begin in a slice of 1 ms, at most, with one to spare */
#define TURN_PIECES 12 /* ... and in one round of the loop */

struct tenant;

struct end {
	struct tenant *of;
	struct stream *s;
	int peer;
};

struct tenant {
	struct share share;
	struct end ends[FLOODERS];
	size_t n;
	unsigned served;       /* pieces */
	unsigned flood_before; /* pieces of the flood when it was first served */
	bool works;            /* each piece takes a while, and the next one is there at once */
	bool drops_share;      /* in its callback */
};

struct world {
	struct loop *l;
	struct tenant flood, quiet, api;
};

static struct world *world;

static void on_data(void *user, struct str data)
{
	struct end *e = user;
	struct tenant *t = e->of;
	uint64_t until_us = clock_cpu_us() + WORK_US;

	(void)data;
	if (t->served++ == 0)
		t->flood_before = world->flood.served;
	if (t->drops_share)
		share_done(&t->share);
	if (!t->works)
		return;
	while (clock_cpu_us() < until_us)
		;
	wire_send(e->peer, STR_LIT("more"));
}

static void on_end(void *user)
{
	(void)user;
}

static void on_error(void *user, int no)
{
	(void)user;
	(void)no;
}

static const struct stream_ops ops = { .on_data = on_data, .on_eof = on_end, .on_error = on_error };

static void join(struct tenant *t, struct share *sh)
{
	struct end *e = &t->ends[t->n++];
	int sv[2];

	wire_pair(sv);
	e->of = t;
	e->peer = sv[1];
	e->s = stream_new(world->l, sv[0], &ops, e);
	stream_share(e->s, sh);
	stream_read(e->s, true);
}

static int set_up(void **state)
{
	world = *state = calloc(1, sizeof *world);
	world->l = loop_new();
	for (struct tenant *t = &world->flood; t <= &world->api; t++)
		share_init(&t->share, world->l);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (struct tenant *t = &world->flood; t <= &world->api; t++) {
		for (size_t i = 0; i < t->n; i++) {
			stream_close(t->ends[i].s);
			fd_close(t->ends[i].peer);
		}
		share_done(&t->share);
	}
	wire_turns(world->l, 3);
	loop_free(world->l);
	free(world);
	return 0;
}

static void begin_flood(void)
{
	world->flood.works = true;
	for (size_t i = 0; i < FLOODERS; i++) {
		join(&world->flood, &world->flood.share);
		wire_send(world->flood.ends[i].peer, STR_LIT("first"));
	}
	wire_turns(world->l, 3);
	assert_true(world->flood.served > 0);
}

static void a_tenant_waits_for_one_slice_of_a_flood(void **state)
{
	(void)state;
	begin_flood();
	join(&world->quiet, &world->quiet.share);
	wire_send(world->quiet.ends[0].peer, STR_LIT("one"));
	unsigned before = world->flood.served;

	wire_turn(world->l);
	if (!world->quiet.served) /* the first round may have been spent on the debt of the last piece */
		wire_turn(world->l);
	assert_int_equal(world->quiet.served, 1);
	assert_in_range(world->quiet.flood_before - before, 0, SLICE_PIECES + TURN_PIECES);
	assert_true(world->quiet.flood_before - before < FLOODERS);
}

static void what_is_of_no_share_is_served_in_the_next_round(void **state)
{
	(void)state;
	begin_flood();
	join(&world->api, NULL);
	for (unsigned i = 1; i <= 10; i++) {
		unsigned before = world->flood.served;

		wire_send(world->api.ends[0].peer, STR_LIT("GET /health"));
		wire_turn(world->l);
		assert_int_equal(world->api.served, i);
		assert_in_range(world->flood.served - before, 1, TURN_PIECES);
	}
}

static void all_of_a_flood_are_served_in_turn(void **state)
{
	(void)state;
	begin_flood();
	for (int i = 0; i < 1000 && world->flood.served < 3 * FLOODERS; i++)
		wire_turn(world->l);
	assert_true(world->flood.served >= 3 * FLOODERS);
}

static void two_floods_get_alike(void **state)
{
	(void)state;
	begin_flood();
	world->quiet.works = true;
	join(&world->quiet, &world->quiet.share); /* one connection against 64 */
	wire_send(world->quiet.ends[0].peer, STR_LIT("first"));
	unsigned before = world->flood.served;

	wire_turns(world->l, 20);
	assert_true(world->quiet.served >= 15); /* it is ready once in a round, and served each time */
	assert_true(world->flood.served - before >= world->quiet.served);
}

static void a_share_may_go_while_it_is_served(void **state)
{
	(void)state;
	world->quiet.drops_share = true;
	for (size_t i = 0; i < 3; i++) {
		join(&world->quiet, &world->quiet.share);
		wire_send(world->quiet.ends[i].peer, STR_LIT("x"));
	}
	wire_turns(world->l, 3);
	assert_int_equal(world->quiet.served, 3); /* the others are nobody's then, and served as such */
	assert_true(LIST_EMPTY(&world->quiet.share.members));
}

static void who_leaves_while_he_waits_is_not_served(void **state)
{
	(void)state;
	begin_flood();
	join(&world->quiet, &world->flood.share);
	wire_send(world->quiet.ends[0].peer, STR_LIT("x"));
	wire_turn(world->l);
	stream_close(take_ptr(&world->quiet.ends[0].s));
	unsigned served = world->quiet.served;

	wire_turns(world->l, 20);
	assert_int_equal(world->quiet.served, served);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_tenant_waits_for_one_slice_of_a_flood),
		CASE(what_is_of_no_share_is_served_in_the_next_round),
		CASE(all_of_a_flood_are_served_in_turn),
		CASE(two_floods_get_alike),
		CASE(a_share_may_go_while_it_is_served),
		CASE(who_leaves_while_he_waits_is_not_served),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

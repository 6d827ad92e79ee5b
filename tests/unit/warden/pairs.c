/* SPDX-License-Identifier: Apache-2.0 */
/* Units of warden/pairs and warden/slots: no pair is handed out twice, none takes a slot that a sandbox needs, and what
 * fails is tried again. */
#include "warden/pairs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "loop/loop.h"
#include "unit.h"
#include "warden/slots.h"
#include "warden/unit_state.h"
#include "warden/warden.h"

#define OWN "0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210"
#define STORE 6

/* An engine that makes a pair when it is told to. */
static struct {
	int ready; /* an eventfd; -1: no helper */
	char key[ENGINE_KEY_SIZE];
	uint32_t slot;
	bool asked;
	int result; /* of the next one */
	unsigned made, killed, helpers;
} fake;

static int fake_prepare(struct engine *en, const char *key, uint32_t slot, int *ret_fd, struct err *e)
{
	(void)en;
	assert_false(fake.asked); /* one at a time */
	if (fake.ready < 0) {
		fake.ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		fake.helpers++;
	}
	assert_true(fake.ready >= 0);
	if (fake.result == -ECHILD) {
		fake.result = 0;
		return err_set(e, EPIPE, "the helper is gone");
	}
	(void)strcpy(fake.key, key);
	fake.slot = slot;
	fake.asked = true;
	*ret_fd = fake.ready;
	return 0;
}

static int fake_prepared(struct engine *en, struct engine_pair *ret, struct err *e)
{
	uint64_t n;

	(void)en;
	if (fake.ready < 0 || read(fake.ready, &n, sizeof n) != sizeof n)
		return -EAGAIN;
	fake.asked = false;
	if (fake.result < 0)
		return err_set(e, -fake.result, "told to fail");
	fake.made++;
	ret->user = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ret->net = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return 0;
}

static void fake_unprepare(struct engine *en)
{
	(void)en;
	fake.killed++;
}

static const struct engine_ops ops = {
	.prepare = fake_prepare,
	.prepared = fake_prepared,
	.unprepare = fake_unprepare,
};

static struct warden w;
static unsigned told;

static void on_made(struct warden *of)
{
	assert_ptr_equal(of, &w);
	told++;
}

static unsigned open_fds(void)
{
	unsigned n = 0;

	for (int fd = 3; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void set_up(uint32_t store, uint32_t slots)
{
	memset(&fake, 0, sizeof fake);
	memset(&w, 0, sizeof w);
	fake.ready = -1;
	told = 0;
	w.ops = &ops;
	w.cfg.prepared_networks = store;
	w.cfg.max_sandboxes = slots;
	w.cfg.n_templates = 1;
	(void)strcpy(w.cfg.templates[0].key, OWN);
	w.n_slots = slots;
	w.max_builders = 4;
	w.loop = loop_new();
	w.pairs = pairs_new(&w, on_made);
}

static void tear_down(void)
{
	pairs_free(w.pairs);
	for (size_t i = 0; i < SLOTS_MAX; i++)
		free(w.slots[i]);
	fd_close(fake.ready);
	loop_free(w.loop);
}

static void stop(void *user)
{
	loop_stop(user);
}

/* Lets the engine finish what it was asked for. False: nothing was. */
static bool make_one(void)
{
	unsigned before = told;

	if (!fake.asked)
		return false;
	assert_int_equal(write(fake.ready, &(uint64_t) { 1 }, 8), 8);
	for (int i = 0; i < 1000 && told == before; i++) {
		loop_defer(w.loop, stop, w.loop);
		loop_run(w.loop);
	}
	assert_int_equal(told, before + 1);
	return true;
}

static unsigned make_all(void)
{
	unsigned n = 0;

	pairs_run(w.pairs);
	while (make_one())
		assert_true(++n < 100);
	return n;
}

static struct unit *put_unit(uint32_t slot)
{
	struct unit *sb = calloc(1, sizeof *sb);

	assert_non_null(sb);
	assert_null(w.slots[slot]);
	sb->state = UNIT_RUNNING;
	w.slots[slot] = sb;
	return sb;
}

/* As unit_start(): true if it was given a pair. */
static bool start(const char *key, uint32_t *ret_slot)
{
	struct engine_pair pair = ENGINE_PAIR_NONE;

	assert_int_equal(slot_take(&w, key, ret_slot, &pair), 0);
	(void)put_unit(*ret_slot);
	bool has = pair.user >= 0;

	assert_int_equal(has, pair.net >= 0);
	fd_close(pair.user);
	fd_close(pair.net);
	return has;
}

static void use(const char *key, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		pairs_used(w.pairs, key);
}

static void each_is_handed_out_once(void **state)
{
	bool seen[64] = { false };
	uint32_t slot;

	(void)state;
	set_up(STORE, 64);
	tear_down(); /* the first loop of a process opens files for good */
	unsigned fds = open_fds();

	set_up(STORE, 64);
	assert_false(start(OWN, &slot)); /* nothing is prepared for a template that nobody has used */
	seen[slot] = true;
	use(OWN, 1);
	assert_int_equal(make_all(), 2);
	use(OWN, 10);
	assert_int_equal(make_all(), STORE - 2);
	for (int i = 0; i < STORE; i++) {
		assert_true(start(OWN, &slot));
		assert_false(seen[slot]);
		assert_false(pairs_has(w.pairs, slot));
		seen[slot] = true;
	}
	assert_false(start(OWN, &slot)); /* the store is empty: it makes its own */
	assert_false(seen[slot]);
	tear_down();
	assert_int_equal(open_fds(), fds);
}

static void one_of_another_template_is_not_taken(void **state)
{
	uint32_t slot;

	(void)state;
	set_up(STORE, 64);
	use(OWN, 1);
	assert_int_equal(make_all(), 2);
	assert_false(start(OTHER, &slot));
	assert_false(pairs_has(w.pairs, slot));
	assert_true(start(OWN, &slot));
	tear_down();
}

static void templates_share_the_store(void **state)
{
	uint32_t slot;
	unsigned own = 0, other = 0;

	(void)state;
	set_up(STORE, 64);
	use(OWN, 10);
	assert_int_equal(make_all(), STORE);
	use(OTHER, 10);
	assert_int_equal(make_all(), STORE / 2);
	while (start(OWN, &slot))
		own++;
	while (start(OTHER, &slot))
		other++;
	assert_int_equal(own, STORE / 2);
	assert_int_equal(other, STORE / 2);
	tear_down();
}

static void many_templates_share_it_too(void **state)
{
	unsigned fds = open_fds();
	char key[ENGINE_KEY_SIZE];

	(void)state;
	set_up(STORE, 64);
	for (int i = 0; i < 40; i++) {
		(void)snprintf(key, sizeof key, "%032x", i);
		use(key, 2);
		(void)make_all();
		assert_true(open_fds() <= fds + 2 * STORE + 16);
	}
	tear_down();
	assert_int_equal(open_fds(), fds);
}

/* Pairs have slots that sandboxes want: all but one sandbox get theirs while pairs wait, and the last one, too. */
static void they_give_way_to_sandboxes(void **state)
{
	enum { SLOTS = STORE + 5 };
	struct engine_pair pair = ENGINE_PAIR_NONE;
	uint32_t slot;

	(void)state;
	set_up(STORE, SLOTS);
	use(OWN, 10);
	assert_int_equal(make_all(), SLOTS - 5 < STORE ? SLOTS - 5 : STORE);
	for (int i = 0; i < SLOTS; i++)
		(void)start(OTHER, &slot);
	assert_int_equal(slot_take(&w, OTHER, &slot, &pair), -EMFILE);
	assert_int_equal(make_all(), 0);
	tear_down();
}

static void a_slot_in_the_making_is_the_last_to_be_used(void **state)
{
	enum { SLOTS = 8 };
	uint32_t slot;

	(void)state;
	set_up(STORE, SLOTS);
	use(OWN, 10);
	pairs_run(w.pairs);
	assert_true(fake.asked);
	uint32_t last = fake.slot;

	for (int i = 0; i < SLOTS - 1; i++) {
		(void)start(OTHER, &slot);
		assert_int_not_equal(slot, last);
	}
	(void)start(OTHER, &slot);
	assert_int_equal(slot, last);
	assert_true(pairs_makes(w.pairs, last)); /* the start waits in the queue */
	assert_true(make_one());
	assert_false(pairs_makes(w.pairs, last));
	assert_false(pairs_has(w.pairs, last)); /* what was made is gone */
	tear_down();
}

static unsigned left;

static void on_leave(struct unit *sb)
{
	assert_ptr_equal(w.slots[sb->er.spec.slot], sb);
	left++;
}

/* It waits for no network that is being made once another slot is free. */
static void a_start_that_waits_takes_a_slot_that_is_free_by_then(void **state)
{
	enum { SLOTS = 8 };
	uint32_t slot, first;

	(void)state;
	set_up(STORE, SLOTS);
	left = 0;
	use(OWN, 10);
	pairs_run(w.pairs);
	assert_true(fake.asked);
	(void)start(OTHER, &first);
	for (int i = 0; i < SLOTS - 1; i++)
		(void)start(OTHER, &slot);
	assert_true(pairs_makes(w.pairs, slot));
	struct unit *waits = w.slots[slot];

	waits->er.spec.slot = slot;
	assert_false(slot_change(&w, waits, on_leave));
	assert_ptr_equal(w.slots[slot], waits);
	free(w.slots[first]);
	w.slots[first] = NULL;
	assert_true(slot_change(&w, waits, on_leave));
	assert_int_equal(left, 1);
	assert_int_equal(waits->er.spec.slot, first);
	assert_ptr_equal(w.slots[first], waits);
	assert_null(w.slots[slot]);
	tear_down();
}

static void nothing_is_made_while_starts_wait(void **state)
{
	(void)state;
	set_up(STORE, 64);
	use(OWN, 10);
	w.n_builders = 2;
	pairs_run(w.pairs);
	assert_false(fake.asked);
	w.n_builders = 1;
	w.first_queued = put_unit(0);
	pairs_run(w.pairs);
	assert_false(fake.asked);
	w.first_queued = NULL;
	pairs_run(w.pairs);
	assert_true(fake.asked);
	w.stopping = true;
	assert_true(make_one()); /* dropped */
	assert_false(pairs_has(w.pairs, fake.slot));
	assert_false(fake.asked);
	tear_down();
}

/* Lets time pass until the engine is asked for a pair. */
static void until_asked(void)
{
	for (int k = 0; k < 1000 && !fake.asked; k++) {
		(void)usleep(10000); /* the delay is of time itself */
		loop_defer(w.loop, stop, w.loop);
		loop_run(w.loop);
		pairs_tick(w.pairs);
	}
	assert_true(fake.asked);
}

/* A helper that is gone is replaced, not at once. */
static void a_failure_is_tried_again_later(void **state)
{
	static const int how[] = { -EPIPE, -ENOSPC, -ECHILD };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(how); i++) {
		set_up(STORE, 64);
		use(OWN, 10);
		fake.result = how[i];
		pairs_run(w.pairs);
		if (how[i] != -ECHILD)
			assert_true(make_one());
		assert_false(fake.asked);
		fake.result = 0;
		until_asked();
		assert_int_equal(make_all(), STORE);
		tear_down();
	}
}

/* Only the template whose pairs fail waits. */
static void a_template_that_fails_delays_no_other(void **state)
{
	uint32_t slot;

	(void)state;
	set_up(STORE, 64);
	use(OTHER, 10);
	pairs_run(w.pairs);
	fake.result = -ENOSPC;
	assert_true(make_one());
	assert_false(fake.asked);
	fake.result = 0;
	use(OWN, 1);
	assert_int_equal(make_all(), 2); /* at once: no time has passed */
	assert_string_equal(fake.key, OWN);
	assert_true(start(OWN, &slot));
	until_asked();
	while (fake.asked && strcmp(fake.key, OTHER) != 0)
		assert_true(make_one());
	if (!fake.asked)
		until_asked();
	assert_string_equal(fake.key, OTHER);
	tear_down();
}

static unsigned pairs_of(const char *key)
{
	struct engine_pair pair = ENGINE_PAIR_NONE;
	unsigned n = 0;
	uint32_t slot;

	for (; pairs_take(w.pairs, key, &slot, &pair); n++) {
		fd_close(pair.user);
		fd_close(pair.net);
	}
	return n;
}

/* However many templates the tenants use. */
static void the_servers_own_templates_keep_half(void **state)
{
	char key[ENGINE_KEY_SIZE];

	(void)state;
	for (uint32_t store = 1; store <= STORE; store++) {
		for (int own_first = 0; own_first < 2; own_first++) {
			set_up(store, 64);
			if (own_first)
				use(OWN, 10);
			(void)make_all();
			for (int i = 1; i <= 40; i++) {
				(void)snprintf(key, sizeof key, "%032x", i);
				use(key, 10);
				(void)make_all();
			}
			if (!own_first)
				use(OWN, 10);
			(void)make_all();
			assert_int_equal(pairs_of(OWN), store - store / 2);
			tear_down();
		}
	}
}

/* Slots are short: a pair that a tenant's template has goes first. */
static void tenants_give_way_first(void **state)
{
	uint32_t slot;

	(void)state;
	set_up(STORE, 64);
	use(OWN, 10);
	use(OTHER, 10);
	assert_int_equal(make_all(), STORE);
	for (int i = 0; i < STORE / 2; i++)
		assert_true(pairs_give_way(w.pairs, &slot));
	assert_int_equal(pairs_of(OWN), STORE / 2);
	assert_int_equal(pairs_of(OTHER), 0);
	tear_down();
}

static void none_are_kept_with_0(void **state)
{
	uint32_t slot;

	(void)state;
	set_up(0, 8);
	assert_null(w.pairs);
	use(OWN, 3);
	pairs_tick(w.pairs);
	assert_int_equal(make_all(), 0);
	assert_false(start(OWN, &slot));
	tear_down();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_is_handed_out_once),
		cmocka_unit_test(one_of_another_template_is_not_taken),
		cmocka_unit_test(templates_share_the_store),
		cmocka_unit_test(many_templates_share_it_too),
		cmocka_unit_test(they_give_way_to_sandboxes),
		cmocka_unit_test(a_slot_in_the_making_is_the_last_to_be_used),
		cmocka_unit_test(a_start_that_waits_takes_a_slot_that_is_free_by_then),
		cmocka_unit_test(nothing_is_made_while_starts_wait),
		cmocka_unit_test(a_failure_is_tried_again_later),
		cmocka_unit_test(a_template_that_fails_delays_no_other),
		cmocka_unit_test(the_servers_own_templates_keep_half),
		cmocka_unit_test(tenants_give_way_first),
		cmocka_unit_test(none_are_kept_with_0),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

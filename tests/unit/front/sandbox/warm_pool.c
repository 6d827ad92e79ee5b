/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/sandbox/warm_pool and its members: against a fake warden and fake inits, and what goes wrong. */
#include "front/sandbox/warm_pool.h"
#include "front/link/start_queue.h"
#include "front/sandbox/fake_front.h"
#include "front/sandbox/life.h"
#include "front/sandbox/sandbox.h"

struct counts {
	uint64_t hits, misses, ready;
};

static struct counts counts(struct fake_front *t)
{
	struct counts c = { 0 };

	warm_pool_counts(t->f.sandbox.warm_pool, &c.hits, &c.misses, &c.ready);
	return c;
}

/* A pool of one for one template, not begun. */
static struct warm_pool *pool(struct fake_front *t)
{
	struct spec sp = fake_spec();

	t->f.account.defaults = sp.limits;
	t->f.sandbox.templates.v[0] = sp.tpl;
	t->f.sandbox.templates.n = 1;
	t->f.sandbox.warm_pool = warm_pool_new(&t->f.sandbox);
	assert_non_null(t->f.sandbox.warm_pool);
	return t->f.sandbox.warm_pool;
}

static void until_ready(struct fake_front *t, uint64_t n)
{
	while (counts(t).ready != n)
		fake_settle(&t->fk);
}

static void until_seen(struct fake_front *t, const char *what)
{
	while (!strstr(t->fk.seen, what))
		fake_settle(&t->fk);
}

static bool take(struct fake_front *t, struct warm_pool_gift *ret)
{
	struct spec sp = fake_spec();

	return warm_pool_take(t->f.sandbox.warm_pool, &sp, ret);
}

static void makes_one_and_gives_it_away(void **state)
{
	struct fake_front *t = *state;
	struct warm_pool_gift gift;

	warm_pool_begin(pool(t));
	assert_false(take(t, &gift)); /* too early */
	until_ready(t, 1);
	assert_seen(&t->fk, "start /init /atoll/ready usage");
	assert_int_equal(t->fk.last_start.start.flags, START_PATIENT);
	assert_true(take(t, &gift));
	assert_string_equal(gift.id, t->fk.last_start.start.id);
	assert_true(gift.fd >= 0);
	assert_int_equal(gift.cpu_ns, 77);
	sandbox_start_warm(fake_sandbox(t, NULL, &gift));
	fake_until_settled(t);
	assert_int_equal(t->sb->state, SANDBOX_RUNNING);
	assert_string_equal(t->sb->id, gift.id);
	assert_int_equal(counts(t).hits, 1);
	assert_int_equal(counts(t).misses, 1);
	until_ready(t, 1); /* the next one */
	assert_string_not_equal(t->fk.last_start.start.id, gift.id);
}

/* Its answer and the report of its end are there at the same time: the client gets another one. */
static void one_that_dies_when_it_is_taken_is_replaced(void **state)
{
	struct fake_front *t = *state;
	struct warm_pool_gift gift;

	warm_pool_begin(pool(t));
	until_ready(t, 1);
	assert_true(take(t, &gift));
	sandbox_start_warm(fake_sandbox(t, NULL, &gift));
	sandbox_box_exited(t->sb, END_DIED, "died");
	fake_until_settled(t);
	assert_int_equal(t->sb->state, SANDBOX_RUNNING);
	assert_string_not_equal(t->sb->id, gift.id);
	assert_int_equal(t->sb->box.state, BOX_READY);
	assert_int_equal(counts(t).hits, 0);
}

static void gives_nothing_to_who_wants_something_else(void **state)
{
	struct fake_front *t = *state;
	struct warm_pool_gift gift;
	struct spec sp = fake_spec();

	warm_pool_begin(pool(t));
	until_ready(t, 1);
	sp.flags = SPEC_NO_INTERNET;
	assert_false(warm_pool_take(t->f.sandbox.warm_pool, &sp, &gift));
	sp = fake_spec();
	sp.limits.mem_bytes *= 2;
	assert_false(warm_pool_take(t->f.sandbox.warm_pool, &sp, &gift));
	assert_int_equal(counts(t).ready, 1);
}

static void a_refused_member_is_made_again(void **state)
{
	struct fake_front *t = *state;

	t->fk.refuse[OP_START] = EAGAIN; /* its template is being warmed */
	warm_pool_begin(pool(t));
	until_seen(t, "start");
	t->fk.refuse[OP_START] = 0;
	fake_settle(&t->fk);
	warm_pool_tick(t->f.sandbox.warm_pool);
	while (counts(t).ready != 1) {
		fake_settle(&t->fk);
		warm_pool_tick(t->f.sandbox.warm_pool);
	}
	assert_seen(&t->fk, "start start /init /atoll/ready usage");
}

/* What could not be made is killed, if the warden has it. */
static void goes_wrong(struct fake_front *t, const char *path, const char *seen)
{
	t->fk.bad_path = path;
	t->fk.bad_how = 500;
	warm_pool_begin(pool(t));
	until_seen(t, "kill");
	assert_int_equal(counts(t).ready, 0);
	assert_seen(&t->fk, seen);
}

static void a_member_that_refuses_its_settings_is_killed(void **state)
{
	goes_wrong(*state, "/init", "start /init kill");
}

static void a_member_without_interpreters_is_killed(void **state)
{
	goes_wrong(*state, "/atoll/ready", "start /init /atoll/ready kill");
}

static void exits(struct fake_front *t)
{
	struct warm_pool *p = t->f.sandbox.warm_pool;
	char id[ID_SIZE];

	memcpy(id, t->fk.last_start.start.id, sizeof id);
	assert_false(warm_pool_exited(p, "i0000000000000000000"));
	assert_true(warm_pool_exited(p, id));
	assert_false(warm_pool_exited(p, id));
	assert_int_equal(counts(t).ready, 0);
	t->fk.refuse[OP_START] = 0;
	t->fk.bad_path = NULL;
	until_ready(t, 1); /* another one */
	assert_string_not_equal(t->fk.last_start.start.id, id);
	assert_null(strstr(t->fk.seen, "kill"));
}

static void exits_while_it_starts(void **state)
{
	struct fake_front *t = *state;

	t->fk.refuse[OP_START] = FAKE_SILENT;
	warm_pool_begin(pool(t));
	until_seen(t, "start");
	exits(t);
}

static void exits_while_it_settles(void **state)
{
	struct fake_front *t = *state;

	t->fk.bad_path = "/init";
	t->fk.bad_how = FAKE_SILENT;
	warm_pool_begin(pool(t));
	until_seen(t, "/init");
	exits(t);
}

static void exits_when_it_is_ready(void **state)
{
	struct fake_front *t = *state;

	warm_pool_begin(pool(t));
	until_ready(t, 1);
	exits(t);
}

static void on_quiet(void *user)
{
	struct fake_front *t = user;

	fake_stop(&t->fk);
}

static void stop_waits_for_the_warden(struct fake_front *t)
{
	t->f.link.on_quiet = on_quiet;
	t->f.link.quiet_user = t;
	t->f.link.stopping = true;
	warm_pool_stop(t->f.sandbox.warm_pool);
	assert_int_equal(t->f.link.requests, 1);
	fake_run(&t->fk);
	assert_int_equal(t->f.link.requests, 0);
	assert_int_equal(counts(t).ready, 0);
}

static void a_stop_kills_a_ready_one(void **state)
{
	struct fake_front *t = *state;

	warm_pool_begin(pool(t));
	until_ready(t, 1);
	t->fk.seen[0] = '\0';
	stop_waits_for_the_warden(t);
	assert_seen(&t->fk, "kill");
}

static void a_stop_calls_off_a_start(void **state)
{
	struct fake_front *t = *state;

	t->fk.refuse[OP_START] = FAKE_SILENT;
	warm_pool_begin(pool(t));
	until_seen(t, "start");
	stop_waits_for_the_warden(t);
	fake_answer(&t->fk, OP_START, ECANCELED); /* which nobody hears */
	fake_settle(&t->fk);
	assert_seen(&t->fk, "start kill");
}

/* --- how many, and how many at a time --- */

static unsigned count_of(const struct fake_front *t, const char *what)
{
	unsigned n = 0;

	for (const char *at = t->fk.seen; (at = strstr(at, what)); at += strlen(what))
		n++;
	return n;
}

/* All that may start has been started: their ids are all that the fake knows, as it answers none of them. */
static void until_started(struct fake_front *t, unsigned n)
{
	while (count_of(t, "start") < n)
		fake_settle(&t->fk);
	for (int i = 0; i < 50; i++)
		fake_settle(&t->fk);
	assert_int_equal(count_of(t, "start"), n);
}

/* A pool of 30 on eight processors; no start is answered. */
static void wide_pool(struct fake_front *t)
{
	t->f.link.starts = start_queue_new(t->f.link.loop, 16);
	t->f.link.opt.warm_pool_size = t->f.link.opt.warm_pool_max = 30;
	t->f.sandbox.max_sandboxes = 100;
	t->fk.refuse[OP_START] = FAKE_SILENT;
	warm_pool_begin(pool(t));
}

static void wide_pool_end(struct fake_front *t)
{
	warm_pool_free(take_ptr(&t->f.sandbox.warm_pool));
	start_queue_free(take_ptr(&t->f.link.starts));
}

static void refills_as_wide_as_there_are_processors(void **state)
{
	struct fake_front *t = *state;

	wide_pool(t);
	until_started(t, 8);
	wide_pool_end(t);
}

static void leaves_processors_to_clients(void **state)
{
	struct fake_front *t = *state;

	t->f.sandbox.starts = 3;
	wide_pool(t);
	until_started(t, 8 - 3 - 1);
	t->f.sandbox.starts = 0;
	wide_pool_end(t);
}

static void set_burst(struct fake_front *t, uint32_t size, uint32_t max)
{
	t->f.link.opt.warm_pool_size = size;
	t->f.link.opt.warm_pool_max = max;
	t->f.sandbox.max_sandboxes = 100;
	t->f.link.starts = start_queue_new(t->f.link.loop, 16);
	memory_open(&t->f.sandbox.memory);
}

static void end_burst(struct fake_front *t)
{
	t->f.link.opt.mem_total_mb = 0;
	memory_close(&t->f.sandbox.memory);
	wide_pool_end(t);
}

static void assert_target(struct fake_front *t, unsigned n)
{
	autobuf struct buf out = BUF_INIT(16384);
	char want[64];

	warm_pool_put_metrics(t->f.sandbox.warm_pool, &out);
	buf_ch(&out, '\0');
	assert_false(out.bad);
	(void)snprintf(want, sizeof want, "atoll_pool_target{template=\"base\"} %u\n", n);
	assert_non_null(strstr(out.p, want));
}

/* Far more requests than there may be members, so that a pause of this process changes nothing. */
static void burst(struct fake_front *t)
{
	struct warm_pool_gift gift;

	for (int i = 0; i < 200; i++) {
		if (take(t, &gift))
			fd_close(gift.fd);
	}
}

static void a_burst_that_missed_is_served_next_time(void **state)
{
	struct fake_front *t = *state;
	struct warm_pool_gift gift;

	set_burst(t, 1, 8);
	warm_pool_begin(pool(t));
	until_ready(t, 1);
	assert_target(t, 1);
	burst(t);
	assert_target(t, 8); /* the maximum */
	until_ready(t, 8);
	warm_pool_tick(t->f.sandbox.warm_pool);
	for (int i = 0; i < 8; i++) {
		assert_true(take(t, &gift));
		fd_close(gift.fd);
	}
	end_burst(t);
}

/* 40 MiB are left, of which members beyond the two take a quarter at most. The fake says that one has 4711 bytes, to
 * which the kernel's 2 MiB are added; what it says of all sandboxes together stays the same. */
static void what_was_learnt_is_bounded_by_memory(void **state)
{
	struct fake_front *t = *state;

	set_burst(t, 2, 50);
	t->f.link.opt.mem_total_mb = 40;
	warm_pool_begin(pool(t));
	until_ready(t, 2);
	burst(t);
	until_ready(t, 2 + 6);
	assert_target(t, 2 + 6);
	t->f.sandbox.memory.used_bytes = 39 << 20; /* sandboxes have taken the rest */
	while (counts(t).ready > 2)
		warm_pool_tick(t->f.sandbox.warm_pool);
	assert_target(t, 2);
	end_burst(t);
}

static void members_end_faster_while_memory_is_short(void **state)
{
	struct fake_front *t = *state;

	t->f.link.opt.warm_pool_size = t->f.link.opt.warm_pool_max = 8;
	t->f.sandbox.max_sandboxes = 100;
	warm_pool_begin(pool(t));
	until_ready(t, 8);
	t->f.sandbox.memory.is_short = true;
	warm_pool_tick(t->f.sandbox.warm_pool);
	assert_int_equal(counts(t).ready, 5);
	warm_pool_tick(t->f.sandbox.warm_pool);
	assert_int_equal(counts(t).ready, 3);
	t->f.sandbox.memory.is_short = false;
	until_ready(t, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FRONT_TEST(makes_one_and_gives_it_away),
		FRONT_TEST(one_that_dies_when_it_is_taken_is_replaced),
		FRONT_TEST(gives_nothing_to_who_wants_something_else),
		FRONT_TEST(a_refused_member_is_made_again),
		FRONT_TEST(a_member_that_refuses_its_settings_is_killed),
		FRONT_TEST(a_member_without_interpreters_is_killed),
		FRONT_TEST(exits_while_it_starts),
		FRONT_TEST(exits_while_it_settles),
		FRONT_TEST(exits_when_it_is_ready),
		FRONT_TEST(a_stop_kills_a_ready_one),
		FRONT_TEST(a_stop_calls_off_a_start),
		FRONT_TEST(refills_as_wide_as_there_are_processors),
		FRONT_TEST(leaves_processors_to_clients),
		FRONT_TEST(a_burst_that_missed_is_served_next_time),
		FRONT_TEST(what_was_learnt_is_bounded_by_memory),
		FRONT_TEST(members_end_faster_while_memory_is_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

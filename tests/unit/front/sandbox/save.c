/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/sandbox/save: what a snapshot and a fork begin with, against a fake warden, and what goes wrong. */
#include "front/sandbox/save.h"
#include "front/sandbox/end.h"
#include "front/sandbox/fake_front.h"
#include "front/sandbox/life.h"
#include "front/sandbox/sandbox.h"

struct save_test {
	struct fake_front *t;
	unsigned calls;
	struct save_result re;
	enum sandbox_state state; /* when the result came */
};

static void on_saved(void *user, const struct save_result *re)
{
	struct save_test *st = user;

	st->calls++;
	st->re = *re;
	st->state = st->t->sb->state;
	fake_stop(&st->t->fk);
}

static void save(struct save_test *st, enum save_memory memory)
{
	sandbox_save(st->t->sb, memory, false, on_saved, st);
	assert_int_equal(st->t->sb->state, SANDBOX_SAVING);
	assert_true(sandbox_being_saved(st->t->sb));
	assert_int_equal(st->calls, 0); /* never from inside */
}

static void wait_saved(struct save_test *st)
{
	fake_run(&st->t->fk);
	assert_int_equal(st->calls, 1);
}

static void assert_running(struct fake_front *t)
{
	assert_int_equal(t->sb->state, SANDBOX_RUNNING);
	assert_int_equal(t->sb->box.state, BOX_READY);
	assert_false(sandbox_being_saved(t->sb));
	fake_settle(&t->fk);
	assert_int_equal(t->sb->refs, 2);
}

static void until_seen(struct fake_front *t, const char *what)
{
	while (!strstr(t->fk.seen, what))
		fake_settle(&t->fk);
}

/* --- that it works --- */

static void saves_its_disk(void **state)
{
	struct save_test st = { .t = *state };

	(void)fake_running(st.t);
	save(&st, SAVE_DISK);
	wait_saved(&st);
	assert_int_equal(st.re.e.no, 0);
	assert_int_equal(st.re.what, SAVED_DISK);
	assert_string_equal(st.re.name, st.t->fk.last_save.name);
	assert_running(st.t);
	assert_seen(&st.t->fk, "/atoll/quiet freeze snapshot thaw");
}

/* As api/fork.c does it: a copy of the spec, started from what was saved. */
static void a_fork_starts_from_what_was_saved(void **state)
{
	struct save_test st = { .t = *state };
	struct fake_front *t = st.t;
	struct sandbox *source = fake_running(t), *fork;
	struct err e = ERR_INIT;
	struct spec sp;

	save(&st, SAVE_MEMORY);
	wait_saved(&st);
	assert_int_equal(st.re.e.no, 0);
	assert_int_equal(st.re.what, SAVED_DISK | SAVED_MEMORY);
	assert_int_equal(spec_copy(&source->spec, true, &sp, &e), 0);
	memcpy(sp.from, st.re.name, sizeof sp.from);
	sp.from_what = st.re.what;
	assert_int_equal(sandbox_new(&t->f.sandbox, "team", "", &sp, NULL, &fork, &e), 0);
	assert_string_not_equal(fork->id, source->id);
	sandbox_start_cold(fork);
	while (fork->state == SANDBOX_STARTING)
		fake_settle(&t->fk);
	assert_int_equal(fork->state, SANDBOX_RUNNING);
	assert_string_equal(t->fk.last_start.start.id, fork->id);
	assert_string_equal(t->fk.last_start.start.from, st.re.name);
	assert_int_equal(t->fk.last_start.start.flags, START_RESTORE);
	assert_int_equal(sandbox_table_count(t->f.sandbox.table), 2);
	assert_running(t);
}

static void runs_again_while_its_memory_is_written(void **state)
{
	struct save_test st = { .t = *state };
	struct fake_front *t = st.t;

	(void)fake_running(t);
	t->fk.refuse[OP_CHECKPOINT] = FAKE_SILENT;
	save(&st, SAVE_MEMORY);
	until_seen(t, "checkpoint");
	fake_release(&t->fk);
	fake_until_settled(t);
	assert_int_equal(t->sb->state, SANDBOX_RUNNING);
	assert_true(sandbox_being_saved(t->sb)); /* another snapshot has to wait */
	assert_int_equal(st.calls, 0);
	fake_answer(&t->fk, OP_CHECKPOINT, 0);
	wait_saved(&st);
	assert_int_equal(st.re.what, SAVED_DISK | SAVED_MEMORY);
	assert_running(t);
	assert_seen(&t->fk, "/atoll/quiet freeze snapshot checkpoint");
	assert_int_equal(t->fk.last_save.flags, KEEP_THAW);
}

static void leaves_memory_out_where_there_is_no_checkpoint(void **state)
{
	struct save_test st = { .t = *state };

	(void)fake_running(st.t);
	st.t->f.sandbox.can_checkpoint = false;
	save(&st, SAVE_MEMORY_IF_POSSIBLE);
	wait_saved(&st);
	assert_int_equal(st.re.what, SAVED_DISK);
	assert_running(st.t);
}

/* A fork: others are started from what was saved. */
static void others_start_from_it(void **state)
{
	struct save_test st = { .t = *state };
	struct fake_front *t = st.t;
	struct sandbox *source = fake_running(t);
	struct spec sp = fake_spec();

	t->fk.releases = true;
	save(&st, SAVE_MEMORY);
	wait_saved(&st);
	memcpy(sp.from, st.re.name, sizeof sp.from);
	sp.from_what = st.re.what;
	t->fk.seen[0] = '\0';
	sandbox_start_cold(fake_sandbox(t, &sp, NULL));
	fake_until_settled(t);
	assert_int_equal(t->sb->state, SANDBOX_RUNNING);
	assert_string_not_equal(t->sb->id, source->id);
	assert_int_equal(t->fk.last_start.start.flags, START_RESTORE);
	assert_string_equal(t->fk.last_start.start.from, st.re.name);
	assert_seen(&t->fk, "start /init");
	sandbox_unref(source);
}

/* --- that it does not --- */

static void goes_wrong(struct fake_front *t, unsigned op, const char *seen)
{
	struct save_test st = { .t = t };

	t->fk.refuse[op] = EIO;
	save(&st, SAVE_MEMORY);
	wait_saved(&st);
	t->fk.refuse[op] = 0;
	assert_int_equal(st.re.e.no, EIO);
	assert_int_equal(st.state, SANDBOX_RUNNING);
	assert_running(t);
	assert_seen(&t->fk, seen);
}

static void a_refused_step_leaves_nothing_saved(void **state)
{
	struct fake_front *t = *state;

	(void)fake_running(t);
	goes_wrong(t, OP_FREEZE, "/atoll/quiet freeze thaw");
	goes_wrong(t, OP_SNAPSHOT, "/atoll/quiet freeze snapshot thaw forget");
	goes_wrong(t, OP_CHECKPOINT, "/atoll/quiet freeze snapshot checkpoint thaw forget");
}

static void what_cannot_be_stopped_is_tried_once_more(void **state)
{
	struct save_test st = { .t = *state };
	struct fake_front *t = st.t;

	(void)fake_running(t);
	t->fk.refuse[OP_CHECKPOINT] = EAGAIN;
	save(&st, SAVE_MEMORY);
	wait_saved(&st);
	assert_int_equal(st.re.e.no, EAGAIN); /* twice */
	assert_running(t);
	assert_seen(&t->fk,
	    "/atoll/quiet freeze snapshot checkpoint thaw forget /atoll/quiet freeze snapshot checkpoint thaw forget");
}

static void a_failed_thaw_does_not_keep_it_from_the_next(void **state)
{
	struct save_test st = { .t = *state }, next = { .t = *state };
	struct fake_front *t = st.t;

	(void)fake_running(t);
	t->fk.refuse[OP_THAW] = EIO;
	save(&st, SAVE_DISK);
	wait_saved(&st);
	assert_int_equal(t->sb->state, SANDBOX_RUNNING);
	t->fk.refuse[OP_THAW] = 0;
	save(&next, SAVE_DISK);
	wait_saved(&next);
	assert_int_equal(next.re.e.no, 0);
	assert_running(t);
}

static void exits_at(struct fake_front *t, unsigned op, const char *last)
{
	struct save_test st = { .t = t };

	t->fk.refuse[op] = FAKE_SILENT;
	save(&st, SAVE_MEMORY);
	until_seen(t, last);
	fake_exit(&t->fk, t->sb->id, EXIT_DIED);
	wait_saved(&st);
	assert_int_equal(st.re.e.no, ENOENT);
	assert_int_equal(t->sb->state, SANDBOX_DEAD);
	fake_settle(&t->fk);
	assert_int_equal(t->sb->refs, 1);
}

static void exits_while_it_is_frozen(void **state)
{
	(void)fake_running(*state);
	exits_at(*state, OP_FREEZE, "freeze");
}

static void exits_while_its_memory_is_read(void **state)
{
	struct fake_front *t = *state;

	(void)fake_running(t);
	exits_at(t, OP_CHECKPOINT, "checkpoint");
	assert_seen(&t->fk, "/atoll/quiet freeze snapshot checkpoint forget");
}

static void exits_while_its_memory_is_written(void **state)
{
	struct save_test st = { .t = *state };
	struct fake_front *t = st.t;

	(void)fake_running(t);
	t->fk.refuse[OP_CHECKPOINT] = FAKE_SILENT;
	save(&st, SAVE_MEMORY);
	until_seen(t, "checkpoint");
	fake_release(&t->fk);
	fake_until_settled(t);
	fake_exit(&t->fk, t->sb->id, EXIT_DIED);
	wait_saved(&st);
	assert_int_equal(st.re.e.no, ECANCELED);
	assert_int_equal(t->sb->state, SANDBOX_DEAD);
	assert_int_equal(t->sb->refs, 1);
}

static void is_killed_in_between(void **state)
{
	struct save_test st = { .t = *state };
	struct fake_front *t = st.t;

	(void)fake_running(t);
	t->fk.refuse[OP_SNAPSHOT] = FAKE_SILENT;
	save(&st, SAVE_DISK);
	until_seen(t, "snapshot");
	sandbox_kill(t->sb, END_KILLED, "for the test");
	fake_until_settled(t);
	assert_int_equal(t->sb->state, SANDBOX_DEAD);
	fake_answer(&t->fk, OP_SNAPSHOT, ECANCELED);
	wait_saved(&st);
	assert_int_equal(st.re.e.no, ENOENT);
	fake_settle(&t->fk);
	assert_seen(&t->fk, "/atoll/quiet freeze snapshot kill forget");
	assert_int_equal(t->sb->refs, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FRONT_TEST(saves_its_disk),
		FRONT_TEST(a_fork_starts_from_what_was_saved),
		FRONT_TEST(runs_again_while_its_memory_is_written),
		FRONT_TEST(leaves_memory_out_where_there_is_no_checkpoint),
		FRONT_TEST(others_start_from_it),
		FRONT_TEST(a_refused_step_leaves_nothing_saved),
		FRONT_TEST(what_cannot_be_stopped_is_tried_once_more),
		FRONT_TEST(a_failed_thaw_does_not_keep_it_from_the_next),
		FRONT_TEST(exits_while_it_is_frozen),
		FRONT_TEST(exits_while_its_memory_is_read),
		FRONT_TEST(exits_while_its_memory_is_written),
		FRONT_TEST(is_killed_in_between),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

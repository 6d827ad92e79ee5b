/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/sandbox/pause: pause, checkpoint, eviction and resume against a fake warden, and what goes wrong. */
#include "front/sandbox/pause.h"
#include "front/sandbox/end.h"
#include "front/sandbox/fake_front.h"
#include "front/sandbox/life.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/upkeep.h"

static void pause_it(struct fake_front *t, bool memory)
{
	sandbox_pause(t->sb, memory);
	assert_int_equal(t->sb->state, SANDBOX_PAUSING);
	fake_until_settled(t);
}

/* PAUSED in memory, its disk saved; nothing seen yet. */
static struct sandbox *paused(struct fake_front *t)
{
	struct sandbox *sb = fake_running(t);

	pause_it(t, true);
	assert_int_equal(sb->state, SANDBOX_PAUSED);
	assert_int_equal(sandbox_memory_place(sb), MEMORY_RAM);
	t->fk.seen[0] = '\0';
	return sb;
}

static void write_memory(struct fake_front *t)
{
	sandbox_pause_tick(t->sb);
	assert_int_equal(t->f.sandbox.checkpoints, 1);
	while (t->f.sandbox.checkpoints)
		fake_settle(&t->fk);
}

/* PAUSED on disk only. */
static struct sandbox *evicted(struct fake_front *t)
{
	struct sandbox *sb = paused(t);

	write_memory(t);
	sandbox_reclaim_memory(&t->f.sandbox);
	fake_settle(&t->fk);
	fake_exit(&t->fk, sb->id, EXIT_KILLED);
	fake_settle(&t->fk);
	assert_int_equal(sandbox_memory_place(sb), MEMORY_DISK);
	t->fk.seen[0] = '\0';
	return sb;
}

static void resume(struct fake_front *t, bool memory)
{
	sandbox_resume(t->sb, 60, memory);
	if (t->sb->state == SANDBOX_RESUMING)
		fake_until_settled(t);
}

static void assert_running(struct fake_front *t)
{
	assert_int_equal(t->sb->state, SANDBOX_RUNNING);
	assert_int_equal(t->sb->box.state, BOX_READY);
	assert_int_equal(sandbox_memory_place(t->sb), MEMORY_RAM);
	assert_int_equal(fake_row(t).state, ROW_RUNNING);
	assert_string_equal(fake_row(t).kept_name, "");
	fake_settle(&t->fk);
	assert_int_equal(t->sb->refs, 2); /* the table's and the test's: no step holds one */
}

/* --- that it works --- */

static void pauses_and_resumes_in_memory(void **state)
{
	struct fake_front *t = *state;
	struct sandbox *sb = fake_running(t);

	pause_it(t, true);
	assert_int_equal(sb->state, SANDBOX_PAUSED);
	assert_int_equal(sb->box.state, BOX_FROZEN);
	assert_int_equal(fake_row(t).state, ROW_PAUSED);
	assert_int_equal(fake_row(t).kept, SAVED_DISK);
	assert_string_equal(fake_row(t).kept_name, t->fk.last_save.name);
	assert_string_equal(sandbox_memory_name(sb), "ram");
	assert_seen(&t->fk, "/atoll/quiet freeze snapshot");
	resume(t, true);
	assert_running(t);
	assert_seen(&t->fk, "thaw forget"); /* what was saved is of the past */
}

static void memory_goes_to_disk_and_comes_back(void **state)
{
	struct fake_front *t = *state;
	struct sandbox *sb = paused(t);

	write_memory(t);
	assert_string_equal(sandbox_memory_name(sb), "ram+disk");
	assert_int_equal(fake_row(t).kept, SAVED_DISK | SAVED_MEMORY);
	sandbox_reclaim_memory(&t->f.sandbox);
	assert_string_equal(sandbox_memory_name(sb), "disk");
	fake_settle(&t->fk);
	fake_exit(&t->fk, sb->id, EXIT_KILLED);
	fake_settle(&t->fk);
	assert_int_equal(sb->state, SANDBOX_PAUSED);
	assert_int_equal(sb->box.state, BOX_ABSENT);
	assert_seen(&t->fk, "checkpoint kill");
	resume(t, true);
	assert_running(t);
	assert_int_equal(t->fk.last_start.start.flags, START_RESTORE);
	assert_string_equal(t->fk.last_start.start.from, t->fk.last_save.name);
	assert_seen(&t->fk, "start /init forget");
}

static void without_memory_it_boots_from_its_disk(void **state)
{
	struct fake_front *t = *state;
	struct sandbox *sb = fake_running(t);

	sandbox_pause(sb, false);
	while (!strstr(t->fk.seen, "kill"))
		fake_settle(&t->fk);
	assert_int_equal(sb->state, SANDBOX_PAUSING);
	assert_int_equal(fake_row(t).kept, SAVED_DISK | SAVED_NO_RAM); /* before it was killed */
	fake_exit(&t->fk, sb->id, EXIT_KILLED);
	fake_until_settled(t);
	assert_int_equal(sb->state, SANDBOX_PAUSED);
	assert_string_equal(sandbox_memory_name(sb), "none");
	assert_seen(&t->fk, "freeze snapshot kill");
	resume(t, true);
	assert_running(t);
	assert_int_equal(t->fk.last_start.start.flags, START_KEPT);
}

static void memory_can_be_given_up_at_resume(void **state)
{
	struct fake_front *t = *state;
	struct sandbox *sb = paused(t);

	sandbox_resume(sb, 60, false);
	fake_settle(&t->fk);
	assert_int_equal(sb->box.state, BOX_KILLING);
	assert_int_equal(sb->state, SANDBOX_RESUMING);
	assert_int_equal(fake_row(t).kept, SAVED_DISK | SAVED_NO_RAM);
	fake_exit(&t->fk, sb->id, EXIT_KILLED);
	fake_until_settled(t);
	assert_running(t);
	assert_int_equal(t->fk.last_start.start.flags, START_KEPT);
	assert_seen(&t->fk, "kill start /init forget");
}

static void a_server_without_storage_pauses_in_memory_alone(void **state)
{
	struct fake_front *t = *state;

	t->fk.refuse[OP_SNAPSHOT] = ENOTSUP;
	(void)fake_running(t);
	pause_it(t, true);
	assert_int_equal(t->sb->state, SANDBOX_PAUSED);
	assert_int_equal(fake_row(t).state, ROW_PAUSED);
	assert_int_equal(fake_row(t).kept, 0);
	resume(t, false);
	assert_int_equal(t->sb->state, SANDBOX_PAUSED);
	assert_int_equal(t->sb->fail.no, ENOTSUP);
	resume(t, true);
	assert_running(t);
}

/* --- that the warden refuses --- */

static void pause_goes_wrong(struct fake_front *t, unsigned op, bool memory, const char *seen)
{
	t->fk.refuse[op] = EIO;
	pause_it(t, memory);
	t->fk.refuse[op] = 0;
	assert_int_equal(t->sb->fail.no, EIO);
	assert_running(t);
	assert_seen(&t->fk, seen);
}

static void a_refused_pause_runs_on(void **state)
{
	struct fake_front *t = *state;

	(void)fake_running(t);
	pause_goes_wrong(t, OP_FREEZE, true, "/atoll/quiet freeze thaw");
	pause_goes_wrong(t, OP_SNAPSHOT, true, "/atoll/quiet freeze snapshot forget thaw");
	pause_goes_wrong(t, OP_SNAPSHOT, false, "freeze snapshot forget thaw");
	t->fk.refuse[OP_CONNECT] = EIO; /* init cannot be asked: that is no reason */
	pause_it(t, true);
	assert_int_equal(t->sb->state, SANDBOX_PAUSED);
}

static void what_can_be_neither_paused_nor_thawed_is_paused(void **state)
{
	struct fake_front *t = *state;

	(void)fake_running(t);
	t->fk.refuse[OP_SNAPSHOT] = t->fk.refuse[OP_THAW] = EIO;
	pause_it(t, true);
	assert_int_equal(t->sb->state, SANDBOX_PAUSED);
	t->fk.refuse[OP_THAW] = 0;
	resume(t, true);
	assert_running(t);
}

static void a_refused_checkpoint_leaves_it_in_memory(void **state)
{
	struct fake_front *t = *state;
	struct sandbox *sb = paused(t);

	t->fk.refuse[OP_CHECKPOINT] = ENOSPC;
	write_memory(t);
	assert_int_equal(sandbox_memory_place(sb), MEMORY_RAM);
	assert_string_equal(sb->saved.why_not, "the fake refuses");
	sandbox_pause_tick(sb); /* not before its time */
	assert_int_equal(t->f.sandbox.checkpoints, 0);
	resume(t, true);
	assert_running(t);
}

static void a_refused_resume_stays_paused(void **state)
{
	struct fake_front *t = *state;
	struct sandbox *sb = paused(t);

	t->fk.refuse[OP_THAW] = EIO;
	resume(t, true);
	assert_int_equal(sb->state, SANDBOX_PAUSED);
	assert_int_equal(sb->fail.no, EIO);
	assert_int_equal(fake_row(t).state, ROW_PAUSED);
	t->fk.refuse[OP_THAW] = 0;
	resume(t, true);
	assert_running(t);
}

static void a_refused_restore_stays_paused(void **state)
{
	struct fake_front *t = *state;
	struct sandbox *sb = evicted(t);

	t->fk.refuse[OP_START] = ENOSPC;
	resume(t, true);
	assert_int_equal(sb->state, SANDBOX_PAUSED);
	assert_int_equal(sandbox_memory_place(sb), MEMORY_DISK);
	t->fk.refuse[OP_START] = 0;
	resume(t, true);
	assert_running(t);
}

/* Its last life is still being cleared away. */
static void a_restore_waits_for_the_last_life(void **state)
{
	struct fake_front *t = *state;

	(void)evicted(t);
	t->fk.refuse[OP_START] = EEXIST;
	sandbox_resume(t->sb, 60, true);
	while (!strstr(t->fk.seen, "start start"))
		fake_settle(&t->fk);
	fake_exit(&t->fk, t->sb->id, EXIT_KILLED); /* that life's end is not this one's */
	fake_settle(&t->fk);
	assert_int_equal(t->sb->state, SANDBOX_RESUMING);
	t->fk.refuse[OP_START] = 0;
	fake_until_settled(t);
	assert_running(t);
}

static void a_restored_one_whose_init_refuses_is_killed(void **state)
{
	struct fake_front *t = *state;
	struct sandbox *sb = evicted(t);

	t->fk.bad_path = "/init";
	t->fk.bad_how = 500;
	resume(t, true);
	assert_int_equal(sb->state, SANDBOX_PAUSED);
	assert_int_equal(sb->fail.no, EPROTO);
	fake_settle(&t->fk);
	assert_seen(&t->fk, "start /init kill");
	t->fk.bad_path = NULL;
	sandbox_resume(sb, 60, true); /* waits for that to be over */
	fake_settle(&t->fk);
	assert_seen(&t->fk, "");
	fake_exit(&t->fk, sb->id, EXIT_KILLED);
	fake_until_settled(t);
	assert_running(t);
}

/* --- that it exits --- */

static void exits_at(struct fake_front *t, unsigned op, const char *last)
{
	t->fk.refuse[op] = FAKE_SILENT;
	sandbox_pause(t->sb, true);
	while (!strstr(t->fk.seen, last))
		fake_settle(&t->fk);
	fake_exit(&t->fk, t->sb->id, EXIT_DIED);
	fake_until_settled(t);
	assert_int_equal(t->sb->state, SANDBOX_DEAD);
	assert_int_equal(fake_row(t).state, -1);
	assert_int_equal(t->sb->refs, 1);
}

static void exits_while_it_is_frozen(void **state)
{
	(void)fake_running(*state);
	exits_at(*state, OP_FREEZE, "freeze");
}

static void exits_while_its_disk_is_saved(void **state)
{
	(void)fake_running(*state);
	exits_at(*state, OP_SNAPSHOT, "snapshot");
}

static void a_paused_one_that_exits_has_its_disk(void **state)
{
	struct fake_front *t = *state;
	struct sandbox *sb = paused(t);

	fake_exit(&t->fk, sb->id, EXIT_DIED);
	fake_settle(&t->fk);
	assert_int_equal(sb->state, SANDBOX_PAUSED);
	assert_string_equal(sandbox_memory_name(sb), "lost");
	resume(t, true);
	assert_int_equal(sb->state, SANDBOX_PAUSED);
	assert_int_equal(sb->fail.no, ESTALE);
	resume(t, false);
	assert_running(t);
}

static void exits_while_it_is_thawed(void **state)
{
	struct fake_front *t = *state;
	struct sandbox *sb = paused(t);

	write_memory(t);
	t->fk.refuse[OP_THAW] = FAKE_SILENT;
	sandbox_resume(sb, 60, true);
	fake_settle(&t->fk);
	fake_exit(&t->fk, sb->id, EXIT_DIED);
	fake_until_settled(t);
	assert_int_equal(sb->state, SANDBOX_PAUSED);
	assert_int_equal(sb->fail.no, ECHILD);
	resume(t, true); /* from disk now */
	assert_running(t);
	fake_answer(&t->fk, OP_THAW, ENOENT); /* too late */
	assert_running(t);
}

static void exits_while_its_memory_is_written(void **state)
{
	struct fake_front *t = *state;
	struct sandbox *sb = paused(t);

	t->fk.refuse[OP_CHECKPOINT] = FAKE_SILENT;
	sandbox_pause_tick(sb);
	fake_settle(&t->fk);
	fake_exit(&t->fk, sb->id, EXIT_DIED);
	fake_settle(&t->fk);
	assert_int_equal(t->f.sandbox.checkpoints, 0);
	assert_int_equal(sandbox_memory_place(sb), MEMORY_LOST);
	assert_int_equal(sb->refs, 2);
}

/* --- that somebody is faster --- */

static void is_killed_while_it_is_paused(void **state)
{
	struct fake_front *t = *state;

	(void)fake_running(t);
	t->fk.refuse[OP_FREEZE] = FAKE_SILENT;
	sandbox_pause(t->sb, true);
	while (!strstr(t->fk.seen, "freeze"))
		fake_settle(&t->fk);
	sandbox_kill(t->sb, END_KILLED, "for the test");
	fake_until_settled(t);
	assert_int_equal(t->sb->state, SANDBOX_DEAD);
	fake_answer(&t->fk, OP_FREEZE, ENOENT);
	fake_settle(&t->fk);
	assert_int_equal(t->sb->refs, 1);
}

static void a_resume_overtakes_a_checkpoint(void **state)
{
	struct fake_front *t = *state;
	struct sandbox *sb = paused(t);

	t->fk.refuse[OP_CHECKPOINT] = FAKE_SILENT;
	sandbox_pause_tick(sb);
	resume(t, true);
	assert_int_equal(sb->state, SANDBOX_RUNNING);
	assert_int_equal(t->f.sandbox.checkpoints, 1);
	fake_answer(&t->fk, OP_CHECKPOINT, ECANCELED);
	fake_settle(&t->fk);
	assert_int_equal(t->f.sandbox.checkpoints, 0);
	assert_running(t);
}

static void a_resume_during_an_eviction_waits_for_its_end(void **state)
{
	struct fake_front *t = *state;
	struct sandbox *sb = paused(t);

	write_memory(t);
	sandbox_reclaim_memory(&t->f.sandbox);
	sandbox_resume(sb, 60, true);
	fake_settle(&t->fk);
	assert_seen(&t->fk, "checkpoint kill");
	fake_exit(&t->fk, sb->id, EXIT_KILLED);
	fake_until_settled(t);
	assert_running(t);
	assert_int_equal(t->fk.last_start.start.flags, START_RESTORE);
}

/* The exit of the previous life arrives while the warden still has to answer the start of the next one. */
static void the_exit_of_the_previous_life_does_not_end_the_next_one(void **state)
{
	struct fake_front *t = *state;
	struct sandbox *sb = evicted(t);

	t->fk.refuse[OP_START] = FAKE_SILENT;
	sandbox_resume(sb, 60, true);
	while (!strstr(t->fk.seen, "start"))
		fake_settle(&t->fk);
	fake_exit(&t->fk, sb->id, EXIT_KILLED);
	fake_settle(&t->fk);
	assert_int_equal(sb->state, SANDBOX_RESUMING);
	assert_int_equal(sb->box.state, BOX_STARTING);
	t->fk.refuse[OP_START] = 0;
	fake_answer(&t->fk, OP_START, 0);
	fake_until_settled(t);
	assert_running(t);
}

/* A stop kills what runs when the front exits: a resume then would lose what is saved. */
static void nothing_is_resumed_while_the_server_stops(void **state)
{
	struct fake_front *t = *state;
	struct sandbox *sb = paused(t);

	t->f.sandbox.writes_first = true;
	resume(t, true);
	assert_int_equal(sb->state, SANDBOX_PAUSED);
	assert_int_equal(sb->fail.no, ESHUTDOWN);
	assert_int_equal(fake_row(t).state, ROW_PAUSED);
	assert_seen(&t->fk, "");
}

/* The checkpoint was called off for a resume that failed: its memory is written later all the same. */
static void a_checkpoint_that_a_failed_resume_overtook_is_tried_again(void **state)
{
	struct fake_front *t = *state;
	struct sandbox *sb = paused(t);

	t->fk.refuse[OP_CHECKPOINT] = FAKE_SILENT;
	t->fk.refuse[OP_THAW] = FAKE_SILENT;
	sandbox_pause_tick(sb);
	sandbox_resume(sb, 60, true);
	while (!strstr(t->fk.seen, "thaw"))
		fake_settle(&t->fk);
	fake_answer(&t->fk, OP_CHECKPOINT, ECANCELED);
	fake_answer(&t->fk, OP_THAW, EIO);
	fake_until_settled(t);
	assert_int_equal(sb->state, SANDBOX_PAUSED);
	assert_true(sb->saved.next_try_ms != UINT64_MAX);
}

static void a_resume_is_told_when_an_eviction_fails(void **state)
{
	struct fake_front *t = *state;
	struct sandbox *sb = paused(t);

	write_memory(t);
	t->fk.refuse[OP_KILL] = EIO;
	sandbox_reclaim_memory(&t->f.sandbox);
	resume(t, true);
	assert_int_equal(sb->state, SANDBOX_PAUSED);
	assert_int_equal(sandbox_memory_place(sb), MEMORY_BOTH);
	resume(t, true);
	assert_running(t);
}

/* --- that the front was restarted in between --- */

static struct sandbox *restored(struct fake_front *t, enum row_state row_state, bool live, bool frozen, uint32_t kept)
{
	const struct sandbox_row row = {
		.id = "i1234567890123456789",
		.team = "team",
		.template_id = "base",
		.template_name = "base",
		.template_key = FAKE_KEY,
		.state = row_state,
		.created_ms = clock_wall_ms(),
		.started_us = clock_wall_ms() * 1000,
		.end_ms = clock_wall_ms() + 600000,
		.timeout_s = 600,
		.kept_name = kept ? "k1234567890123456789" : NULL,
		.kept = kept,
	};
	struct err e = ERR_INIT;

	assert_int_equal(sandboxes_add(t->f.link.store, &row, &e), 0);
	t->sb = sandbox_restore(&t->f.sandbox, &row, live, frozen);
	assert_non_null(t->sb);
	return sandbox_ref(t->sb);
}

static void a_pause_that_was_cut_short_is_undone(void **state)
{
	struct fake_front *t = *state;
	struct sandbox *sb = restored(t, ROW_RUNNING, true, true, 0);

	assert_int_equal(sb->state, SANDBOX_PAUSING);
	fake_until_settled(t);
	assert_running(t);
	assert_seen(&t->fk, "thaw");
}

static void a_kill_that_was_cut_short_is_done(void **state)
{
	struct fake_front *t = *state;
	struct sandbox *sb = restored(t, ROW_PAUSED, true, true, SAVED_DISK | SAVED_NO_RAM);

	fake_settle(&t->fk);
	assert_int_equal(sb->state, SANDBOX_PAUSED);
	assert_int_equal(sandbox_memory_place(sb), MEMORY_NONE);
	assert_seen(&t->fk, "kill");
	sandbox_resume(sb, 60, true);
	fake_exit(&t->fk, sb->id, EXIT_KILLED);
	fake_until_settled(t);
	assert_running(t);
}

static void one_on_disk_is_restored_from_there(void **state)
{
	struct fake_front *t = *state;
	struct sandbox *sb = restored(t, ROW_PAUSED, false, true, SAVED_DISK | SAVED_MEMORY);

	assert_int_equal(sb->state, SANDBOX_PAUSED);
	assert_int_equal(sandbox_memory_place(sb), MEMORY_DISK);
	resume(t, true);
	assert_running(t);
	assert_string_equal(t->fk.last_start.start.from, "k1234567890123456789");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FRONT_TEST(pauses_and_resumes_in_memory),
		FRONT_TEST(memory_goes_to_disk_and_comes_back),
		FRONT_TEST(without_memory_it_boots_from_its_disk),
		FRONT_TEST(memory_can_be_given_up_at_resume),
		FRONT_TEST(a_server_without_storage_pauses_in_memory_alone),
		FRONT_TEST(a_refused_pause_runs_on),
		FRONT_TEST(what_can_be_neither_paused_nor_thawed_is_paused),
		FRONT_TEST(a_refused_checkpoint_leaves_it_in_memory),
		FRONT_TEST(a_refused_resume_stays_paused),
		FRONT_TEST(a_refused_restore_stays_paused),
		FRONT_TEST(a_restore_waits_for_the_last_life),
		FRONT_TEST(a_restored_one_whose_init_refuses_is_killed),
		FRONT_TEST(exits_while_it_is_frozen),
		FRONT_TEST(exits_while_its_disk_is_saved),
		FRONT_TEST(a_paused_one_that_exits_has_its_disk),
		FRONT_TEST(exits_while_it_is_thawed),
		FRONT_TEST(exits_while_its_memory_is_written),
		FRONT_TEST(is_killed_while_it_is_paused),
		FRONT_TEST(a_resume_overtakes_a_checkpoint),
		FRONT_TEST(a_resume_during_an_eviction_waits_for_its_end),
		FRONT_TEST(the_exit_of_the_previous_life_does_not_end_the_next_one),
		FRONT_TEST(nothing_is_resumed_while_the_server_stops),
		FRONT_TEST(a_checkpoint_that_a_failed_resume_overtook_is_tried_again),
		FRONT_TEST(a_resume_is_told_when_an_eviction_fails),
		FRONT_TEST(a_pause_that_was_cut_short_is_undone),
		FRONT_TEST(a_kill_that_was_cut_short_is_done),
		FRONT_TEST(one_on_disk_is_restored_from_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

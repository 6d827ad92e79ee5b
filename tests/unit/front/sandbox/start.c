/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/sandbox/start: cold and warm starts against a fake warden and a fake init, and what goes wrong. */
#include "front/sandbox/end.h"
#include "front/sandbox/fake_front.h"
#include "front/sandbox/life.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/table.h"
#include "front/sandbox/warm_pool.h"

#define WARM_ID "iwarm567890123456789"

static void begin(struct fake_front *t)
{
	sandbox_start_cold(fake_sandbox(t, NULL, NULL));
}

/* It is over: nobody finds it, nothing is counted, and only the test still has it. */
static void assert_gone(struct fake_front *t)
{
	assert_int_equal(t->sb->state, SANDBOX_DEAD);
	assert_int_equal(sandbox_table_count(t->f.sandbox.table), 0);
	assert_int_equal(fake_row(t).state, -1);
	fake_settle(&t->fk);
	assert_int_equal(t->f.sandbox.starts, 0);
	assert_int_equal(t->sb->refs, 1);
}

static void a_cold_start_runs(void **state)
{
	struct fake_front *t = *state;

	begin(t);
	assert_int_equal(t->sb->state, SANDBOX_STARTING);
	assert_int_equal(fake_row(t).state, ROW_STARTING); /* before the warden is asked */
	assert_int_equal(t->f.sandbox.starts, 1);
	fake_until_settled(t);
	assert_int_equal(t->sb->state, SANDBOX_RUNNING);
	assert_int_equal(fake_row(t).state, ROW_RUNNING);
	assert_int_equal(t->f.sandbox.starts, 0);
	assert_seen(&t->fk, "start /init");
}

static void a_start_command_is_run(void **state)
{
	struct fake_front *t = *state;
	struct spec sp = fake_spec();

	(void)snprintf(sp.from, sizeof sp.from, "t1");
	sp.from_what = SAVED_DISK | SAVED_START;
	sandbox_start_cold(fake_sandbox(t, &sp, NULL));
	fake_until_settled(t);
	assert_int_equal(t->sb->state, SANDBOX_RUNNING);
	assert_seen(&t->fk, "start /init /atoll/build");
	assert_int_equal(t->fk.last_start.start.flags, START_KEPT);
	assert_string_equal(t->fk.last_start.start.from, "t1");
}

static void a_failed_start_command_ends_it(void **state)
{
	struct fake_front *t = *state;
	struct spec sp = fake_spec();

	(void)snprintf(sp.from, sizeof sp.from, "t1");
	sp.from_what = SAVED_DISK | SAVED_START;
	t->fk.build_fails = "exit status 3";
	sandbox_start_cold(fake_sandbox(t, &sp, NULL));
	fake_until_settled(t); /* ENDING */
	assert_string_equal(t->sb->fail.text, "start sandbox: exit status 3");
	fake_until_settled(t);
	assert_gone(t);
}

static void the_warden_refuses(void **state)
{
	struct fake_front *t = *state;

	t->fk.refuse[OP_START] = ENOENT;
	begin(t);
	fake_until_settled(t);
	assert_int_equal(t->sb->fail.no, EIO); /* not the client's fault */
	assert_gone(t);
	assert_seen(&t->fk, "start"); /* there is nothing to kill */
}

static void init_refuses(void **state)
{
	struct fake_front *t = *state;

	t->fk.bad_path = "/init";
	t->fk.bad_how = 500;
	begin(t);
	fake_until_settled(t);
	assert_int_equal(t->sb->state, SANDBOX_ENDING);
	assert_int_equal(t->sb->fail.no, EPROTO);
	fake_until_settled(t);
	assert_gone(t);
	assert_seen(&t->fk, "start /init kill");
}

static void init_is_not_there(void **state)
{
	struct fake_front *t = *state;

	t->fk.refuse[OP_CONNECT] = ECONNREFUSED;
	begin(t);
	fake_until_settled(t);
	assert_int_equal(t->sb->fail.no, ECONNREFUSED);
	fake_until_settled(t);
	assert_gone(t);
	assert_seen(&t->fk, "start kill");
}

static void exits_while_it_starts(void **state)
{
	struct fake_front *t = *state;

	t->fk.refuse[OP_START] = FAKE_SILENT;
	begin(t);
	fake_settle(&t->fk);
	fake_exit(&t->fk, t->sb->id, EXIT_DIED);
	fake_until_settled(t);
	assert_int_equal(t->sb->fail.no, ECHILD);
	assert_gone(t);
	fake_answer(&t->fk, OP_START, 0); /* too late */
	assert_gone(t);
}

static void exits_while_init_gets_its_settings(void **state)
{
	struct fake_front *t = *state;

	t->fk.bad_path = "/init";
	t->fk.bad_how = FAKE_SILENT;
	begin(t);
	while (!strstr(t->fk.seen, "/init"))
		fake_settle(&t->fk);
	fake_exit(&t->fk, t->sb->id, EXIT_OOM);
	fake_until_settled(t);
	assert_int_equal(t->sb->end_why, END_OOM);
	assert_gone(t);
}

static void is_killed_while_it_starts(void **state)
{
	struct fake_front *t = *state;

	t->fk.refuse[OP_START] = FAKE_SILENT;
	begin(t);
	fake_settle(&t->fk);
	sandbox_kill(t->sb, END_KILLED, "the caller is gone");
	fake_until_settled(t);
	assert_int_equal(t->f.sandbox.starts, 1); /* until the warden has answered */
	fake_answer(&t->fk, OP_START, ECANCELED);
	assert_gone(t);
	assert_seen(&t->fk, "start kill");
}

static void a_kill_that_is_refused_is_tried_again(void **state)
{
	struct fake_front *t = *state;

	(void)fake_running(t);
	t->fk.refuse[OP_KILL] = EBUSY;
	sandbox_kill(t->sb, END_KILLED, "for the test");
	while (!strstr(t->fk.seen, "kill"))
		fake_settle(&t->fk);
	assert_int_equal(t->sb->state, SANDBOX_ENDING);
	t->fk.refuse[OP_KILL] = 0;
	fake_until_settled(t);
	assert_int_equal(t->sb->state, SANDBOX_DEAD);
	assert_seen(&t->fk, "kill kill");
}

/* --- from the warm pool --- */

static struct sandbox *warm(struct fake_front *t)
{
	struct warm_pool_gift gift = { .id = WARM_ID, .fd = fake_connect(&t->fk), .cpu_ns = 5 };

	return fake_sandbox(t, NULL, &gift);
}

static void a_warm_start_only_settles(void **state)
{
	struct fake_front *t = *state;
	struct sandbox *sb = warm(t);

	assert_true(sandbox_is_warm(sb));
	assert_int_equal(fake_row(t).state, -1); /* a front that starts now kills it */
	sandbox_start_warm(sb);
	fake_until_settled(t);
	assert_int_equal(sb->state, SANDBOX_RUNNING);
	assert_string_equal(sb->id, WARM_ID);
	assert_false(sandbox_is_warm(sb));
	assert_int_equal(fake_row(t).state, ROW_RUNNING);
	assert_seen(&t->fk, "/init");
}

static void assert_started_afresh(struct fake_front *t)
{
	fake_until_settled(t);
	assert_int_equal(t->sb->state, SANDBOX_RUNNING);
	assert_string_not_equal(t->sb->id, WARM_ID);
	assert_string_equal(t->fk.last_start.start.id, t->sb->id);
	assert_ptr_equal(sandbox_table_find(t->f.sandbox.table, str_of(t->sb->id)), t->sb);
	assert_null(sandbox_table_find(t->f.sandbox.table, STR_LIT(WARM_ID)));
	assert_int_equal(fake_row(t).state, ROW_RUNNING);
	assert_int_equal(t->f.sandbox.starts, 0);
}

static void a_warm_one_that_is_dead_is_replaced(void **state)
{
	struct fake_front *t = *state;
	struct warm_pool_gift gift = { .id = WARM_ID, .fd = -1 };

	t->fk.refuse[OP_CONNECT] = ENOENT;
	sandbox_start_warm(fake_sandbox(t, NULL, &gift));
	fake_exit(&t->fk, WARM_ID, EXIT_DIED);
	while (!strstr(t->fk.seen, "start"))
		fake_settle(&t->fk);
	t->fk.refuse[OP_CONNECT] = 0;
	assert_started_afresh(t);
	assert_seen(&t->fk, "kill start /init");
}

static void a_warm_one_that_does_not_answer_is_replaced(void **state)
{
	struct fake_front *t = *state;

	t->fk.bad_path = "/init";
	t->fk.bad_how = FAKE_SILENT;
	sandbox_start_warm(warm(t));
	while (!strstr(t->fk.seen, "/init"))
		fake_settle(&t->fk);
	t->fk.bad_path = NULL;
	assert_started_afresh(t);
	assert_seen(&t->fk, "/init kill start /init");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FRONT_TEST(a_cold_start_runs),
		FRONT_TEST(a_start_command_is_run),
		FRONT_TEST(a_failed_start_command_ends_it),
		FRONT_TEST(the_warden_refuses),
		FRONT_TEST(init_refuses),
		FRONT_TEST(init_is_not_there),
		FRONT_TEST(exits_while_it_starts),
		FRONT_TEST(exits_while_init_gets_its_settings),
		FRONT_TEST(is_killed_while_it_starts),
		FRONT_TEST(a_kill_that_is_refused_is_tried_again),
		FRONT_TEST(a_warm_start_only_settles),
		FRONT_TEST(a_warm_one_that_is_dead_is_replaced),
		FRONT_TEST(a_warm_one_that_does_not_answer_is_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

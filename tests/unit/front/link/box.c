/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/link/box: each step against a fake warden and a fake init, and what happens when it goes wrong. */
#include "front/link/box.h"
#include "front/fake_warden.h"
#include "front/link/start_queue.h"

#define ID "i1234567890123456789"
#define NAME "k1234567890123456789"

struct test {
	struct fake fk;
	struct box box;
	unsigned calls, released;
	struct box_result re;
	char text[128];
	uint64_t bytes, cpu_ns;
	enum box_state when_released;
};

static void on_step(void *user, const struct box_result *re)
{
	struct test *t = user;

	if (re->more) {
		t->released++;
		t->when_released = t->box.state;
		return;
	}
	t->calls++;
	t->re = *re;
	(void)snprintf(t->text, sizeof t->text, "%s", re->text ? re->text : "");
	t->bytes = re->image ? re->image->bytes : 0;
	t->cpu_ns = re->usage ? re->usage->cpu_ns : 0;
	fake_stop(&t->fk);
}

static int setup(void **state)
{
	struct test *t = calloc(1, sizeof *t);

	fake_init(&t->fk);
	box_init(&t->box, &t->fk.link, ID);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct test *t = *state;

	box_done(&t->box);
	fake_done(&t->fk);
	free(t);
	return 0;
}

/* Runs until the step that was begun is complete. */
static const struct box_result *wait_step(struct test *t)
{
	unsigned calls = t->calls;

	fake_run(&t->fk);
	assert_int_equal(t->calls, calls + 1);
	return &t->re;
}

static const struct box_start plain_start = { .template_key = "0123456789abcdef0123456789abcdef", .from = "" };

static void start(struct test *t)
{
	box_start(&t->box, &plain_start, "req-1", on_step, t);
}

static void settle(struct test *t, uint32_t start_wait_s, uint64_t interps_ms)
{
	struct box_settings s = { .template_id = "base",
		.fd = -1,
		.wait_ms = 10000,
		.start_wait_s = start_wait_s,
		.interps_ms = interps_ms };

	box_settle(&t->box, &s, "req-1", on_step, t);
}

static void make_ready(struct test *t)
{
	start(t);
	assert_int_equal(wait_step(t)->no, 0);
	settle(t, 0, 0);
	assert_int_equal(wait_step(t)->no, 0);
	fd_close(t->re.fd);
	assert_int_equal(t->box.state, BOX_READY);
	t->fk.seen[0] = '\0';
}

static void make_frozen(struct test *t)
{
	make_ready(t);
	box_freeze(&t->box, "", on_step, t);
	assert_int_equal(wait_step(t)->no, 0);
	assert_int_equal(t->box.state, BOX_FROZEN);
	t->fk.seen[0] = '\0';
}

/* --- that it works --- */

static void starts_and_settles(void **state)
{
	struct test *t = *state;

	start(t);
	assert_int_equal(t->box.state, BOX_STARTING);
	assert_int_equal(t->calls, 0); /* never from inside */
	assert_int_equal(wait_step(t)->no, 0);
	assert_int_equal(t->box.state, BOX_STARTED);
	assert_string_equal(t->fk.last_start.start.id, ID);
	assert_string_equal(t->fk.last_start.start.request, "req-1");
	settle(t, 0, 0);
	assert_int_equal(t->box.state, BOX_SETTLING);
	assert_int_equal(wait_step(t)->no, 0);
	assert_int_equal(t->box.state, BOX_READY);
	assert_true(t->re.fd >= 0); /* the next request goes over it */
	fd_close(t->re.fd);
	assert_seen(&t->fk, "start connect /init");
	assert_non_null(strstr(t->fk.body, "\"sandboxId\":\"" ID "\""));
	assert_non_null(strstr(t->fk.body, "\"templateId\":\"base\""));
}

static void settles_with_a_start_command_and_interpreters(void **state)
{
	struct test *t = *state;

	start(t);
	(void)wait_step(t);
	settle(t, 7, 10000);
	assert_int_equal(wait_step(t)->no, 0);
	assert_int_equal(t->box.state, BOX_READY);
	fd_close(t->re.fd);
	assert_seen(&t->fk, "start connect /init connect /atoll/build connect /atoll/ready");
	assert_string_equal(t->fk.body, "{\"args\":[\"start\",\"7\"]}");
}

static void settles_over_a_given_connection(void **state)
{
	struct test *t = *state;
	struct box_settings s = { .template_id = "base", .fd = fake_connect(&t->fk), .wait_ms = 10000 };

	box_adopt(&t->box, false);
	box_settle(&t->box, &s, "", on_step, t);
	assert_int_equal(wait_step(t)->no, 0);
	fd_close(t->re.fd);
	assert_seen(&t->fk, "/init"); /* the warden was not asked */
}

static void saves_disk_and_memory(void **state)
{
	struct test *t = *state;

	make_ready(t);
	box_quiet(&t->box, 1000, "", on_step, t);
	assert_int_equal(t->box.state, BOX_QUIETING);
	assert_int_equal(wait_step(t)->no, 0);
	box_freeze(&t->box, "", on_step, t);
	(void)wait_step(t);
	box_snapshot(&t->box, NAME, "req-2", on_step, t);
	assert_int_equal(t->box.state, BOX_SNAPSHOTTING);
	assert_int_equal(wait_step(t)->no, 0);
	assert_string_equal(t->fk.last_save.name, NAME);
	assert_string_equal(t->fk.last_save.request, "req-2");
	box_checkpoint(&t->box, NAME, 0, "", on_step, t);
	assert_int_equal(wait_step(t)->no, 0);
	assert_int_equal(t->bytes, 4096);
	assert_int_equal(t->box.state, BOX_FROZEN);
	box_thaw(&t->box, "", on_step, t);
	assert_int_equal(wait_step(t)->no, 0);
	assert_int_equal(t->box.state, BOX_READY);
	assert_seen(&t->fk, "connect /atoll/quiet freeze snapshot checkpoint thaw");
}

static void runs_again_before_a_checkpoint_is_written(void **state)
{
	struct test *t = *state;

	make_frozen(t);
	t->fk.releases = true;
	box_checkpoint(&t->box, NAME, KEEP_THAW, "", on_step, t);
	assert_int_equal(wait_step(t)->no, 0);
	assert_int_equal(t->released, 1);
	assert_int_equal(t->when_released, BOX_RELEASED);
	assert_int_equal(t->box.state, BOX_READY);
	assert_int_equal(t->fk.last_save.flags, KEEP_THAW);
}

static void usage_changes_no_state(void **state)
{
	struct test *t = *state;

	make_ready(t);
	box_usage(&t->box, on_step, t);
	assert_int_equal(t->box.state, BOX_READY);
	assert_int_equal(wait_step(t)->no, 0);
	assert_int_equal(t->cpu_ns, 77);
	assert_int_equal(t->box.state, BOX_READY);
}

static void is_absent_once_killed_and_exited(void **state)
{
	struct test *t = *state;

	make_ready(t);
	box_kill(&t->box, "", on_step, t);
	assert_int_equal(wait_step(t)->no, 0);
	assert_int_equal(t->box.state, BOX_KILLING);
	box_exited(&t->box);
	assert_int_equal(t->box.state, BOX_ABSENT);
	assert_false(box_present(&t->box));
	start(t); /* and may be started again */
	assert_int_equal(wait_step(t)->no, 0);
}

/* --- that the warden refuses --- */

static void refused(struct test *t, enum box_state after)
{
	assert_int_equal(wait_step(t)->no, ENOSPC);
	assert_string_equal(t->text, "the fake refuses");
	assert_false(t->re.exited);
	assert_int_equal(t->box.state, after);
}

static void a_refused_start_leaves_nothing(void **state)
{
	struct test *t = *state;

	t->fk.refuse[OP_START] = ENOSPC;
	start(t);
	refused(t, BOX_ABSENT);
	assert_seen(&t->fk, "start");
}

static void refused_steps_leave_it_frozen(void **state)
{
	struct test *t = *state;

	make_ready(t);
	for (unsigned op = 0; op < OP_COUNT; op++)
		t->fk.refuse[op] = ENOSPC;
	box_freeze(&t->box, "", on_step, t);
	refused(t, BOX_FROZEN); /* a part of it, perhaps */
	box_snapshot(&t->box, NAME, "", on_step, t);
	refused(t, BOX_FROZEN);
	box_checkpoint(&t->box, NAME, 0, "", on_step, t);
	refused(t, BOX_FROZEN);
	box_thaw(&t->box, "", on_step, t);
	refused(t, BOX_FROZEN);
	box_kill(&t->box, "", on_step, t);
	refused(t, BOX_FROZEN);
	t->fk.refuse[OP_KILL] = ENOENT;
	box_kill(&t->box, "", on_step, t);
	assert_int_equal(wait_step(t)->no, ENOENT);
	assert_int_equal(t->box.state, BOX_ABSENT);
}

static void a_refused_connection_fails_a_settle(void **state)
{
	struct test *t = *state;

	t->fk.refuse[OP_CONNECT] = ENOSPC;
	start(t);
	(void)wait_step(t);
	settle(t, 0, 0);
	refused(t, BOX_STARTED);
	assert_int_equal(t->re.part, BOX_PART_SETTINGS);
}

/* --- that init is of no use --- */

static void settle_goes_wrong(struct test *t, const char *path, int how, int no, enum box_part part)
{
	struct box_settings s = { .template_id = "base", .fd = -1, .wait_ms = 50, .start_wait_s = 1, .interps_ms = 50 };

	t->fk.bad_path = path;
	t->fk.bad_how = how;
	box_settle(&t->box, &s, "", on_step, t);
	assert_int_equal(wait_step(t)->no, no);
	assert_int_equal(t->re.part, part);
	assert_int_equal(t->re.fd, -1);
	assert_int_equal(t->box.state, BOX_STARTED);
}

static void a_settle_says_how_far_it_came(void **state)
{
	struct test *t = *state;

	start(t);
	(void)wait_step(t);
	settle_goes_wrong(t, "/init", 500, EPROTO, BOX_PART_SETTINGS);
	assert_int_equal(t->re.status, 500);
	assert_string_equal(t->text, "it refused its settings");
	settle_goes_wrong(t, "/init", FAKE_SILENT, ETIMEDOUT, BOX_PART_SETTINGS);
	settle_goes_wrong(t, "/init", FAKE_CLOSES, ECONNRESET, BOX_PART_SETTINGS);
	settle_goes_wrong(t, "/atoll/build", 500, ECHILD, BOX_PART_START_CMD);
	settle_goes_wrong(t, "/atoll/ready", 503, EPROTO, BOX_PART_INTERPRETERS);
	settle_goes_wrong(t, "/atoll/ready", FAKE_SILENT, ETIMEDOUT, BOX_PART_INTERPRETERS);
	t->fk.build_fails = "exit status 3";
	settle_goes_wrong(t, NULL, 0, ECHILD, BOX_PART_START_CMD);
	assert_string_equal(t->text, "exit status 3");
}

static void quiet_is_over_when_init_does_not_answer(void **state)
{
	struct test *t = *state;

	make_ready(t);
	t->fk.bad_path = "/atoll/quiet";
	t->fk.bad_how = FAKE_SILENT;
	box_quiet(&t->box, 50, "", on_step, t);
	assert_int_equal(wait_step(t)->no, ETIMEDOUT);
	assert_int_equal(t->box.state, BOX_READY);
}

/* --- that the sandbox exits --- */

static void exits_during(struct test *t)
{
	unsigned calls = t->calls;

	fake_settle(&t->fk);
	assert_int_equal(t->calls, calls);
	box_exited(&t->box);
	assert_int_equal(t->calls, calls + 1);
	assert_true(t->re.exited);
	assert_int_equal(t->box.state, BOX_ABSENT);
	assert_null(t->box.step);
}

static void an_exit_completes_each_step(void **state)
{
	struct test *t = *state;

	for (unsigned op = 0; op < OP_COUNT; op++)
		t->fk.refuse[op] = op == OP_LIST ? 0 : FAKE_SILENT;
	start(t);
	exits_during(t);
	assert_int_equal(t->re.no, ECHILD);
	box_adopt(&t->box, false);
	settle(t, 0, 0);
	exits_during(t);
	box_adopt(&t->box, false);
	box_quiet(&t->box, 10000, "", on_step, t);
	exits_during(t);
	box_adopt(&t->box, false);
	box_freeze(&t->box, "", on_step, t);
	exits_during(t);
	box_adopt(&t->box, true);
	box_snapshot(&t->box, NAME, "", on_step, t);
	exits_during(t);
	box_adopt(&t->box, true);
	box_checkpoint(&t->box, NAME, 0, "", on_step, t);
	exits_during(t);
	box_adopt(&t->box, true);
	box_thaw(&t->box, "", on_step, t);
	exits_during(t);
	box_adopt(&t->box, true);
	box_kill(&t->box, "", on_step, t);
	exits_during(t);
	assert_int_equal(t->re.no, 0); /* which is what was asked for */
}

/* The answer to a step of the last life is not taken for one of this life. */
static void a_late_answer_is_dropped(void **state)
{
	struct test *t = *state;

	make_frozen(t);
	t->fk.refuse[OP_THAW] = t->fk.refuse[OP_START] = FAKE_SILENT;
	box_thaw(&t->box, "", on_step, t);
	exits_during(t);
	start(t);
	fake_answer(&t->fk, OP_THAW, 0);
	fake_settle(&t->fk);
	assert_int_equal(t->calls, 4); /* start, settle, freeze, and the thaw that it exited in */
	assert_int_equal(t->box.state, BOX_STARTING);
	fake_answer(&t->fk, OP_START, 0);
	assert_int_equal(wait_step(t)->no, 0);
	assert_int_equal(t->box.state, BOX_STARTED);
}

/* --- that somebody is faster, or not there any more --- */

static void a_kill_overtakes_a_start(void **state)
{
	struct test *t = *state;

	t->fk.refuse[OP_START] = FAKE_SILENT;
	start(t);
	box_kill(&t->box, "", on_step, t);
	assert_int_equal(wait_step(t)->no, 0);
	assert_int_equal(t->box.state, BOX_KILLING);
	fake_answer(&t->fk, OP_START, ECANCELED);
	assert_int_equal(wait_step(t)->no, ECANCELED); /* it completes, too */
	assert_int_equal(t->box.state, BOX_KILLING);
}

/* The warden does not know it yet. */
static void a_kill_ends_a_start_that_waits(void **state)
{
	struct test *t = *state;
	struct box first;

	t->fk.link.starts = start_queue_new(t->fk.loop, 1);
	t->fk.refuse[OP_START] = FAKE_SILENT;
	t->fk.refuse[OP_KILL] = ENOENT;
	box_init(&first, &t->fk.link, "i0000000000000000000");
	box_start(&first, &plain_start, "", NULL, NULL);
	start(t);
	box_kill(&t->box, "", on_step, t);
	assert_int_equal(wait_step(t)->no, ECANCELED);
	assert_int_equal(wait_step(t)->no, ENOENT);
	assert_int_equal(t->box.state, BOX_ABSENT);
	box_done(&first);
	assert_seen(&t->fk, "start kill");
	box_done(&t->box);
	start_queue_free(take_ptr(&t->fk.link.starts));
}

static void a_start_waits_for_the_end_of_another(void **state)
{
	struct test *t = *state;
	struct box first;

	t->fk.link.starts = start_queue_new(t->fk.loop, 1);
	t->fk.refuse[OP_START] = FAKE_SILENT;
	box_init(&first, &t->fk.link, "i0000000000000000000");
	box_start(&first, &plain_start, "", NULL, NULL);
	start(t);
	fake_settle(&t->fk);
	assert_seen(&t->fk, "start");
	fake_answer(&t->fk, OP_START, 0);
	t->fk.refuse[OP_START] = 0;
	assert_int_equal(wait_step(t)->no, 0);
	assert_int_equal(t->box.state, BOX_STARTED);
	assert_int_equal(first.state, BOX_STARTED);
	assert_string_equal(t->fk.last_start.start.id, ID);
	box_done(&first);
	start_queue_free(take_ptr(&t->fk.link.starts));
}

static void a_kill_overtakes_init(void **state)
{
	struct test *t = *state;

	start(t);
	(void)wait_step(t);
	t->fk.bad_path = "/init";
	t->fk.bad_how = FAKE_SILENT;
	settle(t, 0, 0);
	box_kill(&t->box, "", on_step, t);
	assert_int_equal(wait_step(t)->no, 0);
	assert_int_equal(t->box.state, BOX_KILLING);
	box_exited(&t->box); /* the settle */
	assert_int_equal(t->calls, 3);
	assert_int_equal(t->re.no, ECHILD);
}

static void a_thaw_overtakes_a_checkpoint(void **state)
{
	struct test *t = *state;

	make_frozen(t);
	t->fk.refuse[OP_CHECKPOINT] = FAKE_SILENT;
	box_checkpoint(&t->box, NAME, 0, "", on_step, t);
	box_thaw(&t->box, "", on_step, t);
	assert_int_equal(wait_step(t)->no, 0);
	assert_int_equal(t->box.state, BOX_READY);
	fake_answer(&t->fk, OP_CHECKPOINT, ECANCELED);
	assert_int_equal(wait_step(t)->no, ECANCELED);
	assert_int_equal(t->box.state, BOX_READY);
}

static void nothing_completes_after_done(void **state)
{
	struct test *t = *state;

	start(t);
	box_done(&t->box);
	fake_settle(&t->fk);
	assert_int_equal(t->calls, 0);
	box_init(&t->box, &t->fk.link, ID);
	box_adopt(&t->box, false);
	settle(t, 0, 0);
	box_kill(&t->box, "", NULL, NULL); /* nobody wants to know */
	box_done(&t->box);
	fake_settle(&t->fk);
	assert_int_equal(t->calls, 0);
	box_init(&t->box, &t->fk.link, ID);
	assert_seen(&t->fk, "start connect kill");
}

static void on_connected(void *user, const struct warden_reply *re)
{
	struct test *t = user;

	assert_int_equal(re->no, 0);
	assert_true(re->fd >= 0);
	fd_close(re->fd);
	fake_stop(&t->fk);
}

static void connects_during_a_step(void **state)
{
	struct test *t = *state;

	make_frozen(t);
	t->fk.refuse[OP_SNAPSHOT] = FAKE_SILENT;
	box_snapshot(&t->box, NAME, "", on_step, t);
	(void)box_connect(&t->box, "req-3", on_connected, t);
	fake_run(&t->fk);
	assert_string_equal(t->fk.last_id.request, "req-3");
	assert_int_equal(t->box.state, BOX_SNAPSHOTTING);
}

/* What waits for a reply is not freed when the front exits. */
static void a_step_without_a_reply_is_due(void **state)
{
	struct test *t = *state;

	assert_false(warden_link_due(t->fk.link.warden));
	start(t);
	assert_true(warden_link_due(t->fk.link.warden));
	assert_int_equal(wait_step(t)->no, 0);
	assert_false(warden_link_due(t->fk.link.warden));
	box_kill(&t->box, "", on_step, t);
	assert_true(warden_link_due(t->fk.link.warden));
	box_done(&t->box);
	assert_false(warden_link_due(t->fk.link.warden));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(starts_and_settles),
		TEST(settles_with_a_start_command_and_interpreters),
		TEST(settles_over_a_given_connection),
		TEST(saves_disk_and_memory),
		TEST(runs_again_before_a_checkpoint_is_written),
		TEST(usage_changes_no_state),
		TEST(is_absent_once_killed_and_exited),
		TEST(a_refused_start_leaves_nothing),
		TEST(refused_steps_leave_it_frozen),
		TEST(a_refused_connection_fails_a_settle),
		TEST(a_settle_says_how_far_it_came),
		TEST(quiet_is_over_when_init_does_not_answer),
		TEST(an_exit_completes_each_step),
		TEST(a_late_answer_is_dropped),
		TEST(a_kill_overtakes_a_start),
		TEST(a_kill_ends_a_start_that_waits),
		TEST(a_start_waits_for_the_end_of_another),
		TEST(a_kill_overtakes_init),
		TEST(a_thaw_overtakes_a_checkpoint),
		TEST(nothing_completes_after_done),
		TEST(connects_during_a_step),
		TEST(a_step_without_a_reply_is_due),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

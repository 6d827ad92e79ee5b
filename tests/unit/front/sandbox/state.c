/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/sandbox/state: which state may follow, and where the memory of a sandbox is. */
#include "front/sandbox/state.h"
#include "front/sandbox/sandbox.h"
#include "unit.h"

static void may_follow(enum sandbox_state from, enum sandbox_state to, unsigned places)
{
	for (unsigned at = 0; at < MEMORY_PLACES; at++)
		assert_int_equal(sandbox_may_follow(from, at, to), (places >> at) & 1);
}

#define AT(p) (1u << MEMORY_##p)
#define ANYWHERE ((1u << MEMORY_PLACES) - 1)

static void runs_only_with_memory(void **state)
{
	(void)state;
	may_follow(SANDBOX_STARTING, SANDBOX_RUNNING, AT(RAM));
	may_follow(SANDBOX_RESUMING, SANDBOX_RUNNING, AT(RAM));
	may_follow(SANDBOX_SAVING, SANDBOX_RUNNING, AT(RAM));
	may_follow(SANDBOX_PAUSING, SANDBOX_RUNNING, AT(RAM));
	may_follow(SANDBOX_PAUSED, SANDBOX_RUNNING, 0);
	may_follow(SANDBOX_ENDING, SANDBOX_RUNNING, 0);
}

static void pauses_and_is_saved_only_while_it_runs(void **state)
{
	(void)state;
	may_follow(SANDBOX_RUNNING, SANDBOX_PAUSING, AT(RAM));
	may_follow(SANDBOX_RUNNING, SANDBOX_SAVING, AT(RAM));
	may_follow(SANDBOX_SAVING, SANDBOX_PAUSING, 0);
	may_follow(SANDBOX_PAUSING, SANDBOX_SAVING, 0);
	may_follow(SANDBOX_PAUSED, SANDBOX_PAUSING, 0);
	may_follow(SANDBOX_STARTING, SANDBOX_PAUSING, 0);
	may_follow(SANDBOX_PAUSING, SANDBOX_PAUSED, AT(RAM) | AT(NONE));
}

static void tries_to_resume_wherever_its_memory_is(void **state)
{
	(void)state;
	may_follow(SANDBOX_PAUSED, SANDBOX_RESUMING, ANYWHERE);
	may_follow(SANDBOX_RESUMING, SANDBOX_PAUSED, ANYWHERE);
	may_follow(SANDBOX_RUNNING, SANDBOX_RESUMING, 0);
}

static void ends_from_everywhere_and_for_good(void **state)
{
	(void)state;
	for (int from = 0; from < SANDBOX_ENDING; from++) {
		may_follow(from, SANDBOX_ENDING, ANYWHERE);
		may_follow(from, SANDBOX_DEAD, ANYWHERE);
	}
	for (int to = 0; to < SANDBOX_STATES; to++) {
		may_follow(SANDBOX_ENDING, to, to == SANDBOX_DEAD ? ANYWHERE : 0);
		may_follow(SANDBOX_DEAD, to, 0);
	}
}

static void is_at(enum box_state box, uint32_t saved, enum memory_place want)
{
	const struct sandbox sb = { .box.state = box, .saved.what = saved };

	assert_int_equal(sandbox_memory_place(&sb), want);
}

static void memory_is_where_box_and_disk_say(void **state)
{
	(void)state;
	is_at(BOX_READY, 0, MEMORY_RAM);
	is_at(BOX_FROZEN, SAVED_DISK, MEMORY_RAM);
	is_at(BOX_CHECKPOINTING, SAVED_DISK, MEMORY_RAM);
	is_at(BOX_RELEASED, 0, MEMORY_RAM);
	is_at(BOX_FROZEN, SAVED_DISK | SAVED_MEMORY, MEMORY_BOTH);
	is_at(BOX_KILLING, SAVED_DISK | SAVED_MEMORY, MEMORY_DISK); /* an eviction */
	is_at(BOX_ABSENT, SAVED_DISK | SAVED_MEMORY, MEMORY_DISK);
	is_at(BOX_STARTED, SAVED_DISK | SAVED_MEMORY, MEMORY_DISK); /* a restore that is not done */
	is_at(BOX_FROZEN, SAVED_DISK | SAVED_NO_RAM, MEMORY_NONE);
	is_at(BOX_ABSENT, SAVED_DISK | SAVED_MEMORY | SAVED_NO_RAM, MEMORY_NONE);
	is_at(BOX_ABSENT, SAVED_DISK, MEMORY_LOST);
	is_at(BOX_ABSENT, 0, MEMORY_LOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_only_with_memory),
		cmocka_unit_test(pauses_and_is_saved_only_while_it_runs),
		cmocka_unit_test(tries_to_resume_wherever_its_memory_is),
		cmocka_unit_test(ends_from_everywhere_and_for_good),
		cmocka_unit_test(memory_is_where_box_and_disk_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Which server needs which image: nobody's pins are another's to remove. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/tree.h"
#include "oci/pins.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static char dir[] = "/tmp/atoll-pins-XXXXXX";
static int dir_fd = -1;

static int set_up(void **state)
{
	(void)state;
	return !mkdtemp(dir) || (dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	fd_close(dir_fd);
	return tree_remove(AT_FDCWD, dir);
}

static void an_image_is_free_when_nobody_pins_it(void **state)
{
	struct pins one, two, none;
	struct err e = ERR_INIT;
	char *keys[] = { B };

	(void)state;
	assert_int_equal(pins_open(dir_fd, "/one", &one, &e), 0);
	assert_int_equal(pins_open(dir_fd, "/two", &two, &e), 0);
	assert_int_equal(pins_open(dir_fd, NULL, &none, &e), 0);
	assert_false(pins_any(&none, A));
	assert_int_equal(pins_add(&none, A, &e), 0);
	assert_false(pins_any(&none, A));
	assert_int_equal(pins_add(&one, A, &e), 0);
	assert_int_equal(pins_add(&two, A, &e), 0);
	assert_true(pins_any(&none, A));
	assert_int_equal(pins_set(&one, keys, 1, &e), 0);
	assert_true(pins_any(&one, A));		/* the other one's */
	assert_true(pins_any(&one, B));
	assert_int_equal(pins_set(&two, NULL, 0, &e), 0);
	assert_false(pins_any(&one, A));
	assert_true(pins_any(&two, B));
	pins_close(&one);
	pins_close(&two);
	pins_close(&none);
}

static void pins_go_when_their_state_has_long_been_gone(void **state)
{
	const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	struct pins gone, here;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(pins_open(dir_fd, "/no/such/state", &gone, &e), 0);
	assert_int_equal(pins_open(dir_fd, dir, &here, &e), 0);
	assert_int_equal(pins_add(&gone, A, &e), 0);
	assert_int_equal(pins_add(&here, B, &e), 0);
	pins_drop_strays(&here);
	assert_true(pins_any(&here, A));	/* its disk may come back */
	assert_int_equal(futimens(gone.own_fd, old), 0);
	assert_int_equal(futimens(here.own_fd, old), 0);
	pins_drop_strays(&here);
	assert_false(pins_any(&here, A));
	assert_true(pins_any(&here, B));
	pins_close(&gone);
	pins_close(&here);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_image_is_free_when_nobody_pins_it),
		cmocka_unit_test(pins_go_when_their_state_has_long_been_gone),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Which server needs which image: nobody's pins are another's to remove. */
#include <stdint.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/disk/tree.h"
#include "oci/pins.h"
#include "unit.h"

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
	assert_true(pins_any(&one, A)); /* the other one's */
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
	assert_int_equal(pins_drop_strays(&here, &e), 0);
	assert_true(pins_any(&here, A)); /* its disk may come back */
	assert_int_equal(futimens(gone.own_fd, old), 0);
	assert_int_equal(futimens(here.own_fd, old), 0);
	assert_int_equal(pins_drop_strays(&here, &e), 0);
	assert_false(pins_any(&here, A));
	assert_true(pins_any(&here, B));
	pins_close(&gone);
	pins_close(&here);
}

static void pins_go_with_a_state_that_was_removed(void **state)
{
	char at[64], name[80];
	struct pins p, none;
	struct err e = ERR_INIT;

	(void)state;
	(void)snprintf(at, sizeof at, "%s/server", dir);
	(void)snprintf(name, sizeof name, "%s/state", at);
	assert_int_equal(mkdir(at, 0700), 0);
	assert_int_equal(mkdir(name, 0700), 0);
	assert_int_equal(pins_open(dir_fd, name, &p, &e), 0);
	assert_int_equal(pins_open(dir_fd, NULL, &none, &e), 0);
	assert_int_equal(pins_add(&p, A, &e), 0);
	assert_int_equal(pins_set(&p, (char *[]) { A }, 1, &e), 0);
	assert_int_equal(pins_drop_strays(&none, &e), 0);
	assert_true(pins_any(&none, A)); /* it is there */
	assert_int_equal(tree_remove(AT_FDCWD, at), 0);
	assert_int_equal(pins_drop_strays(&none, &e), 0);
	assert_false(pins_any(&none, A)); /* and now both are gone, and what is above them is not */
	pins_close(&p);
	pins_close(&none);
}

/* As when a disk is not mounted: what is above it is another directory than it was. */
static void pins_stay_while_a_state_is_out_of_sight(void **state)
{
	char at[64], aside[64], name[80];
	struct pins p, none;
	struct err e = ERR_INIT;

	(void)state;
	(void)snprintf(at, sizeof at, "%s/disk", dir);
	(void)snprintf(aside, sizeof aside, "%s/aside", dir);
	(void)snprintf(name, sizeof name, "%s/state", at);
	assert_int_equal(mkdir(at, 0700), 0);
	assert_int_equal(mkdir(name, 0700), 0);
	assert_int_equal(pins_open(dir_fd, name, &p, &e), 0);
	assert_int_equal(pins_open(dir_fd, NULL, &none, &e), 0);
	assert_int_equal(pins_add(&p, A, &e), 0);
	assert_int_equal(rename(at, aside), 0);
	assert_int_equal(mkdir(at, 0700), 0);
	assert_int_equal(pins_drop_strays(&none, &e), 0);
	assert_true(pins_any(&none, A));
	assert_int_equal(rmdir(at), 0);
	assert_int_equal(rename(aside, at), 0);
	assert_int_equal(pins_drop_strays(&none, &e), 0);
	assert_true(pins_any(&none, A));
	assert_int_equal(rmdir(name), 0);
	assert_int_equal(pins_drop_strays(&none, &e), 0);
	assert_false(pins_any(&none, A));
	pins_close(&p);
	pins_close(&none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_image_is_free_when_nobody_pins_it),
		cmocka_unit_test(pins_go_when_their_state_has_long_been_gone),
		cmocka_unit_test(pins_go_with_a_state_that_was_removed),
		cmocka_unit_test(pins_stay_while_a_state_is_out_of_sight),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

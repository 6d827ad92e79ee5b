/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/census: what of a minute is kept, over its end and over a restart. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "front/account/census.h"
#include "store/db.h"
#include "unit.h"

#define MINUTE 60000ull
#define T0 (1000000 * MINUTE)

static char path[64];
static struct store *s;
static struct census *c;
static struct err e;
static struct team_point seen[16];
static size_t n_seen;

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(path, sizeof path, "/tmp/atoll-census-%d.db", (int)getpid());
	assert_int_equal(store_open(path, &s, &e), 0);
	c = census_new(s, T0);
	return 0;
}

static int tear_down(void **state)
{
	char z[80];

	(void)state;
	census_free(c);
	store_close(s);
	(void)unlink(path);
	(void)snprintf(z, sizeof z, "%s-wal", path);
	(void)unlink(z);
	(void)snprintf(z, sizeof z, "%s-shm", path);
	(void)unlink(z);
	return 0;
}

static void see(void *user, const struct team_point *p)
{
	(void)user;
	seen[n_seen++] = *p;
}

static size_t look(const char *team, uint64_t from_ms, uint64_t to_ms)
{
	n_seen = 0;
	assert_int_equal(census_each(c, team, from_ms / 1000, to_ms / 1000, see, NULL, &e), 0);
	return n_seen;
}

static void a_minute_has_its_most(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		census_started(c, "a");
		census_running(c, "a", 1);
	}
	census_running(c, "a", -1);
	census_running(c, "b", 1);
	assert_int_equal(look("a", T0, T0), 1); /* it is going on */
	assert_int_equal(seen[0].at_s, T0 / 1000);
	assert_int_equal(seen[0].running, 3);
	assert_int_equal(seen[0].starts, 3);
	assert_int_equal(look("none", 0, T0), 0);

	census_tick(c, T0 + MINUTE - 1);
	assert_int_equal(look("a", 0, T0 + MINUTE), 1);
	census_tick(c, T0 + MINUTE);
	assert_int_equal(look("a", 0, T0 + MINUTE), 2);
	assert_int_equal(seen[0].running, 3);
	assert_int_equal(seen[1].running, 2);
	assert_int_equal(seen[1].starts, 0);
	assert_int_equal(look("b", 0, T0 + MINUTE), 2);
	assert_int_equal(look("a", T0 + 1000, T0 + MINUTE), 1);
	assert_int_equal(look("a", 0, T0), 1);
}

static void without_any_there_are_no_points(void **state)
{
	(void)state;
	census_running(c, "a", 1);
	census_running(c, "a", -1);
	for (int i = 1; i < 5; i++)
		census_tick(c, T0 + (uint64_t)i * MINUTE);
	assert_int_equal(look("a", 0, T0 + 5 * MINUTE), 1);
}

static void a_minute_goes_on_after_a_restart(void **state)
{
	(void)state;
	census_started(c, "a");
	census_running(c, "a", 1);
	census_running(c, "a", 1);
	census_free(c);
	c = census_new(s, T0 + 20000);
	census_running(c, "a", 1); /* one is still there */
	census_started(c, "a");
	census_tick(c, T0 + MINUTE);
	assert_int_equal(look("a", T0, T0), 1);
	assert_int_equal(seen[0].running, 2);
	assert_int_equal(seen[0].starts, 2);
	assert_int_equal(team_points_prune(s, T0 / 1000 + 1, &e), 1);
	assert_int_equal(look("a", T0, T0), 0);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_minute_has_its_most),
		CASE(without_any_there_are_no_points),
		CASE(a_minute_goes_on_after_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Units of warden/registry: one slot per state directory, the same one again, never two holders. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"
#include "warden/registry.h"

static void slots_are_taken_found_again_and_given_back(void **state)
{
	char dir[] = "/tmp/atoll-unit-XXXXXX", path[64];
	struct err e = ERR_INIT;
	uint32_t a, b, again;
	int fa, fb, fx = -1;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(registry_take(dir, "/state/a", &a, &fa, &e), 0);
	assert_int_equal(registry_take(dir, "/state/b", &b, &fb, &e), 0);
	assert_int_not_equal(a, b);
	assert_int_equal(registry_take(dir, "/state/a", &again, &fx, &e), -EBUSY);
	assert_non_null(strstr(e.text, "/state/a"));
	(void)close(fa); /* that warden was killed */
	assert_int_equal(registry_take(dir, "/state/a", &again, &fa, &e), 0);
	assert_int_equal(again, a);
	registry_release(dir, a);
	registry_release(dir, b);
	(void)close(fa);
	(void)close(fb);
	(void)snprintf(path, sizeof path, "%s/lock", dir);
	(void)unlink(path);
	assert_int_equal(rmdir(dir), 0);
}

static void there_are_only_so_many(void **state)
{
	char dir[] = "/tmp/atoll-unit-XXXXXX", name[64];
	int fds[REGISTRY_SLOTS], one = -1;
	struct err e = ERR_INIT;
	uint32_t slot;

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (unsigned i = 0; i < REGISTRY_SLOTS; i++) {
		(void)snprintf(name, sizeof name, "/state/%u", i);
		assert_int_equal(registry_take(dir, name, &slot, &fds[i], &e), 0);
	}
	assert_int_equal(registry_take(dir, "/state/more", &slot, &one, &e), -ENOSPC);
	for (unsigned i = 0; i < REGISTRY_SLOTS; i++) {
		registry_release(dir, i);
		(void)close(fds[i]);
	}
	(void)snprintf(name, sizeof name, "%s/lock", dir);
	(void)unlink(name);
	assert_int_equal(rmdir(dir), 0);
}

static void end(const char *dir)
{
	char path[64];

	(void)snprintf(path, sizeof path, "%s/lock", dir);
	(void)unlink(path);
	assert_int_equal(rmdir(dir), 0);
}

static void areas_are_of_one_server_at_a_time(void **state)
{
	char dir[] = "/tmp/atoll-unit-XXXXXX";
	uint32_t a, b, n, m, of_a[SLOT_AREAS_EACH], of_b[SLOT_AREAS_EACH], again[SLOT_AREAS_EACH];
	struct err e = ERR_INIT;
	int fa, fb;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(registry_take(dir, "/state/a", &a, &fa, &e), 0);
	assert_int_equal(registry_take(dir, "/state/b", &b, &fb, &e), 0);
	assert_int_equal(registry_areas(dir, a, fa, 2, of_a, &n, &e), 0);
	assert_int_equal(n, 2);
	assert_int_equal(registry_areas(dir, b, fb, 1, of_b, &m, &e), 0);
	assert_int_equal(m, 1);
	assert_true(of_b[0] != of_a[0] && of_b[0] != of_a[1] && of_a[0] != of_a[1]);
	/* more of them: those that it had come first */
	assert_int_equal(registry_areas(dir, a, fa, 4, again, &n, &e), 0);
	assert_int_equal(n, 4);
	assert_memory_equal(again, of_a, 2 * sizeof *of_a);
	for (uint32_t i = 0; i < n; i++)
		assert_int_not_equal(again[i], of_b[0]);
	/* the same ones after a restart, and the same state directory still has its slot */
	(void)close(fa);
	assert_int_equal(registry_take(dir, "/state/a", &n, &fa, &e), 0);
	assert_int_equal(n, a);
	assert_int_equal(registry_areas(dir, a, fa, 4, again, &n, &e), 0);
	assert_int_equal(n, 4);
	assert_memory_equal(again, of_a, 2 * sizeof *of_a);
	/* those of a server that is gone with all its sandboxes are free */
	registry_release(dir, a);
	(void)close(fa);
	assert_int_equal(registry_areas(dir, b, fb, 3, of_b, &m, &e), 0);
	assert_int_equal(m, 3);
	assert_true(of_b[1] == of_a[0] && of_b[2] == of_a[1]);
	registry_release(dir, b);
	(void)close(fb);
	end(dir);
}

static void areas_run_out(void **state)
{
	char dir[] = "/tmp/atoll-unit-XXXXXX", name[32];
	uint32_t slot[3], n, areas[SLOT_AREAS_EACH], left[] = { 6, 6, 1 };
	bool taken[SLOT_AREAS] = { false };
	struct err e = ERR_INIT;
	int fds[3];

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (unsigned i = 0; i < 3; i++) {
		(void)snprintf(name, sizeof name, "/state/%u", i);
		assert_int_equal(registry_take(dir, name, &slot[i], &fds[i], &e), 0);
		assert_int_equal(registry_areas(dir, slot[i], fds[i], 9, areas, &n, &e), 0);
		assert_int_equal(n, left[i]);
		for (uint32_t k = 0; k < n; k++) {
			assert_false(taken[areas[k]]);
			taken[areas[k]] = true;
		}
	}
	for (unsigned i = 0; i < 3; i++) {
		registry_release(dir, slot[i]);
		(void)close(fds[i]);
	}
	end(dir);
}

/* As after a server was killed in the middle of a write, or a line by hand. */
static void damaged_lists_give_no_area_that_there_is_not(void **state)
{
	static const char *const lines[] = { "areas\n", "areas 99\n", "areas 1 x\n", "areas -1\n", "area 1\n",
		"areas 1" };
	char dir[] = "/tmp/atoll-unit-XXXXXX";
	uint32_t slot, n, areas[SLOT_AREAS_EACH];
	struct err e = ERR_INIT;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(dir));
	assert_int_equal(registry_take(dir, "/state/a", &slot, &fd, &e), 0);
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		assert_int_equal(ftruncate(fd, 9), 0);
		assert_int_equal(pwrite(fd, lines[i], strlen(lines[i]), 9), (ssize_t)strlen(lines[i]));
		assert_int_equal(registry_areas(dir, slot, fd, 1, areas, &n, &e), 0);
		assert_int_equal(n, 1);
		assert_true(areas[0] < SLOT_AREAS);
	}
	registry_release(dir, slot);
	(void)close(fd);
	end(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_are_taken_found_again_and_given_back),
		cmocka_unit_test(there_are_only_so_many),
		cmocka_unit_test(areas_are_of_one_server_at_a_time),
		cmocka_unit_test(areas_run_out),
		cmocka_unit_test(damaged_lists_give_no_area_that_there_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

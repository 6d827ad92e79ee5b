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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_are_taken_found_again_and_given_back),
		cmocka_unit_test(there_are_only_so_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What goes into the trash is out of the way at once, and gone when it was emptied. */
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/disk/tree.h"
#include "oci/trash.h"
#include "unit.h"

static char dir[] = "/tmp/atoll-trash-XXXXXX";
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

static void make_tree(const char *name)
{
	autoclose int fd = -1;

	assert_int_equal(mkdirat(dir_fd, name, 0700), 0);
	fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(fd, "sub", 0500), 0);
	fd_close(openat(fd, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static bool has(const char *name)
{
	return faccessat(dir_fd, name, F_OK, 0) == 0;
}

static void one_name_can_go_many_times(void **state)
{
	autoclose int fd = -1;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(trash_open(dir_fd, &fd, &e), 0);
	for (int i = 0; i < 3; i++) {
		make_tree("a");
		assert_int_equal(trash_put(fd, dir_fd, "a"), 0);
		assert_false(has("a"));
	}
	assert_true(has("trash/a.0/file") && has("trash/a.1/sub") && has("trash/a.2"));
	assert_int_equal(trash_put(fd, dir_fd, "a"), -ENOENT);
	trash_empty(fd);
	assert_false(has("trash/a.0") || has("trash/a.1") || has("trash/a.2"));
}

static void only_one_empties_it(void **state)
{
	autoclose int one = -1, two = -1;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(trash_open(dir_fd, &one, &e), 0);
	assert_int_equal(trash_open(dir_fd, &two, &e), 0);
	make_tree("b");
	assert_int_equal(trash_put(one, dir_fd, "b"), 0);
	assert_int_equal(flock(one, LOCK_EX), 0);
	trash_empty(two);
	assert_true(has("trash/b.0/file")); /* the other one is at it */
	assert_int_equal(flock(one, LOCK_UN), 0);
	trash_empty(two);
	assert_false(has("trash/b.0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_name_can_go_many_times),
		cmocka_unit_test(only_one_empties_it),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

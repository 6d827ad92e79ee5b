/* SPDX-License-Identifier: Apache-2.0 */
/* Units of engine/tree: a tree goes, whatever its shape, and nothing outside of it does. */
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/disk/tree.h"
#include "unit.h"

static int scratch(char dir[64])
{
	(void)strcpy(dir, "/tmp/unit-tree-XXXXXX");
	assert_non_null(mkdtemp(dir));
	return open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Deeper than any path may be long. */
static void a_deep_tree_goes(void **state)
{
	char dir[64], name[101];
	autoclose int top = scratch(dir);
	int at = dup(top);

	(void)state;
	memset(name, 'd', 100);
	name[100] = '\0';
	assert_int_equal(mkdirat(at, "t", 0755), 0);
	close(at);
	at = openat(top, "t", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 100; i++) {
		int next;

		assert_int_equal(mkdirat(at, name, 0755), 0);
		close(openat(at, "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
		next = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = next;
	}
	close(at);
	assert_int_equal(tree_remove(top, "t"), 0);
	assert_int_equal(tree_remove(top, "t"), -ENOENT);
	assert_int_equal(rmdir(dir), 0);
}

static void links_are_not_followed(void **state)
{
	char dir[64];
	autoclose int top = scratch(dir);

	(void)state;
	assert_int_equal(mkdirat(top, "keep", 0755), 0);
	close(openat(top, "keep/file", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
	assert_int_equal(mkdirat(top, "t", 0755), 0);
	assert_int_equal(symlinkat("../keep", top, "t/link"), 0);
	assert_int_equal(symlinkat("keep", top, "top"), 0);
	assert_int_equal(tree_remove(top, "t"), 0);
	assert_int_equal(tree_remove(top, "top"), 0);
	assert_int_equal(faccessat(top, "keep/file", F_OK, 0), 0);
	assert_int_equal(tree_remove(top, "keep"), 0);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_deep_tree_goes),
		cmocka_unit_test(links_are_not_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

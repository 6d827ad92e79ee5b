/* SPDX-License-Identifier: Apache-2.0 */
/* Units of init/dirs and init/sink: trees made, walked and removed, and files that are whole or not there. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "init/files/dirs.h"
#include "init/files/sink.h"
#include "init/users.h"
#include "unit.h"

static char top[] = "/tmp/unit-init-dirs-XXXXXX";
static struct user me;

static int set_up(void **state)
{
	(void)state;
	me.uid = getuid();
	me.gid = getgid();
	return mkdtemp(top) && chdir(top) == 0 ? 0 : -1;
}

static int remove_all(const char *path)
{
	struct remover *r;
	int rc = remover_new(path, &r);

	if (rc < 0)
		return rc;
	while ((rc = remover_step(r, 3)) > 0)
		;
	remover_free(r);
	return rc;
}

static int tear_down(void **state)
{
	(void)state;
	return remove_all(top);
}

static char *at(const char *rel)
{
	static char path[4][PATH_MAX];
	static unsigned next;
	char *p = path[next++ % 4];

	(void)snprintf(p, PATH_MAX, "%s/%s", top, rel);
	return p;
}

static void make(const char *rel)
{
	char *where = NULL;

	assert_int_equal(dirs_ensure(at(rel), me.uid, me.gid, &where), 0);
	assert_null(where);
}

static int note(void *user, const char *rel)
{
	buf_fmt(user, "%s ", rel);
	return 0;
}

static void walks_are_ordered_and_bounded(void **state)
{
	autobuf struct buf two = BUF_INIT(1000), all = BUF_INIT(1000);

	(void)state;
	make("w/b/c/d");
	make("w/a");
	assert_int_equal(symlink("b", at("w/link")), 0);
	assert_int_equal(dirs_walk(at("w"), 2, note, &two), 0);
	assert_string_equal(buf_cstr(&two), "a b b/c link ");
	assert_int_equal(dirs_walk(at("w"), UINT32_MAX, note, &all), 0);
	assert_string_equal(buf_cstr(&all), "a b b/c b/c/d link ");
	assert_int_equal(dirs_walk(at("nothing"), 1, note, &all), -ENOENT);
}

static void ensuring_stops_at_a_file(void **state)
{
	char *where = NULL;

	(void)state;
	make("e");
	fd_close(open(at("e/file"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_int_equal(dirs_ensure(at("e/file/x"), me.uid, me.gid, &where), -ENOTDIR);
	assert_string_equal(where, at("e/file"));
	free(where);
}

static void removing_takes_links_not_their_targets(void **state)
{
	struct stat st;

	(void)state;
	make("keep/inside");
	make("gone/deep/er");
	assert_int_equal(symlink(at("keep"), at("gone/link")), 0);
	assert_int_equal(remove_all(at("gone/")), 0);
	assert_int_equal(lstat(at("gone"), &st), -1);
	assert_int_equal(stat(at("keep/inside"), &st), 0);
	assert_int_equal(remove_all(at("gone")), 0); /* already gone is fine */
	assert_int_equal(remove_all("/"), -EINVAL);
	assert_int_equal(remove_all("/tmp/.."), -EINVAL);
}

static void removing_knows_no_depth(void **state)
{
	struct stat st;

	(void)state;
	make("deep");
	assert_int_equal(chdir(at("deep")), 0);
	for (int i = 0; i < 700; i++) {
		assert_int_equal(mkdir("aaaaaaaaaa", 0700), 0);
		assert_int_equal(chdir("aaaaaaaaaa"), 0);
	}
	assert_int_equal(chdir(top), 0);
	assert_int_equal(remove_all(at("deep")), 0);
	assert_int_equal(lstat(at("deep"), &st), -1);
}

static void uploads_that_fail_leave_no_new_file(void **state)
{
	struct sink_error e = { 0 };
	struct sink s;
	struct stat st;

	(void)state;
	assert_int_equal(sink_open(&s, at("u/new/file"), &me, NULL, &e), 0);
	assert_int_equal(sink_write(&s, STR_LIT("half"), &e), 0);
	sink_discard(&s);
	assert_int_equal(lstat(at("u/new/file"), &st), -1);
	assert_int_equal(sink_open(&s, at("u"), &me, NULL, &e), -1);
	assert_int_equal(e.status, 400);
	assert_int_equal(mkfifo(at("u/fifo"), 0600), 0);
	assert_int_equal(sink_open(&s, at("u/fifo"), &me, NULL, &e), -1);
	assert_int_equal(e.status, 400);
}

static void overwriting_keeps_mode_and_waits_for_the_whole(void **state)
{
	struct sink_error e = { 0 };
	json_t *none = json_object();
	struct stat before, after;
	char text[16];
	struct sink s;
	int fd;

	(void)state;
	make("o");
	fd = open(at("o/f"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_int_equal(fd_write_all(fd, "old", 3), 0);
	fd_close(fd);
	assert_int_equal(chmod(at("o/f"), 0751), 0);
	assert_int_equal(stat(at("o/f"), &before), 0);
	assert_int_equal(sink_open(&s, at("o/f"), &me, NULL, &e), 0);
	assert_int_equal(sink_write(&s, STR_LIT("new text"), &e), 0);
	sink_discard(&s);
	assert_int_equal(file_read(AT_FDCWD, at("o/f"), text, sizeof(text)), 3);
	assert_string_equal(text, "old");
	assert_int_equal(sink_open(&s, at("o/f"), &me, NULL, &e), 0);
	assert_int_equal(sink_write(&s, STR_LIT("new text"), &e), 0);
	assert_int_equal(sink_finish(&s, none, &e), 0);
	assert_int_equal(file_read(AT_FDCWD, at("o/f"), text, sizeof(text)), 8);
	assert_int_equal(stat(at("o/f"), &after), 0);
	assert_true(before.st_ino == after.st_ino && before.st_mode == after.st_mode);
	json_decref(none);
}

static void put(const char *path, char **parent)
{
	struct sink_error e = { 0 };
	struct sink s;

	assert_int_equal(sink_open(&s, path, &me, parent, &e), 0);
	assert_int_equal(sink_write(&s, STR_LIT("text"), &e), 0);
	assert_int_equal(sink_finish(&s, NULL, &e), 0);
}

static void a_bulk_of_files_finds_its_directory_whatever_happens_to_it(void **state)
{
	autofree char *parent = NULL;
	struct sink_error e = { 0 };
	struct sink s;
	struct stat st;

	(void)state;
	put(at("bulk/a/1"), &parent);
	assert_string_equal(parent, at("bulk/a"));
	put(at("bulk/a/2"), &parent);
	put(at("bulk/a/2"), &parent); /* it exists */
	assert_int_equal(remove_all(at("bulk")), 0);
	put(at("bulk/a/3"), &parent);
	assert_int_equal(stat(at("bulk/a/3"), &st), 0);
	put(at("bulk/b/c/4"), &parent);
	assert_string_equal(parent, at("bulk/b/c"));
	assert_int_equal(remove_all(at("bulk/b")), 0);
	put(at("bulk/b"), &parent); /* a file where the directory was */
	free(parent);
	parent = strdup(at("bulk/b"));
	assert_int_equal(sink_open(&s, at("bulk/b/5"), &me, &parent, &e), -1);
	assert_int_equal(e.status, 500);
	assert_non_null(strstr(e.text, "path is a file"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walks_are_ordered_and_bounded),
		cmocka_unit_test(ensuring_stops_at_a_file),
		cmocka_unit_test(removing_takes_links_not_their_targets),
		cmocka_unit_test(removing_knows_no_depth),
		cmocka_unit_test(uploads_that_fail_leave_no_new_file),
		cmocka_unit_test(a_bulk_of_files_finds_its_directory_whatever_happens_to_it),
		cmocka_unit_test(overwriting_keeps_mode_and_waits_for_the_whole),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

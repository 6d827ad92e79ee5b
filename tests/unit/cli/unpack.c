/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/unpack: archives that try to write elsewhere. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/tar.h"
#include "cli/sandbox/pack.h"
#include "cli/sandbox/unpack.h"
#include "unit.h"

struct place { /* dir/in is unpacked to, dir/out must stay as it is */
	char dir[64], in[80], out[80];
};

static int set_up(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	(void)snprintf(p->dir, sizeof(p->dir), "/tmp/atoll-unpack-XXXXXX");
	if (!mkdtemp(p->dir))
		return -1;
	(void)snprintf(p->in, sizeof(p->in), "%s/in", p->dir);
	(void)snprintf(p->out, sizeof(p->out), "%s/out", p->dir);
	*state = p;
	return mkdir(p->in, 0755) < 0 || mkdir(p->out, 0755) < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;
	char command[128];

	(void)snprintf(command, sizeof(command), "rm -rf '%s'", p->dir);
	int rc = system(command);
	free(p);
	return rc;
}

static void put(struct buf *b, enum tar_type type, const char *name, const char *text)
{
	const struct tar_entry t = { .type = type, .name = name, .target = text, .mode = 0644, .size = strlen(text) };

	assert_int_equal(tar_put_entry(b, &t), 0);
	if (type != TAR_FILE)
		return;
	buf_z(b, text);
	for (size_t n = tar_padding(t.size); n > 0; n--)
		buf_ch(b, '\0');
}

/* Unpacks and frees b; *ret_skipped may be NULL. */
static int unpack(const struct place *p, struct buf *b, size_t *ret_skipped)
{
	struct unpack *u;
	struct err e = ERR_INIT;

	assert_int_equal(unpack_new(p->in, &u, &e), 0);
	int rc = unpack_put(u, b->p, b->n, &e);
	if (ret_skipped)
		*ret_skipped = unpack_skipped(u);
	unpack_free(u);
	buf_done(b);
	return rc;
}

static void content_is(const char *dir, const char *name, const char *want)
{
	char path[256], text[256] = "";

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	assert_true(file_read(AT_FDCWD, path, text, sizeof(text)) >= 0);
	assert_string_equal(text, want);
}

static bool is_there(const char *dir, const char *name)
{
	char path[256];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/%s", dir, name);
	return lstat(path, &st) == 0;
}

static void files_directories_and_links_appear(void **state)
{
	struct place *p = *state;
	struct buf b = BUF_INIT(1 << 20);
	size_t skipped;

	put(&b, TAR_DIR, "./", "");
	put(&b, TAR_DIR, "./d/", "");
	put(&b, TAR_FILE, "./d/f", "content");
	put(&b, TAR_SYMLINK, "./l", "d/f");
	assert_int_equal(unpack(p, &b, &skipped), 0);
	assert_int_equal(skipped, 0);
	content_is(p->in, "d/f", "content");
	content_is(p->in, "l", "content");
}

static void names_that_lead_out_are_refused(void **state)
{
	static const char *const names[] = { "../out/x", "./../out/x", "d/../../out/x", "/tmp/atoll-unpack-x" };
	struct place *p = *state;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct buf b = BUF_INIT(1 << 20);

		put(&b, TAR_FILE, names[i], "evil");
		assert_int_equal(unpack(p, &b, NULL), -EBADMSG);
	}
	assert_false(is_there(p->out, "x"));
	assert_int_equal(access("/tmp/atoll-unpack-x", F_OK), -1);
}

static void links_that_lead_out_are_left_out(void **state)
{
	struct place *p = *state;
	struct buf b = BUF_INIT(1 << 20);
	size_t skipped;

	put(&b, TAR_SYMLINK, "./a", p->out);
	put(&b, TAR_SYMLINK, "./b", "../out");
	assert_int_equal(unpack(p, &b, &skipped), 0);
	assert_int_equal(skipped, 2);
	assert_false(is_there(p->in, "a"));
	assert_false(is_there(p->in, "b"));
}

static void nothing_is_written_through_a_link(void **state)
{
	struct place *p = *state;
	char link[256];
	struct buf b = BUF_INIT(1 << 20);

	(void)snprintf(link, sizeof(link), "%s/way", p->in);
	assert_int_equal(symlink(p->out, link), 0);
	put(&b, TAR_FILE, "./way/x", "evil");
	assert_int_equal(unpack(p, &b, NULL), -ELOOP);
	assert_false(is_there(p->out, "x"));

	/* Nor into the file that a link leads to: the link is replaced. */
	(void)snprintf(link, sizeof(link), "%s/target", p->out);
	assert_int_equal(close(open(link, O_CREAT | O_WRONLY | O_CLOEXEC, 0644)), 0);
	char file[256];
	(void)snprintf(file, sizeof(file), "%s/file", p->in);
	assert_int_equal(symlink(link, file), 0);
	b = BUF_INIT(1 << 20);
	put(&b, TAR_FILE, "./file", "new");
	assert_int_equal(unpack(p, &b, NULL), 0);
	content_is(p->out, "target", "");
	content_is(p->in, "file", "new");
}

/* A link of the archive itself, that leads to a place inside, cannot be a way either. */
static void links_of_the_archive_are_not_followed(void **state)
{
	struct place *p = *state;
	struct buf b = BUF_INIT(1 << 20);

	put(&b, TAR_DIR, "./d", "");
	put(&b, TAR_SYMLINK, "./l", "d");
	put(&b, TAR_FILE, "./l/x", "evil");
	assert_int_equal(unpack(p, &b, NULL), -ELOOP);
	assert_false(is_there(p->in, "d/x"));
}

static void packed_directories_unpack_the_same(void **state)
{
	struct place *p = *state;
	struct unpack *u;
	struct pack *k;
	struct err e = ERR_INIT;
	char path[256], piece[1000];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%s/sub", p->out);
	assert_int_equal(mkdir(path, 0750), 0);
	(void)snprintf(path, sizeof(path), "%s/sub/f", p->out);
	autoclose int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
	assert_int_equal(write(fd, "12345", 5), 5);
	(void)snprintf(path, sizeof(path), "%s/l", p->out);
	assert_int_equal(symlink("sub/f", path), 0);
	assert_int_equal(pack_new(p->out, &k, &e), 0);
	assert_int_equal(unpack_new(p->in, &u, &e), 0);
	while ((n = pack_read(k, piece, sizeof(piece), &e)) > 0)
		assert_int_equal(unpack_put(u, piece, (size_t)n, &e), 0);
	assert_int_equal(n, 0);
	assert_true(unpack_done(u));
	assert_int_equal(pack_skipped(k), 0);
	content_is(p->in, "sub/f", "12345");
	content_is(p->in, "l", "12345");
	unpack_free(u);
	pack_free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(files_directories_and_links_appear, set_up, tear_down),
		cmocka_unit_test_setup_teardown(names_that_lead_out_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(links_that_lead_out_are_left_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_is_written_through_a_link, set_up, tear_down),
		cmocka_unit_test_setup_teardown(links_of_the_archive_are_not_followed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(packed_directories_unpack_the_same, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cli/tar: archives written and read again, and archives that somebody made up. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/tar.h"
#include "unit.h"

struct seen {
	struct buf text; /* a line for each entry, its content behind it */
	int refuse;      /* what on_entry returns */
};

static int on_entry(void *user, const struct tar_entry *t)
{
	struct seen *s = user;

	buf_fmt(&s->text, "%c %s %o %llu %lld", "?fdshx"[t->type], t -> name, t -> mode, (unsigned long long)t -> size,
	    (long long)t -> mtime_s);
	if (t->type == TAR_SYMLINK || t->type == TAR_HARDLINK)
		buf_fmt(&s->text, " -> %s", t->target);
	buf_z(&s->text, t->type == TAR_FILE ? " [" : "\n");
	return s->refuse;
}

static int on_data(void *user, const void *p, size_t n)
{
	struct seen *s = user;

	buf_put(&s->text, p, n);
	return 0;
}

static int on_end(void *user)
{
	struct seen *s = user;

	buf_z(&s->text, "]\n");
	return 0;
}

static const struct tar_reader_ops ops = { .on_entry = on_entry, .on_data = on_data, .on_end = on_end };

/* Reads it in pieces; the result of the last call. */
static int read_all(struct seen *s, struct str in, size_t piece, bool *ret_done)
{
	struct tar_reader *r = tar_reader_new(&ops, s);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < in.n; i += piece)
		rc = tar_reader_put(r, in.p + i, in.n - i < piece ? in.n - i : piece);
	*ret_done = tar_reader_done(r);
	tar_reader_free(r);
	return rc;
}

static void put_file(struct buf *b, const char *name, const char *content)
{
	struct tar_entry t = { .type = TAR_FILE,
		.name = name,
		.target = "",
		.size = strlen(content),
		.mode = 0640,
		.mtime_s = 1000 };

	assert_int_equal(tar_put_entry(b, &t), 0);
	buf_z(b, content);
	for (size_t n = tar_padding(t.size); n > 0; n--)
		buf_ch(b, '\0');
}

static void put_end(struct buf *b)
{
	for (size_t i = 0; i < TAR_END_SIZE; i++)
		buf_ch(b, '\0');
}

static void what_is_written_is_read_again(void **state)
{
	const struct tar_entry dir = { .type = TAR_DIR, .name = "./d/", .target = "", .mode = 0755, .mtime_s = 5 };
	const struct tar_entry link = { .type = TAR_SYMLINK,
		.name = "./l",
		.target = "d/f",
		.mode = 0777,
		.mtime_s = 6 };
	static const size_t pieces[] = { 1, 7, 511, 512, 513, 100000 };
	struct buf b = BUF_INIT(1 << 20);

	(void)state;
	assert_int_equal(tar_put_entry(&b, &dir), 0);
	put_file(&b, "./d/f", "hello");
	put_file(&b, "./empty", "");
	assert_int_equal(tar_put_entry(&b, &link), 0);
	put_end(&b);
	buf_z(&b, "what stands behind the end does not matter");
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		struct seen s = { .text = BUF_INIT(1 << 20) };
		bool done;

		assert_int_equal(read_all(&s, buf_view(&b), pieces[i], &done), 0);
		assert_true(done);
		assert_string_equal(buf_cstr(&s.text),
		    "d ./d/ 755 0 5\nf ./d/f 640 5 1000 [hello]\nf ./empty 640 0 1000 []\n"
		    "s ./l 777 0 6 -> d/f\n");
		buf_done(&s.text);
	}
	buf_done(&b);
}

static void long_names_and_sizes_have_their_own_header(void **state)
{
	struct tar_entry t = { .type = TAR_FILE, .target = "", .size = 10ull << 30 };
	struct seen s = { .text = BUF_INIT(1 << 20) };
	struct buf b = BUF_INIT(1 << 20);
	char name[400] = "", want[600];
	bool done;

	(void)state;
	(void)memset(name, 'n', sizeof(name) - 1);
	t.name = name;
	assert_int_equal(tar_put_entry(&b, &t), 0);
	assert_int_equal(read_all(&s, buf_view(&b), 100, &done), 0);
	assert_false(done);
	(void)snprintf(want, sizeof(want), "f %s 0 10737418240 0 [", name);
	assert_string_equal(buf_cstr(&s.text), want);
	buf_done(&s.text);
	buf_done(&b);
}

/* A header of another tar's making: type, GNU magic. */
static void put_gnu(struct buf *b, char type, const char *name, const char *content)
{
	struct buf one = BUF_INIT(1 << 20);
	unsigned sum = 0;

	put_file(&one, name, content);
	one.p[156] = type;
	(void)memcpy(one.p + 257, "ustar  ", 8);
	(void)memset(one.p + 148, ' ', 8);
	for (size_t i = 0; i < TAR_BLOCK; i++)
		sum += (unsigned char)one.p[i];
	(void)snprintf(one.p + 148, 8, "%06o", sum);
	buf_str(b, buf_view(&one));
	buf_done(&one);
}

static void long_names_of_gnu_tar_are_read(void **state)
{
	struct seen s = { .text = BUF_INIT(1 << 20) };
	struct buf b = BUF_INIT(1 << 20);
	bool done;

	(void)state;
	put_gnu(&b, 'K', "././@LongLink", "the/target");
	put_gnu(&b, 'L', "././@LongLink", "the/name");
	put_gnu(&b, '1', "short", "");
	put_gnu(&b, '3', "device", "");
	put_gnu(&b, '0', "next", "x");
	assert_int_equal(read_all(&s, buf_view(&b), 512, &done), 0);
	assert_string_equal(buf_cstr(&s.text),
	    "h the/name 640 0 1000 -> the/target\nx device 640 0 1000\nf next 640 1 1000 [x]\n");
	buf_done(&s.text);
	buf_done(&b);
}

static int read_changed(void (*change)(struct buf *b))
{
	struct seen s = { .text = BUF_INIT(1 << 20) };
	struct buf b = BUF_INIT(1 << 20);
	bool done;

	put_file(&b, "name", "content");
	change(&b);
	int rc = read_all(&s, buf_view(&b), 1000, &done);
	buf_done(&s.text);
	buf_done(&b);
	return rc;
}

static void flip(struct buf *b)
{
	b->p[0] ^= 1;
}

static void garbage(struct buf *b)
{
	(void)memset(b->p, 'x', TAR_BLOCK);
}

static void odd_pax(struct buf *b)
{
	buf_clear(b);
	put_gnu(b, 'x', "pax", "99999999999999999999 path=x\n");
}

static void odd_pax_length(struct buf *b)
{
	buf_clear(b);
	put_gnu(b, 'x', "pax", "3 path=x\n");
}

static void nonsense_is_refused(void **state)
{
	struct seen s = { .text = BUF_INIT(1 << 20), .refuse = -EPERM };
	struct buf b = BUF_INIT(1 << 20);
	bool done;

	(void)state;
	assert_int_equal(read_changed(flip), -EBADMSG);
	assert_int_equal(read_changed(garbage), -EBADMSG);
	assert_int_equal(read_changed(odd_pax), -EBADMSG);
	assert_int_equal(read_changed(odd_pax_length), -EBADMSG);
	put_file(&b, "name", "content");
	assert_int_equal(read_all(&s, buf_view(&b), 1000, &done), -EPERM);
	buf_done(&s.text);
	buf_done(&b);
}

static void names_stay_below(void **state)
{
	(void)state;
	assert_true(tar_name_ok("./a/b"));
	assert_true(tar_name_ok("a..b/..c"));
	assert_false(tar_name_ok("/etc/passwd"));
	assert_false(tar_name_ok("../x"));
	assert_false(tar_name_ok("a/../../x"));
	assert_false(tar_name_ok("a/.."));
	assert_false(tar_name_ok(""));
}

static void links_stay_inside(void **state)
{
	(void)state;
	assert_true(tar_link_inside("./a", "b"));
	assert_true(tar_link_inside("./d/a", "../b"));
	assert_true(tar_link_inside("./d/e/a", "../../b/./c"));
	assert_true(tar_link_inside("a", "."));
	assert_false(tar_link_inside("./a", "../b"));
	assert_false(tar_link_inside("./d/a", "../../b"));
	assert_false(tar_link_inside("./d/a", "/d/b"));
	assert_false(tar_link_inside("./a", ""));
	/* By the words inside, but b may be a link to somewhere else in the tree. */
	assert_false(tar_link_inside("./a", "b/../c"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read_again),
		cmocka_unit_test(long_names_and_sizes_have_their_own_header),
		cmocka_unit_test(long_names_of_gnu_tar_are_read),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(names_stay_below),
		cmocka_unit_test(links_stay_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

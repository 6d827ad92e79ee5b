/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/console/files: names, forms and tags. */
#include "front/console/files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "unit.h"

static char dir[] = "/tmp/atoll-unit-XXXXXX";
static int dir_fd;
static struct err e;

static void put(const char *name, const char *text)
{
	autoclose int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
}

static int set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
	assert_int_equal(mkdirat(dir_fd, "assets", 0700), 0);
	put("index.html", "page");
	put("assets/a-ABCDEFGH.js", "script");
	put("assets/a-ABCDEFGH.js.gz", "gz");
	put("assets/a-ABCDEFGH.js.zst", "zst");
	put("alone.br", "br");
	put(".dot", "x");
	assert_int_equal(symlinkat("index.html", dir_fd, "link.html"), 0);
	assert_int_equal(mkfifoat(dir_fd, "fifo", 0600), 0);
	return 0;
}

static int tear_down(void **state)
{
	char command[64];

	(void)state;
	fd_close(dir_fd);
	(void)snprintf(command, sizeof command, "rm -r %s", dir);
	return system(command);
}

static void only_plain_files_are_found_by_their_exact_names(void **state)
{
	struct console_files *f;

	(void)state;
	assert_int_equal(console_files_read(dir_fd, &f, &e), 0);
	assert_int_equal(console_files_count(f), 2);
	assert_non_null(console_file_find(f, STR_LIT("index.html")));
	const struct console_file *a = console_file_find(f, STR_LIT("assets/a-ABCDEFGH.js"));

	assert_non_null(a);
	assert_true(a->is_hashed);
	assert_string_equal(a->type, "text/javascript; charset=utf-8");
	static const char *const none[] = { "", "assets", "assets/", "/index.html", "./index.html", "INDEX.html",
		"alone", "alone.br", ".dot", "link.html", "fifo", "assets/../index.html", "assets/a-ABCDEFGH.js.gz" };

	for (size_t i = 0; i < ARRAY_LEN(none); i++)
		assert_null(console_file_find(f, str_of(none[i])));
	assert_null(console_file_find(f, STR_LIT("index.html\0")));
	assert_int_equal(console_file_choose(a, STR_NULL), CODING_NONE);
	assert_int_equal(console_file_choose(a, STR_LIT("gzip")), CODING_GZIP);
	assert_int_equal(console_file_choose(a, STR_LIT("zstd;q=0.1 , gzip;q=1, br")), CODING_ZSTD);
	assert_int_equal(console_file_choose(a, STR_LIT("zstd;q=0, GZIP; q=0.000")), CODING_NONE);
	assert_int_equal(console_file_choose(a, STR_LIT("*, gzipx, ,;")), CODING_NONE);
	assert_string_not_equal(a->forms[CODING_GZIP].etag, a->forms[CODING_NONE].etag);
	console_files_free(f);
}

static void a_hash_has_eight_digits(void **state)
{
	(void)state;
	assert_true(console_name_is_hashed("app-ABCDEF27.js"));
	assert_true(console_name_is_hashed("x/y-z-ABCDEF27.css"));
	assert_false(console_name_is_hashed("app-abcdefgh.js"));
	assert_false(console_name_is_hashed("app-ABCDEFGHI.js"));
	assert_false(console_name_is_hashed("app-ABCDEFG1.js"));
	assert_false(console_name_is_hashed("-ABCDEF27.js"));
	assert_false(console_name_is_hashed("x-ABCDEF27.d/app.js"));
	assert_false(console_name_is_hashed("app-ABCDEF27"));
}

static void tags_compare_weakly(void **state)
{
	(void)state;
	assert_true(etag_listed(STR_LIT("\"a\""), "\"a\""));
	assert_true(etag_listed(STR_LIT("\"b\" , W/\"a\""), "\"a\""));
	assert_true(etag_listed(STR_LIT("*"), "\"a\""));
	assert_false(etag_listed(STR_LIT("a"), "\"a\""));
	assert_false(etag_listed(STR_NULL, "\"a\""));
	assert_false(etag_listed(STR_LIT("W/, ,"), "\"a\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_plain_files_are_found_by_their_exact_names),
		cmocka_unit_test(a_hash_has_eight_digits),
		cmocka_unit_test(tags_compare_weakly),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

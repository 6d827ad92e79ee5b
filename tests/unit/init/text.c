/* SPDX-License-Identifier: Apache-2.0 */
/* Units of init/text: modes, wait statuses, times and names as the API writes them. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include <sys/stat.h>
#include <time.h>

#include "http/json.h"
#include "init/text.h"
#include "unit.h"

static void check_mode(mode_t mode, const char *want)
{
	char got[TEXT_MODE_SIZE];

	text_mode(mode, got);
	assert_string_equal(got, want);
}

static void modes_are_written_like_go_does(void **state)
{
	(void)state;
	check_mode(S_IFREG | 0644, "-rw-r--r--");
	check_mode(S_IFDIR | 0755, "drwxr-xr-x");
	check_mode(S_IFDIR | 01777, "dtrwxrwxrwx");
	check_mode(S_IFREG | 04755, "urwxr-xr-x");
	check_mode(S_IFREG | 06711, "ugrwx--x--x");
	check_mode(S_IFLNK | 0777, "Lrwxrwxrwx");
	check_mode(S_IFCHR | 0666, "Dcrw-rw-rw-");
	check_mode(S_IFBLK | 0660, "Drw-rw----");
	check_mode(S_IFIFO | 0600, "prw-------");
	check_mode(S_IFSOCK | 0, "S---------");
}

static void check_status(int status, const char *want)
{
	char got[TEXT_STATUS_SIZE];

	text_status(status, got);
	assert_string_equal(got, want);
}

static void statuses_are_what_clients_compare_with(void **state)
{
	(void)state;
	check_status(0, "exit status 0");
	check_status(3 << 8, "exit status 3");
	check_status(9, "signal: killed");
	check_status(15, "signal: terminated");
	check_status(11 | 0x80, "signal: segmentation fault (core dumped)");
	check_status(40, "signal: signal 40");
}

static void times_have_nanoseconds(void **state)
{
	char got[TEXT_TIME_SIZE];

	(void)state;
	text_time((struct timespec) { 1767323045, 6 }, got);
	assert_string_equal(got, "2026-01-02T03:04:05.000000006Z");
}

static void names_that_are_not_utf8_are_still_told(void **state)
{
	static const struct {
		const char *in, *want;
	} cases[] = {
		{ "", "" },
		{ "plain", "plain" },
		{ "h\xc3\xa9", "h\xc3\xa9" },
		{ "bad\xff", "bad\xef\xbf\xbd" },
		{ "\xc3", "\xef\xbf\xbd" },
		{ "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\xf0\x9f\x98\x80\x80", "\xf0\x9f\x98\x80\xef\xbf\xbd" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		autojson json_t *j = text_json(str_of(cases[i].in));

		assert_non_null(j);
		assert_string_equal(json_string_value(j), cases[i].want);
	}
}

static void errnos_read_as_part_of_a_sentence(void **state)
{
	(void)state;
	assert_string_equal(text_errno(ENOENT), "no such file or directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modes_are_written_like_go_does),
		cmocka_unit_test(statuses_are_what_clients_compare_with),
		cmocka_unit_test(times_have_nanoseconds),
		cmocka_unit_test(names_that_are_not_utf8_are_still_told),
		cmocka_unit_test(errnos_read_as_part_of_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cli/complete: what may stand at the end of a command line. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/complete.h"
#include "unit.h"

static struct buf out;

static enum complete_more complete(char **words)
{
	size_t n = 0;

	while (words[n])
		n++;
	buf_done(&out);
	out = BUF_INIT(1 << 20);
	return complete_words(words, n, &out);
}

#define WORDS(...) ((char *[]) { __VA_ARGS__, NULL })

static bool offers(const char *candidate)
{
	struct str rest = buf_view(&out);

	while (rest.p && rest.n > 0) {
		struct str line = str_cut(&rest, '\n');

		if (str_is(str_cut(&line, '\t'), candidate))
			return true;
	}
	return false;
}

static void verbs_are_offered(void **state)
{
	(void)state;
	assert_int_equal(complete(WORDS("")), MORE_NONE);
	assert_true(offers("create") && offers("key") && offers("log-level"));
	assert_false(offers("__complete"));
	(void)complete(WORDS("re"));
	assert_true(offers("resume") && offers("reap"));
	assert_false(offers("create"));
	(void)complete(WORDS("key", ""));
	assert_true(offers("rotate") && offers("revoke"));
	assert_false(offers("create me"));
	(void)complete(WORDS("nonsense", ""));
	assert_int_equal(out.n, 0);
}

static void options_come_from_the_help(void **state)
{
	(void)state;
	assert_int_equal(complete(WORDS("list", "-")), MORE_NONE);
	assert_true(offers("--json") && offers("--quiet") && offers("--api-url") && offers("--help"));
	(void)complete(WORDS("key", "rotate", "--g"));
	assert_true(offers("--grace"));
	(void)complete(WORDS("team", "create", "--"));
	assert_true(offers("--max-sandboxes"));
	assert_false(offers("--team"));
	(void)complete(WORDS("serve", "--"));
	assert_false(offers("--SETTING"));
	(void)complete(WORDS("exec", "i0", "--", "--"));
	assert_int_equal(out.n, 0);
}

static void sandboxes_are_asked_for_where_they_stand(void **state)
{
	(void)state;
	assert_int_equal(complete(WORDS("info", "")), MORE_IDS);
	assert_int_equal(complete(WORDS("info", "i0", "")), MORE_NONE);
	assert_int_equal(complete(WORDS("info", "--json", "")), MORE_IDS);
	assert_int_equal(complete(WORDS("info", "--api-key", "k", "")), MORE_IDS);
	assert_int_equal(complete(WORDS("info", "--api-key", "")), MORE_NONE);
	assert_int_equal(complete(WORDS("kill", "i0", "")), MORE_IDS);
	assert_int_equal(complete(WORDS("exec", "-u", "root", "")), MORE_IDS);
	assert_int_equal(complete(WORDS("exec", "-u", "root", "i0", "")), MORE_NONE);
	assert_int_equal(complete(WORDS("cp", "a", "")), MORE_COPY);
	assert_int_equal(complete(WORDS("run", "")), MORE_FILES);
}

static void values_of_options(void **state)
{
	(void)state;
	assert_int_equal(complete(WORDS("run", "--lang", "p")), MORE_NONE);
	assert_true(offers("python"));
	assert_int_equal(complete(WORDS("key", "list", "--team", "")), MORE_TEAMS);
	assert_int_equal(complete(WORDS("key", "revoke", "")), MORE_KEYS);
	assert_int_equal(complete(WORDS("list", "--state", "")), MORE_FILES);
	(void)complete(WORDS("log-level", ""));
	assert_true(offers("debug") && offers("error"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verbs_are_offered),
		cmocka_unit_test(options_come_from_the_help),
		cmocka_unit_test(sandboxes_are_asked_for_where_they_stand),
		cmocka_unit_test(values_of_options),
	};
	int rc = cmocka_run_group_tests(tests, NULL, NULL);

	buf_done(&out);
	return rc;
}

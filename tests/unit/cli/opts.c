/* SPDX-License-Identifier: Apache-2.0 */
/* cli/opts: options of a verb. */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/fd.h"
#include "cli/opts.h"
#include "unit.h"

struct got {
	bool json;
	const char *name;
	unsigned seconds;
	struct pairs envs;
	unsigned since;
	int64_t count, limit;
	int n;
	struct err e;
};

static int parse(struct got *g, int end_after, char **argv)
{
	const struct opt opts[] = {
		{ "json", 'j', OPT_FLAG, &g->json },
		{ "name", 'n', OPT_STR, &g->name },
		{ "timeout", 0, OPT_SECONDS, &g->seconds },
		{ "env", 'e', OPT_PAIR, &g->envs },
		{ "since", 0, OPT_DURATION, &g->since },
		{ "count", 'c', OPT_NUMBER, &g->count },
		{ "limit", 0, OPT_LIMIT, &g->limit },
	};
	int argc = 0;

	*g = (struct got) { .json = false };
	while (argv[argc])
		argc++;
	return opts_parse(opts, ARRAY_LEN(opts), end_after, argc, argv, &g->n, &g->e);
}

#define ARGS(...) ((char *[]) { __VA_ARGS__, NULL })

static void all_forms_of_options(void **state)
{
	char **a = ARGS("x", "--json", "--name=a=b", "-e", "K=V", "--env", "L=", "--timeout", "90", "y");
	struct got g;

	(void)state;
	assert_int_equal(parse(&g, OPTS_MIXED, a), 0);
	assert_true(g.json);
	assert_string_equal(g.name, "a=b");
	assert_int_equal(g.seconds, 90);
	assert_int_equal(g.envs.n, 2);
	assert_string_equal(g.envs.v[0].name, "K");
	assert_string_equal(g.envs.v[1].name, "L");
	assert_string_equal(g.envs.v[1].value, "");
	assert_int_equal(g.n, 2);
	assert_string_equal(a[0], "x");
	assert_string_equal(a[1], "y");
	pairs_done(&g.envs);
	assert_int_equal(parse(&g, OPTS_MIXED, ARGS("-nfoo")), 0);
	assert_string_equal(g.name, "foo");
}

static void numbers_and_durations(void **state)
{
	struct got g;

	(void)state;
	assert_int_equal(parse(&g, OPTS_MIXED, ARGS("--since", "1h30m", "-c", "0", "--limit=7")), 0);
	assert_int_equal(g.since, 5400);
	assert_int_equal(g.count, 0);
	assert_int_equal(g.limit, 7);
	assert_int_equal(parse(&g, OPTS_MIXED, ARGS("--limit", "default")), 0);
	assert_int_equal(g.limit, ATOLL_DEFAULT);
	assert_int_equal(parse(&g, OPTS_MIXED, ARGS("--count", "default")), -EINVAL);
	assert_int_equal(parse(&g, OPTS_MIXED, ARGS("--count", "-1")), -EINVAL);
	assert_int_equal(parse(&g, OPTS_MIXED, ARGS("--since", "soon")), -EINVAL);
	assert_non_null(strstr(g.e.text, "'soon'"));
}

static void dashes_end_the_options(void **state)
{
	char **a = ARGS("id", "--json", "--", "ls", "--name", "-l");
	struct got g;

	(void)state;
	assert_int_equal(parse(&g, OPTS_MIXED, a), 0);
	assert_true(g.json);
	assert_null(g.name);
	assert_int_equal(g.n, 4);
	assert_string_equal(a[3], "-l");
}

static void operands_end_the_options(void **state)
{
	char **a = ARGS("id", "-j", "ls", "-l", "--", "--help");
	struct got g;

	(void)state;
	assert_int_equal(parse(&g, 2, a), 0);
	assert_true(g.json);
	assert_int_equal(g.n, 5);
	assert_string_equal(a[2], "-l");
	assert_string_equal(a[3], "--"); /* the command's own */
	assert_int_equal(parse(&g, OPTS_MIXED, ARGS("-")), 0);
	assert_int_equal(g.n, 1);
}

static void help_is_found(void **state)
{
	struct got g;

	(void)state;
	assert_int_equal(parse(&g, OPTS_MIXED, ARGS("x", "--help")), OPTS_HELP);
	assert_int_equal(parse(&g, OPTS_MIXED, ARGS("-h")), OPTS_HELP);
}

static void wrong_options_are_named(void **state)
{
	struct got g;

	(void)state;
	assert_int_equal(parse(&g, OPTS_MIXED, ARGS("--nope=1")), -EINVAL);
	assert_string_equal(g.e.text, "unknown option '--nope'");
	assert_int_equal(parse(&g, OPTS_MIXED, ARGS("-x")), -EINVAL);
	assert_string_equal(g.e.text, "unknown option '-x'");
	assert_int_equal(parse(&g, OPTS_MIXED, ARGS("--name")), -EINVAL);
	assert_string_equal(g.e.text, "option '--name' needs a value");
	assert_int_equal(parse(&g, OPTS_MIXED, ARGS("--json=1")), -EINVAL);
	assert_int_equal(parse(&g, OPTS_MIXED, ARGS("--timeout", "0")), -EINVAL);
	assert_int_equal(parse(&g, OPTS_MIXED, ARGS("--timeout", "5m")), -EINVAL);
	assert_non_null(strstr(g.e.text, "'5m'"));
	assert_int_equal(parse(&g, OPTS_MIXED, ARGS("--env", "K")), -EINVAL);
	assert_int_equal(parse(&g, OPTS_MIXED, ARGS("--env", "=V")), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_forms_of_options),
		cmocka_unit_test(numbers_and_durations),
		cmocka_unit_test(dashes_end_the_options),
		cmocka_unit_test(operands_end_the_options),
		cmocka_unit_test(help_is_found),
		cmocka_unit_test(wrong_options_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* client/git_status: what git writes, in all its forms. */
#include <stdint.h>

#include "client/git_status.h"
#include "unit.h"

static void branch_counts_and_files(void **state)
{
	struct atoll_git_status *s = git_status_parse(
	    STR_LIT("## main...origin/main [ahead 1, behind 2]\0 M a b\0R  new name\0old name\0?? x\0"));

	(void)state;
	assert_string_equal(s->branch, "main");
	assert_string_equal(s->upstream, "origin/main");
	assert_int_equal(s->ahead, 1);
	assert_int_equal(s->behind, 2);
	assert_int_equal(s->n, 3);
	assert_string_equal(s->v[0].path, "a b");
	assert_int_equal(s->v[0].index, ' ');
	assert_int_equal(s->v[0].tree, 'M');
	assert_string_equal(s->v[1].path, "new name");
	assert_string_equal(s->v[1].old_path, "old name");
	assert_null(s->v[2].old_path);
	atoll_git_status_free(s);
}

static void other_heads(void **state)
{
	struct atoll_git_status *s = git_status_parse(STR_LIT("## No commits yet on topic/x\0"));

	(void)state;
	assert_string_equal(s->branch, "topic/x");
	assert_null(s->upstream);
	assert_int_equal(s->n, 0);
	atoll_git_status_free(s);
	s = git_status_parse(STR_LIT("## HEAD (no branch)\0A  b\0"));
	assert_null(s->branch);
	assert_int_equal(s->n, 1);
	atoll_git_status_free(s);
	s = git_status_parse(STR_LIT("R  cut off"));
	assert_int_equal(s->n, 1);
	assert_null(s->v[0].old_path);
	atoll_git_status_free(s);
	s = git_status_parse(STR_NULL);
	assert_int_equal(s->n, 0);
	atoll_git_status_free(s);
	atoll_git_status_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(branch_counts_and_files), cmocka_unit_test(other_heads) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

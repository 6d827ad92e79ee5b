/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/executions: a few classes for all names of errors there are. */
#include "front/account/executions.h"

#include <stdint.h>

#include "front/account/metrics.h"
#include "unit.h"

static void errors_have_classes(void **state)
{
	(void)state;
	assert_int_equal(execution_class_of(STR_LIT("SyntaxError")), ERROR_SYNTAX);
	assert_int_equal(execution_class_of(STR_LIT("ModuleNotFoundError")), ERROR_IMPORT);
	assert_int_equal(execution_class_of(STR_LIT("ZeroDivisionError")), ERROR_VALUE);
	assert_int_equal(execution_class_of(STR_LIT("MyOwn\"}\nError")), ERROR_OTHER); /* never a label */
	assert_int_equal(execution_class_of(STR_LIT("")), ERROR_OTHER);
	for (enum execution_class c = 0; c < ERROR_CLASSES; c++)
		assert_non_null(execution_class_name(c));
}

static void what_became_of_it_is_counted(void **state)
{
	struct metrics *m = metrics_new();

	(void)state;
	for (enum execution_outcome o = 0; o < EXECUTION_OUTCOMES; o++)
		assert_int_equal(execution_outcome_of(execution_outcome_name(o)), o);
	assert_int_equal(execution_outcome_of("no such word"), EXECUTION_FAILED);
	execution_count(m, EXECUTION_CODE, EXECUTION_OK, 1500);
	execution_count(m, EXECUTION_CODE, EXECUTION_ERROR, 500);
	execution_error(m, ERROR_TYPE);
	assert_int_equal(m->executions[EXECUTION_CODE].n[EXECUTION_OK], 1);
	assert_int_equal(m->executions[EXECUTION_CODE].n[EXECUTION_ERROR], 1);
	assert_int_equal(m->executions[EXECUTION_CODE].time.sum_us, 2000);
	assert_int_equal(m->executions[EXECUTION_COMMAND].time.sum_us, 0);
	assert_int_equal(m->execution_errors[ERROR_TYPE], 1);
	metrics_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(errors_have_classes),
		cmocka_unit_test(what_became_of_it_is_counted) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

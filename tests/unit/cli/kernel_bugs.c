/* SPDX-License-Identifier: Apache-2.0 */
/* Units of cli/kernel_bugs: which kernel it is, and what it has. */
#include <stdint.h>

#include <string.h>

#include "cli/host/kernel_bugs.h"
#include "unit.h"

static bool has(const char *release, const char *cve)
{
	struct kernel_version v;

	assert_true(kernel_version_parse(release, "#1 SMP", &v));
	for (size_t i = 0; i < n_kernel_bugs; i++) {
		if (strcmp(kernel_bugs[i].cve, cve) == 0)
			return kernel_has_bug(&v, &kernel_bugs[i]);
	}
	fail_msg("no %s in the list", cve);
	return false;
}

static void versions_are_read(void **state)
{
	struct kernel_version v;

	(void)state;
	assert_true(kernel_version_parse("6.18.44-custom", "#1 SMP PREEMPT_DYNAMIC", &v));
	assert_true(v.number == KERNEL(6, 18, 44) && v.exact);
	assert_true(kernel_version_parse("6.1.0-28-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.119-1 (2024-11-22)", &v));
	assert_true(v.number == KERNEL(6, 1, 119) && v.exact);
	assert_true(kernel_version_parse("6.8.0-45-generic", "#45-Ubuntu SMP PREEMPT_DYNAMIC", &v));
	assert_true(v.number == KERNEL(6, 8, 0) && !v.exact);
	assert_true(kernel_version_parse("6.12.0-55.el10.x86_64", "#1 SMP", &v));
	assert_false(v.exact);
	assert_true(kernel_version_parse("6.19", "#1", &v));
	assert_int_equal(v.number, KERNEL(6, 19, 0));
	assert_true(kernel_version_parse("7.0.0-rc1", "#1", &v));
	assert_false(kernel_version_parse("linux", "#1", &v));
	assert_false(kernel_version_parse("6.1000.1", "#1", &v));
}

static void a_bug_ends_with_its_fix_in_each_branch(void **state)
{
	(void)state;
	assert_true(has("6.1.0", "CVE-2023-3269"));
	assert_true(has("6.1.36", "CVE-2023-3269"));
	assert_false(has("6.1.37", "CVE-2023-3269"));
	assert_true(has("6.2.16", "CVE-2023-3269")); /* a branch that ended without the fix */
	assert_false(has("6.3.11", "CVE-2023-3269"));
	assert_true(has("6.4.0", "CVE-2023-3269"));
	assert_false(has("6.5.0", "CVE-2023-3269"));
	assert_true(has("6.1.75", "CVE-2024-1086"));
	assert_false(has("6.1.76", "CVE-2024-1086"));
	assert_true(has("6.6.14", "CVE-2024-1086"));
	assert_false(has("6.8.0", "CVE-2024-1086"));
	assert_false(has("6.1.140", "CVE-2025-38236")); /* not yet */
	assert_true(has("6.1.141", "CVE-2025-38236"));
	assert_true(has("6.12.35", "CVE-2025-38236"));
	assert_false(has("6.12.36", "CVE-2025-38236"));
	assert_false(has("6.16.0", "CVE-2025-38236"));
}

static void the_list_is_well_formed(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_kernel_bugs; i++) {
		const struct kernel_bug *b = &kernel_bugs[i];
		struct kernel_version newest = { KERNEL(255, 0, 0), true };

		assert_int_equal(strncmp(b->cve, "CVE-20", 6), 0);
		assert_true(b->what && b->why && b->has[0].until);
		assert_int_equal(b->has[4].until, 0);
		assert_false(kernel_has_bug(&newest, b));
		for (size_t k = 0; b->has[k].until; k++) {
			assert_true(b->has[k].from < b->has[k].until);
			assert_true(k == 0 || b->has[k - 1].until <= b->has[k].from);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_are_read),
		cmocka_unit_test(a_bug_ends_with_its_fix_in_each_branch),
		cmocka_unit_test(the_list_is_well_formed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

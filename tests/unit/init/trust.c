/* SPDX-License-Identifier: Apache-2.0 */
/* Units of init/trust: one certificate more in the bundle, and never two. */
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "init/trust.h"
#include "unit.h"

#define ONE "-----BEGIN CERTIFICATE-----\nONE\n-----END CERTIFICATE-----\n"
#define TWO "-----BEGIN CERTIFICATE-----\nTWO\n-----END CERTIFICATE-----"

static void a_new_one_takes_the_place_of_the_old(void **state)
{
	size_t n;
	char *first = trust_merge(STR_LIT("system"), STR_LIT(ONE), &n);

	(void)state;
	assert_int_equal(strlen(first), n);
	assert_int_equal(strncmp(first, "system\n", 7), 0);
	assert_non_null(strstr(first, ONE));
	char *more = malloc(n + 8);

	(void)snprintf(more, n + 8, "%sbehind\n", first);
	char *second = trust_merge(str_of(more), STR_LIT(TWO), &n);

	assert_null(strstr(second, "ONE"));
	assert_non_null(strstr(second, TWO "\n"));
	assert_int_equal(strncmp(second, "system\nbehind\n", 14), 0);
	free(first);
	free(more);
	free(second);
	first = trust_merge(STR_NULL, STR_LIT(ONE), &n);
	assert_non_null(strstr(first, ONE));
	free(first);
}

static void files_are_made_with_their_directories(void **state)
{
	char dir[] = "/tmp/atoll-unit-trust-XXXXXX", bundle[80], extra[80], text[1024];
	struct err e = ERR_INIT;
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(bundle, sizeof bundle, "%s/certs/all.crt", dir);
	(void)snprintf(extra, sizeof extra, "%s/share/extra/ours.crt", dir);
	assert_int_equal(trust_install(STR_LIT("no certificate"), bundle, extra, &e), -EINVAL);
	assert_int_equal(trust_install(STR_LIT(ONE), bundle, extra, &e), 0);
	assert_int_equal(trust_install(STR_LIT(TWO), bundle, extra, &e), 0);
	assert_true(file_read(AT_FDCWD, bundle, text, sizeof text) > 0);
	assert_non_null(strstr(text, "TWO"));
	assert_null(strstr(text, "ONE"));
	assert_true(file_read(AT_FDCWD, extra, text, sizeof text) > 0);
	assert_string_equal(text, TWO);
	assert_int_equal(stat(bundle, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	(void)snprintf(text, sizeof text, "rm -r %s", dir);
	assert_int_equal(system(text), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_one_takes_the_place_of_the_old),
		cmocka_unit_test(files_are_made_with_their_directories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

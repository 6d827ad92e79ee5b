/* SPDX-License-Identifier: Apache-2.0 */
/* Units of cli/x509: names, and what an authority may sign. */
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "cli/host/x509.h"
#include "unit.h"

static void names_are_lower_case_labels(void **state)
{
	static const char *const good[] = { "atoll.localhost", "*.atoll.localhost", "a", "x-1.example.org", "1.2" };
	static const char *const bad[] = { "", "*", "*.", ".a", "a.", "a..b", "-a.b", "a-.b", "A.b", "a b", "a,DNS:b",
		"a_b", "a.*.b", "a:1" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_true(x509_name_valid(good[i]));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(x509_name_valid(bad[i]));
}

static int sign(const struct buf *ca, const struct buf *ca_key, const char *name, bool loopback, unsigned days)
{
	autobuf struct buf cert = BUF_INIT(65536), key = BUF_INIT(65536);
	const char *dns[] = { name };
	const struct x509_names names = { dns, 1, loopback };
	struct x509_info info;
	struct err e = ERR_INIT;
	int r = x509_make_cert(buf_view(ca), buf_view(ca_key), &names, days, &cert, &key, &e);

	if (r == 0) {
		assert_int_equal(x509_info(buf_view(&cert), &info, &e), 0);
		assert_int_equal(strlen(info.fingerprint), 64);
		assert_true(llabs((long long)(info.not_after - time(NULL) - days * 86400)) < 60);
	}
	return r;
}

static void an_authority_signs_only_what_it_was_made_for(void **state)
{
	autobuf struct buf ca = BUF_INIT(65536), key = BUF_INIT(65536), other = BUF_INIT(65536),
			   other_key = BUF_INIT(65536);
	const char *dns[] = { "one.test", "*.one.test" };
	const struct x509_names names = { dns, 2, .loopback = false };
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(x509_make_ca("unit", &names, 10, &ca, &key, &e), 0);
	assert_int_equal(x509_make_ca("unit", &names, 10, &other, &other_key, &e), 0);
	assert_int_equal(sign(&ca, &key, "one.test", false, 5), 0);
	assert_int_equal(sign(&ca, &key, "*.one.test", false, 5), 0);
	assert_int_equal(sign(&ca, &key, "two.test", false, 5), -EKEYREJECTED);
	assert_int_equal(sign(&ca, &key, "one.test", true, 5), -EKEYREJECTED);   /* an address, too */
	assert_int_equal(sign(&ca, &key, "one.test", false, 11), -EKEYREJECTED); /* for longer than itself */
	assert_true(sign(&ca, &other_key, "one.test", false, 5) < 0);
	assert_true(sign(&key, &ca, "one.test", false, 5) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_lower_case_labels),
		cmocka_unit_test(an_authority_signs_only_what_it_was_made_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

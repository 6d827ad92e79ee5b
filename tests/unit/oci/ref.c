/* SPDX-License-Identifier: Apache-2.0 */
/* oci/ref: names of images, good and bad. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "oci/ref.h"
#include "unit.h"

#define D64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void names_are_completed(void **state)
{
	static const struct {
		const char *in, *out;
	} t[] = {
		{ "ubuntu", "docker.io/library/ubuntu:latest" },
		{ "ubuntu:22.04", "docker.io/library/ubuntu:22.04" },
		{ "docker.io/ubuntu:22.04", "docker.io/library/ubuntu:22.04" },
		{ "index.docker.io/library/ubuntu", "docker.io/library/ubuntu:latest" },
		{ "e2bdev/base", "docker.io/e2bdev/base:latest" },
		{ "localhost/x", "localhost/x:latest" },
		{ "localhost:5000/a/b/c:T_1.2-3", "localhost:5000/a/b/c:T_1.2-3" },
		{ "GHCR.io/a/b", "ghcr.io/a/b:latest" },
		{ "[::1]:5000/x", "[::1]:5000/x:latest" },
		{ "10.0.0.1/x", "10.0.0.1/x:latest" },
		{ "a__b/c--d/e.f", "docker.io/a__b/c--d/e.f:latest" },
		{ "ubuntu@sha256:" D64, "docker.io/library/ubuntu@sha256:" D64 },
		{ "ubuntu:22.04@sha256:" D64, "docker.io/library/ubuntu:22.04@sha256:" D64 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct ref r;
		struct err e = ERR_INIT;
		autobuf struct buf b = BUF_INIT(2048);

		assert_int_equal(ref_parse(str_of(t[i].in), &r, &e), 0);
		ref_put(&b, &r);
		assert_string_equal(buf_cstr(&b), t[i].out);
	}
}

static void what_is_no_name_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		" ",
		"Ubuntu",
		"ubuntu:",
		"ubuntu:-x",
		":x",
		"/x",
		"x/",
		"a//b",
		"a/../b",
		"../x",
		"a/.b",
		"-a",
		"a-",
		"a..b",
		"a___b",
		"a b",
		"a\nb",
		"ubuntu@",
		"ubuntu@sha256:12",
		"ubuntu@sha512:" D64 D64,
		"ubuntu@sha256:"
		"G123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
		"host.:5000/x",
		"host:0/x",
		"host:99999/x",
		"host:/x",
		"user@host.com/x",
		"http://host.com/x",
		"[::1/x",
		"[zz]/x",
		"x?y",
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct ref r;
		struct err e = ERR_INIT;

		if (ref_parse(str_of(bad[i]), &r, &e) != -EINVAL)
			fail_msg("'%s' was taken", bad[i]);
		assert_true(e.text[0]);
	}
}

static void long_names_are_refused(void **state)
{
	char z[400];
	struct ref r;
	struct err e = ERR_INIT;

	(void)state;
	memset(z, 'a', sizeof z);
	assert_int_equal(ref_parse((struct str) { z, 255 - 8 }, &r, &e), 0);
	assert_int_equal(ref_parse((struct str) { z, 256 - 8 }, &r, &e), -EINVAL);
	memcpy(z, "x:", 2);
	assert_int_equal(ref_parse((struct str) { z, 2 + 128 }, &r, &e), 0);
	assert_int_equal(ref_parse((struct str) { z, 2 + 129 }, &r, &e), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_completed),
		cmocka_unit_test(what_is_no_name_is_refused),
		cmocka_unit_test(long_names_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

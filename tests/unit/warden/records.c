/* SPDX-License-Identifier: Apache-2.0 */
/* Units of warden/records: what is written comes back, and nothing else does. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "warden/policy.h"
#include "warden/records.h"

static struct record sample(const char *id, uint32_t slot)
{
	struct record r;

	memset(&r, 0, sizeof r);
	r.stage = RECORD_LIVE;
	r.frozen = true;
	(void)snprintf(r.er.spec.id, sizeof r.er.spec.id, "%s", id);
	memcpy(r.er.spec.template_key, "0123456789abcdef0123456789abcdef", ENGINE_KEY_SIZE);
	r.er.spec.slot = slot;
	r.er.pid = 4711;
	r.er.pid_start = 99;
	memcpy(r.er.boot_id, "boot", 5);
	return r;
}

static void record_comes_back(void **state)
{
	struct record r = sample("ione", 3), got;
	char bytes[RECORD_FILE_MAX];
	size_t n = record_encode(&r, bytes);

	(void)state;
	assert_int_equal(record_decode(bytes, n, &got), 0);
	assert_int_equal(got.stage, RECORD_LIVE);
	assert_true(got.frozen);
	assert_memory_equal(&got.er, &r.er, sizeof r.er);
}

static struct held_policy *deny_all(void)
{
	struct policy_head h = { .flags = POLICY_DENY_ALL };

	return held_policy_new(&h, sizeof h);
}

static void a_policy_comes_back_with_it(void **state)
{
	struct record r = sample("ione", 3), got;
	char bytes[RECORD_FILE_MAX];

	(void)state;
	r.er.spec.ruled = true;
	r.policy = deny_all();
	size_t n = record_encode(&r, bytes);

	assert_int_equal(record_decode(bytes, n, &got), 0);
	assert_int_equal(got.policy->n, r.policy->n);
	assert_memory_equal(got.policy->bytes, r.policy->bytes, r.policy->n);
	free(got.policy);
	r.policy->bytes[0] = 0x40;		/* a flag that is none */
	n = record_encode(&r, bytes);
	assert_int_equal(record_decode(bytes, n, &got), -EBADMSG);
	r.er.spec.ruled = false;		/* the two must agree */
	r.policy->bytes[0] = 1;
	n = record_encode(&r, bytes);
	assert_int_equal(record_decode(bytes, n, &got), -EBADMSG);
	free(r.policy);
}

static void any_flipped_bit_is_found(void **state)
{
	struct record r = sample("ione", 3), got;
	char bytes[RECORD_FILE_MAX];
	size_t n = record_encode(&r, bytes);

	(void)state;
	for (size_t i = 0; i < n * 8; i++) {
		bytes[i / 8] = (char)(bytes[i / 8] ^ 1 << i % 8);
		assert_true(record_decode(bytes, n, &got) < 0);
		bytes[i / 8] = (char)(bytes[i / 8] ^ 1 << i % 8);
	}
	for (size_t i = 0; i < n; i++)
		assert_true(record_decode(bytes, i, &got) < 0);
}

static void unsound_content_is_refused_even_with_a_good_sum(void **state)
{
	struct record r = sample("ione", 3), got;
	char bytes[RECORD_FILE_MAX];

	(void)state;
	r.er.spec.slot = 2000;
	assert_true(record_decode(bytes, record_encode(&r, bytes), &got) < 0);
	r = sample("../etc", 3);
	assert_true(record_decode(bytes, record_encode(&r, bytes), &got) < 0);
	r = sample("ione", 3);
	r.er.pid = 1;
	assert_true(record_decode(bytes, record_encode(&r, bytes), &got) < 0);
	r.stage = RECORD_STARTING;			/* it has no pid yet */
	assert_int_equal(record_decode(bytes, record_encode(&r, bytes), &got), 0);
	r.stage = (enum record_stage)3;
	assert_true(record_decode(bytes, record_encode(&r, bytes), &got) < 0);
}

static void load_finds_the_sound_and_removes_the_rest(void **state)
{
	char dir[] = "/tmp/atoll-unit-XXXXXX";
	struct record a = sample("ia", 0), b = sample("ib", 1), twin = sample("ic", 1), *list;
	struct err e = ERR_INIT;
	size_t n;

	(void)state;
	if (geteuid() != 0)
		skip();					/* records of others are refused, so only root can see its own */
	assert_non_null(mkdtemp(dir));
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(record_write(fd, &a, &e), 0);
	assert_int_equal(record_write(fd, &b, &e), 0);
	assert_int_equal(record_write(fd, &b, &e), 0);	/* replaces */
	assert_int_equal(renameat(fd, "ia", fd, "iz"), 0);	/* name and content disagree */
	assert_int_equal(record_write(fd, &a, &e), 0);
	assert_int_equal(symlinkat("ia", fd, "ilink"), 0);
	assert_int_equal(mkdirat(fd, "idir", 0700), 0);
	int torn = openat(fd, ".ib.new", O_CREAT | O_WRONLY, 0600);
	assert_true(torn >= 0);
	(void)close(torn);
	assert_int_equal(records_load(fd, &list, &n, &e), 0);
	assert_int_equal(n, 2);
	free(list);
	assert_true(faccessat(fd, "iz", F_OK, 0) < 0);
	assert_true(faccessat(fd, "ilink", F_OK, AT_SYMLINK_NOFOLLOW) < 0);
	assert_int_equal(record_write(fd, &twin, &e), 0);	/* two for one slot: only one can be true */
	assert_int_equal(records_load(fd, &list, &n, &e), 0);
	assert_int_equal(n, 2);
	free(list);
	record_remove(fd, "ia");
	record_remove(fd, "ib");
	record_remove(fd, "ic");
	(void)unlinkat(fd, "idir", AT_REMOVEDIR);
	(void)close(fd);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(record_comes_back),
		cmocka_unit_test(a_policy_comes_back_with_it),
		cmocka_unit_test(any_flipped_bit_is_found),
		cmocka_unit_test(unsound_content_is_refused_even_with_a_good_sum),
		cmocka_unit_test(load_finds_the_sound_and_removes_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Units of warden/records: what is written comes back, and nothing else does. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/slot.h"
#include "unit.h"
#include "warden/policy.h"
#include "warden/records.h"
#include "warden/records_v3.h"

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

/* An earlier version must refuse to start, and not take the record for damaged and remove it. */
static void a_far_slot_is_marked(void **state)
{
	struct record near = sample("ione", SLOT_HOME - 1), far = sample("itwo", SLOT_HOME), got;
	char a[RECORD_FILE_MAX], b[RECORD_FILE_MAX];
	size_t n = record_encode(&near, a), m = record_encode(&far, b);

	(void)state;
	assert_int_equal(m, n + 16); /* one more field */
	assert_int_equal(record_decode(b, m, &got), 0);
	assert_int_equal(got.er.spec.slot, SLOT_HOME);
	far.er.spec.slot = SLOT_MAX;
	assert_int_equal(record_decode(b, record_encode(&far, b), &got), -EBADMSG);
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
	r.policy->bytes[0] = 0x40; /* a flag that is none */
	n = record_encode(&r, bytes);
	assert_int_equal(record_decode(bytes, n, &got), -EBADMSG);
	free(r.policy);
}

static void volumes_come_back_with_it(void **state)
{
	struct record r = sample("ione", 3), got;
	char bytes[RECORD_FILE_MAX];

	(void)state;
	r.er.spec.n_volumes = 2;
	strcpy(r.er.spec.volumes[0].name, "vone");
	strcpy(r.er.spec.volumes[0].path, "/data");
	strcpy(r.er.spec.volumes[1].name, "vtwo");
	strcpy(r.er.spec.volumes[1].path, "/data/more");
	assert_int_equal(record_decode(bytes, record_encode(&r, bytes), &got), 0);
	assert_memory_equal(&got.er, &r.er, sizeof r.er);
	strcpy(r.er.spec.volumes[1].path, "/data/../proc");
	assert_int_equal(record_decode(bytes, record_encode(&r, bytes), &got), -EBADMSG);
}

/* --- versions ----------------------------------------------------------------------------------------------- */

/* As the first versions wrote it, byte by byte: the warden of an upgrade must find the sandboxes of the one before. */
static size_t old_record(struct record_file_v3 *f)
{
	memset(f, 0, sizeof *f);
	memcpy(f->magic, "atollrec", 8);
	f->version = 3;
	f->size = sizeof *f;
	f->stage = RECORD_LIVE;
	f->frozen = 1;
	strcpy(f->id, "iold");
	memcpy(f->template_key, "0123456789abcdef0123456789abcdef", 33);
	strcpy(f->from, "kfrom");
	f->slot = 7;
	f->no_internet = 1;
	f->mem_bytes = 1 << 30;
	f->disk_bytes = 2ull << 30;
	f->cpu_permille = 2000;
	f->pids = 512;
	f->pid = 4711;
	f->pid_start = 99;
	strcpy(f->boot_id, "boot");
	f->started_wall_ms = 1234567;
	f->extra_bytes = 4096;
	f->sum = record_sum(RECORD_SUM_BEGIN, f, offsetof(struct record_file_v3, sum));
	return sizeof *f;
}

static void a_record_of_version_3_is_read(void **state)
{
	struct record_file_v3 f;
	struct record got;
	size_t n = old_record(&f);

	(void)state;
	assert_int_equal(record_decode(&f, n, &got), 0);
	assert_int_equal(got.stage, RECORD_LIVE);
	assert_true(got.frozen);
	assert_string_equal(got.er.spec.id, "iold");
	assert_string_equal(got.er.spec.from, "kfrom");
	assert_int_equal(got.er.spec.slot, 7);
	assert_true(got.er.spec.no_internet);
	assert_false(got.er.spec.ruled);
	assert_int_equal(got.er.spec.limits.disk_bytes, 2ull << 30);
	assert_int_equal(got.er.spec.limits.pids, 512);
	assert_int_equal(got.er.pid, 4711);
	assert_string_equal(got.er.boot_id, "boot");
	assert_int_equal(got.er.started_wall_ms, 1234567);
	assert_int_equal(got.er.extra_bytes, 4096);
	assert_int_equal(got.er.spec.n_volumes, 0);
	f.slot = 8;
	assert_int_equal(record_decode(&f, n, &got), -EBADMSG);
}

/* Where the sum stands: behind everything. */
static size_t seal(char *bytes, size_t n)
{
	uint32_t size = (uint32_t)(n + 8);
	uint64_t sum;

	memcpy(bytes + 12, &size, 4);
	sum = record_sum(RECORD_SUM_BEGIN, bytes, n);
	memcpy(bytes + n, &sum, 8);
	return n + 8;
}

static void a_field_of_a_later_version_is_passed_over_unless_it_is_needed(void **state)
{
	struct record r = sample("ione", 3), got;
	char bytes[RECORD_FILE_MAX];
	uint16_t field[4] = { 900, 0, 5, 0 }; /* tag, flags, length */
	size_t n = record_encode(&r, bytes) - 8;

	(void)state;
	memcpy(bytes + n, field, 8);
	memcpy(bytes + n + 8, "later\0\0", 8);
	assert_int_equal(record_decode(bytes, seal(bytes, n + 16), &got), 0);
	assert_memory_equal(&got.er, &r.er, sizeof r.er);
	field[1] = 1;
	memcpy(bytes + n, field, 8);
	assert_int_equal(record_decode(bytes, seal(bytes, n + 16), &got), -EPROTO);
	field[2] = 400; /* longer than the file */
	memcpy(bytes + n, field, 8);
	assert_int_equal(record_decode(bytes, seal(bytes, n + 16), &got), -EBADMSG);
}

static void a_record_of_a_later_version_is_refused_and_stays(void **state)
{
	char dir[] = "/tmp/atoll-unit-XXXXXX", bytes[RECORD_FILE_MAX];
	struct record r = sample("ione", 3), *list;
	struct err e = ERR_INIT;
	size_t n = record_encode(&r, bytes) - 8;

	(void)state;
	if (geteuid() != 0)
		skip();
	bytes[8] = 9; /* its version */
	n = seal(bytes, n);
	assert_non_null(mkdtemp(dir));
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), file = openat(fd, "ione", O_CREAT | O_WRONLY, 0600);

	assert_int_equal(write(file, bytes, n), n);
	(void)close(file);
	assert_int_equal(records_load(fd, &list, &n, &e), -EPROTO);
	assert_non_null(strstr(e.text, "newer atoll"));
	assert_int_equal(faccessat(fd, "ione", F_OK, 0), 0);
	record_remove(fd, "ione");
	(void)close(fd);
	assert_int_equal(rmdir(dir), 0);
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
	r.er.spec.slot = SLOT_MAX;
	assert_true(record_decode(bytes, record_encode(&r, bytes), &got) < 0);
	r = sample("../etc", 3);
	assert_true(record_decode(bytes, record_encode(&r, bytes), &got) < 0);
	r = sample("ione", 3);
	r.er.pid = 1;
	assert_true(record_decode(bytes, record_encode(&r, bytes), &got) < 0);
	r.stage = RECORD_STARTING; /* it has no pid yet */
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
		skip(); /* records of others are refused, so only root can see its own */
	assert_non_null(mkdtemp(dir));
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(record_write(fd, &a, &e), 0);
	assert_int_equal(record_write(fd, &b, &e), 0);
	assert_int_equal(record_write(fd, &b, &e), 0);     /* replaces */
	assert_int_equal(renameat(fd, "ia", fd, "iz"), 0); /* name and content disagree */
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
	assert_int_equal(record_write(fd, &twin, &e), 0); /* two for one slot: only one can be true */
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
		cmocka_unit_test(a_far_slot_is_marked),
		cmocka_unit_test(a_policy_comes_back_with_it),
		cmocka_unit_test(volumes_come_back_with_it),
		cmocka_unit_test(a_record_of_version_3_is_read),
		cmocka_unit_test(a_field_of_a_later_version_is_passed_over_unless_it_is_needed),
		cmocka_unit_test(a_record_of_a_later_version_is_refused_and_stays),
		cmocka_unit_test(any_flipped_bit_is_found),
		cmocka_unit_test(unsound_content_is_refused_even_with_a_good_sum),
		cmocka_unit_test(load_finds_the_sound_and_removes_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

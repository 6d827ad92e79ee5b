/* SPDX-License-Identifier: Apache-2.0 */
/* Units of engine/image: records that are whole or refused, and ids in CRIU's own format. */
#include "engine/ckpt/image.h"

#include <string.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "unit.h"

static int temp_dir(char path[32])
{
	strcpy(path, "/tmp/atoll-image-XXXXXX");
	assert_non_null(mkdtemp(path));
	int fd = open(path, O_RDONLY | O_DIRECTORY);

	assert_true(fd >= 0);
	return fd;
}

static void a_record_is_read_as_it_was_written(void **state)
{
	struct engine_spec spec = { .id = "i0", .template_key = "k", .slot = 7, .limits = { .mem_bytes = 5 } };
	struct image_record r;
	struct err e = ERR_INIT;
	char path[32];
	int dir = temp_dir(path);

	(void)state;
	assert_int_equal(image_read_record(dir, &r, &e), -ENOENT);
	e = ERR_INIT;
	assert_int_equal(image_write_record(dir, true, 3, 0x90010000, 7, &spec, &e), 0);
	assert_int_equal(image_read_record(dir, &r, &e), 0);
	assert_int_equal(r.instance, 3);
	assert_int_equal(r.extra_bytes, 7);
	assert_string_equal(r.spec.id, "i0");
	assert_string_equal(r.spec.template_key, "k");
	assert_int_equal(r.spec.slot, 7);
	assert_int_equal(r.spec.limits.mem_bytes, 5);
	/* A second one would mean that two dumps share a directory. */
	assert_int_equal(image_write_record(dir, true, 3, 0x90010000, 7, &spec, &e), -EEXIST);
	(void)unlinkat(dir, "record", 0);
	close(dir);
	(void)rmdir(path);
}

static void a_damaged_record_is_refused(void **state)
{
	struct image_record good, r;
	struct engine_spec spec = { .id = "i0" };
	struct err e = ERR_INIT;
	char path[32];
	int dir = temp_dir(path);

	(void)state;
	assert_int_equal(image_write_record(dir, false, 0, 0, 0, &spec, &e), 0);
	assert_int_equal(image_read_record(dir, &good, &e), 0);
	for (size_t i = 0; i < sizeof good; i += 5) {
		r = good;
		((char *)&r)[i] ^= 1;
		if (memcmp(&r, &good, sizeof r) != 0)
			assert_int_equal(image_check_record(&r, sizeof r, &r), -EBADMSG);
	}
	assert_int_equal(image_check_record(&good, sizeof good - 1, &r), -EBADMSG);
	assert_int_equal(image_check_record(&good, 0, &r), -EBADMSG);
	assert_int_equal(image_check_record(&good, sizeof good, &r), 0);
	(void)unlinkat(dir, "record", 0);
	close(dir);
	(void)rmdir(path);
}

/* As CRIU 4.2.1 wrote them for a sandbox in slot 0 of instance 0. */
static void ids_are_written_as_criu_writes_them(void **state)
{
	static const unsigned char want[] = {
		0x19,
		0x43,
		0x56,
		0x54,
		0x06,
		0x49,
		0x47,
		0x55,
		0x1c,
		0,
		0,
		0,
		0x0a,
		0x0c,
		0x08,
		0x00,
		0x10,
		0x80,
		0x80,
		0x84,
		0x80,
		0x01,
		0x18,
		0x80,
		0x80,
		0x04,
		0x12,
		0x0c,
		0x08,
		0x00,
		0x10,
		0x80,
		0x80,
		0x84,
		0x80,
		0x01,
		0x18,
		0x80,
		0x80,
		0x04,
	};
	unsigned char got[64];

	(void)state;
	assert_int_equal(image_encode_ids(268500992, 65536, got), sizeof want);
	assert_memory_equal(got, want, sizeof want);
}

static void exactly_one_user_namespace_is_expected(void **state)
{
	static const char *const names[] = { "userns-12.img", "userns-13.img", "mountpoints-1.img" };
	struct err e = ERR_INIT;
	char path[32], found[IMAGE_FILE_SIZE];
	int dir = temp_dir(path);

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		int fd = openat(dir, names[2 - i], O_RDWR | O_CREAT, 0600);

		close(fd);
		assert_int_equal(image_ids_file(dir, found, &e), i == 1 ? 0 : -EBADMSG);
		e = ERR_INIT;
	}
	assert_int_equal(unlinkat(dir, names[0], 0), 0);
	assert_int_equal(image_ids_file(dir, found, &e), 0);
	assert_string_equal(found, "userns-13.img");
	(void)unlinkat(dir, names[1], 0);
	(void)unlinkat(dir, names[2], 0);
	close(dir);
	assert_int_equal(rmdir(path), 0);
}

static void put(int dir, const char *name, const char *text)
{
	autoclose int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void a_program_is_copied_once_per_version(void **state)
{
	struct err e = ERR_INIT;
	char path[32];
	int dir = temp_dir(path), same[3], other;

	(void)state;
	put(dir, "a", "first version");
	put(dir, "b", "later version");
	autoclose int a = openat(dir, "a", O_RDONLY), b = openat(dir, "b", O_RDONLY);

	for (int i = 0; i < 3; i++) {
		assert_int_equal(lseek(a, 0, SEEK_SET), 0);
		assert_int_equal(image_copy_init(a, dir, &same[i], &e), 0);
	}
	assert_int_equal(image_copy_init(b, dir, &other, &e), 0);
	struct stat s0, s2, so;

	assert_int_equal(fstat(same[0], &s0) | fstat(same[2], &s2) | fstat(other, &so), 0);
	assert_int_equal(s0.st_ino, s2.st_ino);
	assert_int_not_equal(s0.st_ino, so.st_ino);
	assert_int_equal(s0.st_mode & 07777, 0555);
	for (int i = 0; i < 3; i++)
		close(same[i]);
	close(other);
	static const char *const names[] = { "a", "b", "old-init-0", "old-init-1" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_int_equal(unlinkat(dir, names[i], 0), 0);
	close(dir);
	assert_int_equal(rmdir(path), 0); /* nothing else was left */
}

static int program(int dir, const char *name, const char *text)
{
	autoclose int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0555);

	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
	return openat(dir, name, O_PATH | O_CLOEXEC);
}

static bool is_same(int image, const struct image_init *now)
{
	struct err e = ERR_INIT;
	autoclose int fd = -1;
	bool same = false;

	assert_int_equal(image_open_init(image, now, &same, &fd, &e), 0);
	assert_true(same || fd >= 0);
	return same;
}

/* The sum stands for the bytes only if the program was the server's own at the time of the dump. */
static void init_is_known_by_its_sum_or_by_its_bytes(void **state)
{
	struct err e = ERR_INIT;
	char path[32], other[32];
	int dir = temp_dir(path), image = temp_dir(other);
	struct image_init first = { .fd = program(dir, "first", "one") }, next = { .fd = program(dir, "next", "two") };

	(void)state;
	assert_int_equal(image_sum_init(&first, &e), 0);
	assert_int_equal(image_sum_init(&next, &e), 0);
	assert_true(first.sum != 0 && first.sum != next.sum);
	assert_int_equal(image_save_init(image, first.fd, &first, &e), 0);
	assert_int_equal(faccessat(image, "init.sum", F_OK, 0), 0);
	assert_true(is_same(image, &first));
	assert_false(is_same(image, &next));
	assert_int_equal(unlinkat(image, "init.sum", 0), 0); /* as an earlier version has written it */
	assert_true(is_same(image, &first));
	assert_false(is_same(image, &next));

	assert_int_equal(unlinkat(image, "init", 0), 0);
	assert_int_equal(image_save_init(image, first.fd, &next, &e), 0); /* it runs an older program */
	assert_true(faccessat(image, "init.sum", F_OK, 0) < 0);
	assert_true(is_same(image, &first));
	(void)unlinkat(image, "init", 0);
	(void)unlinkat(dir, "first", 0);
	(void)unlinkat(dir, "next", 0);
	int fds[] = { first.fd, next.fd, image, dir };

	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		close(fds[i]);
	(void)rmdir(other);
	(void)rmdir(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_is_read_as_it_was_written),
		cmocka_unit_test(a_damaged_record_is_refused),
		cmocka_unit_test(ids_are_written_as_criu_writes_them),
		cmocka_unit_test(exactly_one_user_namespace_is_expected),
		cmocka_unit_test(a_program_is_copied_once_per_version),
		cmocka_unit_test(init_is_known_by_its_sum_or_by_its_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a snapshot file is whole or refused; its MAC depends on every byte and on the key. */
#include "cli/sandbox/snapshot_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "unit.h"

static int check(const struct snapshot_head *h, size_t n, uint64_t file_bytes)
{
	struct snapshot_head ret;
	struct err e = ERR_INIT;

	return snapshot_head_check(h, n, file_bytes, &ret, &e);
}

static void heads_are_whole_or_refused(void **state)
{
	struct snapshot_head h, bad;
	uint64_t size = sizeof h + 10 + 20 + 30 + SNAPSHOT_MAC_BYTES;

	(void)state;
	snapshot_head_make(&h, 10, 20, 30);
	assert_int_equal(check(&h, sizeof h, size), 0);
	for (size_t n = 0; n < sizeof h; n++)
		assert_int_equal(check(&h, n, size), -EBADMSG);
	assert_int_equal(check(&h, sizeof h, size - 1), -EBADMSG);
	assert_int_equal(check(&h, sizeof h, size + 1), -EBADMSG);
	assert_int_equal(check(&h, sizeof h, 0), -EBADMSG);
	bad = h;
	bad.magic[3] ^= 1;
	assert_int_equal(check(&bad, sizeof bad, size), -EBADMSG);
	bad = h;
	bad.version = 2;
	assert_int_equal(check(&bad, sizeof bad, size), -EPROTO);
	bad = h;
	bad.zero[5] = 1;
	assert_int_equal(check(&bad, sizeof bad, size), -EBADMSG);
	bad = h;
	bad.disk_bytes = UINT64_MAX - 10; /* with the memory it is more than there is */
	assert_int_equal(check(&bad, sizeof bad, size), -EBADMSG);
	snapshot_head_make(&bad, SNAPSHOT_META_MAX + 1, 20, 0);
	assert_int_equal(check(&bad, sizeof bad, sizeof h + SNAPSHOT_META_MAX + 1 + 20 + SNAPSHOT_MAC_BYTES), -EBADMSG);
}

static void macs_depend_on_every_byte(void **state)
{
	char name[] = "/tmp/unit-snapshot-XXXXXX";
	uint8_t key[SNAPSHOT_KEY_BYTES] = { 1 }, first[SNAPSHOT_MAC_BYTES], other[SNAPSHOT_MAC_BYTES];
	struct err e = ERR_INIT;
	int fd = mkstemp(name);

	(void)state;
	assert_true(fd >= 0 && unlink(name) == 0);
	assert_int_equal(pwrite(fd, "abcdefgh", 8, 0), 8);
	assert_int_equal(snapshot_mac(fd, 8, key, first, &e), 0);
	for (off_t i = 0; i < 8; i++) {
		char was, is;

		assert_int_equal(pread(fd, &was, 1, i), 1);
		is = (char)(was ^ 1);
		assert_int_equal(pwrite(fd, &is, 1, i), 1);
		assert_int_equal(snapshot_mac(fd, 8, key, other, &e), 0);
		assert_memory_not_equal(first, other, sizeof first);
		assert_int_equal(pwrite(fd, &was, 1, i), 1);
	}
	key[31] = 1;
	assert_int_equal(snapshot_mac(fd, 8, key, other, &e), 0);
	assert_memory_not_equal(first, other, sizeof first);
	assert_int_equal(snapshot_mac(fd, 9, key, other, &e), -EBADMSG);
	close(fd);
}

static void keys_are_made_once(void **state)
{
	char dir[] = "/tmp/unit-snapshot-XXXXXX", file[64];
	uint8_t a[SNAPSHOT_KEY_BYTES], b[SNAPSHOT_KEY_BYTES];
	struct err e = ERR_INIT;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(file, sizeof file, "%s/key", dir);
	assert_int_equal(snapshot_key(file, false, a, &e), -ENOENT);
	e = ERR_INIT;
	assert_int_equal(snapshot_key(file, true, a, &e), 0);
	assert_int_equal(snapshot_key(file, true, b, &e), 0);
	assert_memory_equal(a, b, sizeof a);
	assert_int_equal(truncate(file, 31), 0);
	assert_int_equal(snapshot_key(file, true, b, &e), -EBADMSG);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads_are_whole_or_refused),
		cmocka_unit_test(macs_depend_on_every_byte),
		cmocka_unit_test(keys_are_made_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

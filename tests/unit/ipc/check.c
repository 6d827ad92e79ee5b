/* SPDX-License-Identifier: Apache-2.0 */
/* Units of ipc/check: what a field may hold. */
#include <stdint.h>
#include <string.h>

#include "ipc/check.h"
#include "unit.h"

static void text_ends_and_is_clean_behind_its_end(void **state)
{
	(void)state;
	assert_true(check_text("ab\0", 4));
	assert_true(check_text("\0\0", 3));
	assert_false(check_text("abcd", 4)); /* no room for an end */
	assert_false(check_text("a\0b", 4));
}

static void id_is_a_host_label(void **state)
{
	char id[ID_SIZE] = "i0123456789abcdefghi";

	(void)state;
	assert_true(check_id(id));
	id[3] = 'A';
	assert_false(check_id(id));
	id[3] = '-';
	assert_false(check_id(id));
	memset(id, 0, sizeof id);
	assert_false(check_id(id));
	memset(id, 'a', sizeof id);
	assert_false(check_id(id));
	id[ID_SIZE - 1] = '\0';
	assert_true(check_id(id)); /* 23 characters are the most */
}

static void key_is_32_hex_digits(void **state)
{
	char key[TEMPLATE_KEY_SIZE] = "0123456789abcdef0123456789abcdef";

	(void)state;
	assert_true(check_template_key(key));
	key[0] = 'g';
	assert_false(check_template_key(key));
	key[0] = '/';
	assert_false(check_template_key(key));
	key[0] = 'a';
	key[31] = '\0';
	assert_false(check_template_key(key));
	key[31] = 'a';
	key[32] = 'a';
	assert_false(check_template_key(key));
}

static void request_id_is_short_and_plain(void **state)
{
	char id[REQUEST_ID_SIZE] = "";

	(void)state;
	assert_true(check_request(id));
	memset(id, 'Z', REQUEST_ID_MAX);
	assert_true(check_request(id));
	id[REQUEST_ID_MAX] = 'Z';
	assert_false(check_request(id));
	id[REQUEST_ID_MAX] = '\0';
	id[3] = ' ';
	assert_false(check_request(id));
	id[3] = '\0';
	assert_false(check_request(id));
}

static void limits_are_neither_none_nor_above_the_most(void **state)
{
	const struct msg_limits max = { 100, 200, 300, 400, .swap_bytes = 10, .egress_bytes = 50, .open_files = 60 };
	struct msg_limits l = max;

	(void)state;
	assert_true(msg_check_limits(&l, &max));
	l.mem_bytes = 101;
	assert_false(msg_check_limits(&l, &max));
	l = max;
	l.disk_bytes = 0;
	assert_false(msg_check_limits(&l, &max));
	l = max;
	l.cpu_permille = 301;
	assert_false(msg_check_limits(&l, &max));
	l = max;
	l.pids = 0;
	assert_false(msg_check_limits(&l, &max));
	l = max;
	l.swap_bytes = 0; /* none is fine */
	assert_true(msg_check_limits(&l, &max));
	l.swap_bytes = 11;
	assert_false(msg_check_limits(&l, &max));
	l = max;
	l.io_bytes_s = UINT64_MAX; /* there is no most of it */
	assert_true(msg_check_limits(&l, &max));
	l.egress_bytes = 0; /* no limit, where there is a most */
	assert_false(msg_check_limits(&l, &max));
	l = max;
	l.open_files = 61;
	assert_false(msg_check_limits(&l, &max));
}

static void mount_paths_are_absolute_and_clean(void **state)
{
	static const char *const good[] = { "/a", "/data", "/home/user/my data", "/a.b/..c/d..", "/processes",
		"/devices/x", "/ü" };
	static const char *const bad[] = { "", "/", "a", "a/b", "//", "/a/", "/a//b", "/.", "/..", "/a/.", "/a/../b",
		"/./a", "/proc", "/proc/1", "/sys", "/dev", "/dev/shm", "/a\nb", "/a[b", "/a]", "/a\\b", "/\x7f" };
	struct msg_mount m = { .name = "vone", .path = "/data" };
	char path[MOUNT_PATH_SIZE + 1];

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		assert_true(check_mount_path(good[i]));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(check_mount_path(bad[i]));
	memset(path, 'x', sizeof path);
	path[0] = '/';
	path[MOUNT_PATH_SIZE] = '\0';
	assert_false(check_mount_path(path));
	path[MOUNT_PATH_SIZE - 1] = '\0';
	assert_true(check_mount_path(path));
	assert_true(check_mount(&m));
	m.path[40] = 'x'; /* behind its end */
	assert_false(check_mount(&m));
	m.path[40] = '\0';
	m.name[0] = '/';
	assert_false(check_mount(&m));
}

static void every_message_has_a_size_and_fits(void **state)
{
	unsigned known = 0;

	(void)state;
	for (unsigned t = 0; t < 1000; t++) {
		size_t n = msg_size((enum msg_type)t);

		assert_true(n <= MSG_MAX);
		assert_true(n == 0 || n >= sizeof(struct msg_head));
		known += n > 0;
	}
	assert_int_equal(known, 25 + 11 + 11);
}

/* A front and a warden of one version may be of two builds. */
static void numbers_stay_what_they_are(void **state)
{
	(void)state;
	assert_int_equal(MSG_VERSION, 13);
	assert_int_equal(OP_HELLO, 1);
	assert_int_equal(OP_ROOM, 24);
	assert_int_equal(RE_OK, 64);
	assert_int_equal(RE_ROOM, 74);
	assert_int_equal(EV_EXITED, 96);
	assert_int_equal(EV_WEBHOOKS, 105);
}

static void the_table_makes_sense(void **state)
{
	(void)state;
	for (unsigned t = 0; t < MSG_TYPES + 10; t++) {
		const struct msg_info *i = msg_info(t);

		assert_true(!!i ==
		    ((t >= OP_HELLO && t < OP_COUNT) || (t > RE_BEFORE && t <= RE_ROOM) ||
			(t > EV_BEFORE && t < MSG_TYPES)));
		if (!i)
			continue;
		assert_int_equal(i->kind, t < OP_COUNT ? MSG_REQUEST : t <= RE_ROOM ? MSG_REPLY : MSG_EVENT);
		assert_true(!!i->name == (i->kind != MSG_REPLY));
		if (i->kind != MSG_REQUEST)
			continue;
		/* The last answer is one that nothing follows. */
		assert_true(msg_info(i->answer)->kind == MSG_REPLY && !msg_info(i->answer)->more);
		assert_true(i->other == MSG_NONE || msg_info(i->other)->kind == MSG_REPLY);
	}
	assert_string_equal(msg_info(OP_VOLUME_CONNECT)->name, "volume_connect");
	assert_true(msg_info(OP_VOLUME_CONNECT)->fd && !msg_info(OP_KILL)->fd);
	assert_true(msg_info(RE_LIST_ITEM)->more && !msg_info(RE_OK)->more);
	assert_null(msg_info(UINT32_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_ends_and_is_clean_behind_its_end),
		cmocka_unit_test(id_is_a_host_label),
		cmocka_unit_test(key_is_32_hex_digits),
		cmocka_unit_test(request_id_is_short_and_plain),
		cmocka_unit_test(mount_paths_are_absolute_and_clean),
		cmocka_unit_test(limits_are_neither_none_nor_above_the_most),
		cmocka_unit_test(every_message_has_a_size_and_fits),
		cmocka_unit_test(numbers_stay_what_they_are),
		cmocka_unit_test(the_table_makes_sense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

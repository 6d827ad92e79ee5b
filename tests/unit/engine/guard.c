/* SPDX-License-Identifier: Apache-2.0 */
/* Units of engine/guard: lines of /proc/net as kernels write them. */
#include <stdint.h>

#include <string.h>
#include <sys/sysmacros.h>

#include "engine/guard/guard.h"
#include "unit.h"

static uint64_t line(enum guard_table t, const char *z)
{
	return guard_line(t, z, strlen(z));
}

static void netlink_counts_both_ways(void **state)
{
	(void)state;
	assert_int_equal(
	    line(GUARD_NETLINK,
		"sk               Eth Pid        Groups   Rmem     Wmem     Dump  Locks    Drops    Inode"),
	    0);
	assert_int_equal(
	    line(GUARD_NETLINK,
		"00000000f2a3b1c4 0   1234       00000000 212992   768      0     2        0        23456"),
	    213760);
	assert_int_equal(line(GUARD_NETLINK,
			     "00000000f2a3b1c4 0   0          00000000 0        0        0     2        0        11"),
	    0);
}

static void ping_counts_both_ways(void **state)
{
	(void)state;
	assert_int_equal(line(GUARD_PING,
			     "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  "
			     "timeout inode ref pointer drops"),
	    0);
	assert_int_equal(line(GUARD_PING,
			     "   12: 00000000:000C 00000000:0000 07 00000100:00034000 00:00000000 00000000     0       "
			     " 0 123 2 0000000000000000 0"),
	    0x34100);
}

static void udp_counts_what_is_not_sent(void **state)
{
	(void)state;
	assert_int_equal(line(GUARD_UDP,
			     " 1234: 0100007F:0035 0100007F:0009 01 0000EA60:00034000 00:00000000 00000000  1000       "
			     " 0 123 2 0000000000000000 0"),
	    60000);
	assert_int_equal(line(GUARD_UDP,
			     " 1234: 00000000000000000000000001000000:0035 00000000000000000000000000000000:0000 07 "
			     "0000000A:00000000 00:00000000 00000000"),
	    10);
}

static void the_store_is_what_bpf_has_compiled(void **state)
{
	static const struct {
		const char *line;
		uint64_t bytes;
	} lines[] = {
		{ "0xffffffffc0a00000-0xffffffffc0c01000 2101248 bpf_prog_pack_alloc+0x1c2/0x2c0 pages=512 vmalloc "
		  "N0=512",
		    2101248 },
		{ "0x00000000f2a3b1c4-0x0000000012345678   20480 bpf_jit_alloc_exec+0xe/0x10 pages=4 vmalloc N0=4",
		    20480 },
		{ "0xffffb0a340005000-0xffffb0a340007000    8192 bpf_jit_binary_alloc+0x61/0x120 pages=1 vmalloc N0=1",
		    8192 },
		{ "0xffffb0a340005000-0xffffb0a340007000    8192 bpf_prog_alloc_no_stats+0x33/0x1a0 pages=1 vmalloc "
		  "N0=1",
		    0 },
		{ "0xffffb0a340005000-0xffffb0a340007000    8192 load_module+0x33/0x1a0 pages=1 vmalloc N0=1", 0 },
		{ "0xffffb0a340005000-0xffffb0a340007000    8192 unpurged vm_area", 0 },
		{ "0xffffb0a340005000-0xffffb0a340007000    8192", 0 },
		{ "", 0 },
		{ " ", 0 },
		{ "a b bpf_jit_x", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		assert_int_equal(guard_store_line(lines[i].line, strlen(lines[i].line)), lines[i].bytes);
}

static void filters_of_a_task(void **state)
{
	(void)state;
	assert_int_equal(
	    guard_filters_of("Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t17\nSpeculation_Store_Bypass:\tvulnerable\n"),
	    17);
	assert_int_equal(guard_filters_of("Name:\tSeccomp_filters:\t9\nSeccomp_filters:\t0\n"), 0);
	assert_int_equal(guard_filters_of("Name:\tx\nSeccomp:\t2\n"), -1);
	assert_int_equal(guard_filters_of(""), -1);
	assert_int_equal(guard_filters_of("\nSeccomp_filters:\tmany\n"), -1);
}

static void locks_have_a_process_or_a_place(void **state)
{
	static const char *const none[] = { "", "\n", "1:", "1: POSIX", "1: POSIX  ADVISORY  WRITE x 00:1f:22 0 EOF",
		"1: POSIX  ADVISORY  WRITE 7 0 EOF" };
	struct guard_lock l;

	(void)state;
	assert_true(guard_lock_line("1: OFDLCK ADVISORY  WRITE -1 00:17e:281 433296 433296\n", &l));
	assert_int_equal(l.pid, -1);
	assert_int_equal(l.dev, makedev(0, 0x17e));
	assert_true(guard_lock_line("21: POSIX  ADVISORY  WRITE 1734 fd:01:1835014 0 EOF\n", &l));
	assert_int_equal(l.pid, 1734);
	assert_int_equal(l.dev, makedev(0xfd, 1));
	assert_true(guard_lock_line("21: -> POSIX  ADVISORY  READ 99 08:02:55 7 7\n", &l));
	assert_int_equal(l.pid, 99);
	assert_int_equal(l.dev, makedev(8, 2));
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		assert_false(guard_lock_line(none[i], &l));
}

static void places_that_a_sandbox_alone_has(void **state)
{
	static const char *const others[] = { "", "\n", "1", "510 480 0:61 / /proc rw - proc proc rw",
		"511 480 0:77 / /dev/pts rw - devpts devpts rw", "512 480 0:60 /a /dev/shmoo rw - tmpfs tmpfs rw",
		"513 480 0:60 / /data/a/very/long/name/indeed rw - btrfs /dev/loop0 rw",
		"514 480 x:y / / rw - overlay o rw" };
	uint64_t dev;

	(void)state;
	assert_true(guard_mount_line("480 455 0:59 / / rw,relatime - overlay overlay rw,lowerdir=/a\n", &dev));
	assert_int_equal(dev, makedev(0, 59));
	assert_true(guard_mount_line("481 480 0:60 / /dev rw,nosuid - tmpfs tmpfs rw,size=64k\n", &dev));
	assert_int_equal(dev, makedev(0, 60));
	assert_true(guard_mount_line("482 481 0:62 / /dev/shm rw - tmpfs tmpfs rw\n", &dev));
	assert_int_equal(dev, makedev(0, 62));
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		assert_false(guard_mount_line(others[i], &dev));
}

static void nonsense_counts_nothing(void **state)
{
	static const char *const lines[] = { "", " ", "a b c d", "a b c d e f", "a b c d 1:z f", "a b c d - -",
		"a b c d 99999999999999999999 1" };

	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		assert_true(line(GUARD_NETLINK, lines[i]) <= 1);
		assert_true(line(GUARD_UDP, lines[i]) <= 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(netlink_counts_both_ways),
		cmocka_unit_test(ping_counts_both_ways),
		cmocka_unit_test(udp_counts_what_is_not_sent),
		cmocka_unit_test(the_store_is_what_bpf_has_compiled),
		cmocka_unit_test(filters_of_a_task),
		cmocka_unit_test(locks_have_a_process_or_a_place),
		cmocka_unit_test(places_that_a_sandbox_alone_has),
		cmocka_unit_test(nonsense_counts_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

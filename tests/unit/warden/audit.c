/* SPDX-License-Identifier: Apache-2.0 */
/* Units of warden/trail: what a front that was taken over can do with the files of the audit trail. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "unit.h"
#include "warden/audit.h"
#include "warden/config.h"

#define SEGMENT (64 * 1024)

static char dir[] = "/tmp/atoll-segments-XXXXXX";
static struct config c;
static struct err e;

static int set_up(void **state)
{
	(void)state;
	c = (struct config) { .audit_kept_s = 86400, .audit_max_mb = 1, .audit_segment_kb = SEGMENT / 1024 };
	(void)snprintf(c.state, sizeof c.state, "%s", dir);
	return 0;
}

static int tear_down(void **state)
{
	char path[128];

	(void)state;
	for (unsigned n = 1; n < 32; n++) {
		(void)snprintf(path, sizeof path, "%s/audit/%08u.jsonl", dir, n);
		(void)unlink(path);
	}
	return 0;
}

static int get(uint32_t n, uint32_t *ret_n)
{
	struct msg_audit_file re = { .n = 0 };
	int fd = -1;

	if (audit_open(&c, n, &re, &fd, &e) < 0)
		return -e.no;
	*ret_n = re.n;
	return fd;
}

static void fill(int fd, size_t bytes)
{
	char *p = malloc(bytes);

	memset(p, 'x', bytes);
	assert_int_equal(fd_write_all(fd, p, bytes), 0);
	assert_int_equal(fsync(fd), 0);
	free(p);
}

/* Segments 1 and 2, both with something in them, and the fd of the second. */
static int two(void)
{
	uint32_t n = 0;
	int fd = get(0, &n);

	assert_int_equal(n, 1);
	fill(fd, SEGMENT);
	fd_close(fd);
	fd = get(2, &n);
	assert_true(fd >= 0 && n == 2);
	return fd;
}

/* The clock of files is coarse: a write right after the file was made may leave no trace in its times. */
static bool looks_written(int fd)
{
	struct statx st;

	assert_int_equal(statx(fd, "", AT_EMPTY_PATH, STATX_MTIME | STATX_BTIME, &st), 0);
	return !(st.stx_mask & STATX_BTIME) || st.stx_mtime.tv_sec != st.stx_btime.tv_sec ||
	    st.stx_mtime.tv_nsec != st.stx_btime.tv_nsec;
}

static void an_emptied_file_leads_to_no_older_one(void **state)
{
	autoclose int fd = two(), again = -1;
	uint32_t n = 0;

	(void)state;
	do {
		fill(fd, 100);
		assert_int_equal(ftruncate(fd, 0), 0);
	} while (!looks_written(fd));
	again = get(0, &n);
	assert_true(again >= 0);
	assert_int_equal(n, 2);
}

static void a_file_that_was_never_used_is_not_the_last(void **state)
{
	autoclose int fd = two(), again = -1;
	uint32_t n = 0;

	(void)state;
	again = get(0, &n); /* as after a crash before its first record */
	assert_true(again >= 0);
	assert_int_equal(n, 1);
}

static void there_is_no_next_before_the_last_is_full(void **state)
{
	autoclose int fd = two(), next = -1;
	uint32_t n = 0;

	(void)state;
	fill(fd, 100);
	assert_int_equal(get(3, &n), -EPERM);
	assert_int_equal(ftruncate(fd, 1 << 30), 0); /* a hole is no content */
	assert_int_equal(get(3, &n), -EPERM);
	assert_int_equal(ftruncate(fd, 100), 0);
	fill(fd, SEGMENT);
	next = get(3, &n);
	assert_true(next >= 0);
	assert_int_equal(n, 3);
}

static void length_alone_drops_nothing(void **state)
{
	autoclose int fd = two();

	(void)state;
	fill(fd, 100);
	assert_int_equal(ftruncate(fd, 1 << 30), 0);
	assert_int_equal(audit_drop(&c, 1, &e), -EPERM);
	assert_int_equal(ftruncate(fd, 0), 0);
	fill(fd, 2 << 20); /* more than all may have, in the last one */
	assert_int_equal(audit_drop(&c, 1, &e), -EPERM);
	c.audit_max_mb = 0;
	assert_int_equal(audit_drop(&c, 1, &e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_emptied_file_leads_to_no_older_one, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_was_never_used_is_not_the_last, set_up, tear_down),
		cmocka_unit_test_setup_teardown(there_is_no_next_before_the_last_is_full, set_up, tear_down),
		cmocka_unit_test_setup_teardown(length_alone_drops_nothing, set_up, tear_down),
	};
	char path[96];

	if (!mkdtemp(dir))
		return 1;
	int r = cmocka_run_group_tests(tests, NULL, NULL);

	(void)snprintf(path, sizeof path, "%s/audit", dir);
	(void)rmdir(path);
	(void)rmdir(dir);
	return r;
}

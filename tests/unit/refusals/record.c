/* SPDX-License-Identifier: Apache-2.0 */
/* Units of audit/record: the kernel's text about a refused system call. */
#include <stdint.h>

#include <errno.h>

#include "refusals/record.h"
#include "unit.h"

#define HEAD "audit(1794756406.423:254): auid=4294967295 uid=268566533 gid=0 ses=4294967295 "
#define TAIL " exe=\"/usr/bin/x\" sig=0 arch=c000003e syscall=250 compat=0 ip=0x7fdeabce3829 code=0x50000"

static void a_record_is_read(void **state)
{
	struct record r;

	(void)state;
	assert_int_equal(record_parse(str_of(HEAD "pid=1030806 comm=\"deny\"" TAIL), &r), 0);
	assert_int_equal(r.uid, 268566533);
	assert_int_equal(r.pid, 1030806);
	assert_int_equal(r.arch, 0xc000003e);
	assert_int_equal(r.nr, 250);
	assert_string_equal(r.comm, "deny");
	assert_int_equal(record_parse(str_of(HEAD "subj=unconfined pid=1 comm=\"x\"" TAIL), &r), 0);
	assert_int_equal(record_parse(str_of(HEAD "pid=1 comm=\"x\" exe=\"/x\" sig=31 arch=40000003 syscall=20"), &r),
	    0);
	assert_int_equal(r.arch, 0x40000003);
}

/* A name with a blank, a quote, or a line end in it comes as hex, and could else pretend to be fields. */
static void names_can_be_anything(void **state)
{
	struct record r;

	(void)state;
	assert_int_equal(record_parse(str_of(HEAD "pid=1 comm=61207569643D30" TAIL), &r), 0); /* "a uid=0" */
	assert_string_equal(r.comm, "a uid=0");
	assert_int_equal(r.uid, 268566533);
	assert_int_equal(record_parse(str_of(HEAD "pid=1 comm=0A1BFF22" TAIL), &r), 0);
	assert_string_equal(r.comm, "???\"");
	assert_int_equal(record_parse(str_of(HEAD "pid=1 comm=\"\"" TAIL), &r), 0);
	assert_string_equal(r.comm, "");
	assert_int_equal(record_parse(str_of(HEAD "pid=1 comm=\"123456789012345\"" TAIL), &r), 0);
	assert_int_equal(record_parse(str_of(HEAD "pid=1 comm=\"1234567890123456\"" TAIL), &r), -EBADMSG);
	assert_int_equal(record_parse(str_of(HEAD "pid=1 comm=6" TAIL), &r), -EBADMSG);
	assert_int_equal(record_parse(str_of(HEAD "pid=1 comm=6z" TAIL), &r), -EBADMSG);
}

static void what_is_missing_or_malformed_is_refused(void **state)
{
	struct record r;

	(void)state;
	assert_int_equal(record_parse(str_of(""), &r), -EBADMSG);
	assert_int_equal(record_parse(str_of(HEAD "comm=\"x\"" TAIL), &r), -EBADMSG);
	assert_int_equal(record_parse(str_of("uid=4294967296 pid=1 comm=\"x\"" TAIL), &r), -EBADMSG);
	assert_int_equal(record_parse(str_of("uid= pid=1 comm=\"x\"" TAIL), &r), -EBADMSG);
	assert_int_equal(record_parse(str_of("uid=1a pid=1 comm=\"x\"" TAIL), &r), -EBADMSG);
	assert_int_equal(record_parse(str_of("uid=1 pid=1 comm=\"x\" arch=c000003e syscall=4294967295"), &r), -EBADMSG);
	assert_int_equal(record_parse(str_of("uid=1 pid=1 comm=\"x\" arch=c000003e syscall=-1"), &r), 0);
	assert_int_equal(r.nr, -1);
}

static void the_pid_inside_is_that_of_the_same_sandbox(void **state)
{
	static const char text[] =
	    "Name:\tx\nUid:\t268566533\t0\t0\t0\nNStgid:\t1030806\t77\t4\nNSpid:\t1030806\t77\t4\n";

	(void)state;
	assert_int_equal(record_pid_inside(str_of(text), 268566528, 268632063), 4);
	/* the number went to somebody else */
	assert_int_equal(record_pid_inside(str_of(text), 268632064, 268697599), 0);
	assert_int_equal(record_pid_inside(str_of("NSpid:\t5\n"), 0, UINT32_MAX), 0);
	assert_int_equal(record_pid_inside(str_of("Uid:\nNSpid:\n"), 0, UINT32_MAX), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_is_read),
		cmocka_unit_test(names_can_be_anything),
		cmocka_unit_test(what_is_missing_or_malformed_is_refused),
		cmocka_unit_test(the_pid_inside_is_that_of_the_same_sandbox),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

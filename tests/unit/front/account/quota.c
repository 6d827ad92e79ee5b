/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/quota and front/limits: what is read and refused, and what is counted. */
#include <stdint.h>
#include <string.h>

#include "front/account/limits.h"
#include "front/account/quota.h"
#include "front/front.h"
#include "http/json.h"
#include "unit.h"

static const struct msg_limits most = { 1u << 30, 1u << 30, 4000, 512, .open_files = 1024, .egress_bytes = 100 << 20 };

static void a_quota_is_read_or_refused_by_name(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "{\"createsPerMinute\":0}",
		    "field 'quota.createsPerMinute' must be an integer from 1 to 1099511627776, or null" },
		{ "{\"cpuSecondsPerDay\":-3}",
		    "field 'quota.cpuSecondsPerDay' must be an integer from 1 to 1099511627776, or null" },
		{ "{\"egressMBPerDay\":\"5\"}",
		    "field 'quota.egressMBPerDay' must be an integer from 1 to 1099511627776, or null" },
		{ "{\"maxSandboxes\":5}", "field 'quota.maxSandboxes' is not known" },
		{ "{\"cpu\":5}", "field 'quota.cpu' is not known" },
		{ "{\"limits\":5}", "field 'quota.limits' must be an object or null" },
		{ "{\"limits\":{\"memoryMB\":2048}}",
		    "field 'quota.limits.memoryMB' must be an integer from 32 to 1024" },
	};
	struct quota q = { .creates_per_min = 7 };
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		autojson json_t *o = json_loads(bad[i].text, 0, NULL);

		assert_int_equal(quota_read(o, false, &most, &q, &e), -EINVAL);
		assert_string_equal(e.text, bad[i].why);
		assert_int_equal(q.creates_per_min, 7); /* the old one stays */
	}
	autojson json_t *o = json_loads(
	    "{\"createsPerMinute\":null,\"cpuSecondsPerDay\":60,\"limits\":{\"memoryMB\":64,\"cpus\":0.5}}", 0, NULL);

	assert_int_equal(quota_read(o, false, &most, &q, &e), 0);
	assert_int_equal(q.creates_per_min, 0);
	assert_int_equal(q.cpu_s_per_day, 60);
	assert_int_equal(q.maxima.cpu_permille, 500);
	assert_false(quota_is_none(&q));
	autojson json_t *shown = quota_json(&q, false);
	struct quota again = { 0 };

	assert_int_equal(quota_read(shown, false, &most, &again, &e), 0);
	assert_int_equal(again.cpu_s_per_day, 60);
	assert_true(limits_equal(&again.maxima, &q.maxima));
	autojson json_t *none = quota_json(&(struct quota) { 0 }, true);

	assert_true(json_is_null(none));
}

static void a_minute_has_sixty_seconds(void **state)
{
	struct tally t = { 0 };

	(void)state;
	for (uint64_t s = 1000; s < 1010; s++)
		tally_create(&t, s);
	assert_int_equal(tally_creates(&t, 1009), 10);
	assert_int_equal(tally_creates(&t, 1059), 10);
	assert_int_equal(tally_creates(&t, 1060), 9); /* that of second 1000 is over */
	assert_int_equal(tally_creates(&t, 1065), 4);
	assert_int_equal(tally_creates(&t, 5000), 0);
}

static void a_day_begins_at_nothing(void **state)
{
	struct tally t = { 0 };

	(void)state;
	tally_add(&t, 20000, 1500, 1 << 20);
	tally_add(&t, 20000, 500, 0);
	assert_int_equal(t.use.cpu_ms, 2000);
	assert_true(t.dirty);
	tally_add(&t, 20001, 10, 5);
	assert_int_equal(t.use.cpu_ms, 10);
	assert_int_equal(t.use.sent_bytes, 5);
}

static void a_team_may_be_allowed_less(void **state)
{
	struct limits_range r = { .defaults = most, .maxima = most };

	(void)state;
	r.defaults.mem_bytes = 64 << 20;
	limits_narrow(&r, &(struct msg_limits) { .mem_bytes = 100 << 20, .io_ops_s = 50 });
	assert_int_equal(r.maxima.mem_bytes, 100 << 20);
	assert_int_equal(r.defaults.mem_bytes, 64 << 20);
	assert_int_equal(r.maxima.io_ops_s, 50);
	assert_int_equal(r.defaults.io_ops_s, 50); /* it had no limit before */
	assert_int_equal(r.maxima.pids, 512);
}

static void what_was_allowed_once_is_clipped(void **state)
{
	struct msg_limits l = { 1ull << 40, 1, 100, 1000, .swap_bytes = 5, .io_bytes_s = 9, .open_files = 5000 };

	(void)state;
	limits_clip(&l, &most);
	assert_int_equal(l.mem_bytes, most.mem_bytes);
	assert_int_equal(l.disk_bytes, 1);
	assert_int_equal(l.pids, 512);
	assert_int_equal(l.swap_bytes, 0);
	assert_int_equal(l.io_bytes_s, 9); /* there is no most of it */
	assert_int_equal(l.egress_bytes, most.egress_bytes);
	assert_int_equal(l.open_files, 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_quota_is_read_or_refused_by_name),
		cmocka_unit_test(a_minute_has_sixty_seconds),
		cmocka_unit_test(a_day_begins_at_nothing),
		cmocka_unit_test(a_team_may_be_allowed_less),
		cmocka_unit_test(what_was_allowed_once_is_clipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

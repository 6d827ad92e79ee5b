/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/top_rows: what is shown of each sandbox, in order. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "cli/sandbox/top_rows.h"
#include "unit.h"

#define NOON_MS 1767355200000ull /* 2026-01-02T12:00:00Z */
#define NOON_S 1767355200ll

static const struct atoll_pair meta[] = { { "who", "me" }, { "n", "1" } };

static const struct atoll_info infos[] = {
	{ .id = "ia",
	    .template_id = "t",
	    .alias = "base",
	    .state = "running",
	    .end_at = "2026-01-02T12:05:00Z",
	    .last_activity_at = "2026-01-02T11:59:00Z",
	    .metadata = meta,
	    .n_metadata = 2 },
	{ .id = "ib",
	    .template_id = "t",
	    .state = "running",
	    .end_at = "2026-01-02T12:01:00Z",
	    .last_activity_at = "2026-01-02T11:00:00Z" },
	{ .id = "ic", .template_id = "t", .state = "paused", .end_at = "2026-01-02T11:00:00Z" },
	{ .id = "id", .template_id = "t", .state = "running", .end_at = "2026-01-02T12:01:00Z" },
};

static const struct atoll_point points[] = {
	{ .id = "id", .at_s = NOON_S - 31, .cpu_pct = 100, .mem_used = 1 << 20 }, /* too old */
	{ .id = "ib",
	    .at_s = NOON_S - 4,
	    .cpu_pct = 150.5,
	    .mem_used = 10 << 20,
	    .mem_total = 512 << 20,
	    .disk_used = 5,
	    .pids = 3 },
	/* paused: it uses none now */
	{ .id = "ic", .at_s = NOON_S, .cpu_pct = 7, .mem_used = 1 << 20 },
	{ .id = "ia",
	    .at_s = NOON_S - 1,
	    .cpu_pct = 0.5,
	    .mem_used = 20 << 20,
	    .mem_total = 512 << 20,
	    .disk_used = 6,
	    .pids = 40 },
};

static const struct atoll_list list = { .v = infos, .n = ARRAY_LEN(infos) };
static const struct atoll_points all = { .v = points, .n = ARRAY_LEN(points) };

static void check_order(enum top_sort by, const char *want)
{
	struct top_rows r;
	char got[16] = "";

	assert_int_equal(top_rows_make(&list, &all, NOON_MS, by, &r), 0);
	for (size_t i = 0; i < r.n; i++)
		(void)strncat(got, r.v[i].info->id + 1, 1);
	assert_string_equal(got, want);
	top_rows_done(&r);
}

static void the_largest_comes_first(void **state)
{
	(void)state;
	check_order(TOP_CPU, "bacd");
	check_order(TOP_MEMORY, "abcd");
	check_order(TOP_DISK, "abcd");
	check_order(TOP_PIDS, "abcd");
	check_order(TOP_IDLE, "bacd");
}

static void only_fresh_points_of_running_ones_count(void **state)
{
	struct top_rows r;

	(void)state;
	assert_int_equal(top_rows_make(&list, &all, NOON_MS, TOP_CPU, &r), 0);
	assert_int_equal(r.running, 3);
	assert_float_equal(r.cpu_pct, 151.0, 0.001);
	assert_int_equal(r.mem_used, 30 << 20);
	assert_int_equal(r.disk_used, 11);
	assert_int_equal(r.pids, 43);
	assert_int_equal(r.v[0].idle_s, 3600);
	assert_int_equal(r.v[0].left_s, 60);
	assert_null(r.v[2].point);
	assert_int_equal(r.v[2].left_s, -1);
	assert_null(r.v[3].point);
	assert_int_equal(r.v[3].idle_s, -1);
	top_rows_done(&r);
}

static void tables_and_json_tell_the_same(void **state)
{
	struct table t = TABLE_INIT(top_columns);
	struct buf b = BUF_INIT(4096);
	struct top_rows r;

	(void)state;
	assert_int_equal(top_rows_make(&list, &all, NOON_MS, TOP_CPU, &r), 0);
	top_rows_table(&r, &t);
	assert_int_equal(t.n_cells, 4 * ARRAY_LEN(top_columns));
	assert_string_equal(t.cells[3], "150.5");
	assert_string_equal(t.cells[4], "10M/512M");
	assert_string_equal(t.cells[6], "3");
	assert_string_equal(t.cells[7], "1h0m");
	assert_string_equal(t.cells[10 + 9], "who=me,n=1");
	assert_string_equal(t.cells[20 + 3], "-");
	assert_string_equal(t.cells[20 + 6], "-");
	top_rows_title(&r, &b);
	assert_string_equal(buf_cstr(&b), "3 running, 1 paused, cpu 151.0%, memory 30M, disk 11, pids 43");
	char *json = top_rows_json(&r);
	assert_non_null(strstr(json,
	    "{\"sandboxID\":\"ib\",\"template\":\"t\",\"state\":\"running\",\"metadata\":{},\"idleSeconds\":3600,"
	    "\"endsInSeconds\":60,\"cpuUsedPct\":150.5,\"memUsed\":10485760"));
	assert_non_null(strstr(json, "\"processCount\":3}"));
	assert_non_null(strstr(json, "\"cpuUsedPct\":null"));
	free(json);
	buf_done(&b);
	table_done(&t);
	top_rows_done(&r);
}

static void nothing_to_show(void **state)
{
	const struct atoll_list none = { .n = 0 };
	const struct atoll_points no_points = { .n = 0 };
	struct top_rows r;

	(void)state;
	assert_int_equal(top_rows_make(&none, &no_points, NOON_MS, TOP_CPU, &r), 0);
	char *json = top_rows_json(&r);
	assert_string_equal(json, "[]");
	free(json);
	top_rows_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_largest_comes_first),
		cmocka_unit_test(only_fresh_points_of_running_ones_count),
		cmocka_unit_test(tables_and_json_tell_the_same),
		cmocka_unit_test(nothing_to_show),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

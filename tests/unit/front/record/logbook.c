/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/logbook and store/logs: what of a log is there later, and for whom. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "front/link/links.h"
#include "front/record/logbook.h"
#include "front/record/records.h"
#include "loop/loop.h"
#include "store/db.h"
#include "store/logs.h"
#include "unit.h"

static char dir[] = "/tmp/atoll-logbook-XXXXXX", path[64];
static struct links links;
static struct records rs = { .link = &links };
static struct err e;

static int set_up(void **state)
{
	(void)state;
	links = (struct links) { .opt = { .logs_kept_s = 60, .logs_max_mb = 1 } };
	(void)snprintf(path, sizeof path, "%s/a.db", dir);
	(void)unlink(path);
	assert_int_equal(store_open(path, &links.store, &e), 0);
	links.loop = loop_new();
	rs.logbook = logbook_new(&rs);
	assert_non_null(rs.logbook);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	logbook_free(rs.logbook);
	loop_free(links.loop);
	store_close(links.store);
	return unlink(path);
}

static void restart(void)
{
	logbook_save(rs.logbook);
	logbook_free(rs.logbook);
	store_close(links.store);
	assert_int_equal(store_open(path, &links.store, &e), 0);
	rs.logbook = logbook_new(&rs);
}

static void add(struct log_tail *t, const char *message)
{
	struct journal_entry en = { .at_ms = 1, .level = LOG_LVL_INFO, .message = str_of(message) };

	logbook_add(t, &en);
}

/* The messages in a row, or "-". */
static const char *read_log(const char *id, const char *team)
{
	static char text[4096];
	struct journal j;
	struct journal_entry en;
	char room[JOURNAL_ENTRY_MAX];
	size_t pos = 0, n = 0;

	text[0] = '\0';
	if (logbook_read(rs.logbook, str_of(id), team, &j, &e) < 0)
		return "-";
	while (journal_next(&j, &pos, room, &en) && n < sizeof text - 300)
		n += (size_t)snprintf(text + n, sizeof text - n, "%.*s ", STR_ARG(en.message));
	journal_done(&j);
	return text;
}

static void entries_are_there_at_once_and_after_a_restart(void **state)
{
	struct log_tail *t = logbook_open(rs.logbook, "i1", "team", true);

	(void)state;
	assert_string_equal(read_log("i1", "team"), "-");
	add(t, "one");
	assert_string_equal(read_log("i1", "team"), "one ");
	assert_string_equal(read_log("i1", "other"), "-");
	add(t, "two");
	logbook_save(rs.logbook);
	logbook_drop(t);
	restart();
	assert_string_equal(read_log("i1", "team"), "one two ");
	t = logbook_open(rs.logbook, "i1", "team", false);
	add(t, "three");
	logbook_end(t, clock_wall_ms());
	assert_string_equal(read_log("i1", "team"), "one two three ");
	restart();
	assert_string_equal(read_log("i1", "team"), "one two three ");
}

static void ended_ones_are_kept_for_a_while(void **state)
{
	struct log_tail *old = logbook_open(rs.logbook, "i1", "team", true),
			*young = logbook_open(rs.logbook, "i2", "team", true);
	struct log_tail *live = logbook_open(rs.logbook, "i3", "team", true);
	uint64_t n;

	(void)state;
	add(old, "x");
	add(young, "x");
	add(live, "x");
	logbook_end(old, clock_wall_ms() - 61000);
	logbook_end(young, clock_wall_ms() - 50000);
	logbook_save(rs.logbook);
	assert_string_equal(read_log("i1", "team"), "-"); /* also before it is removed */
	assert_int_equal(logs_bytes(links.store, &n, &e), 0);
	uint64_t each = n / 3;

	assert_false(logbook_prune(rs.logbook, 0));
	assert_int_equal(logs_bytes(links.store, &n, &e), 0);
	assert_int_equal(n, 2 * each);
	assert_string_equal(read_log("i2", "team"), "x ");
	logbook_drop(live);
	logbook_end_lost(rs.logbook); /* no sandbox i3 lives */
	assert_string_equal(read_log("i3", "team"), "x ");
	assert_int_equal(logs_prune(links.store, clock_wall_ms() + 1, &n, &e), 2);
	assert_int_equal(n, 2 * each);
}

static void of_one_the_newest_are_kept(void **state)
{
	struct log_tail *t = logbook_open(rs.logbook, "i1", "team", true);
	char text[JOURNAL_TEXT_MAX + 1];
	uint64_t n, most = 0, least = UINT64_MAX;
	struct journal j;
	struct journal_entry en = { 0 };
	char room[JOURNAL_ENTRY_MAX];
	size_t pos = 0;

	(void)state;
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	for (int i = 0; i < 10000; i++) {
		(void)snprintf(text, 16, "%015d", i);
		text[15] = 'x';
		add(t, text);
		if (i % 40)
			continue;
		logbook_save(rs.logbook);
		assert_int_equal(logs_bytes(links.store, &n, &e), 0);
		most = n > most ? n : most;
		if (i > 5000 && n < least)
			least = n;
	}
	assert_in_range(most, LOGBOOK_EACH_MAX / 2, LOGBOOK_EACH_MAX);
	assert_true(least >= LOGBOOK_EACH_MAX / 2 - JOURNAL_MAX);
	assert_int_equal(logbook_read(rs.logbook, STR_LIT("i1"), "team", &j, &e), 0);
	while (journal_next(&j, &pos, room, &en))
		;
	assert_int_equal(strncmp(en.message.p, "000000000009999", 15), 0);
	journal_done(&j);
	logbook_drop(t);
}

static void of_all_the_oldest_ended_ones_go_first(void **state)
{
	char id[16], text[JOURNAL_TEXT_MAX + 1];
	uint64_t n;
	struct log_tail *live = logbook_open(rs.logbook, "ilive", "team", true);

	(void)state;
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	add(live, "first");
	for (int i = 0; i < 200; i++) {
		(void)snprintf(id, sizeof id, "i%d", i);
		struct log_tail *t = logbook_open(rs.logbook, id, "team", true);

		for (int k = 0; k < 40; k++)
			add(t, text);
		logbook_end(t, clock_wall_ms() - 50000 + (uint64_t)i);
		logbook_save(rs.logbook);
		assert_int_equal(logs_bytes(links.store, &n, &e), 0);
		assert_in_range(n, 1, 1 << 20);
	}
	assert_string_equal(read_log("i0", "team"), "-");
	assert_string_not_equal(read_log("i199", "team"), "-");
	assert_string_equal(read_log("ilive", "team"), "first ");
	logbook_drop(live);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	(void)state;
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(entries_are_there_at_once_and_after_a_restart),
		CASE(ended_ones_are_kept_for_a_while),
		CASE(of_one_the_newest_are_kept),
		CASE(of_all_the_oldest_ended_ones_go_first),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}

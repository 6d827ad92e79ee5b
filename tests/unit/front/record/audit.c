/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/trail: what is in the file after crashes and with a full disk, and what is left out. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/key.h"
#include "audit/verify.h"
#include "base/fd.h"
#include "front/link/links.h"
#include "front/record/audit_impl.h"
#include "front/record/records.h"
#include "loop/loop.h"
#include "store/audit.h"
#include "store/db.h"
#include "unit.h"

static uint32_t segment = 1;
static char dir[] = "/tmp/atoll-trail-XXXXXX", file[64];
static struct links links;
static struct records rs = { .link = &links };
static struct err e;

static void nothing(void *user)
{
	(void)user;
}

static int open_it(void)
{
	links = (struct links) { .opt = { .audit_segment_kb = 16384, .audit_max_mb = 100 } };
	links.loop = loop_new();
	assert_int_equal(audit_new(&rs, dir, &e), 0);
	rs.audit->timer = timer_new(links.loop, nothing, NULL);
	rs.audit->fd = open(file, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	rs.audit->segment = rs.audit->first = segment;
	return audit_adopt(rs.audit, &e);
}

static void close_it(void)
{
	audit_free(&rs);
	loop_free(links.loop);
}

/* As a SIGKILL leaves it: what the table does not have yet is in the file only. */
static void crash(void)
{
	buf_clear(&rs.audit->pending);
	close_it();
}

static void remove_files(void)
{
	static const char *const names[] = { "t.jsonl", "audit.db", "audit.db-wal", "audit.db-shm", "audit.db.damaged",
		"audit.db.damaged-wal", "audit.db.damaged-shm", AUDIT_KEY_FILE };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char path[96];

		(void)snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		(void)unlink(path);
	}
}

static int set_up(void **state)
{
	(void)state;
	remove_files();
	(void)snprintf(file, sizeof file, "%s/t.jsonl", dir);
	assert_int_equal(open_it(), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	close_it();
	remove_files();
	return 0;
}

/* All records of the file, which must be sound; `kinds` gets theirs with blanks between them. */
static uint64_t verified(char *kinds, size_t size)
{
	autoclose int fd = open(file, O_RDONLY | O_CLOEXEC);
	autobuf struct buf all = BUF_INIT(1 << 20);
	uint8_t key[AUDIT_KEY_SIZE];
	struct audit_verify v = { NULL };
	ssize_t n;

	assert_int_equal(audit_key_read(dir, false, key, &e), 0);
	v.seal = audit_seal_new(key);
	while ((n = read(fd, buf_room(&all, 65536), 65536)) > 0)
		all.n += (size_t)n;
	kinds[0] = '\0';
	for (struct str rest = buf_view(&all); rest.n > 0;) {
		struct str line = str_cut(&rest, '\n');
		struct audit_line l;

		if (audit_verify_line(&v, line, "t", v.records + 1, &e) < 0)
			fail_msg("%s", e.text);
		assert_int_equal(audit_read(line, &l), 0);
		(void)snprintf(kinds + strlen(kinds), size - strlen(kinds), "%.*s ", STR_ARG(l.rec.kind));
	}
	assert_int_equal(audit_verify_end(&v, true, &e), 0);
	audit_seal_free(v.seal);
	return v.records;
}

static int count_row(void *user, uint64_t seq, struct str line, const char *text)
{
	(void)seq;
	(void)line;
	(void)text;
	++*(int *)user;
	return 0;
}

static int rows(const struct audit_query *q)
{
	int n = 0;

	audit_save(&rs);
	assert_int_equal(audit_db_each(rs.audit->db, q, count_row, &n, &e), 0);
	return n;
}

static void a_record_is_in_the_file_at_once_and_in_the_table_after_a_crash(void **state)
{
	struct audit_who who = { .team = "t1", .sandbox = "ione", .key = "k1", .request = "r1", .session = "s1" };
	char kinds[256];

	(void)state;
	assert_int_equal(audit_add(&rs, "code.run", &who, json_pack("{s:i}", "n", 1)), 1);
	assert_int_equal(audit_add(&rs, "code.done", &who, NULL), 2);
	assert_int_equal(verified(kinds, sizeof kinds), 2);
	crash();
	assert_int_equal(open_it(), 0);
	assert_int_equal(rows(&(struct audit_query) { .max = 10 }), 2);
	assert_int_equal(rows(&(struct audit_query) { .sandbox = "ione", .max = 10 }), 2);
	assert_int_equal(rows(&(struct audit_query) { .team = "t2", .max = 10 }), 0);
	assert_int_equal(rows(&(struct audit_query) { .team = "t1",
			     .kind = "code.run",
			     .session = "s1",
			     .key = "k1",
			     .request = "r1",
			     .max = 10 }),
	    1);
	assert_int_equal(rows(&(struct audit_query) { .after = 1, .max = 10 }), 1);
	assert_int_equal(audit_add(&rs, "code.run", &who, NULL), 3);
	assert_int_equal(verified(kinds, sizeof kinds), 3);
}

static void half_a_line_is_cut_off_and_recorded(void **state)
{
	char kinds[256];

	(void)state;
	(void)audit_add(&rs, "code.run", NULL, NULL);
	crash();

	autoclose int fd = open(file, O_WRONLY | O_APPEND | O_CLOEXEC);

	assert_int_equal(fd_write_all(fd, "{\"seq\":2,\"time\":", 16), 0);
	assert_int_equal(open_it(), 0);
	(void)audit_add(&rs, "code.run", NULL, NULL);
	assert_int_equal(verified(kinds, sizeof kinds), 3);
	assert_string_equal(kinds, "code.run trail.repair code.run ");
}

static void a_file_that_lost_its_end_gets_it_back_from_the_table(void **state)
{
	char kinds[256];

	(void)state;
	(void)audit_add(&rs, "a.one", NULL, NULL);
	off_t one = (off_t)rs.audit->bytes;
	(void)audit_add(&rs, "a.two", NULL, NULL);
	(void)audit_add(&rs, "a.three", NULL, NULL);
	audit_save(&rs);
	close_it();
	assert_int_equal(truncate(file, one), 0);
	assert_int_equal(open_it(), 0);
	assert_int_equal(verified(kinds, sizeof kinds), 4);
	assert_string_equal(kinds, "a.one a.two a.three trail.restored ");
}

static void an_edited_last_record_is_not_mended(void **state)
{
	(void)state;
	(void)audit_add(&rs, "a.one", NULL, NULL);
	(void)audit_add(&rs, "a.two", NULL, NULL);
	close_it();

	autoclose int fd = open(file, O_RDWR | O_CLOEXEC);

	assert_int_equal(pwrite(fd, "9", 1, 30), 1);
	assert_int_equal(open_it(), 0);
	assert_int_equal(audit_add(&rs, "a.three", NULL, NULL), 4); /* behind trail.damage */
}

static void a_full_disk_is_counted_and_told_of_later(void **state)
{
	char kinds[256];
	int good = rs.audit->fd;

	(void)state;
	(void)audit_add(&rs, "a.one", NULL, NULL);
	rs.audit->fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	assert_int_equal(audit_add(&rs, "a.two", NULL, NULL), 0);
	assert_int_equal(audit_add(&rs, "a.three", NULL, NULL), 0);
	assert_false(audit_blocks(&rs));
	links.opt.audit = AUDIT_REQUIRED;
	assert_true(audit_blocks(&rs));
	fd_close(rs.audit->fd);
	rs.audit->fd = good;
	audit_tick(&rs);
	assert_false(audit_blocks(&rs));
	(void)audit_add(&rs, "a.four", NULL, NULL);
	assert_int_equal(verified(kinds, sizeof kinds), 3);
	assert_string_equal(kinds, "a.one trail.gap a.four ");
	assert_int_equal(rs.audit->failures, 2);
}

static off_t size_of(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_size;
}

/* The record of the gap would fit into what is left of the last page, and nothing else. */
static void a_rest_of_a_page_is_not_taken_for_room(void **state)
{
	char small[] = "/tmp/atoll-small-XXXXXX", path[64], filler[64], block[4096] = "", text[1001] = "";
	uint64_t bytes = rs.audit->bytes;
	int good = rs.audit->fd, fd;

	(void)state;
	assert_non_null(mkdtemp(small));
	if (sysconf(_SC_PAGESIZE) != 4096 || unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", small, "tmpfs", 0, "size=64k") < 0) {
		(void)rmdir(small);
		skip();
	}
	(void)snprintf(path, sizeof path, "%s/t.jsonl", small);
	(void)snprintf(filler, sizeof filler, "%s/filler", small);
	rs.audit->fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(rs.audit->fd, block, 3500), 3500);
	rs.audit->bytes = 3500;
	fd = open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	while (write(fd, block, sizeof block) > 0)
		;
	assert_int_equal(errno, ENOSPC);
	fd_close(fd);

	links.opt.audit = AUDIT_REQUIRED;
	memset(text, 'x', sizeof text - 1);
	assert_int_equal(audit_add(&rs, "a.long", NULL, json_pack("{s:s}", "text", text)), 0);
	for (int i = 0; i < 2; i++) {
		audit_tick(&rs);
		assert_true(audit_blocks(&rs));
		assert_int_equal(size_of(rs.audit->fd), 3500);
	}
	assert_int_equal(unlink(filler), 0);
	audit_tick(&rs);
	assert_false(audit_blocks(&rs));
	assert_true(size_of(rs.audit->fd) > 3500);

	fd_close(rs.audit->fd);
	rs.audit->fd = good;
	rs.audit->bytes = bytes;
	assert_int_equal(umount(small), 0);
	(void)rmdir(small);
}

static void a_flood_is_counted(void **state)
{
	char kinds[8192];

	(void)state;
	for (int i = 0; i < 1000; i++)
		audit_add_limited(&rs, AUDIT_AUTH, "auth.failure", NULL, json_pack("{s:i}", "n", i));
	assert_int_equal(verified(kinds, sizeof kinds), 60);
	rs.audit->classes[AUDIT_AUTH].since_ms -= 60000;
	audit_tick(&rs);
	assert_int_equal(verified(kinds, sizeof kinds), 61);
	audit_tick(&rs);
	assert_int_equal(verified(kinds, sizeof kinds), 61);
}

static void events_of_others_are_checked(void **state)
{
	static const char *const bad[] = { "", "[]", "{}", "{\"kind\":1}", "{\"kind\":\"\"}",
		"{\"kind\":\"agent.a b\"}", "{\"kind\":\"agent.x\",\"fields\":[]}",
		"{\"kind\":\"agent.x\",\"team\":7}" };
	char kinds[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(audit_event(&rs, str_of(bad[i]), &e), -EINVAL);
	assert_int_equal(audit_event(&rs,
			     STR_LIT("{\"kind\":\"agent.refused\",\"session\":\"s1\",\"team\":\"\\u00e9\",\"fields\":{"
				     "\"a\":\"\\u00e9\\n\"}}"),
			     &e),
	    0);
	assert_int_equal(audit_event(&rs, STR_LIT("{\"kind\":\"mcp.call\"}"), &e), 0);
	assert_int_equal(audit_event(&rs, STR_LIT("{\"kind\":\"code.run\",\"tool\":\"x\"}"), &e), 0);
	assert_int_equal(verified(kinds, sizeof kinds), 3);
	assert_string_equal(kinds, "agent.refused mcp.call agent.code.run ");
	assert_int_equal(rows(&(struct audit_query) { .session = "s1", .max = 5 }), 1);
}

static void texts_can_be_purged_and_the_chain_stays(void **state)
{
	struct audit_who who = { .team = "t1" };
	char kinds[256];
	int64_t n = 0;
	int r;

	(void)state;
	links.opt.audit_code = AUDIT_CODE_FULL;
	audit_text(&rs, audit_add(&rs, "code.run", &who, NULL), "t1", STR_LIT("print(1)"));
	while ((r = audit_purge(&rs, "t1", &n, &e)) == 1)
		;
	assert_int_equal(r, 0);
	assert_int_equal(n, 1);
	assert_int_equal(rows(&(struct audit_query) { .max = 5 }), 0);
	assert_int_equal(verified(kinds, sizeof kinds), 1);
}

static void a_later_file_that_was_emptied_gets_its_records_back(void **state)
{
	(void)state;
	(void)audit_add(&rs, "a.one", NULL, NULL);
	(void)audit_add(&rs, "trail.segment", NULL, json_pack("{s:i}", "segment", 2));
	(void)audit_add(&rs, "a.two", NULL, NULL);
	close_it();
	assert_int_equal(truncate(file, 0), 0);
	segment = 2;
	assert_int_equal(open_it(), 0);
	segment = 1;
	assert_true(rs.audit->bytes > 0);
	assert_int_equal(audit_add(&rs, "a.three", NULL, NULL), 5); /* behind trail.restored */
}

static void what_the_table_could_not_take_is_there_later(void **state)
{
	struct audit_point head;
	struct store *db = rs.audit->db, *other = NULL;

	(void)state;
	(void)audit_add(&rs, "a.one", NULL, NULL);
	audit_save(&rs);

	char path[96];

	(void)snprintf(path, sizeof path, "%s/audit.db", dir);
	assert_int_equal(store_open_read(path, &other, &e), 0);
	rs.audit->db = other; /* as if the disk were full */
	(void)audit_add(&rs, "a.two", NULL, NULL);
	audit_save(&rs);
	assert_true(rs.audit->unsaved);
	rs.audit->db = db;
	store_close(other);
	assert_int_equal(audit_db_head(db, &head, &e), 0);
	assert_int_equal(head.seq, 1);
	(void)audit_add(&rs, "a.three", NULL, NULL);
	assert_int_equal(rows(&(struct audit_query) { .max = 5 }), 3);
	assert_int_equal(audit_db_head(db, &head, &e), 0);
	assert_int_equal(head.seq, 3);
}

static void no_record_is_refused_for_its_fields(void **state)
{
	char kinds[256], *long_one = malloc(AUDIT_FIELDS_MAX + 8);

	(void)state;
	assert_int_equal(audit_add(&rs, "a.del", NULL,
			     json_pack("{s:s}", "x",
				 "a\x7f"
				 "b")),
	    1);
	memset(long_one, 'x', AUDIT_FIELDS_MAX + 8);
	assert_int_equal(audit_put(rs.audit, "a.bad", NULL, (struct str) { long_one, AUDIT_FIELDS_MAX + 8 }), 2);
	free(long_one);
	assert_int_equal(verified(kinds, sizeof kinds), 2);
	assert_string_equal(kinds, "a.del a.bad ");
}

static void a_table_that_is_no_database_is_put_aside(void **state)
{
	char path[96];

	(void)state;
	(void)audit_add(&rs, "a.one", NULL, NULL);
	close_it();
	(void)snprintf(path, sizeof path, "%s/audit.db", dir);

	autoclose int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_int_equal(fd_write_all(fd, "this is no database, however long one looks at it", 49), 0);
	assert_int_equal(open_it(), 0);
	assert_int_equal(rows(&(struct audit_query) { .max = 5 }), 1); /* from the file */
	(void)snprintf(path, sizeof path, "%s/audit.db.damaged", dir);
	assert_int_equal(access(path, F_OK), 0);
}

static int copy_text(void *user, uint64_t seq, struct str line, const char *text)
{
	(void)seq;
	(void)line;
	*(size_t *)user = text ? strlen(text) : 0;
	return 0;
}

static void a_search_looks_at_so_many_and_says_where_it_stopped(void **state)
{
	uint64_t looked = 7;
	struct audit_query q = { .kind = "b.rare", .max = 5, .look_max = 10, .ret_looked = &looked };

	(void)state;
	for (int i = 0; i < 15; i++)
		(void)audit_add(&rs, i == 12 ? "b.rare" : "a.common", NULL, NULL);
	assert_int_equal(rows(&q), 0);
	assert_int_equal(looked, 10);
	q.after = looked;
	assert_int_equal(rows(&q), 1);
	assert_int_equal(looked, 0);
	assert_int_equal(rows(&(struct audit_query) { .kind = "b.rare", .max = 5, .last = 1 }), 1);
	assert_int_equal(rows(&(struct audit_query) { .max = 3 }), 3);
	/* from the end the same, down to where it stopped */
	q = (struct audit_query) { .kind = "b.rare", .max = 5, .last = 5, .look_max = 2, .ret_looked = &looked };
	assert_int_equal(rows(&q), 0);
	assert_int_equal(looked, 14);
	q.before = looked;
	assert_int_equal(rows(&q), 1);
	assert_int_equal(looked, 12);
	q = (struct audit_query) { .max = 2, .last = 2, .before = 3, .ret_looked = &looked };
	assert_int_equal(rows(&q), 2);
	assert_int_equal(looked, 1); /* it cannot know that this is the first */
	q.before = looked;
	assert_int_equal(rows(&q), 0);
	assert_int_equal(looked, 0);
}

static void a_long_text_is_cut_off(void **state)
{
	size_t n = 400 * 1024, kept = 0;
	char *text = malloc(n);

	(void)state;
	memset(text, 'x', n);
	links.opt.audit_code = AUDIT_CODE_FULL;
	audit_text(&rs, audit_add(&rs, "code.run", NULL, NULL), "t1", (struct str) { text, n });
	free(text);
	audit_save(&rs);
	assert_int_equal(audit_db_each(rs.audit->db, &(struct audit_query) { .max = 5 }, copy_text, &kept, &e), 0);
	assert_true(kept > 256 * 1024 && kept < 257 * 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_record_is_in_the_file_at_once_and_in_the_table_after_a_crash, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(half_a_line_is_cut_off_and_recorded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_lost_its_end_gets_it_back_from_the_table, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(an_edited_last_record_is_not_mended, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_full_disk_is_counted_and_told_of_later, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_rest_of_a_page_is_not_taken_for_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_flood_is_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(events_of_others_are_checked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(texts_can_be_purged_and_the_chain_stays, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_later_file_that_was_emptied_gets_its_records_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_the_table_could_not_take_is_there_later, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_record_is_refused_for_its_fields, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_table_that_is_no_database_is_put_aside, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_long_text_is_cut_off, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_search_looks_at_so_many_and_says_where_it_stopped, set_up, tear_down),
	};

	if (!mkdtemp(dir))
		return 1;
	int r = cmocka_run_group_tests(tests, NULL, NULL);

	(void)rmdir(dir);
	return r;
}

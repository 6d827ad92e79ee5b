/* SPDX-License-Identifier: Apache-2.0 */
/* agent/session_log: what was told to a client is there after a crash, and what a crash cut short is no harm. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/session_log.h"
#include "unit.h"

static char dir[] = "/tmp/session_log_XXXXXX", path[64];
static struct atoll_session got[8];
static size_t n_got;

static void take(void *user, const struct atoll_session *s)
{
	(void)user;
	got[n_got++] = *s;
}

static void open_again(void)
{
	struct err e = ERR_INIT;

	n_got = 0;
	assert_int_equal(session_log_open(dir, take, NULL, &e), 0);
}

static struct atoll_session session(const char *id)
{
	struct atoll_session s = { .created_ms = 1, .last_used_ms = 2, .limits = { 512, 500, 1024 }, .recoveries = 1 };

	(void)snprintf(s.id, sizeof s.id, "%s", id);
	strcpy(s.sandbox_id, "i1");
	strcpy(s.agent_id, "agent \"x\"\n");
	strcpy(s.owner, "team");
	strcpy(s.holder, "key");
	strcpy(s.scope, "its name");
	s.disposable = true;
	strcpy(s.environment, "base");
	return s;
}

static void what_is_put_comes_back(void **state)
{
	struct atoll_session a = session("ses_a"), b = session("ses_b");

	(void)state;
	open_again();
	assert_int_equal(n_got, 0);
	session_log_put(&a);
	session_log_put(&b);
	b.last_used_ms = 9;
	session_log_put(&b);
	session_log_remove(&a);
	open_again();
	assert_int_equal(n_got, 1);
	assert_memory_equal(&got[0], &b, sizeof b);
}

/* A3: they were of a key once. */
static void a_record_of_a_key_is_its_teams(void **state)
{
	struct atoll_session s;
	bool gone;

	(void)state;
	assert_int_equal(session_log_parse(STR_LIT("{\"id\":\"ses_o\",\"sandbox\":\"i1\",\"agent\":\"tools\",\"user\":"
						   "\"\",\"environment\":\"base\",\"owner\":\"t1/k1\"}"),
			     &s, &gone),
	    0);
	assert_string_equal(s.owner, "t1");
	assert_string_equal(s.holder, "k1");
	assert_true(s.disposable);
}

static void variables_go_with_their_session(void **state)
{
	struct atoll_session c = session("ses_c");
	char file[128], *json;
	struct stat st;

	(void)state;
	(void)snprintf(file, sizeof file, "%s/envs.ses_c", dir);
	session_log_put(&c);
	assert_int_equal(session_log_put_envs("ses_c", "{\"A\":\"1\"}"), 0);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	open_again();
	json = session_log_envs("ses_c");
	assert_string_equal(json, "{\"A\":\"1\"}");
	free(json);
	session_log_remove(&c);
	assert_null(session_log_envs("ses_c"));
	assert_int_equal(stat(file, &st), -1);
	assert_int_equal(session_log_put_envs("ses_c", "{}"), 0); /* left behind by a crash */
	open_again();
	assert_int_equal(stat(file, &st), -1);
	assert_true(session_log_put_envs("../x", "{}") < 0);
}

static void a_line_that_was_cut_is_passed_over(void **state)
{
	int fd = open(path, O_WRONLY | O_APPEND);
	static const char junk[] = "{\"id\":\"ses_c\",\"sandbox\"\n[]\n{\"id\":5}\n{\"id\":\"ses_d\",\"sand";

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, junk, sizeof junk - 1), sizeof junk - 1);
	close(fd);
	open_again();
	assert_int_equal(n_got, 1);
	assert_string_equal(got[0].id, "ses_b");
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	(void)snprintf(path, sizeof path, "%s/sessions.log", dir);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_put_comes_back),
		cmocka_unit_test(variables_go_with_their_session), cmocka_unit_test(a_record_of_a_key_is_its_teams),
		cmocka_unit_test(a_line_that_was_cut_is_passed_over) };

	return cmocka_run_group_tests(tests, setup, teardown);
}

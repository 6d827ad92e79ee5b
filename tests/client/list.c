/* SPDX-License-Identifier: Apache-2.0 */
/* The test list of libatoll: what a program does with it, through atoll.h alone. It is run against a real server and
 * against the mock, and must not be able to tell them apart: E2B_API_KEY, E2B_API_URL, E2B_SANDBOX_URL, or
 * ATOLL_MOCK=1. */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atoll.h"
#include "unit.h"

static struct atoll *server;
static struct atoll_sandbox *sb;
static struct atoll_error e;

#define ok(call) check_ok((call), #call, __LINE__)

static int check_ok(int rc, const char *what, int line)
{
	if (rc < 0)
		fail_msg("line %d: %s: %d, %s", line, what, rc, e.text);
	return rc;
}

static struct atoll_execution *run(const char *code, const char *context)
{
	struct atoll_execution *x = NULL;

	ok(atoll_run_code(sb, &(struct atoll_code) { .code = code, .context_id = context }, NULL, &x, &e));
	return x;
}

/* --- code --- */

static void an_expression_has_a_result(void **state)
{
	struct atoll_execution *x = run("6 * 7", NULL);

	(void)state;
	assert_string_equal(x->text, "42");
	assert_int_equal(x->n_results, 1);
	assert_true(x->results[0]->is_main);
	assert_string_equal(x->results[0]->text, "42");
	assert_null(x->results[0]->png);
	assert_null(x->error);
	assert_int_equal(x->n_out, 0);
	assert_true(x->count > 0);
	atoll_execution_free(x);
}

static void variables_stay(void **state)
{
	(void)state;
	atoll_execution_free(run("x = 40", NULL));
	struct atoll_execution *x = run("x + 2", NULL);

	assert_string_equal(x->text, "42");
	atoll_execution_free(x);
}

static void output_is_kept_and_written_as_json(void **state)
{
	struct atoll_execution *x = run("print('one')\nprint('two')\n1 + 1", NULL);
	char *json = atoll_execution_json(x);

	(void)state;
	assert_string_equal(x->out, "one\ntwo\n");
	assert_int_equal(x->n_out, 8);
	assert_string_equal(x->text, "2");
	assert_non_null(strstr(json, "\"logs\":{\"stdout\":[\"one\\n"));
	assert_non_null(strstr(json, "\"error\":null"));
	free(json);
	atoll_execution_free(x);
}

static void an_error_is_a_result_not_a_failure(void **state)
{
	struct atoll_execution *x = run("1 / 0", NULL);

	(void)state;
	assert_non_null(x->error);
	assert_string_equal(x->error->name, "ZeroDivisionError");
	assert_string_equal(x->error->value, "division by zero");
	assert_non_null(strstr(x->error->traceback, "ZeroDivisionError"));
	assert_null(x->text);
	atoll_execution_free(x);
}

struct seen {
	char out[256];
	unsigned results, errors;
	int stop_after; /* pieces of output */
};

static int on_out(void *user, const char *text, size_t n)
{
	struct seen *s = user;
	size_t have = strlen(s->out);

	if (n < sizeof(s->out) - have)
		memcpy(s->out + have, text, n);
	return s->stop_after > 0 && --s->stop_after == 0;
}

static int on_result(void *user, const struct atoll_result *r)
{
	struct seen *s = user;

	assert_non_null(r->text);
	s->results++;
	return 0;
}

static int on_error(void *user, const struct atoll_code_error *err)
{
	struct seen *s = user;

	assert_string_equal(err->name, "NameError");
	s->errors++;
	return 0;
}

/* Correction 35: notebook.execCell. */
static void exec_cell_is_run_code(void **state)
{
	const struct atoll_code both[] = { { .code = "print('a')\n3" }, { .code = "nobody_knows_me" } };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct atoll_execution *x = NULL, *y = NULL;
		struct seen seen = { .results = 0 };
		const struct atoll_code_events on = { .on_stdout = on_out,
			.on_result = on_result,
			.on_error = on_error,
			.user = &seen };

		ok(atoll_run_code(sb, &both[i], NULL, &x, &e));
		ok(atoll_notebook_exec_cell(sb, &both[i], &on, &y, &e));
		assert_string_equal(seen.out, y->out);
		assert_string_equal(x->out, y->out);
		assert_int_equal(x->n_results, y->n_results);
		assert_string_equal(x->text ? x->text : "", y->text ? y->text : "");
		assert_string_equal(x->error ? x->error->name : "", y->error ? y->error->name : "");
		atoll_execution_free(x);
		atoll_execution_free(y);
	}
	assert_int_equal(atoll_notebook_exec_cell(NULL, &both[0], NULL, NULL, &e), -EINVAL);
}

static void callbacks_get_all_as_it_comes(void **state)
{
	struct seen seen = { .results = 0 };
	const struct atoll_code_events on = { .on_stdout = on_out,
		.on_result = on_result,
		.on_error = on_error,
		.user = &seen };

	(void)state;
	ok(atoll_run_code(sb, &(struct atoll_code) { .code = "print('a')\nprint('b')\n3" }, &on, NULL, &e));
	assert_string_equal(seen.out, "a\nb\n");
	assert_int_equal(seen.results, 1);
	ok(atoll_run_code(sb, &(struct atoll_code) { .code = "nobody_knows_me" }, &on, NULL, &e));
	assert_int_equal(seen.errors, 1);
}

static void a_callback_can_end_it(void **state)
{
	struct seen seen = { .stop_after = 1 };
	const struct atoll_code_events on = { .on_stdout = on_out, .user = &seen };

	(void)state;
	assert_int_equal(atoll_run_code(sb,
			     &(struct atoll_code) { .code = "print('a')\nimport time\ntime.sleep(30)\nprint('b')" },
			     &on, NULL, &e),
	    -ECANCELED);
	assert_string_equal(seen.out, "a\n");
	struct atoll_execution *x = run("2 + 3", NULL); /* and the context is free again */

	assert_string_equal(x->text, "5");
	atoll_execution_free(x);
}

static void code_has_a_time(void **state)
{
	(void)state;
	assert_int_equal(atoll_run_code(sb,
			     &(struct atoll_code) { .code = "import time\ntime.sleep(30)", .timeout_ms = 300 }, NULL,
			     NULL, &e),
	    -ETIMEDOUT);
	atoll_execution_free(run("1", NULL));
}

static void code_runs_beside_other_things(void **state)
{
	struct seen seen = { .results = 0 };
	const struct atoll_code_events on = { .on_stdout = on_out, .user = &seen };
	struct atoll_run *r = NULL, *second = NULL;
	struct atoll_contexts *c = NULL;
	int rc, turns = 0;

	(void)state;
	ok(atoll_context_create(sb, "python", NULL, &c, &e));
	const struct atoll_code other = { .code = "import time\ntime.sleep(30)", .context_id = c->v[0].id };
	ok(atoll_run_start(sb, &other, NULL, &second, &e));
	ok(atoll_run_start(sb, &(struct atoll_code) { .code = "print('begun')\n20 + 22" }, &on, &r, &e));
	assert_null(atoll_run_result(r));
	while ((rc = atoll_run_poll(r, NULL, 0, 1000, &e)) == 0) {
		assert_int_equal(atoll_run_poll(second, NULL, 0, 0, &e), 0);
		assert_in_range(turns++, 0, 1000);
	}
	assert_int_equal(ok(rc), 1);
	assert_string_equal(seen.out, "begun\n");
	assert_string_equal(atoll_run_result(r)->text, "42");
	assert_int_equal(atoll_run_poll(r, NULL, 0, 0, &e), 1); /* and stays so */
	atoll_run_free(r);
	atoll_run_free(second); /* interrupts it: the context is free again */
	atoll_execution_free(run("1", c->v[0].id));
	ok(atoll_context_remove(sb, c->v[0].id, &e));
	atoll_contexts_free(c);
	assert_int_equal(atoll_run_start(sb, &(struct atoll_code) { .code = "1", .context_id = "none" }, NULL, &r, &e),
	    0);
	while ((rc = atoll_run_poll(r, NULL, 0, 1000, &e)) == 0)
		;
	assert_int_equal(rc, -ENOENT);
	assert_null(atoll_run_result(r));
	atoll_run_free(r);
}

static void contexts_are_apart(void **state)
{
	struct atoll_contexts *c = NULL, *all = NULL;
	bool found = false;

	(void)state;
	ok(atoll_context_create(sb, "python", "/tmp", &c, &e));
	const char *id = c->v[0].id;
	assert_string_equal(c->v[0].language, "python");
	assert_string_equal(c->v[0].cwd, "/tmp");
	atoll_execution_free(run("y = 1", id));
	struct atoll_execution *x = run("y", NULL);
	assert_non_null(x->error);
	atoll_execution_free(x);
	ok(atoll_contexts_list(sb, &all, &e));
	for (size_t i = 0; i < all->n; i++)
		found = found || strcmp(all->v[i].id, id) == 0;
	assert_true(found);
	atoll_contexts_free(all);
	ok(atoll_context_restart(sb, id, &e));
	x = run("y", id);
	assert_string_equal(x->error->name, "NameError");
	atoll_execution_free(x);
	ok(atoll_context_remove(sb, id, &e));
	assert_int_equal(atoll_run_code(sb, &(struct atoll_code) { .code = "1", .context_id = id }, NULL, NULL, &e),
	    -ENOENT);
	assert_int_equal(atoll_context_remove(sb, id, &e), -ENOENT);
	atoll_contexts_free(c);
}

static void variables_of_one_run(void **state)
{
	const struct atoll_pair envs[] = { { "WHO", "me" } };
	struct atoll_execution *x = NULL;

	(void)state;
	ok(atoll_run_code(sb,
	    &(struct atoll_code) { .code = "import os\nprint(os.environ['WHO'])", .envs = envs, .n_envs = 1 }, NULL, &x,
	    &e));
	assert_string_equal(x->out, "me\n");
	atoll_execution_free(x);
}

/* --- files --- */

static void a_file_goes_in_and_comes_out(void **state)
{
	static const char content[] = "zero \0 and more";
	struct atoll_file f;
	char *got = NULL;
	size_t n = 0;

	(void)state;
	ok(atoll_file_put(sb, "/home/user/new/dir/a.bin", NULL, content, sizeof(content), &e));
	ok(atoll_file_get(sb, "/home/user/new/dir/a.bin", NULL, 0, &got, &n, &e));
	assert_int_equal(n, sizeof(content));
	assert_memory_equal(got, content, n);
	free(got);
	ok(atoll_file_stat(sb, "new/dir/a.bin", NULL, &f, &e));
	assert_int_equal(f.type, ATOLL_FILE);
	assert_int_equal(f.size, sizeof(content));
	assert_string_equal(f.path, "/home/user/new/dir/a.bin");
	assert_int_equal(atoll_file_get(sb, "/home/user/new/dir/a.bin", NULL, 4, &got, &n, &e), -EFBIG);
	assert_int_equal(atoll_file_get(sb, "/nowhere", NULL, 0, &got, &n, &e), -ENOENT);
	assert_int_equal(atoll_file_exists(sb, "/home/user/new", NULL, &e), 1);
	assert_int_equal(atoll_file_exists(sb, "/nowhere", NULL, &e), 0);
	ok(atoll_file_put(sb, "/home/user/empty", NULL, NULL, 0, &e));
	ok(atoll_file_get(sb, "/home/user/empty", NULL, 0, &got, &n, &e));
	assert_int_equal(n, 0);
	assert_string_equal(got, "");
	free(got);
}

static void directories_change(void **state)
{
	struct atoll_entries *l = NULL;

	(void)state;
	assert_int_equal(ok(atoll_dir_make(sb, "/home/user/d/sub", NULL, &e)), 1);
	assert_int_equal(ok(atoll_dir_make(sb, "/home/user/d/sub", NULL, &e)), 0);
	ok(atoll_file_put(sb, "/home/user/d/b", NULL, "12", 2, &e));
	ok(atoll_file_put(sb, "/home/user/d/sub/c", NULL, "3", 1, &e));
	ok(atoll_dir_list(sb, "/home/user/d", NULL, 0, &l, &e));
	assert_int_equal(l->n, 2);
	assert_string_equal(l->v[0].name, "b");
	assert_int_equal(l->v[0].type, ATOLL_FILE);
	assert_int_equal(l->v[0].size, 2);
	assert_string_equal(l->v[1].path, "/home/user/d/sub");
	assert_int_equal(l->v[1].type, ATOLL_DIRECTORY);
	atoll_entries_free(l);
	ok(atoll_dir_list(sb, "/home/user/d", NULL, 2, &l, &e));
	assert_int_equal(l->n, 3);
	atoll_entries_free(l);
	ok(atoll_file_rename(sb, "/home/user/d/b", "/home/user/d/z", NULL, &e));
	assert_int_equal(atoll_file_exists(sb, "/home/user/d/b", NULL, &e), 0);
	assert_int_equal(atoll_file_rename(sb, "/home/user/d/b", "/home/user/d/y", NULL, &e), -ENOENT);
	ok(atoll_file_remove(sb, "/home/user/d", NULL, &e));
	assert_int_equal(atoll_dir_list(sb, "/home/user/d", NULL, 0, &l, &e), -ENOENT);
	assert_int_equal(atoll_file_remove(sb, "", NULL, &e), -EINVAL);
}

struct changes {
	unsigned created;
	char name[64];
};

static int on_change(void *user, const struct atoll_file_event *ev)
{
	struct changes *c = user;

	if (ev->change == ATOLL_CREATED) {
		c->created++;
		(void)snprintf(c->name, sizeof(c->name), "%s", ev->name);
	}
	return c->created > 0;
}

static void make_a_file(void *user)
{
	(void)user;
	ok(atoll_file_put(sb, "/home/user/w/seen", NULL, "1", 1, NULL));
}

static void changes_are_told(void **state)
{
	struct changes c = { 0 };
	struct atoll_watcher *w = NULL;

	(void)state;
	ok(atoll_dir_make(sb, "/home/user/w", NULL, &e));
	const struct atoll_watch_spec spec = { .path = "/home/user/w", .timeout_ms = 20000, .on_ready = make_a_file };
	assert_int_equal(ok(atoll_watch(sb, &spec, on_change, &c, &e)), 1);
	assert_string_equal(c.name, "seen");

	ok(atoll_watcher_new(sb, &spec, &w, &e));
	ok(atoll_file_put(sb, "/home/user/w/polled", NULL, "1", 1, &e));
	c = (struct changes) { 0 };
	for (int i = 0; i < 100 && c.created == 0; i++) {
		ok(atoll_watcher_poll(w, on_change, &c, &e));
		(void)poll(NULL, 0, 20);
	}
	assert_string_equal(c.name, "polled");
	atoll_watcher_free(w);
	const struct atoll_watch_spec quiet = { .path = "/home/user/w", .timeout_ms = 200 };
	assert_int_equal(ok(atoll_watch(sb, &quiet, on_change, &c, &e)), 0);
	assert_int_equal(atoll_watch(sb, &(struct atoll_watch_spec) { .path = "/nowhere" }, on_change, &c, &e),
	    -ENOENT);
}

/* --- commands --- */

static void a_command_ends_with_its_status(void **state)
{
	struct atoll_output *o = NULL;

	(void)state;
	ok(atoll_command_run(sb, &(struct atoll_command) { .line = "echo out; echo err >&2; exit 7" }, NULL, NULL, &o,
	    &e));
	assert_int_equal(o->exit.code, 7);
	assert_true(o->exit.exited);
	assert_string_equal(o->out, "out\n");
	assert_string_equal(o->err, "err\n");
	assert_true(o->pid > 0);
	atoll_output_free(o);
	const char *const argv[] = { "echo", "a  b", "$HOME", NULL };
	ok(atoll_command_run(sb, &(struct atoll_command) { .argv = argv }, NULL, NULL, &o, &e));
	assert_string_equal(o->out, "a  b $HOME\n");
	assert_int_equal(o->exit.code, 0);
	atoll_output_free(o);
}

static int count_output(void *user, enum atoll_stream which, const void *p, size_t n)
{
	(void)which, (void)p;
	*(size_t *)user += n;
	return 0;
}

static int refuse_output(void *user, enum atoll_stream which, const void *p, size_t n)
{
	(void)user, (void)which, (void)p, (void)n;
	return 1;
}

static void a_sink_gets_the_output(void **state)
{
	size_t n = 0;

	(void)state;
	ok(atoll_command_run(sb, &(struct atoll_command) { .line = "echo 12345" }, count_output, &n, NULL, &e));
	assert_int_equal(n, 6);
	assert_int_equal(
	    atoll_command_run(sb, &(struct atoll_command) { .line = "echo 12345" }, refuse_output, NULL, NULL, &e),
	    -ECANCELED);
}

static void a_command_has_a_time_and_a_directory(void **state)
{
	const struct atoll_pair envs[] = { { "A", "b" } };
	struct atoll_output *o = NULL;

	(void)state;
	assert_int_equal(atoll_command_run(sb, &(struct atoll_command) { .line = "sleep 30", .timeout_ms = 300 }, NULL,
			     NULL, &o, &e),
	    -ETIMEDOUT);
	ok(atoll_command_run(sb,
	    &(struct atoll_command) { .line = "pwd; echo $A", .cwd = "/tmp", .envs = envs, .n_envs = 1 }, NULL, NULL,
	    &o, &e));
	assert_string_equal(o->out, "/tmp\nb\n");
	atoll_output_free(o);
}

static int wait_end(struct atoll_process *p)
{
	int rc;

	while ((rc = atoll_process_poll(p, NULL, 0, 10000, &e)) == 0)
		;
	return rc;
}

static void wait_start(struct atoll_process *p)
{
	while (atoll_process_pid(p) == 0)
		ok(atoll_process_poll(p, NULL, 0, 10000, &e));
}

static void a_process_reads_and_writes(void **state)
{
	struct atoll_process *p = NULL;
	size_t n = 0;

	(void)state;
	ok(atoll_process_start(sb, &(struct atoll_command) { .line = "cat", .with_stdin = true }, count_output, &n, &p,
	    &e));
	wait_start(p);
	while (!atoll_process_can_send(p))
		ok(atoll_process_poll(p, NULL, 0, 1000, &e));
	assert_int_equal(atoll_process_send(p, "hello", 5), 0);
	assert_int_equal(atoll_process_close_stdin(p), 0);
	assert_int_equal(ok(wait_end(p)), 1);
	assert_int_equal(atoll_process_exit(p)->code, 0);
	assert_int_equal(n, 5);
	atoll_process_free(p);
}

static void processes_are_listed_joined_and_killed(void **state)
{
	struct atoll_process *p = NULL, *second = NULL;
	struct atoll_processes *l = NULL;
	bool found = false;

	(void)state;
	ok(atoll_process_start(sb, &(struct atoll_command) { .line = "sleep 60", .tag = "sleeper" }, NULL, NULL, &p,
	    &e));
	wait_start(p);
	ok(atoll_processes_list(sb, &l, &e));
	for (size_t i = 0; i < l->n; i++) {
		if (l->v[i].pid != atoll_process_pid(p))
			continue;
		found = true;
		assert_string_equal(l->v[i].argv[3], "sleep 60");
		assert_null(l->v[i].argv[4]);
		assert_string_equal(l->v[i].tag, "sleeper");
	}
	assert_true(found);
	atoll_processes_free(l);
	ok(atoll_process_connect(sb, atoll_process_pid(p), false, NULL, NULL, &second, &e));
	wait_start(second);
	ok(atoll_process_kill(sb, atoll_process_pid(p), SIGKILL, &e));
	assert_int_equal(ok(wait_end(p)), 1);
	assert_int_equal(ok(wait_end(second)), 1);
	assert_int_equal(atoll_process_exit(second)->code, -1);
	assert_string_equal(atoll_process_exit(p)->status, "signal: killed");
	assert_int_equal(atoll_process_kill(sb, atoll_process_pid(p), SIGKILL, &e), -ENOENT);
	atoll_process_free(second);
	atoll_process_free(p);
}

/* --- sandboxes --- */

static void the_mock_says_what_it_is(void **state)
{
	const char *mock = getenv("ATOLL_MOCK");
	bool is_mock = mock && strcmp(mock, "1") == 0;

	(void)state;
	assert_int_equal(atoll_is_mock(server), is_mock);
	assert_int_equal(strncmp(atoll_sandbox_id(sb), "mock", 4) == 0, is_mock);
	struct atoll_execution *x = run("[n for n in range(3)]", NULL);
	if (is_mock)
		assert_string_equal(x->error->name, "MockError");
	else
		assert_string_equal(x->text, "[0, 1, 2]");
	atoll_execution_free(x);
}

static void it_is_paused_and_goes_on(void **state)
{
	struct atoll_sandbox *same = NULL;
	const char *id = atoll_sandbox_id(sb);

	(void)state;
	atoll_execution_free(run("kept = 'here'", NULL));
	ok(atoll_pause(server, id, &e));
	assert_int_equal(atoll_pause(server, id, &e), -EBUSY);
	assert_int_equal(ok(atoll_sandbox_running(sb, &e)), 0);
	ok(atoll_sandbox_open(server, id, &same, &e));
	assert_int_equal(ok(atoll_sandbox_running(sb, &e)), 1);
	struct atoll_execution *x = run("kept", NULL);

	assert_string_equal(x->text, "here");
	atoll_execution_free(x);
	atoll_sandbox_free(same);
}

static void it_has_metrics(void **state)
{
	struct atoll_points *p = NULL;

	(void)state;
	for (int i = 0; i < 100; i++) {
		ok(atoll_metrics(server, atoll_sandbox_id(sb), 0, 0, &p, &e));
		if (p->n > 0)
			break;
		atoll_points_free(p);
		p = NULL;
		(void)poll(NULL, 0, 200);
	}
	assert_non_null(p);
	assert_true(p->v[0].mem_total > 0);
	assert_true(p->v[0].at_s > 0);
	atoll_points_free(p);
}

static void it_is_listed_until_it_is_killed(void **state)
{
	struct atoll_list *l = NULL;
	struct atoll_sandbox *second = NULL, *same = NULL;
	const struct atoll_pair meta[] = { { "who", "list" } };
	bool found = false;

	(void)state;
	ok(atoll_sandbox_create(server,
	    &(struct atoll_spec) { .template_id = "base", .timeout_s = 60, .metadata = meta, .n_metadata = 1 }, &second,
	    &e));
	const char *id = atoll_sandbox_id(second);
	ok(atoll_list_sandboxes(server, &l, &e));
	for (size_t i = 0; i < l->n; i++) {
		if (strcmp(l->v[i].id, id) != 0)
			continue;
		found = true;
		assert_string_equal(l->v[i].state, "running");
		assert_string_equal(l->v[i].metadata[0].value, "list");
	}
	assert_true(found);
	atoll_list_free(l);
	ok(atoll_sandbox_open(server, id, &same, &e));
	assert_int_equal(ok(atoll_sandbox_running(same, &e)), 1);
	ok(atoll_set_timeout(server, id, 90, &e));
	ok(atoll_kill(server, id, &e));
	assert_int_equal(atoll_kill(server, id, &e), -ENOENT);
	assert_int_equal(ok(atoll_sandbox_running(same, &e)), 0);
	assert_int_equal(atoll_run_code(same, &(struct atoll_code) { .code = "1" }, NULL, NULL, &e), -ESRCH);
	assert_int_equal(atoll_command_run(same, &(struct atoll_command) { .line = "true" }, NULL, NULL, NULL, &e),
	    -ESRCH);
	atoll_sandbox_free(same);
	assert_int_equal(atoll_sandbox_open(server, id, &same, &e), -ENOENT);
	atoll_sandbox_free(second);
}

static void an_unknown_template_is_named(void **state)
{
	struct atoll_sandbox *none = NULL;

	(void)state;
	assert_int_equal(
	    atoll_sandbox_create(server, &(struct atoll_spec) { .template_id = "no-such-template" }, &none, &e),
	    -ENOENT);
	assert_non_null(strstr(e.text, "no-such-template"));
	assert_null(none);
}

static int begin(void **state)
{
	(void)state;
	if (atoll_new(NULL, &server, &e) == 0 &&
	    atoll_sandbox_create(server, &(struct atoll_spec) { .timeout_s = 300 }, &sb, &e) == 0)
		return 0;
	(void)fprintf(stderr, "%s\n", e.text);
	return -1;
}

static int end(void **state)
{
	(void)state;
	if (sb)
		(void)atoll_kill(server, atoll_sandbox_id(sb), NULL);
	atoll_sandbox_free(sb);
	atoll_free(server);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_expression_has_a_result),
		cmocka_unit_test(variables_stay),
		cmocka_unit_test(output_is_kept_and_written_as_json),
		cmocka_unit_test(an_error_is_a_result_not_a_failure),
		cmocka_unit_test(exec_cell_is_run_code),
		cmocka_unit_test(callbacks_get_all_as_it_comes),
		cmocka_unit_test(a_callback_can_end_it),
		cmocka_unit_test(code_has_a_time),
		cmocka_unit_test(code_runs_beside_other_things),
		cmocka_unit_test(contexts_are_apart),
		cmocka_unit_test(variables_of_one_run),
		cmocka_unit_test(a_file_goes_in_and_comes_out),
		cmocka_unit_test(directories_change),
		cmocka_unit_test(changes_are_told),
		cmocka_unit_test(a_command_ends_with_its_status),
		cmocka_unit_test(a_sink_gets_the_output),
		cmocka_unit_test(a_command_has_a_time_and_a_directory),
		cmocka_unit_test(a_process_reads_and_writes),
		cmocka_unit_test(processes_are_listed_joined_and_killed),
		cmocka_unit_test(it_is_listed_until_it_is_killed),
		cmocka_unit_test(an_unknown_template_is_named),
		cmocka_unit_test(the_mock_says_what_it_is),
		cmocka_unit_test(it_is_paused_and_goes_on),
		cmocka_unit_test(it_has_metrics),
	};

	return cmocka_run_group_tests_name("libatoll", tests, begin, end);
}

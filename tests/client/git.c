/* SPDX-License-Identifier: Apache-2.0 */
/* git in a sandbox through libatoll: a remote that wants a user name and a token, and where that token may not be.
 * Usage: sdk-git GIT_HTTP.PY TOKEN */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atoll.h"
#include "unit.h"

#define URL "http://127.0.0.1:8418/r.git"

static const char *script, *token;
static struct atoll *server;
static struct atoll_sandbox *sb;
static struct atoll_process *remote;
static struct atoll_error e;

#define ok(call) check_ok((call), #call, __LINE__)

static int check_ok(int rc, const char *what, int line)
{
	if (rc < 0)
		fail_msg("line %d: %s: %d, %s", line, what, rc, e.text);
	return rc;
}

static char *sh(const char *line)
{
	struct atoll_output *o = NULL;

	ok(atoll_command_run(sb, &(struct atoll_command) { .line = line }, NULL, NULL, &o, &e));
	if (o->exit.code != 0)
		fail_msg("%s: %s", line, o->err);
	char *out = strdup(o->out);

	atoll_output_free(o);
	return out;
}

static void do_sh(const char *line)
{
	free(sh(line));
}

static struct atoll_git repo(const char *dir, bool with_token)
{
	return (struct atoll_git) { .dir = dir,
		.username = with_token ? "agent" : NULL,
		.password = with_token ? token : NULL };
}

static void strangers_are_not_let_in(void **state)
{
	struct atoll_git g = repo("/workspace/no", false);

	(void)state;
	assert_int_equal(atoll_git_clone(sb, &g, URL, NULL, 0, &e), -EACCES);
	assert_non_null(strstr(e.text, "no user name"));
	g = (struct atoll_git) { .dir = "/workspace/no", .username = "agent", .password = "wrong-password" };
	assert_int_equal(atoll_git_clone(sb, &g, URL, NULL, 0, &e), -EACCES);
	assert_null(strstr(e.text, "wrong-password"));
	g.password = NULL;
	assert_int_equal(atoll_git_clone(sb, &g, URL, NULL, 0, &e), -EINVAL);
	assert_int_equal(atoll_git_clone(sb, &g, "--upload-pack=touch /tmp/evil", NULL, 0, &e), -EINVAL);
	assert_int_equal(atoll_git_clone(sb, &(struct atoll_git) { .size = 0 }, "/no/such/repository", NULL, 0, &e),
	    -EIO);
}

static void work_goes_round(void **state)
{
	struct atoll_git a = repo("/workspace/a", true), b = repo("/workspace/b", true);
	struct atoll_git_status *s = NULL;
	const struct atoll_git_commit commit = { .message = "first 'quoted'",
		.author_name = "A",
		.author_email = "a@example.org",
		.all = true };
	char *text = NULL;

	(void)state;
	ok(atoll_git_clone(sb, &a, URL, NULL, 0, &e));
	ok(atoll_file_put(sb, "/workspace/a/one two", NULL, "1\n", 2, &e));
	ok(atoll_git_status(sb, &a, &s, &e));
	assert_int_equal(s->n, 1);
	assert_string_equal(s->v[0].path, "one two");
	assert_int_equal(s->v[0].index, '?');
	atoll_git_status_free(s);
	ok(atoll_git_branch(sb, &a, "main", true, &e));
	ok(atoll_git_commit(sb, &a, &commit, &e));
	assert_int_equal(atoll_git_commit(sb, &a, &commit, &e), -EIO); /* nothing to commit */
	ok(atoll_git_push(sb, &a, "origin", "main", true, &e));
	ok(atoll_git_clone(sb, &b, URL, "main", 1, &e));
	ok(atoll_file_put(sb, "/workspace/b/one two", NULL, "1\n2\n", 4, &e));
	ok(atoll_git_diff(sb, &b, false, &text, &e));
	assert_non_null(strstr(text, "+2"));
	free(text);
	ok(atoll_git_commit(sb, &b, &commit, &e));
	ok(atoll_git_status(sb, &b, &s, &e));
	assert_string_equal(s->branch, "main");
	assert_string_equal(s->upstream, "origin/main");
	assert_int_equal(s->ahead, 1);
	assert_int_equal(s->n, 0);
	atoll_git_status_free(s);
	ok(atoll_git_push(sb, &b, NULL, NULL, false, &e));
	ok(atoll_git_pull(sb, &a, NULL, NULL, &e));
	text = sh("cat '/workspace/a/one two'");
	assert_string_equal(text, "1\n2\n");
	free(text);
	ok(atoll_git_branch(sb, &a, "topic", true, &e));
	ok(atoll_git_branches(sb, &a, &text, &e));
	assert_string_equal(text, "topic\nmain\n");
	free(text);
	assert_int_equal(atoll_git_branch(sb, &a, "nowhere", false, &e), -EIO);
	assert_int_equal(atoll_git_branch(sb, &a, "-f", false, &e), -EINVAL);
}

/* Every file, and what processes were started with while the above ran. */
static void the_token_is_nowhere(void **state)
{
	char line[300];

	(void)state;
	/* The command below has the token among its own arguments. */
	do_sh("touch /tmp/stop; until [ -e /tmp/stopped ]; do sleep 0.01; done");
	(void)snprintf(line, sizeof(line),
	    "! grep -rlF %.40s /workspace/a /workspace/b ~/.git* /tmp/argv 2>/dev/null | grep .", token);
	do_sh(line);
	do_sh("grep -q git /tmp/argv");
}

static int begin(void **state)
{
	char *text = NULL;
	char line[300];
	FILE *f = fopen(script, "r");
	static char content[65536];
	size_t n = f ? fread(content, 1, sizeof(content), f) : 0;

	(void)state;
	if (f)
		(void)fclose(f);
	if (n == 0 || atoll_new(NULL, &server, &e) < 0 ||
	    atoll_sandbox_create(server, &(struct atoll_spec) { .template_id = "base" }, &sb, &e) < 0)
		return -1;
	ok(atoll_file_put(sb, "/workspace/git_http.py", NULL, content, n, &e));
	do_sh("mkdir -p /workspace/remotes && cd /workspace/remotes && git init -q --bare -b main r.git && git -C "
	      "r.git config http.receivepack true");
	(void)snprintf(line, sizeof(line), "python3 /workspace/git_http.py 8418 /workspace/remotes agent \"$T\"");
	const struct atoll_pair envs[] = { { "T", token } };
	ok(atoll_process_start(sb, &(struct atoll_command) { .line = line, .envs = envs, .n_envs = 1 }, NULL, NULL,
	    &remote, &e));
	while (atoll_process_pid(remote) == 0)
		ok(atoll_process_poll(remote, NULL, 0, 1000, &e));
	do_sh("for i in $(seq 100); do curl -s -o /dev/null http://127.0.0.1:8418/ && exit 0; sleep 0.1; done; exit 1");
	/* What git and its children are started with, as any process of the sandbox could see. */
	do_sh(
	    "(until [ -e /tmp/stop ]; do for p in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $p; echo; done; sleep 0.01; "
	    "done 2>/dev/null | grep --line-buffered git | grep --line-buffered -v git_http >> /tmp/argv; "
	    "touch /tmp/stopped) > /dev/null 2>&1 & until [ -e /tmp/argv ]; do sleep 0.01; done");
	free(text);
	return 0;
}

static int end(void **state)
{
	(void)state;
	atoll_process_free(remote);
	if (sb)
		(void)atoll_kill(server, atoll_sandbox_id(sb), NULL);
	atoll_sandbox_free(sb);
	atoll_free(server);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strangers_are_not_let_in),
		cmocka_unit_test(work_goes_round),
		cmocka_unit_test(the_token_is_nowhere),
	};

	if (argc != 3) {
		(void)fprintf(stderr, "usage: sdk-git GIT_HTTP.PY TOKEN\n");
		return 2;
	}
	script = argv[1];
	token = argv[2];
	return cmocka_run_group_tests_name("git", tests, begin, end);
}

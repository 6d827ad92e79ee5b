/* SPDX-License-Identifier: Apache-2.0 */
/* client/agent/sessions: records, hooks, limits, expiry; code by session, in another sandbox when its own is gone. */
#include <errno.h>
#include <stdint.h>

#include "client/agent/sessions.h"
#include "client/atoll.h"
#include "fake.h"
#include "unit.h"

static struct fake server;
static struct atoll *a;
static int64_t now = 1700000000000;
static struct {
	int created, destroyed, changed;
	char why[16];
} webhooks;

static int64_t clock_of_test(void *user)
{
	(void)user;
	return now;
}

static void on_created(void *user, const struct atoll_session *s)
{
	(void)user;
	assert_true(*s->sandbox_id);
	webhooks.created++;
}

static void on_destroyed(void *user, const struct atoll_session *s, const char *why)
{
	(void)user, (void)s;
	webhooks.destroyed++;
	(void)snprintf(webhooks.why, sizeof webhooks.why, "%s", why);
}

static void on_changed(void *user, const struct atoll_session *s)
{
	(void)user, (void)s;
	webhooks.changed++;
}

static struct atoll_sessions *manager(struct atoll_cache *cache, struct atoll_breaker *breaker)
{
	static const struct atoll_retry quick = { sizeof quick, 3, 5000, 1 };
	const struct atoll_sessions_config cfg = {
		.on_created = on_created,
		.on_destroyed = on_destroyed,
		.on_changed = on_changed,
		.now_ms = clock_of_test,
		.cache = cache,
		.breaker = breaker,
		.retry = &quick,
	};
	struct atoll_sessions *m = NULL;
	struct atoll_error e;

	memset(&webhooks, 0, sizeof webhooks);
	assert_int_equal(atoll_sessions_new(&cfg, &m, &e), 0);
	return m;
}

static int setup(void **state)
{
	struct atoll_error e;

	(void)state;
	fake_start(&server);
	return atoll_new(&(struct atoll_config) { .api_url = server.url, .api_key = "e2b_00" }, &a, &e);
}

static int teardown(void **state)
{
	(void)state;
	atoll_free(a);
	fake_stop(&server);
	return 0;
}

static const struct atoll_session_spec agent = { .owner = "k1", .agent_id = "agent-1", .user_id = "u" };

static void record_has_eight_fields(void **state)
{
	struct atoll_sessions *m = manager(NULL, NULL);
	struct atoll_session s, again;
	struct atoll_error e;

	(void)state;
	assert_int_equal(atoll_session_create(m, a, &agent, &s, &e), 0);
	assert_non_null(strstr(server.last_body, "\"limits\":{\"memoryMB\":512,\"cpus\":0.5,\"diskMB\":1024}"));
	assert_non_null(strstr(server.last_body, "\"timeout\":3600"));
	assert_non_null(strstr(server.last_body, "\"templateID\":\"" ATOLL_TEMPLATE_DEFAULT "\""));
	char *json = atoll_session_json(&s), want[600];

	(void)snprintf(want, sizeof want,
	    "{\"sessionId\":\"%s\",\"sandboxId\":\"%s\",\"agentId\":\"agent-1\",\"userId\":\"u\",\"createdAt\":\"2023-"
	    "11-14T22:13:20.000Z\","
	    "\"lastUsed\":\"2023-11-14T22:13:20.000Z\",\"environment\":\"" ATOLL_TEMPLATE_DEFAULT
	    "\",\"resourceLimits\":{\"memory\":\"512MB\",\"cpu\":0.5,\"diskSpace\":\"1GB\"}}",
	    s.id, s.sandbox_id);
	assert_string_equal(json, want);
	free(json);
	assert_int_equal(atoll_session_get(m, "k1", s.id, &again, &e), 0);
	assert_string_equal(again.sandbox_id, s.sandbox_id);
	assert_int_equal(atoll_session_get(m, "k2", s.id, &again, &e), -ENOENT); /* another key */
	assert_int_equal(e.status, 404);
	assert_int_equal(atoll_session_destroy(m, a, "k2", s.id, &e), -ENOENT);
	assert_int_equal(atoll_session_destroy(m, a, "k1", s.id, &e), 0);
	assert_int_equal(atoll_session_destroy(m, a, "k1", s.id, &e), -ENOENT);
	assert_int_equal(webhooks.created, 1);
	assert_int_equal(webhooks.destroyed, 1);
	assert_string_equal(webhooks.why, "destroyed");
	atoll_sessions_free(m);
}

static void expire_and_tell(void **state)
{
	struct atoll_sessions *m = manager(NULL, NULL);
	struct atoll_session s;
	struct atoll_error e;
	int killed = server.killed;

	(void)state;
	assert_int_equal(atoll_session_create(m, a, &agent, &s, &e), 0);
	now += 3599999;
	assert_int_equal(atoll_sessions_expire(m, a, NULL), 0);
	now += 1;
	assert_int_equal(atoll_session_get(m, "k1", s.id, &s, &e), -ENOENT);
	assert_int_equal(atoll_sessions_expire(m, a, NULL), 1);
	assert_int_equal(server.killed, killed + 1);
	assert_string_equal(webhooks.why, "expired");
	atoll_sessions_free(m);
}

static void what_runs_does_not_expire(void **state)
{
	struct atoll_sessions *m = manager(NULL, NULL);
	struct atoll_session s;
	struct atoll_error e;

	(void)state;
	assert_int_equal(atoll_session_create(m, a, &agent, &s, &e), 0);
	sessions_run_begin(m, "k1", s.id);
	sessions_run_begin(m, "k1", s.id);
	now += 3600000;
	assert_int_equal(atoll_sessions_expire(m, a, NULL), 0);
	assert_int_equal(atoll_session_get(m, "k1", s.id, &s, &e), 0);
	sessions_run_end(m, "k1", s.id);
	now += 3600000;
	assert_int_equal(atoll_sessions_expire(m, a, NULL), 0);
	sessions_run_end(m, "k1", s.id);
	sessions_run_end(m, "k1", "none");
	now += 3599999;
	assert_int_equal(atoll_sessions_expire(m, a, NULL), 0);
	now += 1;
	assert_int_equal(atoll_sessions_expire(m, a, NULL), 1);
	atoll_sessions_free(m);
}

static void the_eleventh_is_refused(void **state)
{
	struct atoll_sessions *m = manager(NULL, NULL);
	struct atoll_session s, v[20];
	struct atoll_error e;

	(void)state;
	for (int i = 0; i < 10; i++)
		assert_int_equal(atoll_session_create(m, a, &agent, &s, &e), 0);
	int made = server.created;

	assert_int_equal(atoll_session_create(m, a, &agent, &s, &e), -EDQUOT);
	assert_int_equal(e.status, 429);
	assert_non_null(strstr(e.text, "limit reached"));
	assert_int_equal(server.created, made);
	/* of each key */
	assert_int_equal(
	    atoll_session_create(m, a, &(struct atoll_session_spec) { .owner = "k2", .agent_id = "x" }, &s, &e), 0);
	assert_int_equal(atoll_sessions_list(m, "k1", v, 20), 10);
	assert_int_equal(atoll_sessions_list(m, "k2", v, 20), 1);
	assert_int_equal(atoll_session_create(m, a, &(struct atoll_session_spec) { .owner = "k3" }, &s, &e), -EINVAL);
	assert_non_null(strstr(e.text, "agentId"));
	atoll_sessions_free(m);
}

/* A2: only what has a sandbox counts, and what nobody asked for by name makes room. */
static void idle_ones_make_room(void **state)
{
	const struct atoll_session_spec call = { .owner = "k1", .agent_id = "conn", .disposable = true };
	struct atoll_sessions *m = manager(NULL, NULL);
	struct atoll_session first, second, s;
	struct atoll_error e;
	struct atoll_sandbox *sb;
	bool anew;

	(void)state;
	assert_int_equal(atoll_session_create(m, a, &call, &first, &e), 0);
	now++;
	assert_int_equal(atoll_session_create(m, a,
			     &(struct atoll_session_spec) { .owner = "k1", .agent_id = "left", .disposable = true },
			     &second, &e),
	    0);
	for (int i = 0; i < 8; i++)
		assert_int_equal(atoll_session_create(m, a, &agent, &s, &e), 0);
	assert_int_equal(atoll_session_create(m, a, &agent, &s, &e), -EDQUOT); /* all were just used */
	sessions_leave(m, "k1", "left");
	assert_int_equal(atoll_session_create(m, a, &agent, &s, &e), 0);
	assert_string_equal(webhooks.why, "evicted");
	assert_int_equal(atoll_session_get(m, "k1", second.id, &s, &e), -ENOENT);
	assert_int_equal(atoll_session_create(m, a, &agent, &s, &e), -EDQUOT);
	now += 60000;
	assert_int_equal(atoll_session_create(m, a, &agent, &s, &e), 0); /* the idle one stays known, */
	assert_int_equal(atoll_session_get(m, "k1", first.id, &s, &e), 0);
	server.gone = atoi(first.sandbox_id + 1);
	/* and needs room again */
	assert_int_equal(atoll_session_open(m, a, "k1", first.id, first.sandbox_id, &sb, &anew, &e), -EDQUOT);
	/* no sandbox is left: none counts */
	server.list = "[]";
	assert_int_equal(atoll_session_open(m, a, "k1", first.id, first.sandbox_id, &sb, &anew, &e), 0);
	assert_true(anew);
	atoll_sandbox_free(sb);
	server.list = NULL;
	server.gone = 0;
	atoll_sessions_free(m);
}

/* A3: a session is its owner's; it counts for whoever used it last, and agents without a name are told apart by their
 * scope. */
static void holders_share_and_scopes_do_not(void **state)
{
	struct atoll_sessions *m = manager(NULL, NULL);
	struct atoll_session s, t;
	struct atoll_sandbox *sb;
	struct atoll_error e;

	(void)state;
	a->holder = strdup("old");
	for (int i = 0; i < 10; i++)
		assert_int_equal(atoll_session_create(m, a,
				     &(struct atoll_session_spec) { .owner = "t", .agent_id = "x", .scope = "ci" }, &s,
				     &e),
		    0);
	free(a->holder);
	a->holder = strdup("new");
	assert_int_equal(atoll_session_get_or_create(m, a,
			     &(struct atoll_session_spec) { .owner = "t", .agent_id = "x", .scope = "ci" }, &t, &e),
	    0);
	assert_int_equal(atoll_session_get_or_create(m, a,
			     &(struct atoll_session_spec) { .owner = "t", .agent_id = "x", .scope = "me" }, &t, &e),
	    1);
	for (int i = 0; i < 9; i++)
		assert_int_equal(
		    atoll_session_create(m, a, &(struct atoll_session_spec) { .owner = "t", .agent_id = "y" }, &t, &e),
		    0);
	assert_int_equal(
	    atoll_session_create(m, a, &(struct atoll_session_spec) { .owner = "t", .agent_id = "y" }, &t, &e),
	    -EDQUOT);
	assert_int_equal(atoll_session_open(m, a, "t", s.id, NULL, &sb, NULL, &e), 0);
	atoll_sandbox_free(sb);
	assert_int_equal(atoll_session_get(m, "t", s.id, &s, &e), 0);
	assert_string_equal(s.holder, "new");
	free(a->holder);
	a->holder = NULL;
	atoll_sessions_free(m);
}

static void one_per_agent(void **state)
{
	struct atoll_sessions *m = manager(NULL, NULL);
	struct atoll_session s, t;
	struct atoll_error e;

	(void)state;
	assert_int_equal(atoll_session_get_or_create(m, a, &agent, &s, &e), 1);
	assert_int_equal(atoll_session_get_or_create(m, a, &agent, &t, &e), 0);
	assert_string_equal(s.id, t.id);
	assert_int_equal(atoll_session_get_or_create(m, a,
			     &(struct atoll_session_spec) { .owner = "k2", .agent_id = "agent-1" }, &t, &e),
	    1);
	assert_string_not_equal(s.id, t.id);
	atoll_sessions_free(m);
}

static int run(struct atoll_sessions *m, const char *id, const char *code, struct atoll_session_result *r,
    struct atoll_error *e)
{
	return atoll_session_run(m, a, "k1", id, &(struct atoll_code) { .code = code }, NULL, r, e);
}

static void goes_on_in_another_sandbox(void **state)
{
	struct atoll_sessions *m = manager(NULL, NULL);
	struct atoll_session s, t;
	struct atoll_session_result r;
	struct atoll_error e;

	(void)state;
	assert_int_equal(atoll_session_create(m, a, &agent, &s, &e), 0);
	assert_int_equal(run(m, s.id, "x", &r, &e), 0);
	assert_false(r.recovered);
	assert_non_null(strstr(r.json, "\"a\\n\""));
	atoll_session_result_done(&r);
	server.gone = atoi(s.sandbox_id + 1);
	strcpy(server.snapshot, "snap1");
	assert_int_equal(run(m, s.id, "x", &r, &e), 0);
	assert_true(r.recovered && r.from_snapshot);
	assert_non_null(strstr(server.last_body, "\"templateID\":\"snap1\""));
	atoll_session_result_done(&r);
	assert_int_equal(atoll_session_get(m, "k1", s.id, &t, &e), 0);
	assert_string_not_equal(t.sandbox_id, s.sandbox_id);
	assert_int_equal(t.recoveries, 1);
	assert_int_equal(webhooks.changed, 1);
	assert_int_equal(run(m, s.id, "x", &r, &e), 0);
	assert_false(r.recovered);
	atoll_session_result_done(&r);
	server.gone = 0;
	server.snapshot[0] = '\0';
	assert_int_equal(atoll_session_run(m, a, "k2", s.id, &(struct atoll_code) { .code = "x" }, NULL, &r, &e),
	    -ENOENT);
	atoll_sessions_free(m);
}

/* The second time by a manager that has only the records. */
static void its_variables_go_with_it(void **state)
{
	static const struct atoll_pair envs[] = { { "TOKEN", "s3 \"cret\"" }, { "COLOUR", "bl\xc3\xa4u" } },
				       bad[] = { { "X", "\xff" } };
	static const char want[] = "\"envVars\":{\"TOKEN\":\"s3 \\\"cret\\\"\",\"COLOUR\":\"bl";
	struct atoll_sessions *m = manager(NULL, NULL), *next;
	struct atoll_session_spec with = agent;
	struct atoll_session s;
	struct atoll_session_result r;
	struct atoll_error e;

	(void)state;
	with.envs = envs;
	with.n_envs = 2;
	assert_int_equal(atoll_session_create(m, a, &with, &s, &e), 0);
	assert_non_null(strstr(server.last_body, want));
	server.last_body[0] = '\0';
	server.gone = atoi(s.sandbox_id + 1);
	assert_int_equal(run(m, s.id, "x", &r, &e), 0);
	assert_true(r.recovered);
	atoll_session_result_done(&r);
	assert_non_null(strstr(server.last_body, want));
	assert_null(atoll_session_envs(m, "k2", s.id));
	char *kept = atoll_session_envs(m, "k1", s.id);

	assert_non_null(kept);
	assert_int_equal(atoll_session_get(m, "k1", s.id, &s, &e), 0);
	atoll_sessions_free(m);
	next = manager(NULL, NULL);
	assert_int_equal(atoll_sessions_adopt(next, &s, &e), 0);
	assert_int_equal(atoll_session_set_envs(next, "k2", s.id, kept, &e), -ENOENT);
	assert_int_equal(atoll_session_set_envs(next, "k1", s.id, "{\"A\":1}", &e), -EINVAL);
	assert_int_equal(atoll_session_set_envs(next, "k1", s.id, kept, &e), 0);
	free(kept);
	server.last_body[0] = '\0';
	server.gone = atoi(s.sandbox_id + 1);
	assert_int_equal(run(next, s.id, "x", &r, &e), 0);
	assert_true(r.recovered);
	atoll_session_result_done(&r);
	assert_non_null(strstr(server.last_body, want));
	server.gone = 0;
	with.envs = bad;
	with.n_envs = 1;
	assert_int_equal(atoll_session_create(next, a, &with, &s, &e), -EINVAL);
	atoll_sessions_free(next);
}

static void what_runs_long_keeps_its_sandbox(void **state)
{
	struct atoll_sessions *m = manager(NULL, NULL);
	struct atoll_session s;
	struct atoll_session_result r;
	struct atoll_error e;

	(void)state;
	assert_int_equal(atoll_session_create(m, a, &agent, &s, &e), 0);
	server.longest_s = 0;
	assert_int_equal(run(m, s.id, "x", &r, &e), 0);
	atoll_session_result_done(&r);
	assert_int_equal(server.longest_s, 0); /* it has an hour already */
	for (int i = 0; i < 2; i++) {          /* the second time it has them already */
		assert_int_equal(atoll_session_run(m, a, "k1", s.id,
				     &(struct atoll_code) { .code = "x", .timeout_ms = 7200000 }, NULL, &r, &e),
		    0);
		atoll_session_result_done(&r);
		assert_int_equal(server.longest_s, i ? 0 : 7260);
		server.longest_s = 0;
	}
	now += 3600000 - 1;
	assert_int_equal(run(m, s.id, "x", &r, &e), 0);
	atoll_session_result_done(&r);
	assert_int_equal(server.longest_s, 3600);
	server.longest_s = 0;
	assert_int_equal(atoll_session_run(m, a, "k1", s.id,
			     &(struct atoll_code) { .code = "x", .timeout_ms = ATOLL_NO_TIMEOUT - 1 }, NULL, &r, &e),
	    0);
	atoll_session_result_done(&r);
	assert_int_equal(server.longest_s, 86460); /* a day is the most that anything takes */
	server.longest_s = 0;
	server.gone = atoi(s.sandbox_id + 1); /* in a new one as well */
	assert_int_equal(atoll_session_run(m, a, "k1", s.id,
			     &(struct atoll_code) { .code = "x", .timeout_ms = 7200000 }, NULL, &r, &e),
	    0);
	assert_true(r.recovered);
	atoll_session_result_done(&r);
	assert_int_equal(server.longest_s, 7260);
	server.gone = 0;
	atoll_sessions_free(m);
}

static void one_that_is_paused_is_woken(void **state)
{
	struct atoll_sessions *m = manager(NULL, NULL);
	struct atoll_session s, t;
	struct atoll_session_result r;
	struct atoll_error e;

	(void)state;
	assert_int_equal(atoll_session_create(m, a, &agent, &s, &e), 0);
	int made = server.created;

	server.longest_s = 0;
	server.paused = atoi(s.sandbox_id + 1);
	assert_int_equal(run(m, s.id, "x", &r, &e), 0);
	assert_false(r.recovered);
	atoll_session_result_done(&r);
	assert_int_equal(server.created, made);
	assert_int_equal(server.longest_s, 3600);
	assert_int_equal(atoll_session_get(m, "k1", s.id, &t, &e), 0);
	assert_string_equal(t.sandbox_id, s.sandbox_id);
	assert_int_equal(t.recoveries, 0);
	atoll_sessions_free(m);
}

static void adopted_ones_are_looked_for(void **state)
{
	struct atoll_sessions *m = manager(NULL, NULL), *next;
	struct atoll_session s, t;
	struct atoll_session_result r;
	struct atoll_error e;

	(void)state;
	assert_int_equal(atoll_session_create(m, a, &agent, &s, &e), 0);
	atoll_sessions_free(m);
	next = manager(NULL, NULL);
	assert_int_equal(atoll_sessions_adopt(next, &s, &e), 0);
	assert_int_equal(atoll_sessions_adopt(next, &s, &e), -EEXIST);
	assert_int_equal(run(next, s.id, "x", &r, &e), 0);
	assert_false(r.recovered);
	atoll_session_result_done(&r);
	atoll_sessions_free(next);
	next = manager(NULL, NULL);
	assert_int_equal(atoll_sessions_adopt(next, &s, &e), 0);
	server.gone = atoi(s.sandbox_id + 1);
	assert_int_equal(run(next, s.id, "x", &r, &e), 0);
	assert_true(r.recovered);
	assert_false(r.from_snapshot);
	atoll_session_result_done(&r);
	assert_int_equal(atoll_session_get(next, "k1", s.id, &t, &e), 0);
	assert_string_not_equal(t.sandbox_id, s.sandbox_id);
	server.gone = 0;
	atoll_sessions_free(next);
}

static void only_the_way_is_tried_again(void **state)
{
	struct atoll_sessions *m = manager(NULL, NULL);
	struct atoll_session s;
	struct atoll_session_result r;
	struct atoll_error e;

	(void)state;
	assert_int_equal(atoll_session_create(m, a, &agent, &s, &e), 0);
	int before = server.executed;

	/* Each lost answer is asked about once more, by the look at the sandbox. */
	server.drop = 1;
	assert_int_equal(run(m, s.id, "x", &r, &e), 0);
	assert_true(r.tries >= 2);
	assert_int_equal(server.executed, before + 1);
	atoll_session_result_done(&r);
	before = server.executed;
	server.drop_after_event = 1;
	assert_true(run(m, s.id, "x", &r, &e) < 0);
	assert_int_equal(server.executed, before + 1);
	atoll_sessions_free(m);
}

static int see(void *user, const char *text, size_t n)
{
	size_t at = strlen(user);

	memcpy((char *)user + at, text, n);
	((char *)user)[at + n] = '\0';
	return 0;
}

static int see_result(void *user, const struct atoll_result *r)
{
	assert_int_equal(r->n_extra, 1);
	assert_string_equal(r->png, "s3cr3t-of-the-box"); /* a picture is no text */
	return see(user, r->text, strlen(r->text)) | see(user, r->extra[0].value, strlen(r->extra[0].value));
}

static int see_error(void *user, const struct atoll_code_error *err)
{
	return see(user, err->value, strlen(err->value)) | see(user, err->traceback, strlen(err->traceback));
}

/* What is shown while the code runs has no more than what is shown at its end. */
static void callbacks_see_no_secrets(void **state)
{
	static const struct atoll_retry quick = { sizeof quick, 3, 5000, 1 };
	char seen[1024] = "";
	const struct atoll_code_events on = { .on_stdout = see,
		.on_stderr = see,
		.on_result = see_result,
		.on_error = see_error,
		.user = seen };
	struct atoll_sessions *m = NULL;
	struct atoll_session s;
	struct atoll_session_result r;
	struct atoll_error e;

	(void)state;
	assert_int_equal(
	    atoll_sessions_new(&(struct atoll_sessions_config) { .retry = &quick, .redact = true }, &m, &e), 0);
	assert_int_equal(atoll_session_create(m, a, &agent, &s, &e), 0);
	server.envs = "{\"MY_TOKEN\":\"s3cr3t-of-the-box\",\"COLOUR\":\"blue-and-green\"}";
	server.says = "{\"type\":\"stdout\",\"text\":\"it is s3cr3t-\"}\n{\"type\":\"stdout\",\"text\":\"of-the-box, "
		      "blue-and-green\"}\n{\"type\":\"stderr\",\"text\":\"ghp_01234567890123456789\"}\n"
		      "{\"type\":\"result\",\"text\":\"<s3cr3t-of-the-box>\",\"png\":\"s3cr3t-of-the-box\",\"extra\":{"
		      "\"application/x-mine\":\"s3cr3t-of-the-box!\"},\"is_main_result\":true}\n"
		      "{\"type\":\"error\",\"name\":\"E\",\"value\":\"s3cr3t-of-the-box\",\"traceback\":\"at "
		      "s3cr3t-of-the-box\"}\n{\"type\":\"end_of_execution\"}\n";
	assert_int_equal(atoll_session_run(m, a, "k1", s.id, &(struct atoll_code) { .code = "x" }, &on, &r, &e), 0);
	server.envs = server.says = NULL;
	assert_string_equal(seen,
	    "it is [redacted], blue-and-green[redacted]<[redacted]>[redacted]![redacted]at [redacted]");
	assert_non_null(strstr(r.json, "it is [redacted]"));
	assert_null(strstr(r.json, "ghp_"));
	atoll_session_result_done(&r);
	atoll_sessions_free(m);
}

static void results_are_kept_for_one_session(void **state)
{
	struct atoll_cache *c = NULL;
	struct atoll_cache_stats st;
	struct atoll_session_spec with = agent;
	struct atoll_session s, t;
	struct atoll_session_result r;
	struct atoll_error e;

	(void)state;
	assert_int_equal(atoll_cache_new(0, &c, &e), 0);
	struct atoll_sessions *m = manager(c, NULL);

	with.cache = true;
	assert_int_equal(atoll_session_create(m, a, &with, &s, &e), 0);
	assert_int_equal(atoll_session_create(m, a, &with, &t, &e), 0);
	int before = server.executed;

	assert_int_equal(run(m, s.id, "1 + 1", &r, &e), 0);
	assert_false(r.cached);
	atoll_session_result_done(&r);
	assert_int_equal(run(m, s.id, "1 + 1", &r, &e), 0);
	assert_true(r.cached);
	atoll_session_result_done(&r);
	assert_int_equal(server.executed, before + 1);
	assert_int_equal(run(m, t.id, "1 + 1", &r, &e), 0); /* never across sessions */
	assert_false(r.cached);
	atoll_session_result_done(&r);
	assert_int_equal(atoll_session_run(m, a, "k1", s.id,
			     &(struct atoll_code) { .code = "1 + 1", .language = "javascript" }, NULL, &r, &e),
	    0);
	assert_false(r.cached);
	atoll_session_result_done(&r);
	assert_int_equal(run(m, s.id, "x = 1", &r, &e), 0); /* a write: off */
	atoll_session_result_done(&r);
	assert_int_equal(run(m, s.id, "1 + 1", &r, &e), 0);
	assert_false(r.cached);
	atoll_session_result_done(&r);
	atoll_cache_stats(c, &st);
	assert_int_equal(st.hits, 1);
	atoll_sessions_free(m);
	atoll_cache_free(c);
}

static void an_open_breaker_asks_nobody(void **state)
{
	struct atoll_breaker *b = NULL;
	struct atoll_session s;
	struct atoll_session_result r;
	struct atoll_error e;

	(void)state;
	assert_int_equal(
	    atoll_breaker_new(
		&(struct atoll_breaker_config) { .failures = 2, .open_ms = 1000, .now_ms = clock_of_test }, &b, &e),
	    0);
	struct atoll_sessions *m = manager(NULL, b);

	assert_int_equal(atoll_session_create(m, a, &agent, &s, &e), 0);
	server.drop = 100;
	assert_int_equal(run(m, s.id, "x", &r, &e), -EHOSTDOWN);
	int asked = server.requests;

	assert_int_equal(run(m, s.id, "x", &r, &e), -EHOSTDOWN);
	assert_int_equal(server.requests, asked);
	assert_string_equal(atoll_breaker_state(b), "open");
	server.drop = 0;
	now += 1000;
	assert_int_equal(run(m, s.id, "x", &r, &e), 0);
	assert_string_equal(atoll_breaker_state(b), "closed");
	atoll_session_result_done(&r);
	atoll_sessions_free(m);
	atoll_breaker_free(b);
}

static void what_waits_was_never_used(void **state)
{
	struct atoll_warm *w = NULL;
	struct atoll_warm_stats st;
	struct atoll_sandbox *x = NULL, *y = NULL;
	struct atoll_error e;
	int killed = server.killed;

	(void)state;
	assert_int_equal(atoll_warm_new(a, &(struct atoll_spec) { .template_id = "base" }, 2, &w, &e), 0);
	assert_int_equal(atoll_warm_fill(w, &e), 2);
	assert_int_equal(atoll_warm_take(w, &x, &e), 0);
	char first[64];

	(void)snprintf(first, sizeof first, "%s", atoll_sandbox_id(x));
	assert_int_equal(atoll_warm_give(w, x, &e), 0);
	assert_int_equal(server.killed, killed + 1);
	assert_int_equal(atoll_warm_take(w, &y, &e), 0);
	assert_string_not_equal(first, atoll_sandbox_id(y));
	assert_int_equal(atoll_warm_give(w, y, &e), 0);
	assert_int_equal(atoll_warm_take(w, &y, &e), 0);
	atoll_warm_stats(w, &st);
	assert_int_equal(st.hits, 2);
	assert_int_equal(st.misses, 1);
	assert_int_equal(atoll_warm_give(w, y, &e), 0);
	assert_int_equal(atoll_warm_fill(w, &e), 2);
	atoll_warm_free(w);
	assert_int_equal(server.killed, killed + 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(record_has_eight_fields),
		cmocka_unit_test(expire_and_tell),
		cmocka_unit_test(what_runs_does_not_expire),
		cmocka_unit_test(the_eleventh_is_refused),
		cmocka_unit_test(idle_ones_make_room),
		cmocka_unit_test(holders_share_and_scopes_do_not),
		cmocka_unit_test(one_per_agent),
		cmocka_unit_test(goes_on_in_another_sandbox),
		cmocka_unit_test(its_variables_go_with_it),
		cmocka_unit_test(what_runs_long_keeps_its_sandbox),
		cmocka_unit_test(one_that_is_paused_is_woken),
		cmocka_unit_test(adopted_ones_are_looked_for),
		cmocka_unit_test(only_the_way_is_tried_again),
		cmocka_unit_test(callbacks_see_no_secrets),
		cmocka_unit_test(results_are_kept_for_one_session),
		cmocka_unit_test(an_open_breaker_asks_nobody),
		cmocka_unit_test(what_waits_was_never_used),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

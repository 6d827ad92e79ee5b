/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/record/witness, notebook and events: what is recorded of a sandbox that is known by its facts only. */
#include "front/record/witness.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/key.h"
#include "base/fd.h"
#include "front/account/accounts.h"
#include "front/account/metrics.h"
#include "front/link/links.h"
#include "front/record/audit_impl.h"
#include "front/record/events.h"
#include "front/record/notebook.h"
#include "front/record/records.h"
#include "front/record/veil.h"
#include "front/util/envd.h"
#include "front/util/vault.h"
#include "http/json.h"
#include "http/server.h"
#include "ipc/msg.h"
#include "loop/loop.h"
#include "store/audit.h"
#include "store/db.h"
#include "store/events.h"
#include "store/notebooks.h"
#include "unit.h"

#define SECRET "open-sesame"
#define BODY "{\"code\":\"login('" SECRET "')\",\"language\":\"python\"}"
#define ENDED "{\"type\":\"end_of_execution\"}\n"

static char dir[] = "/tmp/atoll-unit-witness-XXXXXX";
static struct metrics *metrics;
static struct links links;
static struct accounts accounts;
static struct records rs = { .link = &links, .account = &accounts };
static struct msg_limits limits = { .mem_bytes = 512u << 20, .cpu_permille = 1000 };
static json_t *env_vars;
static struct veiled *secrets;
static struct sandbox_facts sb;
static struct err e;

static const char *in_dir(const char *name)
{
	static char path[96];

	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

static void nothing(void *user)
{
	(void)user;
}

static void open_trail(void)
{
	assert_int_equal(audit_new(&rs, dir, &e), 0);
	rs.audit->timer = timer_new(links.loop, nothing, NULL);
	rs.audit->fd = open(in_dir("t.jsonl"), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	rs.audit->segment = rs.audit->first = 1;
	assert_int_equal(audit_adopt(rs.audit, &e), 0);
}

static int set_up(void **state)
{
	(void)state;
	links = (struct links) { .opt = { .audit_segment_kb = 16384, .audit_max_mb = 100, .notebook_mb = 1 } };
	links.loop = loop_new();
	accounts.metrics = metrics = metrics_new();
	assert_int_equal(store_open(in_dir("atoll.db"), &links.store, &e), 0);
	assert_int_equal(vault_open(dir, &links.vault, &e), 0);
	assert_int_equal(notebooks_new(&rs, dir, &e), 0);
	open_trail();
	secrets = veiled_new();
	env_vars = json_pack("{s:s}", "LOGIN_TOKEN", SECRET);
	sb = (struct sandbox_facts) { .id = "ione",
		.team = "team1",
		.key = "key1",
		.request = "",
		.template_id = "base",
		.template_name = "base",
		.limits = &limits,
		.env_vars = env_vars,
		.started_us = 5000000 };
	return 0;
}

static int tear_down(void **state)
{
	static const char *const names[] = { "atoll.db", "atoll.db-wal", "atoll.db-shm", "secrets.key", "notebooks.db",
		"notebooks.db-wal", "notebooks.db-shm", "t.jsonl", "audit.db", "audit.db-wal", "audit.db-shm",
		AUDIT_KEY_FILE };

	(void)state;
	assert_int_equal(rs.witnessed, 0); /* no witness is left */
	veiled_unref(take_ptr(&secrets));
	json_decref(take_ptr(&env_vars));
	notebooks_free(&rs);
	audit_free(&rs);
	vault_free(links.vault);
	store_close(links.store);
	metrics_free(metrics);
	loop_free(links.loop);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		(void)unlink(in_dir(names[i]));
	return 0;
}

static int count_row(void *user, uint64_t seq, struct str line, const char *text)
{
	(void)seq;
	(void)line;
	(void)text;
	++*(int *)user;
	return 0;
}

static int records_of(const char *kind)
{
	struct audit_query q = { .kind = kind, .sandbox = "ione", .key = "key1", .max = UINT32_MAX };
	int n = 0;

	audit_save(&rs);
	assert_int_equal(audit_db_each(rs.audit->db, &q, count_row, &n, &e), 0);
	return n;
}

static struct witness *witness_of_code(void)
{
	const struct http_req rq = { .method = STR_LIT("POST"),
		.path = STR_LIT("/execute"),
		.content_length = (int64_t)strlen(BODY) };

	return witness_new(&rs, &sb, secrets, &rq, PORT_INTERPRETER, "r1");
}

static void code_is_recorded_before_it_runs_and_at_its_end(void **state)
{
	struct witness *w = witness_of_code();
	struct cell_row c;

	(void)state;
	assert_non_null(w);
	witness_ops.on_body(w, STR_LIT(BODY));
	assert_int_equal(records_of("code.run"), 1); /* with the last byte of the body */
	assert_int_equal(records_of("code.done"), 0);
	witness_ops.on_answer(w, 200, -1);
	witness_ops.on_data(w, STR_LIT("{\"type\":\"stdout\",\"text\":\"" SECRET "\"}\n"));
	witness_ops.on_data(w, STR_LIT(ENDED));
	assert_int_equal(records_of("code.done"), 1);
	witness_ops.on_end(w, PUMP_DONE);
	assert_int_equal(records_of("code.done"), 1); /* once */
	witness_free(w);

	assert_int_equal(notebooks_next(notebook_db(&rs), "ione", NULL, 0, &c, &e), 1);
	assert_string_equal(c.outcome, "ok");
	assert_null(memmem(c.code.p, c.code.n, SECRET, strlen(SECRET))); /* it was learned from the facts */
	assert_null(memmem(c.output.p, c.output.n, SECRET, strlen(SECRET)));
	assert_non_null(memmem(c.code.p, c.code.n, "login(", 6));
}

static void code_whose_client_leaves_is_recorded_as_cancelled(void **state)
{
	struct witness *w = witness_of_code();
	struct cell_row c;

	(void)state;
	witness_ops.on_body(w, STR_LIT(BODY));
	witness_ops.on_answer(w, 200, -1);
	witness_ops.on_end(w, PUMP_LEFT);
	witness_free(w);
	assert_int_equal(records_of("code.done"), 1);
	assert_int_equal(notebooks_next(notebook_db(&rs), "ione", NULL, 0, &c, &e), 1);
	assert_string_equal(c.outcome, "cancelled");
}

static void requests_of_programs_in_the_sandbox_are_not_witnessed(void **state)
{
	const struct http_req rq = { .method = STR_LIT("POST"), .path = STR_LIT("/execute") };

	(void)state;
	assert_null(witness_new(&rs, &sb, secrets, &rq, 8080, "r1"));
}

static bool is_there(void *user, const char *sandbox)
{
	return strcmp(user, sandbox) == 0;
}

static uint64_t ended_ms(const char *sandbox)
{
	struct notebook_head h;

	notebook_save(&rs);
	assert_int_equal(notebooks_find(notebook_db(&rs), sandbox, "team1", &h, &e), 0);
	return h.ended_ms;
}

static void notebooks_of_lost_sandboxes_are_ended(void **state)
{
	struct sandbox_facts other = sb;

	(void)state;
	other.id = "itwo";
	notebook_missed(&rs, &sb);
	notebook_missed(&rs, &other);
	notebook_save(&rs);
	notebook_end_lost(&rs, is_there, (void *)"itwo");
	assert_true(ended_ms("ione") > 0);
	assert_int_equal(ended_ms("itwo"), 0);
}

static void see_event(void *user, const struct event_row *row)
{
	autojson json_t *o = json_loads(row->data, 0, NULL);
	json_t *ran = json_object_get(json_object_get(o, "execution"), "execution_time");

	assert_string_equal(row->sandbox, "ione");
	*(int64_t *)user = ran ? json_integer_value(ran) : -1;
}

/* How long the newest event of that type says that the sandbox ran; -1: it says nothing. */
static int64_t execution_time(const char *types)
{
	struct event_query q = { .team = "team1", .types = types, .limit = 1 };
	int64_t ms = -2;

	assert_true(events_each(links.store, &q, see_event, &ms, &e) >= 0);
	return ms;
}

static void the_run_of_a_paused_sandbox_ended_when_it_was_paused(void **state)
{
	(void)state;
	assert_int_equal(event_note(&rs, &sb, EVENT_CREATED, NULL), 5000); /* its own time, not that of the call */
	assert_int_equal(execution_time(",sandbox.lifecycle.created,"), -1);
	sb.stopped_ms = 7500;
	assert_true(event_note(&rs, &sb, EVENT_KILLED, NULL) > 7500);
	assert_int_equal(execution_time(",sandbox.lifecycle.killed,"), 2500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(code_is_recorded_before_it_runs_and_at_its_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(code_whose_client_leaves_is_recorded_as_cancelled, set_up, tear_down),
		cmocka_unit_test_setup_teardown(requests_of_programs_in_the_sandbox_are_not_witnessed, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(notebooks_of_lost_sandboxes_are_ended, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_run_of_a_paused_sandbox_ended_when_it_was_paused, set_up,
		    tear_down),
	};

	if (!mkdtemp(dir))
		return 1;

	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	(void)rmdir(dir);
	return failed;
}

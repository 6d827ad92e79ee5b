/* SPDX-License-Identifier: Apache-2.0 */
/* Units of the api floor: requests from their head to their answer, with handlers, a store and a fake warden. The test
 * links the floors up to api and nothing above them. */
#include "front/account/accounts.h"
#include "front/account/census.h"
#include "front/account/hold.h"
#include "front/account/keyring.h"
#include "front/account/metrics.h"
#include "front/account/penalty.h"
#include "front/api/api.h"
#include "front/api/dispatch.h"
#include "front/console/console.h"
#include "front/fake_warden.h"
#include "front/proxy/proxies.h"
#include "front/record/logbook.h"
#include "front/record/records.h"
#include "front/record/webhooks.h"
#include "front/sandbox/charge.h"
#include "front/sandbox/init_watch.h"
#include "front/sandbox/life.h"
#include "front/sandbox/row.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/table.h"
#include "front/template/builds.h"
#include "front/util/expiry.h"
#include "front/util/vault.h"
#include "http/server.h"
#include "store/db.h"

struct floors {
	struct fake fk;
	struct links link;
	struct accounts account;
	struct records record;
	struct sandboxes sandbox;
	struct builds build;
	struct proxies proxy;
	struct console console; /* there is none */
	struct api api;
	char dir[32];
	char key[KEY_TEXT_SIZE]; /* of an admin */
	int client;
	struct watch *watch;
	char answer[65536];
	size_t n;
};

static void on_expired(void *user, struct expiry_entry *en)
{
	(void)user;
	sandbox_expired(en);
}

/* The round ends when the answer is complete. */
static void on_answer(void *user, int events)
{
	struct floors *t = user;
	ssize_t n = read(t->client, t->answer + t->n, sizeof t->answer - 1 - t->n);

	(void)events;
	if (n < 0 && errno == EAGAIN)
		return;
	assert_true(n > 0);
	t->n += (size_t)n;
	t->answer[t->n] = '\0';
	const char *body = strstr(t->answer, "\r\n\r\n"), *length = strcasestr(t->answer, "content-length:");

	if (body && t->n >= (size_t)(body + 4 - t->answer) + (length ? strtoul(length + 15, NULL, 10) : 0))
		fake_stop(&t->fk);
}

static void connect_floors(struct floors *t)
{
	t->account.link = &t->link;
	t->record.link = &t->link;
	t->record.account = &t->account;
	t->sandbox.link = &t->link;
	t->sandbox.account = &t->account;
	t->sandbox.record = &t->record;
	t->build.link = &t->link;
	t->build.account = &t->account;
	t->build.record = &t->record;
	t->build.sandbox = &t->sandbox;
	t->proxy.link = &t->link;
	t->proxy.account = &t->account;
	t->proxy.record = &t->record;
	t->proxy.sandbox = &t->sandbox;
	t->api.console = &t->console;
	t->api.link = &t->link;
	t->api.account = &t->account;
	t->api.record = &t->record;
	t->api.sandbox = &t->sandbox;
	t->api.build = &t->build;
	t->api.proxy = &t->proxy;
}

static void open_state(struct floors *t)
{
	static const struct msg_template base = { "base", "0123456789abcdef0123456789abcdef" };
	char path[64], key[64];
	struct err e = ERR_INIT;

	(void)snprintf(t->dir, sizeof t->dir, "/tmp/atoll-api-XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	(void)snprintf(t->link.opt.state_dir, sizeof t->link.opt.state_dir, "%s", t->dir);
	(void)snprintf(path, sizeof path, "%s/atoll.db", t->dir);
	(void)snprintf(key, sizeof key, "%s/key", t->dir);
	assert_int_equal(store_open(path, &t->link.store, &e), 0);
	assert_int_equal(vault_open(t->dir, &t->link.vault, &e), 0);
	assert_int_equal(keyring_open(t->link.store, key, &t->account.keyring, &e), 0);
	assert_int_equal(templates_init(&t->sandbox.templates, &base, 1, &e), 0);
	FILE *f = fopen(key, "re");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%44s", t->key), 1);
	(void)fclose(f);
}

static int set_up(void **state)
{
	struct floors *t = calloc(1, sizeof *t);
	int pair[2];

	log_set_level(LOG_LVL_ERROR + 1);
	fake_init(&t->fk);
	t->fk.brief = true;
	connect_floors(t);
	t->link.loop = t->fk.loop;
	t->link.warden = t->fk.link.warden;
	t->link.opt = (struct front_options) { .ready_timeout_s = 5, .max_timeout_s = 3600, .body_timeout_s = 60 };
	t->link.fds = 1024;
	t->sandbox.memory.meminfo_fd = -1;
	t->sandbox.hurry_fd = -1;
	t->sandbox.max_sandboxes = 2;
	TAILQ_INIT(&t->build.list);
	TAILQ_INIT(&t->api.reading);
	TAILQ_INIT(&t->sandbox.watches);
	open_state(t);
	t->sandbox.table = sandbox_table_new();
	t->record.webhooks = webhooks_new(&t->record);
	t->account.penalties = penalties_new();
	t->account.metrics = metrics_new();
	t->account.census = census_new(t->link.store, clock_wall_ms());
	t->record.logbook = logbook_new(&t->record);
	t->sandbox.expiry = expiry_new(t->link.loop, on_expired, t);
	t->api.server = http_server_new(t->link.loop, -1, &dispatch_ops, &t->api);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	t->client = pair[0];
	t->watch = watch_new(t->link.loop, t->client, WATCH_IN, on_answer, t);
	assert_int_equal(http_server_adopt(t->api.server, pair[1]), 0);
	*state = t;
	return 0;
}

static void free_sandboxes(struct floors *t)
{
	struct sandbox *sb;

	rows_free(&t->sandbox);
	for (sb = sandbox_table_next(t->sandbox.table, NULL); sb; sb = sandbox_table_next(t->sandbox.table, sb))
		init_watch_end(sb);
	charge_free(&t->sandbox);
	while ((sb = sandbox_table_next(t->sandbox.table, NULL)))
		sandbox_forget(sb);
	sandbox_table_free(t->sandbox.table);
	expiry_free(t->sandbox.expiry);
}

static int tear_down(void **state)
{
	static const char *const files[] = { "atoll.db", "atoll.db-wal", "atoll.db-shm", "secrets.key", "key" };
	struct floors *t = *state;

	fake_settle(&t->fk);
	hold_end_all(&t->account);
	http_server_free(t->api.server);
	watch_free(t->watch);
	fd_close(t->client);
	fake_leave(&t->fk);
	free_sandboxes(t);
	census_free(t->account.census);
	warden_link_free(t->link.warden);
	webhooks_free(t->record.webhooks);
	keyring_free(t->account.keyring);
	penalties_free(t->account.penalties);
	metrics_free(t->account.metrics);
	logbook_free(t->record.logbook);
	vault_free(t->link.vault);
	store_close(t->link.store);
	loop_free(t->link.loop);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char path[64];

		(void)snprintf(path, sizeof path, "%s/%s", t->dir, files[i]);
		(void)unlink(path);
	}
	assert_int_equal(rmdir(t->dir), 0);
	free(t);
	return 0;
}

static void ask(struct floors *t, const char *line, const char *key, const char *body)
{
	char text[2048];
	int n = snprintf(text, sizeof text,
	    "%s HTTP/1.1\r\nHost: localhost\r\nX-API-Key: %s\r\nContent-Length: %zu\r\n\r\n%s", line, key, strlen(body),
	    body);

	t->n = 0;
	t->answer[0] = '\0';
	assert_int_equal(write(t->client, text, (size_t)n), n);
}

/* The status of the answer; its body is at the end of t->answer. */
static int call(struct floors *t, const char *line, const char *body)
{
	int status = 0;

	ask(t, line, t->key, body);
	fake_run(&t->fk);
	assert_int_equal(sscanf(t->answer, "HTTP/1.1 %d", &status), 1);
	return status;
}

static const char *body_of(const struct floors *t)
{
	return strstr(t->answer, "\r\n\r\n") + 4;
}

/* The path of the sandbox in the last answer. */
static const char *path_of_sandbox(const struct floors *t, const char *method)
{
	static char path[128];
	const char *at = strstr(body_of(t), "\"sandboxID\":\"");
	char id[33];

	assert_non_null(at);
	assert_int_equal(sscanf(at + strlen("\"sandboxID\":\""), "%32[a-z0-9]", id), 1);
	(void)snprintf(path, sizeof path, "%s /sandboxes/%s", method, id);
	return path;
}

static void a_sandbox_is_created_listed_and_killed(void **state)
{
	struct floors *t = *state;

	assert_int_equal(call(t, "POST /sandboxes", "{\"templateID\":\"base\"}"), 201);
	assert_seen(&t->fk, "start /init");
	assert_int_equal(sandbox_table_count(t->sandbox.table), 1);
	assert_int_equal(call(t, path_of_sandbox(t, "GET"), ""), 200);
	assert_non_null(strstr(body_of(t), "\"state\":\"running\""));
	assert_int_equal(call(t, "GET /sandboxes", ""), 200);
	assert_int_equal(call(t, path_of_sandbox(t, "DELETE"), ""), 204);
	assert_seen(&t->fk, "kill");
	assert_int_equal(sandbox_table_count(t->sandbox.table), 0);
	assert_int_equal(call(t, "GET /sandboxes", ""), 200);
	assert_string_equal(body_of(t), "[]");
}

static void a_start_that_the_warden_refuses_leaves_nothing(void **state)
{
	struct floors *t = *state;

	t->fk.refuse[OP_START] = ENOSPC;
	assert_int_equal(call(t, "POST /sandboxes", "{\"templateID\":\"base\"}"), 503);
	assert_int_equal(sandbox_table_count(t->sandbox.table), 0);
}

static void the_server_has_no_more_sandboxes_than_it_may(void **state)
{
	struct floors *t = *state;

	for (uint32_t i = 0; i < t->sandbox.max_sandboxes; i++)
		assert_int_equal(call(t, "POST /sandboxes", "{\"templateID\":\"base\"}"), 201);
	assert_int_equal(call(t, "POST /sandboxes", "{\"templateID\":\"base\"}"), 429);
	assert_non_null(strstr(body_of(t), "the server's maximum of 2 sandboxes is reached"));
}

static void what_is_wrong_with_a_request_is_named(void **state)
{
	static const struct {
		const char *line, *body;
		int status;
		const char *text;
	} bad[] = {
		{ "POST /sandboxes", "{", 400, "" },
		{ "POST /sandboxes", "{\"templateID\":\"none\"}", 404, "none" },
		{ "GET /sandboxes/A", "", 400, "sandbox id is malformed" },
		{ "GET /sandboxes/abc", "", 404, "sandbox \\\"abc\\\" doesn't exist" },
		{ "PUT /sandboxes", "", 405, "method not allowed" },
		{ "GET /nothing", "", 404, "no such path" },
	};
	struct floors *t = *state;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(call(t, bad[i].line, bad[i].body), bad[i].status);
		assert_non_null(strstr(body_of(t), bad[i].text));
	}
	assert_seen(&t->fk, "");
}

static void teams_and_the_log_level_are_set_by_an_admin(void **state)
{
	struct floors *t = *state;

	assert_int_equal(call(t, "GET /health", ""), 204);
	assert_int_equal(call(t, "POST /admin/teams", "{\"name\":\"one\"}"), 201);
	assert_int_equal(call(t, "POST /admin/teams", "{\"name\":\"one\"}"), 409);
	assert_int_equal(call(t, "GET /admin/teams", ""), 200);
	assert_non_null(strstr(body_of(t), "\"name\":\"one\""));
	assert_int_equal(call(t, "PUT /admin/log-level", "{\"level\":\"error\"}"), 200);
	assert_seen(&t->fk, "other");
	assert_int_equal(log_get_level(), LOG_LVL_ERROR);
}

static void the_sixth_wrong_key_is_refused_later(void **state)
{
	struct floors *t = *state;

	for (int i = 0; i < PENALTY_FREE; i++) {
		ask(t, "GET /sandboxes", "e2b_wrong", "");
		fake_run(&t->fk);
		assert_memory_equal(t->answer, "HTTP/1.1 401", strlen("HTTP/1.1 401"));
	}
	ask(t, "GET /sandboxes", "e2b_wrong", "");
	while (!LIST_FIRST(&t->account.held) && !t->n) /* until the request has arrived */
		fake_settle(&t->fk);
	assert_int_equal(t->n, 0);
	fake_run(&t->fk);
	assert_memory_equal(t->answer, "HTTP/1.1 401", strlen("HTTP/1.1 401"));
	assert_null(LIST_FIRST(&t->account.held));
}

static void the_end_drops_a_refusal_that_is_delayed(void **state)
{
	struct floors *t = *state;

	for (int i = 0; i < PENALTY_FREE; i++) {
		ask(t, "GET /sandboxes", "e2b_wrong", "");
		fake_run(&t->fk);
	}
	ask(t, "GET /sandboxes", "e2b_wrong", "");
	while (!LIST_FIRST(&t->account.held) && !t->n)
		fake_settle(&t->fk);
	hold_end_all(&t->account);
	assert_null(LIST_FIRST(&t->account.held));
	assert_int_equal(t->n, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_sandbox_is_created_listed_and_killed),
		TEST(a_start_that_the_warden_refuses_leaves_nothing),
		TEST(the_server_has_no_more_sandboxes_than_it_may),
		TEST(what_is_wrong_with_a_request_is_named),
		TEST(teams_and_the_log_level_are_set_by_an_admin),
		TEST(the_sixth_wrong_key_is_refused_later),
		TEST(the_end_drops_a_refusal_that_is_delayed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Units of front/hooks: how a delivery is signed, when it is tried again, and a link whose other end is gone. */
#include "front/record/webhooks.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "front/account/accounts.h"
#include "front/account/metrics.h"
#include "front/link/links.h"
#include "front/record/records.h"
#include "front/util/mem.h"
#include "front/util/vault.h"
#include "ipc/webhooks.h"
#include "loop/loop.h"
#include "store/db.h"
#include "store/events.h"
#include "store/teams.h"
#include "unit.h"

static void a_signature_is_that_of_e2b(void **state)
{
	char got[WEBHOOK_SIGNATURE_SIZE];

	(void)state;
	/* printf 'abc' | openssl dgst -sha256 -binary | basenc --base64url | tr -d = */
	webhook_sign(STR_LIT("a"), STR_LIT("bc"), got);
	assert_string_equal(got, "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0");
	webhook_sign(STR_LIT(""), STR_LIT(""), got);
	assert_string_equal(got, "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
}

static void each_failure_waits_longer_up_to_an_hour(void **state)
{
	(void)state;
	assert_int_equal(webhook_backoff_ms(1000, 1, 0), 1000);
	assert_int_equal(webhook_backoff_ms(1000, 2, 0), 4000);
	assert_int_equal(webhook_backoff_ms(1000, 6, 0), 1024000);
	assert_int_equal(webhook_backoff_ms(1000, 7, 0), 3600000);
	assert_int_equal(webhook_backoff_ms(1000, 4000000000u, 0), 3600000);
	for (uint32_t chance = 0; chance < 5000; chance++) {
		uint64_t ms = webhook_backoff_ms(1000, 2, chance);

		assert_true(ms >= 2000 && ms <= 4000);
	}
}

static char dir[] = "/tmp/atoll-unit-hooks-XXXXXX";
static struct metrics metrics;
static struct links links;
static struct accounts accounts = { .metrics = &metrics };
static struct records rs = { .link = &links, .account = &accounts };
static struct err e;

static const char *in_dir(const char *name)
{
	static char path[96];

	(void)snprintf(path, sizeof path, "%s/%s", dir, name);
	return path;
}

static int set_up(void **state)
{
	(void)state;
	links = (struct links) { .opt = { .webhook_timeout_s = 5, .webhook_attempts = 3, .webhook_retry_ms = 60000 } };
	links.loop = loop_new();
	return mkdtemp(dir) && store_open(in_dir("atoll.db"), &links.store, &e) == 0 &&
		vault_open(dir, &links.vault, &e) == 0
	    ? 0
	    : -1;
}

static int tear_down(void **state)
{
	static const char *const names[] = { "atoll.db", "atoll.db-wal", "atoll.db-shm", "secrets.key" };

	(void)state;
	vault_free(links.vault);
	store_close(links.store);
	loop_free(links.loop);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		(void)unlink(in_dir(names[i]));
	(void)rmdir(dir);
	return 0;
}

static struct webhook *add_hook(struct webhooks *h, const char *id)
{
	struct webhook *w = must_alloc(sizeof *w);

	(void)str_copy(w->id, sizeof w->id, str_of(id));
	(void)str_copy(w->team, sizeof w->team, STR_LIT("team1"));
	w->name = must_dup("mine");
	w->url = must_dup("http://127.0.0.1:9/");
	w->enabled = true;
	w->events = 1;
	assert_int_equal(webhook_add(h, w, "a secret of some length", &e), 0);
	return w;
}

static void a_link_without_another_end_is_not_tried_without_end(void **state)
{
	struct event_row row = { .id = "e1",
		.team = "team1",
		.sandbox = "ione",
		.type = event_type_name((enum event_type)0),
		.at_ms = 1,
		.execution = "x",
		.template = "t",
		.build = "b",
		.data = "{}" };
	struct webhooks *h = rs.webhooks = webhooks_new(&rs);
	struct hk_job job;
	uint64_t seq = 0;
	int ends[2];

	(void)state;
	assert_int_equal(teams_add(links.store, &(struct team_row) { .id = "team1", .name = "one" }, &e), 0);
	assert_int_equal(webhooks_load(h, &e), 0);

	struct webhook *w = add_hook(h, "w1");
	char id[TEAM_ID_SIZE];

	assert_int_equal(events_add(links.store, &row, &seq, &e), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	webhooks_link(h, ends[0]);
	fd_close(ends[1]);                                     /* it has died, and nobody has looked yet */
	assert_int_equal(webhooks_push_one(h, w, seq, id), 0); /* comes back */
	assert_int_equal(w->seq, 0);
	assert_int_equal(w->waiting, 1);
	assert_true(w->next_mono_ms > 0); /* and is tried later */

	w->next_mono_ms = 0;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	webhooks_link(h, ends[0]);
	assert_true(recv(ends[1], &job, sizeof job, 0) == (ssize_t)sizeof job);
	assert_int_equal(job.head.type, HK_JOB);
	assert_int_equal(w->seq, job.head.seq);
	fd_close(ends[1]);
	webhooks_free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signature_is_that_of_e2b), cmocka_unit_test(each_failure_waits_longer_up_to_an_hour),
		cmocka_unit_test_setup_teardown(a_link_without_another_end_is_not_tried_without_end, set_up, tear_down)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

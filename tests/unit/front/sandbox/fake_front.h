/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox floor and those below it, with a store of their own and a fake warden: enough for a sandbox to live. */
#pragma once

#include <fcntl.h>

#include "front/account/accounts.h"
#include "front/account/census.h"
#include "front/account/metrics.h"
#include "front/fake_warden.h"
#include "front/link/box.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "front/record/logbook.h"
#include "front/record/records.h"
#include "front/record/webhooks.h"
#include "front/sandbox/charge.h"
#include "front/sandbox/init_watch.h"
#include "front/sandbox/life.h"
#include "front/sandbox/row.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/start.h"
#include "front/sandbox/table.h"
#include "front/sandbox/warm_pool.h"
#include "front/util/expiry.h"
#include "front/util/vault.h"
#include "store/db.h"

#define FAKE_KEY "0123456789abcdef0123456789abcdef"

struct fake_floors {
	struct links link;
	struct accounts account;
	struct records record;
	struct sandboxes sandbox;
};

struct fake_front {
	struct fake fk;
	struct fake_floors f;
	char dir[32], path[64];
	struct sandbox *sb; /* that the test is about, with a reference; NULL: none yet */
	struct sandbox_waiter waiter;
};

static inline void fake_front_exited(void *user, const struct msg_exited *m)
{
	struct fake_front *t = user;
	struct sandbox *sb = sandbox_table_find(t->f.sandbox.table, str_of(m->id));

	if (sb)
		sandbox_box_exited(sb, m->reason == EXIT_OOM ? END_OOM : END_DIED, "died");
}

static inline void fake_front_expired(void *user, struct expiry_entry *en)
{
	(void)user;
	sandbox_expired(en);
}

static inline int fake_front_setup(void **state)
{
	struct fake_front *t = calloc(1, sizeof *t);
	struct fake_floors *f = &t->f;
	struct err e = ERR_INIT;

	log_set_level(LOG_LVL_ERROR);
	fake_init(&t->fk);
	t->fk.brief = true;
	t->fk.on_exited = fake_front_exited;
	t->fk.user = t;
	f->account.link = f->record.link = f->sandbox.link = &f->link;
	f->record.account = f->sandbox.account = &f->account;
	f->sandbox.record = &f->record;
	f->link.loop = t->fk.loop;
	f->link.warden = t->fk.link.warden;
	f->link.opt = (struct front_options) { .ready_timeout_s = 5, .warm_pool_size = 1, .warm_pool_max = 1 };
	f->link.fds = 1024;
	f->sandbox.memory.meminfo_fd = -1;
	f->sandbox.hurry_fd = -1;
	f->sandbox.can_checkpoint = true;
	f->sandbox.max_sandboxes = 10;
	TAILQ_INIT(&f->sandbox.watches);
	LIST_INIT(&f->account.held);
	(void)snprintf(t->dir, sizeof t->dir, "/tmp/atoll-front-XXXXXX");
	assert_non_null(mkdtemp(t->dir));
	(void)snprintf(f->link.opt.state_dir, sizeof f->link.opt.state_dir, "%s", t->dir);
	(void)snprintf(t->path, sizeof t->path, "%s/atoll.db", t->dir);
	assert_int_equal(store_open(t->path, &f->link.store, &e), 0);
	assert_int_equal(vault_open(t->dir, &f->link.vault, &e), 0);
	f->sandbox.table = sandbox_table_new();
	f->record.webhooks = webhooks_new(&f->record);
	f->account.metrics = metrics_new();
	f->account.census = census_new(f->link.store, clock_wall_ms());
	f->record.logbook = logbook_new(&f->record);
	f->sandbox.expiry = expiry_new(f->link.loop, fake_front_expired, f);
	assert_non_null(f->record.logbook);
	assert_non_null(f->sandbox.expiry);
	*state = t;
	return 0;
}

static inline void fake_floors_done(struct fake_floors *f)
{
	struct sandbox *sb;

	rows_free(&f->sandbox);
	warm_pool_free(f->sandbox.warm_pool);
	for (sb = sandbox_table_next(f->sandbox.table, NULL); sb; sb = sandbox_table_next(f->sandbox.table, sb))
		init_watch_end(sb);
	logbook_save(f->record.logbook);
	charge_free(&f->sandbox);
	while ((sb = sandbox_table_next(f->sandbox.table, NULL)))
		sandbox_forget(sb);
	sandbox_table_free(f->sandbox.table);
	census_free(f->account.census);
	warden_link_free(f->link.warden);
	expiry_free(f->sandbox.expiry);
	webhooks_free(f->record.webhooks);
	metrics_free(f->account.metrics);
	logbook_free(f->record.logbook);
	vault_free(f->link.vault);
	store_close(f->link.store);
	loop_free(f->link.loop);
}

static inline int fake_front_teardown(void **state)
{
	struct fake_front *t = *state;
	static const char *const files[] = { "atoll.db", "atoll.db-wal", "atoll.db-shm", "secrets.key" };

	fake_settle(&t->fk); /* whoever deletes what is saved has its answer */
	sandbox_unref(t->sb);
	fake_leave(&t->fk);
	fake_floors_done(&t->f);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		char path[64];

		(void)snprintf(path, sizeof path, "%s/%s", t->dir, files[i]);
		(void)unlink(path);
	}
	assert_int_equal(rmdir(t->dir), 0);
	free(t);
	return 0;
}

static inline struct spec fake_spec(void)
{
	struct spec sp = { .timeout_s = 600, .limits = { .mem_bytes = 1 << 28, .cpu_permille = 1000 } };

	(void)snprintf(sp.tpl.id, sizeof sp.tpl.id, "base");
	(void)snprintf(sp.tpl.name, sizeof sp.tpl.name, "base");
	(void)snprintf(sp.tpl.key, sizeof sp.tpl.key, FAKE_KEY);
	return sp;
}

/* STARTING; its reference is the test's. */
static inline struct sandbox *fake_sandbox(struct fake_front *t, const struct spec *given,
    const struct warm_pool_gift *warm)
{
	struct spec sp = given ? *given : fake_spec();
	struct err e = ERR_INIT;

	assert_int_equal(sandbox_new(&t->f.sandbox, "team", "", &sp, warm, &t->sb, &e), 0);
	return sandbox_ref(t->sb);
}

static inline void fake_on_state(struct sandbox_waiter *w, struct sandbox *sb)
{
	struct fake_front *t = container_of(w, struct fake_front, waiter);

	(void)sb;
	fake_stop(&t->fk);
}

/* Until its state has settled. */
static inline void fake_until_settled(struct fake_front *t)
{
	t->waiter.fn = fake_on_state;
	sandbox_wait(t->sb, &t->waiter);
	fake_run(&t->fk);
}

/* RUNNING, and nothing seen yet. */
static inline struct sandbox *fake_running(struct fake_front *t)
{
	struct sandbox *sb = fake_sandbox(t, NULL, NULL);

	sandbox_start_cold(sb);
	fake_until_settled(t);
	assert_int_equal(sb->state, SANDBOX_RUNNING);
	fake_settle(&t->fk); /* so that the watch of its init is there, too */
	t->fk.seen[0] = '\0';
	return sb;
}

/* What the store says of the sandbox of the test. */
struct fake_row {
	const char *id;
	int state; /* -1: there is no row, or its end is noted */
	uint32_t kept;
	char kept_name[ID_SIZE];
};

static inline int fake_on_row(void *user, const struct sandbox_row *r)
{
	struct fake_row *row = user;

	if (strcmp(r->id, row->id) == 0) {
		row->state = r->state;
		row->kept = r->kept;
		(void)snprintf(row->kept_name, sizeof row->kept_name, "%s", r->kept_name ? r->kept_name : "");
	}
	return 0;
}

static inline struct fake_row fake_row(struct fake_front *t)
{
	struct fake_row row = { .id = t->sb->id, .state = -1 };
	struct err e = ERR_INIT;

	assert_int_equal(sandboxes_each(t->f.link.store, fake_on_row, &row, &e), 0);
	return row;
}

#define FRONT_TEST(f) cmocka_unit_test_setup_teardown(f, fake_front_setup, fake_front_teardown)

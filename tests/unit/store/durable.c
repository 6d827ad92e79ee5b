/* SPDX-License-Identifier: Apache-2.0 */
/* Units of the whole store: what has to hold after a power failure is on the disk when the call returns. The log of
 * SQLite is watched through SQLite's own door: how often it was synced. */
#include <stdint.h>

#include <sqlite3.h>

#include "fixture.h"
#include "store/builds.h"
#include "store/keys.h"
#include "store/sandboxes.h"
#include "store/snapshots.h"
#include "store/teams.h"
#include "store/templates.h"
#include "store/volumes.h"
#include "store/webhooks.h"
#include "unit.h"

static int syncs;
static sqlite3_vfs *real, watching;
static struct sqlite3_io_methods log_methods;
static int (*log_sync)(sqlite3_file *, int);

static int count_sync(sqlite3_file *f, int flags)
{
	syncs++;
	return log_sync(f, flags);
}

/* The log alone: a change is safe when it is on the disk. */
static int open_watched(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *ret_flags)
{
	int rc = real->xOpen(vfs, name, f, flags, ret_flags);

	if (rc == SQLITE_OK && (flags & SQLITE_OPEN_WAL)) {
		log_methods = *f->pMethods;
		log_sync = log_methods.xSync;
		log_methods.xSync = count_sync;
		f->pMethods = &log_methods;
	}
	return rc;
}

static int watch(void **state)
{
	real = sqlite3_vfs_find(NULL);
	watching = *real;
	watching.zName = "watching";
	watching.xOpen = open_watched;
	struct team_row t = { .id = "t0",
		.name = "green",
		.max_sandboxes = LIMIT_DEFAULT,
		.rate_limit = LIMIT_DEFAULT };

	return sqlite3_vfs_register(&watching, 1) == SQLITE_OK && open_new(state) == 0 ? teams_add(s, &t, &e) : -1;
}

#define DURABLE(call) \
	do { \
		syncs = 0; \
		assert_int_equal(call, 0); \
		assert_in_range(syncs, 1, 9); \
	} while (0)

#define CHEAP(call) \
	do { \
		syncs = 0; \
		assert_int_equal(call, 0); \
		assert_int_equal(syncs, 0); \
	} while (0)

static void a_sandbox_is_safe_once_something_is_kept_of_it(void **state)
{
	struct sandbox_row r = {
		.id = "i1",
		.team = "t",
		.template_id = "ti",
		.template_name = "base",
		.template_key = "k",
		.created_ms = 5,
		.state = ROW_RUNNING,
	};
	struct row_limits limits = { .mem_bytes = 1 }, others = { .mem_bytes = 2 };

	(void)state;
	CHEAP(sandboxes_add(s, &r, &e)); /* the hot path: a running one does not outlive the machine */
	r.end_ms = 6;
	CHEAP(sandboxes_set(s, &r, &e));
	CHEAP(sandboxes_set_limits(s, "i1", &limits, &e));
	r.state = ROW_PAUSED;
	r.kept_name = "kept";
	DURABLE(sandboxes_set(s, &r, &e));
	DURABLE(sandboxes_set_limits(s, "i1", &others, &e));
	DURABLE(sandboxes_set_network(s, "i1", 0, "{}", &e));
	CHEAP(sandboxes_set_active(s, "i1", 7, &e));
	DURABLE(sandboxes_end(s, "i1", 9, "killed", &e));
	r.id = "i2";
	r.kept_name = NULL;
	CHEAP(sandboxes_add(s, &r, &e));
	CHEAP(sandboxes_end(s, "i2", 9, "killed", &e));
}

static void templates_and_builds_that_are_ready_are_safe(void **state)
{
	struct template_row t = { .id = "t1", .team = "t0", .name = "n", .created_ms = 1 };
	struct build_row b = { .id = "b1", .template_id = "t1", .status = "building", .created_ms = 5 };
	struct tag_row tag = { .tag = "default", .build = "b1" };

	(void)state;
	DURABLE(templates_add(s, &t, &e));
	CHEAP(builds_put(s, &b, &e));
	strcpy(b.status, "ready");
	DURABLE(builds_put(s, &b, &e));
	DURABLE(tags_put(s, "t1", &tag, &e));
	DURABLE(templates_set_public(s, "t1", true, 2, &e));
	CHEAP(templates_spawned(s, "t1", 3, &e));
	DURABLE(templates_drop(s, "t1", &e));
}

static void what_teams_have_is_safe(void **state)
{
	struct team_row t = { .id = "t1", .name = "blue", .max_sandboxes = LIMIT_DEFAULT, .rate_limit = LIMIT_DEFAULT };
	struct volume_row v = { .id = "v1", .team = "t1", .name = "data", .token = "x" };
	struct snapshot_row k = { .template_id = "s1",
		.tag = "default",
		.team = "t1",
		.source = "i1",
		.kept_name = "k1",
		.base_id = "b",
		.base_name = "b",
		.base_key = "b" };
	struct webhook_row
	    w = { .id = "w1", .team = "t1", .name = "n", .url = "u", .events = "a", .sealed = "s", .n_sealed = 1 };

	(void)state;
	DURABLE(teams_add(s, &t, &e));
	t.blocked = true;
	DURABLE(teams_set(s, &t, &e));
	DURABLE(volumes_add(s, &v, &e));
	DURABLE(volumes_drop(s, "v1", &e));
	DURABLE(snapshots_put(s, &k, &e));
	DURABLE(snapshots_drop(s, "s1", "default", &e));
	syncs = 0;
	assert_true(webhooks_add(s, &w, &e) >= 0 && syncs > 0);
	w.url = "v";
	syncs = 0;
	assert_true(webhooks_set(s, &w, &e) >= 0 && syncs > 0);
	syncs = 0;
	assert_true(webhooks_drop(s, "w1", &e) >= 0 && syncs > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sandbox_is_safe_once_something_is_kept_of_it),
		cmocka_unit_test(templates_and_builds_that_are_ready_are_safe),
		cmocka_unit_test(what_teams_have_is_safe),
	};

	return cmocka_run_group_tests(tests, watch, remove_it);
}

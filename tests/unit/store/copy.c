/* SPDX-License-Identifier: Apache-2.0 */
/* Units of store/copy and store/purge: a copy of a file that is in use, what it names, and forgetting a team. */
#include "store/copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/db.h"
#include "store/purge.h"
#include "store/sandboxes.h"
#include "store/snapshots.h"
#include "store/volumes.h"

static char dir[32], path[64], copy[64];
static struct store *s;
static struct err e;
static char seen[256];

static int look(void *user, enum store_part what, const char *name, uint64_t bytes)
{
	size_t n = strlen(seen);

	(void)user;
	(void)snprintf(seen + n, sizeof seen - n, "%c:%s=%llu;", what == STORE_VOLUME ? 'v' : 'k', name, (unsigned long long)bytes);
	return 0;
}

static void add_sandbox(const char *id, const char *team, enum row_state state, const char *kept)
{
	struct sandbox_row r = { .id = id, .team = team, .template_id = "t", .template_name = "n", .template_key = "k", .state = state, .created_ms = 1,
		.kept_name = kept, .kept = kept ? 1 : 0 };

	assert_int_equal(sandboxes_add(s, &r, &e), 0);
}

static void a_copy_is_whole_and_names_what_belongs_to_it(void **state)
{
	struct volume_row a = { "va", "t", "a", "x", 7, VOLUME_READY, 1 }, b = { "vb", "t", "b", "x", 8, VOLUME_DROPPING, 1 };
	struct snapshot_row sn = { .template_id = "one", .tag = "default", .team = "t", .source = "i", .kept_name = "ksnap", .kept = 1, .base_id = "b",
		.base_name = "n", .base_key = "k" };
	int version = 0;

	(void)state;
	add_sandbox("irun", "t", ROW_RUNNING, NULL);
	add_sandbox("ipaused", "t", ROW_PAUSED, "kpaused");
	assert_int_equal(volumes_add(s, &a, &e), 0);
	assert_int_equal(volumes_add(s, &b, &e), 0);
	assert_int_equal(snapshots_put(s, &sn, &e), 0);
	assert_int_equal(store_copy(path, copy, &e), 0);		/* while it is open */
	add_sandbox("ilater", "t", ROW_PAUSED, "klater");
	seen[0] = '\0';
	assert_int_equal(store_parts(copy, look, NULL, &version, &e), 0);
	assert_string_equal(seen, "k:kpaused=0;k:ksnap=0;v:va=7;");
	assert_int_equal(version, store_version(s));
	assert_int_equal(store_copy(path, copy, &e), -EEXIST);	/* never over anything */
	e = ERR_INIT;
}

static int count(void *user, const struct sandbox_row *r)
{
	(void)r;
	++*(int *)user;
	return 0;
}

static void a_purge_takes_the_ended_ones_of_that_team_only(void **state)
{
	struct purged gone = { 0 };
	int left = 0;

	(void)state;
	add_sandbox("i1", "t", ROW_RUNNING, NULL);
	add_sandbox("i2", "t", ROW_RUNNING, NULL);
	add_sandbox("i3", "u", ROW_RUNNING, NULL);
	assert_int_equal(sandboxes_end(s, "i1", 5, "killed", &e), 0);
	assert_int_equal(sandboxes_end(s, "i3", 5, "killed", &e), 0);
	assert_int_equal(purge_team(s, "t", &gone, &e), 0);
	assert_int_equal(gone.sandboxes, 1);
	assert_int_equal(gone.secrets, 0);
	assert_int_equal(sandboxes_each(s, count, &left, &e), 0);
	assert_int_equal(left, 1);
	assert_int_equal(sandboxes_prune(s, 100, &e), 1);		/* that of the other team was still there */
}

static int open_new(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/atoll-copy-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	(void)snprintf(path, sizeof path, "%s/a.db", dir);
	(void)snprintf(copy, sizeof copy, "%s/b.db", dir);
	return store_open(path, &s, &e);
}

static int remove_it(void **state)
{
	(void)state;
	store_close(s);
	(void)unlink(path);
	(void)unlink(copy);
	return rmdir(dir);			/* and no other file is left */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_copy_is_whole_and_names_what_belongs_to_it, open_new, remove_it),
		cmocka_unit_test_setup_teardown(a_purge_takes_the_ended_ones_of_that_team_only, open_new, remove_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

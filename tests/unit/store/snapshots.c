/* SPDX-License-Identifier: Apache-2.0 */
/* Units of store/snapshots: rows survive a restart, and one takes the place of another. */
#include "store/snapshots.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <stdlib.h>
#include <unistd.h>

#include "fixture.h"
#include "unit.h"

static char seen[256];

static int look(void *user, const struct snapshot_row *r)
{
	(void)user;
	size_t n = strlen(seen);

	(void)snprintf(seen + n, sizeof seen - n, "%s:%s=%s/%s,%u;", r->template_id, r->tag, r->kept_name,
	    r->alias ? r->alias : "-", r->kept);
	return 0;
}

static const char *all(void)
{
	seen[0] = '\0';
	assert_int_equal(snapshots_each(s, look, NULL, &e), 0);
	return seen;
}

static struct snapshot_row row(const char *id, const char *tag, const char *kept, uint64_t created_ms)
{
	return (struct snapshot_row) {
		.template_id = id,
		.tag = tag,
		.team = "t",
		.source = "i1",
		.kept_name = kept,
		.kept = 3,
		.base_id = "b",
		.base_name = "base",
		.base_key = "key",
		.mem_bytes = 1,
		.disk_bytes = 2,
		.cpu_permille = 3,
		.pids = 4,
		.created_ms = created_ms,
	};
}

static void rows_are_put_replaced_and_dropped(void **state)
{
	struct snapshot_row a = row("one", "default", "k1", 1), b = row("two", "default", "k2", 2),
			    again = row("one", "default", "k3", 3);

	(void)state;
	a.alias = "mine";
	assert_int_equal(snapshots_put(s, &b, &e), 0);
	assert_int_equal(snapshots_put(s, &a, &e), 0);
	assert_string_equal(all(), "one:default=k1/mine,3;two:default=k2/-,3;");
	store_close(s);
	assert_int_equal(store_open(path, &s, &e), 0);
	assert_int_equal(snapshots_put(s, &again, &e), 0);
	assert_string_equal(all(), "two:default=k2/-,3;one:default=k3/-,3;");
	assert_int_equal(snapshots_drop(s, "two", "other", &e), 0); /* not that one */
	assert_int_equal(snapshots_drop(s, "two", "default", &e), 0);
	assert_string_equal(all(), "one:default=k3/-,3;");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_put_replaced_and_dropped),
	};

	return cmocka_run_group_tests(tests, open_new, remove_it);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Units of store/templates and store/builds: names, tags, logs in order, layers by use, what goes with a template. */
#include "store/builds.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <errno.h>

#include "store/db.h"
#include "store/teams.h"
#include "unit.h"

static struct store *s;
static struct err e;
static char seen[512];

static void add(const char *id, const char *name)
{
	struct template_row t = { .created_ms = 1, .updated_ms = 1 };

	(void)snprintf(t.id, sizeof t.id, "%s", id);
	(void)snprintf(t.team, sizeof t.team, "team");
	(void)snprintf(t.name, sizeof t.name, "%s", name);
	assert_int_equal(templates_add(s, &t, &e), 0);
}

static void build(const char *id, const char *template_id, const char *status, const char *kept)
{
	struct build_row b = { .base_key = "base", .mem_bytes = 1, .created_ms = 5 };

	(void)snprintf(b.id, sizeof b.id, "%s", id);
	(void)snprintf(b.template_id, sizeof b.template_id, "%s", template_id);
	(void)snprintf(b.status, sizeof b.status, "%s", status);
	(void)snprintf(b.kept, sizeof b.kept, "%s", kept);
	assert_int_equal(builds_put(s, &b, &e), 0);
}

static void a_team_has_a_name_once(void **state)
{
	struct template_row t = { .created_ms = 1 }, found;

	(void)state;
	add("one", "first");
	(void)snprintf(t.id, sizeof t.id, "two");
	(void)snprintf(t.team, sizeof t.team, "team");
	(void)snprintf(t.name, sizeof t.name, "first");
	assert_int_equal(templates_add(s, &t, &e), -EEXIST);
	assert_int_equal(templates_by_name(s, "team", "first", &found, &e), 0);
	assert_string_equal(found.id, "one");
	assert_int_equal(templates_by_name(s, "other", "first", &found, &e), -ENOENT);
	assert_int_equal(templates_spawned(s, "one", 77, &e), 0);
	assert_int_equal(templates_set_public(s, "one", true, 78, &e), 0);
	assert_int_equal(templates_by_id(s, "one", &found, &e), 0);
	assert_int_equal(found.spawn_count, 1);
	assert_int_equal(found.spawned_ms, 77);
	assert_true(found.is_public);
	assert_int_equal(templates_set_public(s, "none", true, 78, &e), -ENOENT);
}

static void a_tag_names_one_build(void **state)
{
	struct tag_row t = { "v1", "b1", 1 }, found;

	(void)state;
	assert_int_equal(tags_put(s, "one", &t, &e), 0);
	(void)snprintf(t.build, sizeof t.build, "b2");
	assert_int_equal(tags_put(s, "one", &t, &e), 0);
	assert_int_equal(tags_find(s, "one", "v1", &found, &e), 0);
	assert_string_equal(found.build, "b2");
	assert_int_equal(tags_drop(s, "one", "v1", &e), 1);
	assert_int_equal(tags_drop(s, "one", "v1", &e), 0);
	assert_int_equal(tags_find(s, "one", "v1", &found, &e), -ENOENT);
}

static int on_log(void *user, const struct build_log *l)
{
	size_t n = strlen(seen);

	(void)user;
	(void)snprintf(seen + n, sizeof seen - n, "%s/%s;", l->step, l->message);
	return 0;
}

static const char *logs(uint64_t from, uint64_t limit, unsigned level)
{
	seen[0] = '\0';
	assert_int_equal(build_logs_each(s, "b1", from, limit, level, on_log, NULL, &e), 0);
	return seen;
}

static void logs_are_read_from_where_one_stopped(void **state)
{
	static const struct build_log l[] = { { 1, "info", "base", "a" }, { 2, "debug", "1", "b" },
		{ 2, "error", "1", "c" } };

	(void)state;
	build("b1", "one", "building", "");
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(build_logs_add(s, "b1", &l[i], &e), 0);
	assert_string_equal(logs(0, 100, 0), "base/a;1/b;1/c;");
	assert_string_equal(logs(1, 1, 0), "1/b;");
	assert_string_equal(logs(0, 100, 1), "base/a;1/c;");
	assert_string_equal(logs(3, 100, 0), "");
}

static void an_interrupted_build_has_failed(void **state)
{
	struct build_row b;

	(void)state;
	assert_int_equal(builds_fail_all(s, "restarted", 99, &e), 1);
	assert_int_equal(builds_find(s, "b1", &b, &e), 0);
	assert_string_equal(b.status, "error");
	assert_string_equal(b.reason, "restarted");
	assert_int_equal(b.finished_ms, 99);
	assert_int_equal(builds_fail_all(s, "again", 100, &e), 0);
}

static int on_layer(void *user, const struct layer_row *r)
{
	size_t n = strlen(seen);

	(void)user;
	(void)snprintf(seen + n, sizeof seen - n, "%s=%s;", r->key, r->kept);
	return 0;
}

static int on_stripped(void *user, const char *kept)
{
	size_t n = strlen(seen);

	(void)user;
	(void)snprintf(seen + n, sizeof seen - n, "%s;", kept);
	return 0;
}

static void layers_are_found_by_key_and_listed_by_use(void **state)
{
	struct layer_row a = { .key = "ka", .base_key = "under", .kept = "k1", .used_ms = 10 },
			 b = { .key = "kb", .base_key = "base", .kept = "k2", .used_ms = 20 }, found;

	(void)state;
	assert_int_equal(layers_put(s, &a, &e), 0);
	assert_int_equal(layers_put(s, &b, &e), 0);
	assert_int_equal(layers_find(s, "ka", 30, &found, &e), 0);
	assert_string_equal(found.kept, "k1");
	seen[0] = '\0';
	assert_int_equal(layers_each(s, on_layer, NULL, &e), 0);
	assert_string_equal(seen, "kb=k2;ka=k1;");
	build("b2", "one", "ready", "k1");
	assert_int_equal(kept_users(s, "k1", &e), 2);
	seen[0] = '\0';
	assert_int_equal(base_keys_each(s, on_stripped, NULL, &e), 0);
	assert_string_equal(seen, "base;under;");
	assert_int_equal(layers_drop(s, "ka", &e), 0);
	seen[0] = '\0';
	assert_int_equal(base_keys_each(s, on_stripped, NULL, &e), 0);
	assert_string_equal(seen, "base;");
	assert_int_equal(kept_users(s, "k1", &e), 1);
	assert_int_equal(layers_find(s, "ka", 30, &found, &e), -ENOENT);
}

static void what_no_tag_names_is_let_go(void **state)
{
	struct tag_row t = { "v1", "b2", 1 };
	struct build_row b;

	(void)state;
	build("b3", "one", "ready", "k3");
	assert_int_equal(tags_put(s, "one", &t, &e), 0);
	seen[0] = '\0';
	assert_int_equal(builds_strip(s, on_stripped, NULL, &e), 0);
	assert_string_equal(seen, "k3;");
	assert_int_equal(builds_find(s, "b3", &b, &e), 0);
	assert_string_equal(b.kept, "");
	assert_int_equal(kept_users(s, "k1", &e), 1);
}

static void all_goes_with_the_template(void **state)
{
	struct build_row b;

	(void)state;
	assert_int_equal(templates_drop(s, "one", &e), 0);
	assert_int_equal(builds_find(s, "b2", &b, &e), -ENOENT);
	assert_string_equal(logs(0, 100, 0), "");
	assert_int_equal(kept_users(s, "k1", &e), 0);
	assert_int_equal(templates_drop(s, "one", &e), -ENOENT);
}

static int set_up(void **state)
{
	struct team_row t = { .id = "team", .name = "team", .max_sandboxes = -1, .rate_limit = -1 };

	(void)state;
	return store_open(":memory:", &s, &e) < 0 || teams_add(s, &t, &e) < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	store_close(s);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_team_has_a_name_once),
		cmocka_unit_test(a_tag_names_one_build),
		cmocka_unit_test(logs_are_read_from_where_one_stopped),
		cmocka_unit_test(an_interrupted_build_has_failed),
		cmocka_unit_test(layers_are_found_by_key_and_listed_by_use),
		cmocka_unit_test(what_no_tag_names_is_let_go),
		cmocka_unit_test(all_goes_with_the_template),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

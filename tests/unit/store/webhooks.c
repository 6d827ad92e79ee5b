/* SPDX-License-Identifier: Apache-2.0 */
/* Units of store/events and store/webhooks: what is listed, what waits, and what is forgotten. */
#include "store/webhooks.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "store/teams.h"
#include "unit.h"

static char seen[1024];

static void see_event(void *user, const struct event_row *r)
{
	size_t n = strlen(seen);

	(void)user;
	(void)snprintf(seen + n, sizeof seen - n, "%s/%s;", r->sandbox, r->id);
}

static void see_delivery(void *user, const struct delivery_row *r)
{
	size_t n = strlen(seen);

	(void)user;
	(void)snprintf(seen + n, sizeof seen - n, "%s:%s:%d:%u;", r->id, r->event.id ? r->event.id : "-", r->state,
	    r->attempts);
}

static void see_webhook(void *user, const struct webhook_row *r)
{
	size_t n = strlen(seen);

	(void)user;
	(void)snprintf(seen + n, sizeof seen - n, "%s %s %s %s %d %.*s;", r->id, r->name, r->url, r->events, r->enabled,
	    (int)r->n_sealed, (const char *)r->sealed);
}

static uint64_t add_event(const char *id, const char *team, const char *sandbox, const char *type, uint64_t at_ms)
{
	struct event_row row = { .id = id,
		.team = team,
		.sandbox = sandbox,
		.type = type,
		.at_ms = at_ms,
		.execution = "x",
		.template = "t",
		.build = "b",
		.data = "{}" };
	uint64_t seq = 0;

	assert_int_equal(events_add(s, &row, &seq, &e), 0);
	return seq;
}

static const char *events(const struct event_query *q)
{
	seen[0] = '\0';
	assert_int_equal(events_each(s, q, see_event, NULL, &e), 0);
	return seen;
}

static void events_are_listed_as_asked_for(void **state)
{
	struct event_query q = { .team = "t1", .limit = 9 };

	(void)state;
	(void)add_event("e1", "t1", "i1", "a", 1);
	(void)add_event("e2", "t2", "i2", "a", 2);
	(void)add_event("e3", "t1", "i3", "b", 3);
	(void)add_event("e4", "t1", "i1", "ab", 4);
	(void)add_event("e5", "t1", "", "test", 5); /* about no sandbox */
	assert_string_equal(events(&q), "i1/e4;i3/e3;i1/e1;");
	q.ascending = true;
	assert_string_equal(events(&q), "i1/e1;i3/e3;i1/e4;");
	q.offset = 1;
	q.limit = 1;
	assert_string_equal(events(&q), "i3/e3;");
	q = (struct event_query) { .team = "t1", .sandbox = "i1", .limit = 9 };
	assert_string_equal(events(&q), "i1/e4;i1/e1;");
	q.types = ",a,c,";
	assert_string_equal(events(&q), "i1/e1;");
	q = (struct event_query) { .team = "t2", .sandbox = "i1", .limit = 9 };
	assert_string_equal(events(&q), "");
}

static void a_queue_is_worked_off_in_order(void **state)
{
	struct webhook_row w = { .id = "w1",
		.team = "t1",
		.name = "n",
		.url = "u",
		.events = "a",
		.enabled = true,
		.sealed = "sea",
		.n_sealed = 3,
		.created_ms = 1 };
	struct delivery_row d = { .state = DELIVERY_WAITING, .attempts = 1, .last_ms = 9, .error = "no" };
	uint64_t first, second, n = 7;

	(void)state;
	assert_int_equal(webhooks_add(s, &w, &e), 1);
	first = add_event("e1", "t1", "i1", "a", 1);
	second = add_event("e2", "t1", "i1", "a", 2);
	assert_int_equal(deliveries_next(s, "w1", see_delivery, NULL, &e), 0);
	assert_int_equal(deliveries_add(s, "d1", "w1", first, 1, &e), 1);
	assert_int_equal(deliveries_add(s, "d2", "w1", second, 2, &e), 1);
	assert_int_equal(deliveries_waiting(s, "w1", &n, &e), 0);
	assert_int_equal(n, 2);
	seen[0] = '\0';
	assert_int_equal(deliveries_next(s, "w1", see_delivery, NULL, &e), 1);
	assert_string_equal(seen, "d1:e1:0:0;");
	d.seq = 1;
	assert_int_equal(deliveries_set(s, &d, &e), 1);
	seen[0] = '\0';
	assert_int_equal(deliveries_next(s, "w1", see_delivery, NULL, &e), 1);
	assert_string_equal(seen, "d1:e1:0:1;");
	d.state = DELIVERY_DONE;
	assert_int_equal(deliveries_set(s, &d, &e), 1);
	seen[0] = '\0';
	assert_int_equal(deliveries_each(s, "w1", 9, see_delivery, NULL, &e), 0);
	assert_string_equal(seen, "d2:e2:0:0;d1:e1:1:1;");

	/* what waits is not forgotten, nor what it is about */
	assert_int_equal(events_prune(s, 100, &e), 1);
	assert_int_equal(deliveries_prune(s, 100, &e), 1);
	seen[0] = '\0';
	assert_int_equal(deliveries_each(s, "w1", 9, see_delivery, NULL, &e), 0);
	assert_string_equal(seen, "d2:e2:0:0;");

	w.name = "m";
	w.enabled = false;
	assert_int_equal(webhooks_set(s, &w, &e), 1);
	seen[0] = '\0';
	assert_int_equal(webhooks_each(s, see_webhook, NULL, &e), 0);
	assert_string_equal(seen, "w1 m u a 0 sea;");
	w.team = "t2"; /* is not its */
	assert_int_equal(webhooks_set(s, &w, &e), -ENOENT);
	assert_int_equal(webhooks_drop(s, "w1", &e), 1);
	assert_int_equal(deliveries_waiting(s, "w1", &n, &e), 0);
	assert_int_equal(n, 0);
}

static int open_with_team(void **state)
{
	struct team_row t = { .id = "t1", .name = "one" };

	return open_new(state) < 0 || teams_add(s, &t, &e) < 0 ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(events_are_listed_as_asked_for, open_with_team, remove_it),
		cmocka_unit_test_setup_teardown(a_queue_is_worked_off_in_order, open_with_team, remove_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

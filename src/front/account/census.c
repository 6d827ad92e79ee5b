/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/census: counts of the current minute. */
#include "front/account/census.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/log.h"
#include "base/str.h"
#include "front/util/mem.h"
#include "store/teams.h"

struct count {
	LIST_ENTRY(count) link;
	char team[TEAM_ID_SIZE];
	uint32_t running; /* now */
	uint32_t most;    /* in this minute */
	uint32_t starts;
};

struct census {
	struct store *store;
	LIST_HEAD(, count) counts; /* teams with sandboxes in this minute */
	uint64_t minute_s;         /* its start */
};

static uint64_t minute_of(uint64_t wall_ms)
{
	return wall_ms / 1000 / CENSUS_STEP_S * CENSUS_STEP_S;
}

struct census *census_new(struct store *s, uint64_t now_wall_ms)
{
	struct census *c = must_alloc(sizeof *c);

	c->store = s;
	c->minute_s = minute_of(now_wall_ms);
	LIST_INIT(&c->counts);
	return c;
}

static struct count *find(struct census *c, const char *team)
{
	struct count *n;

	LIST_FOREACH(n, &c->counts, link)
	{
		if (strcmp(n->team, team) == 0)
			return n;
	}
	return NULL;
}

static struct count *need(struct census *c, const char *team)
{
	struct count *n = find(c, team);

	if (n)
		return n;
	n = must_alloc(sizeof *n);
	(void)str_copy(n->team, sizeof n->team, str_of(team));
	LIST_INSERT_HEAD(&c->counts, n, link);
	return n;
}

void census_running(struct census *c, const char *team, int by)
{
	struct count *n = need(c, team);

	n->running += (uint32_t)by;
	if (n->running > n->most)
		n->most = n->running;
}

void census_started(struct census *c, const char *team)
{
	need(c, team)->starts++;
}

static struct team_point point_of(const struct census *c, const struct count *n)
{
	return (struct team_point) { c->minute_s, n->most, n->starts };
}

/* Writes the minute. Teams without running sandboxes are removed. */
static void close_minute(struct census *c)
{
	struct err e;

	for (struct count *n = LIST_FIRST(&c->counts), *next; n; n = next) {
		struct team_point p = point_of(c, n);

		next = LIST_NEXT(n, link);
		if (team_points_add(c->store, n->team, &p, &e) < 0)
			log_warn("could not record the sandbox count of a team", "team=%s err=%s", n->team, e.text);
		n->most = n->running;
		n->starts = 0;
		if (n->running == 0) {
			LIST_REMOVE(n, link);
			free(n);
		}
	}
}

void census_tick(struct census *c, uint64_t now_wall_ms)
{
	uint64_t minute_s = minute_of(now_wall_ms);

	if (minute_s == c->minute_s)
		return;
	close_minute(c);
	c->minute_s = minute_s;
}

int census_each(struct census *c, const char *team, uint64_t from_s, uint64_t to_s,
    void (*fn)(void *user, const struct team_point *p), void *user, struct err *e)
{
	const struct count *n = find(c, team);

	if (team_points_each(c->store, team, from_s, to_s < c->minute_s ? to_s : c->minute_s, fn, user, e) < 0)
		return -e->no;
	if (n && c->minute_s >= from_s && c->minute_s <= to_s) {
		struct team_point p = point_of(c, n);

		fn(user, &p);
	}
	return 0;
}

void census_free(struct census *c)
{
	struct count *n;

	if (!c)
		return;
	close_minute(c);
	while ((n = LIST_FIRST(&c->counts))) {
		LIST_REMOVE(n, link);
		free(n);
	}
	free(c);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* store/team_points: how many sandboxes teams had, minute by minute. A minute without any has no row. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct store;

struct team_point {
	uint64_t at_s;    /* when its minute begins */
	uint32_t running; /* the most at once */
	uint32_t starts;
};

/* A minute that is there already (from the front before this one) is added to. */
int team_points_add(struct store *s, const char *team, const struct team_point *p, struct err *e);

/* Those that begin from from_s to to_s, oldest first. */
int team_points_each(struct store *s, const char *team, uint64_t from_s, uint64_t to_s,
    void (*fn)(void *user, const struct team_point *p), void *user, struct err *e);
int team_points_prune(struct store *s, uint64_t before_s, struct err *e);

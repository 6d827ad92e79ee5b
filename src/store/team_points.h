/* SPDX-License-Identifier: Apache-2.0 */
/* store/team_points: the number of running sandboxes of a team per minute. A minute without any has no row. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct store;

struct team_point {
	uint64_t at_s;    /* start of the minute */
	uint32_t running; /* peak */
	uint32_t starts;
};

/* Adds to an existing minute, from the front before this one. */
int team_points_add(struct store *s, const char *team, const struct team_point *p, struct err *e);

/* Minutes that start between from_s and to_s, oldest first. */
int team_points_each(struct store *s, const char *team, uint64_t from_s, uint64_t to_s,
    void (*fn)(void *user, const struct team_point *p), void *user, struct err *e);
int team_points_prune(struct store *s, uint64_t before_s, struct err *e);

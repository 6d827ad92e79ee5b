/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/census: the number of running sandboxes and of starts per team and minute.
 *
 * The current minute is in memory; when it is over, it is written to the store. A front that is killed loses less
 * than a minute. */
#pragma once

#include <stdint.h>

#include "store/team_points.h"

struct census;
struct store;

#define CENSUS_STEP_S 60
#define CENSUS_KEPT_S (31ull * 24 * 3600)

struct census *census_new(struct store *s, uint64_t now_wall_ms);
void census_free(struct census *c); /* writes the current minute; NULL is fine */

void census_running(struct census *c, const char *team, int by); /* +1: one more runs, -1: one less */
void census_started(struct census *c, const char *team);         /* a new sandbox, not a resumed one */
void census_tick(struct census *c, uint64_t now_wall_ms);        /* about once a second */

/* Calls fn for all minutes with data from from_s to to_s, including the current one, oldest first. */
int census_each(struct census *c, const char *team, uint64_t from_s, uint64_t to_s,
    void (*fn)(void *user, const struct team_point *p), void *user, struct err *e);

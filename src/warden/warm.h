/* SPDX-License-Identifier: Apache-2.0 */
/* warm: keeps templates warm: has the engine prepare what sandboxes of a template are started from, in one child
 * process per template.
 *
 * Only templates that the warden was started with are warmed: immediately, then checked regularly. What warms a
 * template has more privileges than a sandbox, so an image named by a user is never warmed. After a failure the
 * next attempt is delayed, and a child that takes too long is killed. */
#pragma once

#include <stdbool.h>

struct warden;
struct warm;

struct warm *warm_new(struct warden *w); /* NULL: out of memory. Starts with the warden's templates */
/* a sandbox of that template was started cold; accepts any key, and NULL */
void warm_wanted(struct warm *m, const char *key);
bool warm_busy(const struct warm *m, const char *key); /* it is being prepared or checked; NULL is allowed */
void warm_tick(struct warm *m);                        /* about once a second */
void warm_free(struct warm *m);                        /* kills running children; NULL is allowed */

/* SPDX-License-Identifier: Apache-2.0 */
/* warm: keeps templates warm: has the engine make what sandboxes of a template are started from, in a child process per
 * template.
 *
 * Only the templates that the warden was started with: they are warmed at once, looked at now and then, and stay warm.
 * What makes a template warm has more power than a sandbox, so an image that a user has named is never warmed. A
 * failure is not repeated for a while, and a child that takes too long is killed. */
#pragma once

#include <stdbool.h>

struct warden;
struct warm;

struct warm *warm_new(struct warden *w); /* NULL: out of memory. Begins with the warden's templates */
/* a sandbox of that template started cold; any key, and NULL, is fine */
void warm_wanted(struct warm *m, const char *key);
bool warm_busy(const struct warm *m, const char *key); /* it is being made, or looked at; NULL is fine */
void warm_tick(struct warm *m);                        /* about once a second */
void warm_free(struct warm *m);                        /* ends what is under way; NULL is fine */

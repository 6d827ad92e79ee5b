/* SPDX-License-Identifier: Apache-2.0 */
/* warm: keeps templates warm: has the engine make what sandboxes of a template are started from, in a child process per template.
 *
 * The templates that the warden was started with are warmed at once, looked at now and then, and stay warm; another one when a
 * sandbox of it had to start cold. A failure is not repeated for a while. */
#pragma once

#include <stdbool.h>

struct warden;
struct warm;

struct warm *warm_new(struct warden *w);		/* NULL: out of memory. Begins with the warden's templates */
void warm_wanted(struct warm *m, const char *key);	/* a sandbox of that template started cold; NULL is fine */
bool warm_busy(const struct warm *m, const char *key);	/* it is being made, or looked at; NULL is fine */
void warm_tick(struct warm *m);				/* about once a second */
void warm_free(struct warm *m);				/* ends what is under way; NULL is fine */

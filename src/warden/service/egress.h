/* SPDX-License-Identifier: Apache-2.0 */
/* egress: keeps atoll-egress running, which answers the sandboxes' DNS queries and accepts their redirected
 * connections on sockets that the warden has bound. Sends it the policies with names in them. A restarted
 * atoll-egress gets all of them before it serves. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct unit;
struct warden;

/* told(): atoll-egress has the policy of that sandbox. */
int egress_open(struct warden *w, int exe_fd, const char *exe, void (*told)(struct unit *sb), struct err *e);
void egress_close(struct warden *w);
void egress_tick(struct warden *w); /* once a second: restarts a process that does not answer */

/* connects the front and atoll-egress, if both run */
void egress_introduce(struct warden *w);

/* The sandbox's policy has changed; had: the previous one was sent. Calls told() when atoll-egress has the
 * new one, or immediately if there is nothing to send. */
void egress_tell(struct unit *sb, bool had);
void egress_settled(struct unit *sb); /* nothing is awaited for the sandbox any more */
void egress_forget(struct unit *sb);  /* the sandbox has ended */

/* SPDX-License-Identifier: Apache-2.0 */
/* egress: keeps atoll-egress running, which answers the sandboxes' DNS and takes their diverted connections on
 * sockets that the warden bound, and tells it of the policies that have names in them. A new life of it is told of
 * all of them before it serves. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct unit;
struct warden;

int egress_open(struct warden *w, int exe_fd, const char *exe, struct err *e);
void egress_close(struct warden *w);
void egress_tick(struct warden *w); /* once a second: one that does not answer is started anew */

/* front and atoll-egress, if both are there: gives them a socket to each other */
void egress_introduce(struct warden *w);

/* The sandbox's policy is another one than before; had: the last one was told of. sandbox_told() is called when it
 * holds, or at once if there is nothing to tell. */
void egress_tell(struct unit *sb, bool had);
void egress_forget(struct unit *sb); /* it has ended */

/* SPDX-License-Identifier: Apache-2.0 */
/* resolver: keeps atoll-egress running, which answers the sandboxes' DNS on sockets that the warden bound. */
#pragma once

#include "base/err.h"

struct warden;

int resolver_open(struct warden *w, int exe_fd, const char *exe, struct err *e);
void resolver_close(struct warden *w);

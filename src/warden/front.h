/* SPDX-License-Identifier: Apache-2.0 */
/* front: the warden's side of the front: starts it and receives its requests; front_send.h has the
 * answers. */
#pragma once

#include "base/err.h"

struct warden;

int front_open(struct warden *w, int exe_fd, const char *exe, const char *state_dir, struct err *e);
void front_close(struct warden *w);

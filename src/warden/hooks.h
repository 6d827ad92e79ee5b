/* SPDX-License-Identifier: Apache-2.0 */
/* hooks: keeps atoll-hooks running, which delivers the front's webhooks, and gives the two a socket to each other. */
#pragma once

#include "base/err.h"

struct warden;

/* Without the program all works, but nothing is delivered. */
int hooks_open(struct warden *w, struct err *e);
void hooks_close(struct warden *w);
void hooks_introduce(struct warden *w); /* if both are there */

/* SPDX-License-Identifier: Apache-2.0 */
/* webhooks: keeps atoll-webhooks running, which delivers the front's webhooks, and gives the two a socket to each
 * other. */
#pragma once

#include "base/err.h"

struct warden;

/* Without the program everything else works, but nothing is delivered. */
int webhooks_open(struct warden *w, struct err *e);
void webhooks_close(struct warden *w);
void webhooks_introduce(struct warden *w); /* connects the front and atoll-webhooks, if both run */

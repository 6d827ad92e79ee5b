/* SPDX-License-Identifier: Apache-2.0 */
/* oidc: keeps atoll-oidc running, which talks to the OpenID provider for the front's console, and gives the two a
 * socket to each other. It runs only if a provider is configured. */
#pragma once

#include "base/err.h"

struct warden;

int oidc_open(struct warden *w, struct err *e);
void oidc_close(struct warden *w);
void oidc_introduce(struct warden *w); /* connects the front and atoll-oidc, if both run */

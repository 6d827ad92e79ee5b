/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/lane: a thread that serves requests into running sandboxes.
 *
 * It accepts connections beside the other lanes, and serves the requests on them that concern a sandbox of which it has
 * a replica (front/proxy/replica.h), with front/proxy/exchange.c, as the main thread does. It hands any other
 * connection over to the main thread, with the request. docs/internals/front-threads.md describes who owns what. */
#pragma once

#include "front/link/warden_link.h"

struct lane;
struct lane_ask;
struct sandbox;

/* Asks the main thread for a connection to init. fn is called once, unless lane_cancel() is called before; of the
 * reply only no, text and fd are set. */
struct lane_ask *lane_connect(struct lane *la, const struct sandbox *sb, const char *request, warden_fn *fn,
    void *user);
void lane_cancel(struct lane_ask *a); /* NULL is fine */

/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/tunnel: relays bytes in both directions between a client and a port of a sandbox, after an upgrade. */
#pragma once

#include "base/str.h"

struct proxies;
struct sandbox;
struct stream;

/* Takes ownership of the streams. early_*: bytes already received from that side. It frees itself, at the latest
 * when the sandbox ends. */
void tunnel_begin(struct proxies *p, struct sandbox *sb, struct stream *client, struct str early_client,
    struct stream *port, struct str early_port);

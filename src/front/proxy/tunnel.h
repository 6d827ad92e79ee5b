/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/tunnel: bytes both ways between a client and a port of a sandbox, after an upgrade. */
#pragma once

#include "base/str.h"

struct sandbox;
struct stream;

/* Owns the streams. early_*: bytes that had already come from that side. It ends by itself, at the latest with the
 * sandbox. */
void tunnel_begin(struct sandbox *sb, struct stream *client, struct str early_client, struct stream *port,
    struct str early_port);

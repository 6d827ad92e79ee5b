/* SPDX-License-Identifier: Apache-2.0 */
/* http/secure: the interface between the server and TLS.
 *
 * The server uses TLS only through this, so that programs without TLS (atoll-init) do not link it. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct stream_filter;

struct http_secure {
	/* Makes the filter of a new connection's stream. early: bytes of the peer that were already read. NULL:
	 * out of memory, or no certificate loaded yet. */
	struct stream_filter *(*open)(struct http_secure *sec, struct str early);
	bool (*is_h2)(struct stream_filter *f); /* after the handshake: whether HTTP/2 was negotiated */
};

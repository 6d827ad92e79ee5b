/* SPDX-License-Identifier: Apache-2.0 */
/* http/secure: how the connections of a listener are protected, as the server sees it.
 *
 * The server knows TLS only through this, so that programs which do not serve it (atoll-init) do not link it. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

struct stream_filter;

struct http_secure {
	/* For a new connection, which puts it on its stream. early: bytes of the peer that were read before. NULL:
	 * there is no memory, or nothing to be used yet. */
	struct stream_filter *(*open)(struct http_secure *sec, struct str early);
	bool (*is_h2)(struct stream_filter *f); /* once it is ready: did both sides settle on HTTP/2? */
};

/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/origin: which page sends a request. */
#pragma once

#include <stdbool.h>

#include "base/str.h"

/* Whether an Origin field names the host of the request. is_secure: the page must have come over TLS. */
bool origin_is_host(struct str origin, struct str host, bool is_secure);

struct http_req;

/* Whether the page is one of this server under the same host name. True for programs, which send neither Origin nor
 * Sec-Fetch-Site. */
bool origin_is_own(const struct http_req *rq, bool is_secure);

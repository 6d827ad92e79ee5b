/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/from_here: tells requests of programs of this machine from all others. */
#pragma once

#include <stdbool.h>

struct http_req;

/* Whether a program of this machine has sent the request. Excludes pages in a browser, which send an Origin or use
 * a host name of their own choice, and requests that came through a proxy. For listeners on loopback addresses. */
bool request_is_from_here(const struct http_req *rq, const char *domain);

/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/exchange: passes one request on to a sandbox and its answer back.
 *
 *	wait until the sandbox runs -> connect to its init (or take an idle connection), or to a user's port
 *	(front/link/dial)
 *	-> send the head -> body up, answer down, both at the speed of the slower end
 *
 * It lives as long as the client's request. If the client disconnects, the connection into the sandbox is closed
 * as well, so that the server there notices. If the sandbox ends, an answer that has begun is reset; otherwise the
 * client gets 502. */
#pragma once

#include <stdint.h>

struct proxies;
struct http_req;
struct sandbox;

/* proxy.c has checked the request. Takes ownership of rq. */
void exchange_begin(struct proxies *p, struct sandbox *sb, struct http_req *rq, uint16_t port);

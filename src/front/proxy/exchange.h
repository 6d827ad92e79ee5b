/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/exchange: one request passed on to a sandbox and its answer passed back.
 *
 *	wait until the sandbox runs -> connect to its init (or take an idle connection), or to a user's port
 *	(front/dial)
 *	-> send the head -> body up, answer down, both as fast as the slower end
 *
 * It lives as long as the client's request. When the client goes, the connection into the sandbox is closed, so that
 * it is seen there; when the sandbox goes, an answer that has begun is cut off with a reset, else the client
 * gets 502. */
#pragma once

#include <stdint.h>

struct front;
struct http_req;
struct sandbox;

/* The request has been let in by proxy.c. Takes over rq. */
void exchange_begin(struct sandbox *sb, struct http_req *rq, uint16_t port);

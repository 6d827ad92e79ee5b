/* SPDX-License-Identifier: Apache-2.0 */
/* tunnel: "CONNECT anything:PORT" joins the caller to a port on the sandbox's own loopback. */
#pragma once

#include <sys/queue.h>

struct http_req;
struct init;
struct tunnel;

LIST_HEAD(tunnels, tunnel);		/* those that are joined; all zero at first */

void tunnel_open(struct init *in, struct http_req *rq);
void tunnels_drop(struct init *in);	/* all that are joined, at once */

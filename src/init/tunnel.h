/* SPDX-License-Identifier: Apache-2.0 */
/* tunnel: "CONNECT anything:PORT" joins the caller to a port on the sandbox's own loopback. */
#pragma once

struct http_req;
struct init;

void tunnel_open(struct init *in, struct http_req *rq);

/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/proxy: requests for a port of a sandbox: who may pass. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct front;
struct http_req;
struct proxy_target;
struct sandbox;

void proxy_begin(struct front *f, struct http_req *rq, const struct proxy_target *t);

/* To a sandbox that is known already; tokens are checked here. */
void proxy_pass(struct sandbox *sb, struct http_req *rq, uint16_t port);

/* A signed file URL that names no sandbox: the one whose token made the signature. False: it is no such URL. */
bool proxy_begin_signed(struct front *f, struct http_req *rq);

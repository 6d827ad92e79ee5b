/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/proxy: access checks for requests to a port of a sandbox. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct proxies;
struct http_req;
struct proxy_target;
struct sandbox;

void proxy_begin(struct proxies *p, struct http_req *rq, const struct proxy_target *t);

/* Passes the request to a known sandbox; checks the tokens first. */
void proxy_pass(struct proxies *p, struct sandbox *sb, struct http_req *rq, uint16_t port);

/* Whether proxy_pass() would pass it on at once, if the sandbox runs. Only for port_is_ours(). */
bool proxy_passes(const struct proxies *p, const struct sandbox *sb, const struct http_req *rq, uint16_t port);

/* Handles a signed file URL that names no sandbox: finds the sandbox whose token made the signature. Returns false
 * if it is no such URL. */
bool proxy_begin_signed(struct proxies *p, struct http_req *rq);

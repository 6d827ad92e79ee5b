/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/lanes: the other threads of the front (front/proxy/lane.h), as the main thread sees them. All functions
 * accept NULL: there are none. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct http_req;
struct http_secure;
struct http_server;
struct http_server_ops;
struct lanes;
struct proxies;
struct sandbox;

/* Starts n threads, which serve with `serve` (front/proxy/lane_serve.h). Each calls confine() before it reads anything.
 */
int lanes_new(struct proxies *p, unsigned n, const struct http_server_ops *serve, int (*confine)(struct err *e),
    struct lanes **ret, struct err *e);
/* Each lane accepts from a copy of the socket; secure and both as for http_server_listen(). */
int lanes_listen(struct lanes *ls, int fd, struct http_secure *secure, bool both);
/* The server of the main thread, which takes what the lanes do not serve. */
void lanes_serve(struct lanes *ls, struct http_server *s);

/* Whether the request has left for the lane of the sandbox, with its connection. If the lane does not know the sandbox
 * yet, it will at the next request. proxy_passes() has been true. */
bool lanes_take(struct lanes *ls, struct sandbox *sb, struct http_req *rq);

/* Records what the lanes have recorded until now: before a request that may ask for it. */
void lanes_catch_up(struct lanes *ls);

uint32_t lanes_max_conns(const struct lanes *ls, uint32_t max); /* of the main thread, which has max if it is alone */
uint32_t lanes_requests(const struct lanes *ls);                /* in progress */
size_t lanes_conns(const struct lanes *ls);                     /* a moment ago */
uint64_t lanes_evicted(const struct lanes *ls);

void lanes_stop(struct lanes *ls); /* accept no more; what is in progress goes on */
void lanes_free(struct lanes *ls); /* ends the threads, and what is in progress */

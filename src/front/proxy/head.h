/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/head: request and answer heads as they are passed on. No I/O. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "front/util/envd.h"

struct http_answer;
struct http_headers;
struct http_req;

/* Writes a complete request head for the sandbox's init, or for the server on a user's port. mask_host: replaces
 * Host, with "${PORT}" expanded; or NULL. request_id: NULL leaves the client's. */
void proxy_put_request(struct buf *out, const struct http_req *rq, uint16_t port, const char *mask_host,
    const char *request_id);

/* Whether a header is hop-by-hop, by its name or because a Connection header names it. */
bool proxy_is_hop_by_hop(struct str name, const struct http_headers *h);

/* Writes the headers of an answer, without those that depend on the connection to the client. by_headers: only headers
 * of the request name the sandbox, so no cache may store the answer under its URL. */
void proxy_put_answer(struct buf *out, const struct http_answer *a, uint16_t port, bool by_headers);

/* Writes a complete 101 head. */
void proxy_put_upgrade(struct buf *out, const struct http_answer *a);

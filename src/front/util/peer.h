/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/peer: the address that a request comes from. */
#pragma once

#include <stdbool.h>

struct http_req;

#define PEER_TEXT_SIZE 48

/* The address of the client; rq: NULL if it has disconnected. */
void peer_text(const struct http_req *rq, char ret[PEER_TEXT_SIZE]);

/* Whether it is an address of this machine. A sandbox that reaches the server under one of its host names is no
 * program of this machine. */
bool peer_is_here(const struct http_req *rq);

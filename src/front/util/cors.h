/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/cors: CORS headers. */
#pragma once

#include <stdint.h>

struct http_req;

/* Added to every answer of the control API. */
#define CORS_API_HEADERS \
	"Access-Control-Allow-Origin: *\r\n" \
	"Access-Control-Expose-Headers: X-Next-Token, X-Total-Running, RateLimit-Limit, RateLimit-Remaining," \
	" RateLimit-Reset, Retry-After, X-Request-Id\r\n"

/* Added to every answer of envd and of the code interpreter. */
#define CORS_ENVD_HEADERS \
	"Access-Control-Allow-Origin: *\r\n" \
	"Access-Control-Expose-Headers: Grpc-Status, Grpc-Message, Grpc-Status-Details-Bin, Connect-Content-Encoding," \
	" Connect-Protocol-Version, Location, Cache-Control, X-Content-Type-Options\r\n"

/* Added to answers of envd under the origin of the API (signed URLs without a host name of their own): content
 * written by a sandbox must not act as a page of the API. */
#define CSP_GUEST \
	"Content-Security-Policy: sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads\r\n"

void cors_preflight_api(struct http_req *rq);
void cors_preflight_port(struct http_req *rq, uint16_t port); /* PORT_ENVD or PORT_INTERPRETER */

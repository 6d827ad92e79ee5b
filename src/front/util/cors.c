/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/cors: answers to preflight requests. */
#include "front/util/cors.h"

#include "base/buf.h"
#include "front/util/envd.h"
#include "http/server.h"

#define MAX_AGE "Access-Control-Max-Age: 7200\r\n"

void cors_preflight_api(struct http_req *rq)
{
	http_respond(rq, 204, NULL,
	    CORS_API_HEADERS
	    "Access-Control-Allow-Methods: GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS\r\n"
	    "Access-Control-Allow-Headers: Origin, Content-Length, Content-Type, User-Agent, Authorization, X-API-Key,"
	    " X-Team-ID, X-Admin-Token, X-Request-Id, browser, lang, lang_version, machine, os, package_version,"
	    " processor, publisher, release, sdk_runtime, system, Accept, Mcp-Session-Id, MCP-Protocol-Version, "
	    "Mcp-Method, Mcp-Name,"
	    " Last-Event-ID\r\n" MAX_AGE,
	    STR_NULL);
}

/* "*" does not cover Authorization, so the requested headers are listed. */
static void put_allowed_headers(struct buf *out, struct str asked)
{
	buf_z(out, "Access-Control-Allow-Headers: ");
	if (asked.n > 0 && asked.n < 4096)
		buf_str(out, asked);
	else
		buf_z(out, "*, Authorization");
	buf_z(out, "\r\nVary: Access-Control-Request-Headers\r\n");
}

void cors_preflight_port(struct http_req *rq, uint16_t port)
{
	autobuf struct buf h = BUF_INIT(8192);

	buf_z(&h, CORS_ENVD_HEADERS MAX_AGE "Access-Control-Allow-Methods: HEAD, GET, POST, PUT, PATCH, DELETE");
	buf_z(&h, port == PORT_INTERPRETER ? ", OPTIONS\r\n" : "\r\n");
	put_allowed_headers(&h, http_header_get(&rq->headers, "access-control-request-headers"));
	http_respond(rq, 204, NULL, buf_cstr(&h), STR_NULL);
}

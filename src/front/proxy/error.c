/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/error: JSON for programs, a short page for browsers. */
#include "front/proxy/error.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "front/proxy/head.h"
#include "front/util/cors.h"
#include "http/json.h"
#include "http/server.h"

#define ERROR_MAX (16 * 1024)
#define JSON_TYPE "application/json; charset=utf-8"

static bool contains(struct str s, const char *z)
{
	return s.n > 0 && memmem(s.p, s.n, z, strlen(z)) != NULL;
}

bool proxy_is_browser(const struct http_req *rq)
{
	struct str agent = http_header_get(&rq->headers, "user-agent");
	struct str accept = http_header_get(&rq->headers, "accept");
	struct str mode = http_header_get(&rq->headers, "sec-fetch-mode");

	if (!contains(agent, "Mozilla/") || (contains(accept, "application/json") && !contains(accept, "text/html")))
		return false;
	if (mode.p)
		return str_is(mode, "navigate"); /* set by the browser; scripts cannot change it */
	return !http_header_get(&rq->headers, "x-requested-with").p;
}

static const char *cors_of(uint16_t port)
{
	return port_is_ours(port) ? CORS_ENVD_HEADERS : NULL;
}

static void send_json(struct http_req *rq, int status, uint16_t port, json_t *j)
{
	autojson json_t *own = j;
	autobuf struct buf out = BUF_INIT(ERROR_MAX);

	json_put(&out, own);
	http_respond(rq, status, JSON_TYPE, cors_of(port), buf_view(&out));
}

/* Only the id comes from the request, and it is [a-z0-9]. Programs that look for a page expect it to begin and end
 * with the html element. */
static void send_page(struct http_req *rq, int status, struct str id, const char *title, const char *message)
{
	autobuf struct buf out = BUF_INIT(ERROR_MAX);

	buf_fmt(&out,
	    "<html lang=en><meta charset=utf-8><title>%s</title>"
	    "<body style=\"font:16px sans-serif;margin:4em auto;max-width:36em\"><h1>%s</h1><p>%s</p>"
	    "<p>Sandbox <code>%.*s</code>, status %d.</p></body></html>",
	    title, title, message, STR_ARG(id), status);
	http_respond(rq, status, "text/html; charset=utf-8", NULL, buf_view(&out));
}

static void refuse(struct http_req *rq, int status, struct str id, uint16_t port, const char *title,
    const char *message)
{
	if (proxy_is_browser(rq))
		send_page(rq, status, id, title, message);
	else
		send_json(rq, status, port,
		    json_pack("{s:s%,s:s,s:i}", "sandboxId", id.p, id.n, "message", message, "code", status));
}

void proxy_refuse(struct http_req *rq, int status, struct str id, uint16_t port, const char *message)
{
	refuse(rq, status, id, port, "The Request Was Refused", message);
}

void proxy_not_found(struct http_req *rq, struct str id, uint16_t port)
{
	refuse(rq, 502, id, port, "Sandbox Not Found", "The sandbox was not found");
}

void proxy_no_traffic_token(struct http_req *rq, struct str id, uint16_t port, bool wrong)
{
	if (wrong)
		refuse(rq, 403, id, port, "Invalid Traffic Access Token",
		    "Sandbox is secured with traffic access token. Provided token in header 'e2b-traffic-access-token' "
		    "is invalid");
	else
		refuse(rq, 403, id, port, "Missing Traffic Access Token",
		    "Sandbox is secured with traffic access token. Token header 'e2b-traffic-access-token' is missing");
}

void proxy_port_closed(struct http_req *rq, struct str id, uint16_t port)
{
	static const char message[] = "The sandbox is running but port is not open";
	char text[96];

	if (proxy_is_browser(rq)) {
		(void)snprintf(text, sizeof text, "The sandbox is running, but there is no service running on port %u.",
		    port);
		send_page(rq, 502, id, "Closed Port", text);
	} else {
		send_json(rq, 502, port,
		    json_pack("{s:s%,s:s,s:i,s:i}", "sandboxId", id.p, id.n, "message", message, "port", (int)port,
			"code", 502));
	}
}

void proxy_hidden(struct http_req *rq, uint16_t port)
{
	json_t *path = json_stringn(rq->path.p, rq->path.n);

	send_json(rq, 404, port,
	    json_pack("{s:s,s:i,s:o}", "message", "this path is reserved for the E2B control plane", "code", 404,
		"path", path ? path : json_string("")));
}

void proxy_envd_error(struct http_req *rq, int status, const char *message)
{
	send_json(rq, status, PORT_ENVD, json_pack("{s:i,s:s}", "code", status, "message", message));
}

void proxy_plain(struct http_req *rq, int status, const char *text)
{
	http_respond(rq, status, "text/plain; charset=utf-8", NULL, str_of(text));
}

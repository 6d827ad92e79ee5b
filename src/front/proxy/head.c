/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/head: which headers are passed on, and which are hop-by-hop. */
#include "front/proxy/head.h"

#include "base/fd.h"
#include "base/str.h"
#include "front/util/cors.h"
#include "front/util/session_cookie.h"
#include "http/call.h"
#include "http/server.h"

static bool is_one_of(struct str name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (str_ieq(name, str_of(list[i])))
			return true;
	}
	return false;
}

/* Whether a Connection header names it, so that it is for this hop only. */
static bool is_named_by_connection(struct str name, const struct http_headers *h)
{
	for (size_t i = 0; i < h->n; i++) {
		struct str list = h->v[i].value;

		if (!str_ieq(h->v[i].name, STR_LIT("connection")))
			continue;
		while (list.p) {
			if (str_ieq(str_trim(str_cut(&list, ',')), name))
				return true;
		}
	}
	return false;
}

bool proxy_is_hop_by_hop(struct str name, const struct http_headers *h)
{
	static const char *const fixed[] = {
		"connection",
		"keep-alive",
		"proxy-connection",
		"proxy-authenticate",
		"proxy-authorization",
		"te",
		"trailer",
		"transfer-encoding",
		"upgrade",
	};

	return is_one_of(name, fixed, ARRAY_LEN(fixed)) || is_named_by_connection(name, h);
}

static void put_line(struct buf *out, struct str name, struct str value)
{
	buf_str(out, name);
	buf_z(out, ": ");
	buf_str(out, value);
	buf_z(out, "\r\n");
}

/* Requests to init get the front's own routing headers, and none of the secrets meant for the front. */
static bool is_dropped_request_line(struct str name, uint16_t port)
{
	static const char *const always[] = {
		"host",
		"content-length",
		"expect",
		"e2b-sandbox-id",
		"e2b-sandbox-port",
		"e2b-traffic-access-token",
	};
	static const char *const for_init[] = { "x-access-token", "x-api-key", "x-request-id", "cookie" };

	return is_one_of(name, always, ARRAY_LEN(always)) ||
	    (port_is_ours(port) && is_one_of(name, for_init, ARRAY_LEN(for_init)));
}

/* A browser that sends a request into a sandbox under the API's host name adds the console's cookie to it. */
static void put_cookies(struct buf *out, struct str field)
{
	size_t began = out->n;

	buf_z(out, "Cookie: ");
	size_t named = out->n;

	session_cookie_hide(out, field);
	if (out->n == named)
		out->n = began;
	else
		buf_z(out, "\r\n");
}

static void put_target(struct buf *out, const struct http_req *rq)
{
	if (rq->target.n > 0 && rq->target.p[0] == '/') {
		buf_str(out, rq->target);
	} else if (rq->path.n > 0 && rq->path.p[0] == '/') { /* "http://host/path" */
		buf_str(out, rq->path);
		if (rq->query.n > 0)
			buf_ch(out, '?');
		buf_str(out, rq->query);
	} else {
		buf_ch(out, '*');
	}
}

static void put_host(struct buf *out, const struct http_req *rq, uint16_t port, const char *mask)
{
	if (!mask) {
		put_line(out, STR_LIT("Host"), rq->host.n ? rq->host : STR_LIT("localhost"));
		return;
	}

	const char *at = strstr(mask, "${PORT}");

	if (at)
		buf_fmt(out, "Host: %.*s%u%s\r\n", (int)(at - mask), mask, port, at + strlen("${PORT}"));
	else
		buf_fmt(out, "Host: %s\r\n", mask);
	put_line(out, STR_LIT("X-Forwarded-Host"), rq->host);
}

static void put_framing(struct buf *out, const struct http_req *rq)
{
	bool has_body_method = !str_is(rq->method, "GET") && !str_is(rq->method, "HEAD") && !rq->upgrade;

	if (rq->content_length < 0)
		buf_z(out, "Transfer-Encoding: chunked\r\n");
	else if (rq->content_length > 0 || has_body_method)
		buf_fmt(out, "Content-Length: %lld\r\n", (long long)rq->content_length);
}

void proxy_put_request(struct buf *out, const struct http_req *rq, uint16_t port, const char *mask_host,
    const char *request_id)
{
	bool ours = port_is_ours(port);

	buf_str(out, rq->method);
	buf_ch(out, ' ');
	put_target(out, rq);
	buf_z(out, " HTTP/1.1\r\n");
	put_host(out, rq, port, ours ? NULL : mask_host);
	for (size_t i = 0; i < rq->headers.n; i++) {
		struct str name = rq->headers.v[i].name;

		if (proxy_is_hop_by_hop(name, &rq->headers) || is_dropped_request_line(name, port) ||
		    (mask_host && !ours && str_ieq(name, STR_LIT("x-forwarded-host"))))
			continue;
		if (str_ieq(name, STR_LIT("cookie")))
			put_cookies(out, rq->headers.v[i].value);
		else
			put_line(out, name, rq->headers.v[i].value);
	}
	if (ours) {
		buf_fmt(out, "E2b-Sandbox-Port: %u\r\n", port);
		if (request_id)
			buf_fmt(out, "X-Request-Id: %s\r\n", request_id);
	} else if (rq->upgrade) {
		buf_z(out, "Connection: Upgrade\r\n");
		put_line(out, STR_LIT("Upgrade"), http_header_get(&rq->headers, "upgrade"));
	} else {
		buf_z(out, "Connection: close\r\n"); /* a tunnel serves one request */
	}
	put_framing(out, rq);
	buf_z(out, "\r\n");
}

/* No sandbox may log a browser in to the console. */
static bool sets_session(struct str name, struct str value)
{
	return str_ieq(name, STR_LIT("set-cookie")) && session_cookie_is_set_by(value);
}

static bool is_about_caches(struct str name)
{
	static const char *const names[] = { "cache-control", "expires", "pragma", "age", "cdn-cache-control",
		"surrogate-control", "x-accel-expires" };

	return is_one_of(name, names, ARRAY_LEN(names));
}

void proxy_put_answer(struct buf *out, const struct http_answer *a, uint16_t port, bool by_headers)
{
	bool ours = port_is_ours(port);

	for (size_t i = 0; i < a->headers.n; i++) {
		struct str name = a->headers.v[i].name;

		if (proxy_is_hop_by_hop(name, &a->headers) || str_ieq(name, STR_LIT("content-length")))
			continue;
		if (sets_session(name, a->headers.v[i].value) || (by_headers && is_about_caches(name)))
			continue;
		if (ours && name.n > 15 && str_ieq((struct str) { name.p, 15 }, STR_LIT("access-control-")))
			continue; /* the front sets the CORS headers */
		put_line(out, name, a->headers.v[i].value);
	}
	if (ours)
		buf_z(out, CORS_ENVD_HEADERS);
	if (by_headers)
		buf_z(out, "Cache-Control: no-store\r\nVary: E2b-Sandbox-Id, E2b-Sandbox-Port\r\n");
}

void proxy_put_upgrade(struct buf *out, const struct http_answer *a)
{
	struct str to = http_header_get(&a->headers, "upgrade");

	buf_z(out, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n");
	put_line(out, STR_LIT("Upgrade"), to.n ? to : STR_LIT("websocket"));
	for (size_t i = 0; i < a->headers.n; i++) {
		struct str name = a->headers.v[i].name;

		if (!proxy_is_hop_by_hop(name, &a->headers) && !str_ieq(name, STR_LIT("content-length")) &&
		    !sets_session(name, a->headers.v[i].value))
			put_line(out, name, a->headers.v[i].value);
	}
	buf_z(out, "\r\n");
}

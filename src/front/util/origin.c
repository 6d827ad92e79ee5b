/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/origin: compares Origin, Sec-Fetch-Site and Host. */
#include "front/util/origin.h"

#include "http/server.h"

/* Browsers omit the default port; other clients may send it. */
static struct str without_port_of(struct str host, const char *port)
{
	return str_ends(host, port) ? (struct str) { host.p, host.n - strlen(port) } : host;
}

bool origin_is_host(struct str origin, struct str host, bool is_secure)
{
	const char *port = ":443";

	if (str_starts(origin, "https://")) {
		str_skip(&origin, strlen("https://"));
	} else if (!is_secure && str_starts(origin, "http://")) {
		str_skip(&origin, strlen("http://"));
		port = ":80";
	} else {
		return false; /* also "null", of pages without an origin */
	}
	return host.n > 0 && str_ieq(without_port_of(origin, port), without_port_of(host, port));
}

bool origin_is_own(const struct http_req *rq, bool is_secure)
{
	struct str site = http_header_get(&rq->headers, "sec-fetch-site");
	struct str origin = http_header_get(&rq->headers, "origin");

	return (!site.p || str_is(site, "same-origin")) && (!origin.p || origin_is_host(origin, rq->host, is_secure));
}

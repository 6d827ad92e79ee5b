/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/from_here: the headers, the host name and the address of a request. */
#include "front/proxy/from_here.h"

#include "base/fd.h"
#include "front/proxy/route.h"
#include "front/util/peer.h"
#include "http/server.h"

bool request_is_from_here(const struct http_req *rq, const char *domain)
{
	static const char *const foreign[] = { "origin", "forwarded", "x-forwarded-for", "x-real-ip" };

	for (size_t i = 0; i < ARRAY_LEN(foreign); i++) {
		if (http_header_get(&rq->headers, foreign[i]).p)
			return false;
	}

	/* A page of the server's own origin sends no Origin with a GET, but Sec-Fetch-Site. That is "none" for an
	 * address that a person has typed; programs do not send it. */
	struct str site = http_header_get(&rq->headers, "sec-fetch-site");

	if (site.p && !str_is(site, "none"))
		return false;
	return host_is_local(rq->host, domain) && peer_is_here(rq);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* front/api/dispatch: sends each request to the API or to a sandbox. */
#include "front/api/dispatch.h"

#include "front/api/api.h"
#include "front/api/begin.h"
#include "front/api/request.h"
#include "front/api/uploads.h"
#include "front/console/console.h"
#include "front/console/serve.h"
#include "front/link/links.h"
#include "front/proxy/error.h"
#include "front/proxy/lanes.h"
#include "front/proxy/proxies.h"
#include "front/proxy/proxy.h"
#include "front/proxy/route.h"
#include "front/proxy/volume_content.h"
#include "http/server.h"

static void on_request(void *user, struct http_req *rq)
{
	struct api *a = user;
	struct proxy_target t;

	if (a->link->stopping)
		http_close_after(rq);
	switch (proxy_route(rq->host, http_header_get(&rq->headers, "e2b-sandbox-id"),
	    http_header_get(&rq->headers, "e2b-sandbox-port"), a->link->opt.domain, &t)) {
	case ROUTE_PORT:
		proxy_begin(a->proxy, rq, &t);
		break;
	case ROUTE_BAD:
		proxy_plain(rq, 400, t.why);
		break;
	case ROUTE_API:
		lanes_catch_up(a->proxy->lanes);
		if (a->console->sessions && console_is(rq))
			console_serve(a->console, rq);
		else if (volume_content_is(rq))
			volume_content_begin(a->proxy, rq);
		else if (!proxy_begin_signed(a->proxy, rq))
			req_begin(a, rq);
		break;
	}
}

const struct http_server_ops dispatch_ops = { .on_request = on_request };

void api_tick(struct api *a)
{
	req_waiting_tick(a);
	req_end_slow(a);
	uploads_tick(a);
}

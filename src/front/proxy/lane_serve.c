/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/lane_serve: which requests a lane serves. */
#include "front/proxy/lane_serve.h"

#include "front/proxy/exchange.h"
#include "front/proxy/lane_impl.h"
#include "front/proxy/proxy.h"
#include "front/proxy/route.h"
#include "front/sandbox/table.h"
#include "front/util/envd.h"
#include "http/server.h"

/* The sandbox if the request is served here. Whatever is refused, waits or is not for a running sandbox is left to the
 * main thread. */
static struct sandbox *serves(struct lane *la, struct http_req *rq, uint16_t *ret_port)
{
	struct proxy_target t;
	struct sandbox *sb;

	if (proxy_route(rq->host, http_header_get(&rq->headers, "e2b-sandbox-id"),
		http_header_get(&rq->headers, "e2b-sandbox-port"), la->link.opt.domain, &t) != ROUTE_PORT ||
	    !port_is_ours(t.port))
		return NULL;
	*ret_port = t.port;
	sb = sandbox_table_find(la->sandbox.table, t.id);
	return sb && !lanes_behind(la->all) && proxy_passes(&la->proxy, sb, rq, t.port) ? sb : NULL;
}

static void on_request(void *user, struct http_req *rq)
{
	struct lane *la = user;
	uint16_t port;
	struct sandbox *sb = serves(la, rq, &port);

	if (la->link.stopping)
		http_close_after(rq);
	if (sb)
		exchange_begin(&la->proxy, sb, rq, port);
	else if (!http_hand_over(rq, NULL))
		http_abort(rq); /* the client has left, or has closed its side */
}

const struct http_server_ops lane_serve_ops = { .on_request = on_request };

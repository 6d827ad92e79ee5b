/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/route: decides whether a request is for the control API or for a port of a sandbox. No I/O. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum proxy_route {
	ROUTE_API,
	ROUTE_PORT, /* id and port are set */
	ROUTE_BAD,  /* answer 400; why is set */
};

struct proxy_target {
	struct str id; /* points into the arguments */
	uint16_t port;
	bool by_headers; /* not by the host name */
	const char *why;
};

/* host: the Host header, with or without a port. hdr_*: the routing headers, p == NULL if absent. domain: the
 * configured one, with or without a port, or "". */
enum proxy_route proxy_route(struct str host, struct str hdr_id, struct str hdr_port, const char *domain,
    struct proxy_target *ret);

bool sandbox_id_valid(struct str id); /* [a-z0-9]+ */

/* DOMAIN[:PORT] of a host of the form api.DOMAIN[:PORT] that a client has built, where DOMAIN is in lower case.
 * Otherwise STR_NULL. */
struct str host_domain(struct str host);

/* Whether it is a name that only this server can have: an address, localhost, or a name below the configured
 * domain. */
bool host_is_local(struct str host, const char *domain);

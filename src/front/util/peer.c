/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/peer: reads the address of a connection. */
#include "front/util/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "http/server.h"

void peer_text(const struct http_req *rq, char ret[PEER_TEXT_SIZE])
{
	struct sockaddr_storage a = { 0 };
	const void *raw;

	if (rq)
		(void)http_peer(rq, &a);
	raw = a.ss_family == AF_INET6 ? (const void *)&((const struct sockaddr_in6 *)&a)->sin6_addr
				      : (const void *)&((const struct sockaddr_in *)&a)->sin_addr;
	if ((a.ss_family != AF_INET && a.ss_family != AF_INET6) || !inet_ntop(a.ss_family, raw, ret, PEER_TEXT_SIZE))
		(void)snprintf(ret, PEER_TEXT_SIZE, "unknown");
}

bool peer_is_here(const struct http_req *rq)
{
	struct sockaddr_storage from;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&from;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&from;

	if (http_peer(rq, &from) < 0)
		return false;
	if (from.ss_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return from.ss_family != AF_INET6 || IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

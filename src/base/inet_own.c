/* SPDX-License-Identifier: Apache-2.0 */
/* inet_own: the one check of addresses that has to ask the kernel. */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/inet.h"

static bool is_loopback(const struct sockaddr_storage *ss)
{
	const struct in6_addr *a = &((const struct sockaddr_in6 *)ss)->sin6_addr;

	if (ss->ss_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)ss)->sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(a) || (IN6_IS_ADDR_V4MAPPED(a) && a->s6_addr[12] == 127);
}

/* The kernel chooses an address of this host as the source for a connection to itself. */
bool inet_addr_is_own(const struct sockaddr *sa)
{
	bool v4 = sa->sa_family == AF_INET;
	struct sockaddr_storage to = { 0 }, from = { 0 };
	socklen_t n = v4 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6), n_from = sizeof from;

	if (!v4 && sa->sa_family != AF_INET6)
		return true;
	memcpy(&to, sa, n);
	if (is_loopback(&to)) /* one loopback address is the source for all */
		return true;
	if (v4)
		((struct sockaddr_in *)&to)->sin_port = htons(9);
	else
		((struct sockaddr_in6 *)&to)->sin6_port = htons(9);
	autoclose int fd = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, n) < 0) /* UDP: sends nothing */
		return false;                                     /* no route: connecting will report it */
	if (getsockname(fd, (struct sockaddr *)&from, &n_from) < 0)
		return true;
	if (v4)
		return ((struct sockaddr_in *)&to)->sin_addr.s_addr == ((struct sockaddr_in *)&from)->sin_addr.s_addr;
	return memcmp(&((struct sockaddr_in6 *)&to)->sin6_addr, &((struct sockaddr_in6 *)&from)->sin6_addr,
		   sizeof(struct in6_addr)) == 0;
}

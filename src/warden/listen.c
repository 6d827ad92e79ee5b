/* SPDX-License-Identifier: Apache-2.0 */
/* layout: the sockets that the warden binds for its helpers. */
#include "warden/layout.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/fd.h"
#include "base/str.h"

#define BACKLOG 4096
#define BIND_TRIES 100 /* of BIND_STEP_MS each: helpers of a killed warden exit by themselves */
#define BIND_STEP_MS 50
#define DNS_PORT 53

union addr {
	struct sockaddr sa;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static bool parse_addr(const char *where, union addr *ret, socklen_t *ret_n)
{
	const char *colon = strrchr(where, ':');
	char host[INET6_ADDRSTRLEN];
	uint64_t port;

	if (!colon || str_to_u64(str_of(colon + 1), 65535, &port) < 0)
		return false;
	struct str h = { where, (size_t)(colon - where) };
	bool v6 = h.n > 2 && h.p[0] == '[' && h.p[h.n - 1] == ']';

	if (v6)
		h = (struct str) { h.p + 1, h.n - 2 };
	if (!str_copy(host, sizeof host, h))
		return false;
	memset(ret, 0, sizeof *ret);
	ret->sa.sa_family = v6 ? AF_INET6 : AF_INET;
	*ret_n = v6 ? sizeof ret->v6 : sizeof ret->v4;
	if (v6)
		ret->v6.sin6_port = htons((uint16_t)port);
	else
		ret->v4.sin_port = htons((uint16_t)port);
	return inet_pton(ret->sa.sa_family, host, v6 ? (void *)&ret->v6.sin6_addr : (void *)&ret->v4.sin_addr) == 1;
}

static int bind_patiently(int fd, const union addr *a, socklen_t n)
{
	for (int i = 0; i < BIND_TRIES; i++) {
		if (bind(fd, &a->sa, n) == 0)
			return 0;
		if (errno != EADDRINUSE)
			return -1;
		(void)nanosleep(&(struct timespec) { .tv_nsec = BIND_STEP_MS * 1000000L }, NULL);
	}
	return -1;
}

static int open_socket(const union addr *a, socklen_t n, int type, int *ret_fd)
{
	autoclose int fd = socket(a->sa.sa_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1;

	if (fd < 0)
		return -1;
	if (type == SOCK_STREAM)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (a->sa.sa_family == AF_INET6) /* so that both [::]:443 and 0.0.0.0:443 can be bound */
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
	if (a->sa.sa_family == AF_INET)
		(void)setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &one, sizeof one);
	if (bind_patiently(fd, a, n) < 0 || (type == SOCK_STREAM && listen(fd, BACKLOG) < 0))
		return -1;
	*ret_fd = take_fd(&fd);
	return 0;
}

int layout_listen(const char *where, int *ret_fd, char *ret_at, size_t at_size, struct err *e)
{
	char host[INET6_ADDRSTRLEN];
	union addr a;
	socklen_t n;

	if (!parse_addr(where, &a, &n))
		return err_set(e, EINVAL, "listen on '%s': want ADDRESS:PORT or [ADDRESS]:PORT, with a numeric address",
		    where);
	if (open_socket(&a, n, SOCK_STREAM, ret_fd) < 0)
		return err_sys(e, "listen on '%s'", where);
	if (getsockname(*ret_fd, &a.sa, &n) < 0) /* port 0 means any port */
		return err_sys(e, "listen on '%s'", where);
	bool v6 = a.sa.sa_family == AF_INET6;

	(void)inet_ntop(a.sa.sa_family, v6 ? (void *)&a.v6.sin6_addr : (void *)&a.v4.sin_addr, host, sizeof host);
	(void)snprintf(ret_at, at_size, v6 ? "[%s]:%u" : "%s:%u", host, ntohs(v6 ? a.v6.sin6_port : a.v4.sin_port));
	return 0;
}

int layout_names(uint32_t instance, int *ret_fd, struct err *e)
{
	union addr a = { .v4 = { .sin_family = AF_INET,
			     .sin_port = htons(LAYOUT_NAMES_PORT),
			     .sin_addr.s_addr = htonl(10u << 24 | (200 + instance) << 16 | 1) } };

	if (open_socket(&a, sizeof a.v4, SOCK_STREAM, ret_fd) < 0)
		return err_sys(e, "bind the sandboxes' way to host names to 10.%u.0.1:%d", 200 + instance,
		    LAYOUT_NAMES_PORT);
	return 0;
}

int layout_gateway(uint32_t instance, int *ret_udp, int *ret_tcp, int *ret_proxy, struct err *e)
{
	union addr a = { .v4 = { .sin_family = AF_INET,
			     .sin_port = htons(DNS_PORT),
			     .sin_addr.s_addr = htonl(10u << 24 | (200 + instance) << 16 | 1) } };

	if (open_socket(&a, sizeof a.v4, SOCK_DGRAM, ret_udp) < 0 ||
	    open_socket(&a, sizeof a.v4, SOCK_STREAM, ret_tcp) < 0)
		return err_sys(e, "bind the sandboxes' resolver to 10.%u.0.1:53", 200 + instance);
	a.v4.sin_port = htons(LAYOUT_PROXY_PORT);
	if (open_socket(&a, sizeof a.v4, SOCK_STREAM, ret_proxy) < 0)
		return err_sys(e, "bind the sandboxes' proxy to 10.%u.0.1:%d", 200 + instance, LAYOUT_PROXY_PORT);
	return 0;
}

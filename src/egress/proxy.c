/* SPDX-License-Identifier: Apache-2.0 */
/* proxy: accepts connections, identifies the sandbox and the destination, and creates a flow. */
#include "egress/proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter_ipv4.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "egress/clients.h"
#include "egress/flow.h"
#include "loop/loop.h"

#define ACCEPTS_PER_ROUND 16

struct proxy {
	struct clients *clients;
	int fd;
	struct watch *watch;
	struct flow_env env;
	unsigned n_flows, max_flows;
};

static void on_flow_gone(void *user)
{
	struct proxy *px = user;

	px->n_flows--;
}

/* The destination before the diversion. false: the connection was made to the proxy itself. */
static bool destination(int fd, struct sockaddr_in *ret)
{
	struct sockaddr_in here;
	socklen_t n = sizeof *ret, m = sizeof here;

	if (getsockopt(fd, SOL_IP, SO_ORIGINAL_DST, ret, &n) < 0 || n != sizeof *ret || ret->sin_family != AF_INET ||
	    getsockname(fd, (struct sockaddr *)&here, &m) < 0)
		return false;
	return ret->sin_addr.s_addr != here.sin_addr.s_addr;
}

static void turn_away(int fd)
{
	const struct linger now = { .l_onoff = 1, .l_linger = 0 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
	fd_close(fd);
}

static void take(struct proxy *px, int fd, const struct sockaddr_in *from)
{
	struct client *c = clients_find(px->clients, ntohl(from->sin_addr.s_addr));
	struct sockaddr_in to;

	if (!c || c->n_flows >= PROXY_CLIENT_FLOWS_MAX || px->n_flows >= px->max_flows || !destination(fd, &to)) {
		turn_away(fd);
		return;
	}
	/* The path to the sandbox is only a pair of devices, with no bandwidth to measure: see http/server.c. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
	px->n_flows++;
	(void)flow_new(&px->env, c, fd, ntohl(to.sin_addr.s_addr), ntohs(to.sin_port));
}

static void on_readable(void *user, int events)
{
	struct proxy *px = user;

	(void)events;
	for (int i = 0; i < ACCEPTS_PER_ROUND; i++) {
		struct sockaddr_in from = { 0 };
		socklen_t len = sizeof from;
		int fd = accept4(px->fd, (struct sockaddr *)&from, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		take(px, fd, &from);
	}
}

struct proxy *proxy_new(struct loop *l, int fd, struct clients *cs, struct resolver *rv, unsigned max_flows)
{
	struct proxy *px = calloc(1, sizeof *px);

	if (!px)
		return NULL;
	*px = (struct proxy) { .clients = cs,
		.fd = fd,
		.max_flows = max_flows,
		.env = { .loop = l, .resolver = rv, .on_gone = on_flow_gone, .user = px } };
	px->watch = watch_new(l, fd, WATCH_IN, on_readable, px);
	if (!px->watch) {
		free(px);
		return NULL;
	}
	return px;
}

void proxy_recheck(struct proxy *px, struct client *c)
{
	(void)px;
	for (struct flow *f = c->flows, *next; f; f = next) {
		next = flow_next(f);
		if (!flow_still_allowed(f))
			flow_free(f);
	}
}

void proxy_cut(struct proxy *px, struct client *c)
{
	(void)px;
	while (c->flows)
		flow_free(c->flows);
}

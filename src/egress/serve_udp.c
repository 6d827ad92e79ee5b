/* SPDX-License-Identifier: Apache-2.0 */
/* serve: queries over UDP. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "egress/dns.h"
#include "egress/forward.h"
#include "egress/serve.h"
#include "loop/loop.h"

#define PACKETS_PER_ROUND 32
#define PACKET_MAX 1024 /* larger than any accepted query */

struct server_udp {
	int fd;
	struct watch *watch;
	struct forwarder *fw;
	const struct clients *clients;
	struct ask *first;
};

struct ask { /* one forwarded query */
	struct server_udp *s;
	struct ask *next, **link;
	struct sockaddr_in from;
	struct dns_query q;
	struct forward *f;
};

static void reply(struct server_udp *s, const struct sockaddr_in *to, const void *p, size_t n)
{
	/* If the socket buffer is full the answer is lost, as on the network: clients retry. */
	(void)sendto(s->fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)to, sizeof *to);
}

static void reply_code(struct server_udp *s, const struct sockaddr_in *to, const struct dns_query *q, int rcode,
    bool truncated)
{
	uint8_t out[DNS_QUERY_MAX];

	reply(s, to, out, dns_build_reply(q, (uint8_t)rcode, truncated, out));
}

static void reply_names(struct server_udp *s, const struct sockaddr_in *to, const struct dns_query *q)
{
	uint8_t out[DNS_ADDRESS_MAX];

	reply(s, to, out, dns_build_address(q, serve_names_ip(), SERVE_NAMES_TTL_S, out));
}

static void on_answer(void *user, const uint8_t *p, size_t n)
{
	struct ask *a = user;

	if (n > a->q.udp_size)
		reply_code(a->s, &a->from, &a->q, DNS_NOERROR, true);
	else
		reply(a->s, &a->from, p, n);
	*a->link = a->next;
	if (a->next)
		a->next->link = a->link;
	free(a);
}

/* The client repeats a query whose first copy is still open. */
static bool asked_already(const struct server_udp *s, const struct sockaddr_in *from, uint16_t id)
{
	for (const struct ask *a = s->first; a; a = a->next) {
		if (a->q.id == id && a->from.sin_port == from->sin_port &&
		    a->from.sin_addr.s_addr == from->sin_addr.s_addr)
			return true;
	}
	return false;
}

static void ask(struct server_udp *s, const struct sockaddr_in *from, const struct dns_query *q)
{
	struct ask *a = calloc(1, sizeof *a);

	if (!a)
		return;
	*a = (struct ask) { .s = s, .from = *from, .q = *q };
	if (forward_ask(s->fw, ntohl(from->sin_addr.s_addr), q, on_answer, a, &a->f) < 0) {
		reply_code(s, from, q, DNS_SERVFAIL, false);
		free(a);
		return;
	}
	a->next = s->first;
	a->link = &s->first;
	if (a->next)
		a->next->link = &a->next;
	s->first = a;
}

static void take_packet(struct server_udp *s, const struct sockaddr_in *from, const void *p, size_t n)
{
	struct dns_query q;
	int r = dns_parse_query(p, n, &q);

	if (r == -ENOMSG || from->sin_port == 0)
		return;
	if (r < 0) {
		reply_code(s, from, &q, r == -EOPNOTSUPP ? DNS_NOTIMP : DNS_FORMERR, false);
		return;
	}
	r = serve_policy(s->clients, ntohl(from->sin_addr.s_addr), &q);
	if (r == SERVE_NAMES)
		reply_names(s, from, &q);
	else if (r >= 0)
		reply_code(s, from, &q, r, false);
	else if (!asked_already(s, from, q.id))
		ask(s, from, &q);
}

static void on_readable(void *user, int events)
{
	struct server_udp *s = user;

	(void)events;
	for (int i = 0; i < PACKETS_PER_ROUND; i++) {
		struct sockaddr_in from;
		socklen_t len = sizeof from;
		uint8_t in[PACKET_MAX];
		ssize_t n = recvfrom(s->fd, in, sizeof in, MSG_TRUNC, (struct sockaddr *)&from, &len);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n >= 0 && (size_t)n <= sizeof in && len == sizeof from && from.sin_family == AF_INET)
			take_packet(s, &from, in, (size_t)n);
	}
}

struct server_udp *server_udp_new(struct loop *l, int fd, struct forwarder *fw, const struct clients *cs)
{
	struct server_udp *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	*s = (struct server_udp) { .fd = fd, .fw = fw, .clients = cs };
	s->watch = watch_new(l, fd, WATCH_IN, on_readable, s);
	if (!s->watch) {
		free(s);
		return NULL;
	}
	return s;
}

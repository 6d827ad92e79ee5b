/* SPDX-License-Identifier: Apache-2.0 */
/* serve: queries over TCP, each preceded by its length; several may be open at once. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/fd.h"
#include "egress/dns.h"
#include "egress/forward.h"
#include "egress/serve.h"
#include "loop/loop.h"
#include "loop/stream.h"

#define ACCEPTS_PER_ROUND 16
#define IN_MAX 4096 /* unread queries of one connection */

struct server_tcp {
	struct loop *loop;
	int fd;
	struct watch *watch;
	struct forwarder *fw;
	const struct clients *clients;
	struct conn *first;
	unsigned n_conns;
};

struct conn {
	struct server_tcp *s;
	struct conn *next, **link;
	uint32_t client;
	struct stream *st;
	struct buf in;
	struct timer *idle;
	struct ask *asks;
	unsigned n_asks;
	bool eof; /* the client has closed its side and waits for the remaining answers */
};

struct ask {
	struct conn *c;
	struct ask *next, **link;
	struct forward *f;
};

static void conn_close(struct conn *c)
{
	while (c->asks) {
		struct ask *a = c->asks;

		c->asks = a->next;
		forward_cancel(a->f);
		free(a);
	}
	if (c->eof)
		stream_close_flushed(c->st);
	else
		stream_close(c->st);
	timer_free(c->idle);
	buf_done(&c->in);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	c->s->n_conns--;
	free(c);
}

static void reply(struct conn *c, const uint8_t *p, size_t n)
{
	uint8_t len[2] = { (uint8_t)(n >> 8), (uint8_t)n };

	stream_write(c->st, (struct str) { (char *)len, sizeof len });
	stream_write(c->st, (struct str) { (const char *)p, n });
}

static void on_answer(void *user, const uint8_t *p, size_t n)
{
	struct ask *a = user;
	struct conn *c = a->c;

	*a->link = a->next;
	if (a->next)
		a->next->link = a->link;
	free(a);
	c->n_asks--;
	timer_arm(c->idle, SERVE_IDLE_MS);
	reply(c, p, n);
	if (c->eof && c->n_asks == 0)
		conn_close(c);
}

/* false: stop reading from this connection */
static bool take_query(struct conn *c, const uint8_t *p, size_t n)
{
	struct dns_query q;
	uint8_t out[DNS_ADDRESS_MAX];
	int r = dns_parse_query(p, n, &q);

	if (r == -ENOMSG || c->n_asks >= SERVE_CONN_QUERIES_MAX || stream_queued(c->st) > STREAM_HIGH)
		return false;
	int code = r < 0 ? (r == -EOPNOTSUPP ? DNS_NOTIMP : DNS_FORMERR) : serve_policy(c->s->clients, c->client, &q);
	if (code == SERVE_NAMES) {
		reply(c, out, dns_build_address(&q, serve_names_ip(), SERVE_NAMES_TTL_S, out));
		return true;
	}
	struct ask *a = code >= 0 ? NULL : calloc(1, sizeof *a);

	if (a)
		a->c = c;
	if (a && forward_ask(c->s->fw, c->client, &q, on_answer, a, &a->f) == 0) {
		a->next = c->asks;
		a->link = &c->asks;
		if (a->next)
			a->next->link = &a->next;
		c->asks = a;
		c->n_asks++;
		return true;
	}
	free(a);
	reply(c, out, dns_build_reply(&q, code >= 0 ? (uint8_t)code : DNS_SERVFAIL, false, out));
	return true;
}

static void on_data(void *user, struct str data)
{
	struct conn *c = user;

	buf_str(&c->in, data);
	timer_arm(c->idle, SERVE_IDLE_MS);
	while (!c->in.bad && c->in.n >= 2) {
		const uint8_t *p = (const uint8_t *)c->in.p;
		size_t n = (size_t)(p[0] << 8 | p[1]);

		if (c->in.n - 2 < n && n <= DNS_QUERY_MAX + 512)
			return;
		if (c->in.n - 2 < n || !take_query(c, p + 2, n))
			break;
		buf_consume(&c->in, 2 + n);
	}
	if (c->in.bad || c->in.n >= 2)
		conn_close(c);
}

static void on_eof(void *user)
{
	struct conn *c = user;

	c->eof = true;
	if (c->n_asks == 0)
		conn_close(c);
}

static void on_error(void *user, int no)
{
	(void)no;
	conn_close(user);
}

static void on_idle(void *user)
{
	conn_close(user);
}

static const struct stream_ops conn_ops = { .on_data = on_data, .on_eof = on_eof, .on_error = on_error };

static bool too_many(const struct server_tcp *s, uint32_t client)
{
	unsigned n = 0;

	for (const struct conn *c = s->first; c; c = c->next)
		n += c->client == client;
	return s->n_conns >= SERVE_CONNS_MAX || n >= SERVE_CLIENT_CONNS_MAX;
}

static void conn_new(struct server_tcp *s, int fd, uint32_t client)
{
	struct conn *c = too_many(s, client) ? NULL : calloc(1, sizeof *c);

	if (!c) {
		fd_close(fd);
		return;
	}
	*c = (struct conn) { .s = s, .client = client, .in = BUF_INIT(IN_MAX) };
	c->st = stream_new(s->loop, fd, &conn_ops, c);
	c->idle = timer_new(s->loop, on_idle, c);
	if (!c->st || !c->idle) {
		stream_close(c->st);
		timer_free(c->idle);
		free(c);
		return;
	}
	c->next = s->first;
	c->link = &s->first;
	if (c->next)
		c->next->link = &c->next;
	s->first = c;
	s->n_conns++;
	timer_arm(c->idle, SERVE_IDLE_MS);
	stream_read(c->st, true);
}

static void on_readable(void *user, int events)
{
	struct server_tcp *s = user;

	(void)events;
	for (int i = 0; i < ACCEPTS_PER_ROUND; i++) {
		struct sockaddr_in from = { 0 };
		socklen_t len = sizeof from;
		int fd = accept4(s->fd, (struct sockaddr *)&from, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		conn_new(s, fd, ntohl(from.sin_addr.s_addr));
	}
}

struct server_tcp *server_tcp_new(struct loop *l, int fd, struct forwarder *fw, const struct clients *cs)
{
	struct server_tcp *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	*s = (struct server_tcp) { .loop = l, .fd = fd, .fw = fw, .clients = cs };
	s->watch = watch_new(l, fd, WATCH_IN, on_readable, s);
	if (!s->watch) {
		free(s);
		return NULL;
	}
	return s;
}

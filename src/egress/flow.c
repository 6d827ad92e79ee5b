/* SPDX-License-Identifier: Apache-2.0 */
/* flow: looks at the first bytes, decides, connects, passes on. */
#include "egress/flow.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "egress/clients.h"
#include "egress/dial.h"
#include "egress/pass.h"
#include "egress/relay.h"
#include "egress/resolve.h"
#include "egress/sni.h"
#include "http/message.h"
#include "loop/loop.h"
#include "loop/stream.h"

#define SNIFF_MS 10000			/* for the first bytes, where they decide */
#define QUIET_MS 400			/* ... where they do not: a server that speaks first is waited for no longer */
#define FIRST_MAX (HTTP_HEAD_MAX + SNI_IN_MAX)

enum flow_state { FLOW_SNIFF, FLOW_RESOLVE, FLOW_DIAL, FLOW_PASS };

struct flow {
	struct flow_env env;
	struct client *client;
	struct flow *next, **link;	/* of the same client */
	enum flow_state state;
	int fd;
	uint32_t dst_ip;
	uint16_t dst_port;
	char name[POLICY_NAME_SIZE];	/* "" without one */
	bool http;			/* in the clear */
	struct buf first;		/* what the sandbox has sent so far */
	struct watch *watch;
	struct timer *timer;
	struct resolve *resolve;
	struct dial *dial;
	struct relay *relay;
	struct pass *pass;
};

struct flow *flow_next(const struct flow *f)
{
	return f->next;
}

static void set_reset(int fd)
{
	const struct linger now = { .l_onoff = 1, .l_linger = 0 };

	if (fd >= 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

/* Everything but relay and pass, which end by themselves or have been freed. */
static void flow_drop(struct flow *f)
{
	struct flow_env env = f->env;

	watch_free(f->watch);
	timer_free(f->timer);
	resolve_cancel(f->resolve);
	dial_cancel(f->dial);
	set_reset(f->fd);
	fd_close(f->fd);
	buf_done(&f->first);
	*f->link = f->next;
	if (f->next)
		f->next->link = f->link;
	f->client->n_flows--;
	free(f);
	env.on_gone(env.user);
}

void flow_free(struct flow *f)
{
	relay_free(take_ptr(&f->relay));
	pass_free(take_ptr(&f->pass));
	flow_drop(f);
}

static void refuse(struct flow *f, const char *why)
{
	log_debug("connection refused", "id=%s name=%s port=%u why=%s", f->client->id, f->name[0] ? f->name : "-", f->dst_port, why);
	flow_drop(f);
}

enum flow_verdict flow_decide(const struct policy *p, const char *name, uint32_t ip, uint16_t port)
{
	struct str n = str_of(name);

	if (n.n && policy_name_find(p, POLICY_ALLOW, n, port))
		return FLOW_BY_NAME;
	if (policy_net_verdict(p, ip, port) < 0)
		return FLOW_REFUSE;
	/* What is put into requests to that name goes to that name, not to where the sandbox says it is. */
	return n.n && policy_name_find(p, POLICY_REWRITE, n, port) ? FLOW_BY_NAME : FLOW_BY_ADDRESS;
}

bool flow_still_allowed(const struct flow *f)
{
	return f->state == FLOW_SNIFF || flow_decide(f->client->policy, f->name, f->dst_ip, f->dst_port) != FLOW_REFUSE;
}

/* --- passing on ---------------------------------------------------------------------------------------------- */

static void on_relay_end(void *user)
{
	struct flow *f = user;

	f->relay = NULL;
	flow_drop(f);
}

static void on_pass_end(void *user)
{
	struct flow *f = user;

	f->pass = NULL;
	flow_drop(f);
}

static const struct pass_ops pass_ops = { .on_end = on_pass_end };

static const struct stream_ops no_ops;	/* until pass.c takes them over, which is at once */

static void start_http(struct flow *f, int fd)
{
	struct stream *c = stream_new(f->env.loop, take_fd(&f->fd), &no_ops, NULL);
	struct stream *s = stream_new(f->env.loop, fd, &no_ops, NULL);

	if (!c || !s) {
		stream_close(c);
		stream_close(s);
		flow_drop(f);
		return;
	}
	f->pass = pass_new(c, s, f->name, buf_view(&f->first), &pass_ops, f);
	buf_done(&f->first);
	if (!f->pass)
		flow_drop(f);
	else
		pass_start(f->pass);
}

static void keep_alive(int fd)
{
	int on = 1, idle_s = 120, every_s = 30, times = 4;

	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof every_s);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static void on_dialled(void *user, int fd)
{
	struct flow *f = user;

	f->dial = NULL;
	if (fd < 0) {
		refuse(f, strerror(-fd));
		return;
	}
	f->state = FLOW_PASS;
	timer_disarm(f->timer);
	watch_free(take_ptr(&f->watch));
	keep_alive(fd);
	keep_alive(f->fd);
	if (f->http) {
		start_http(f, fd);
		return;
	}
	f->relay = relay_new(f->env.loop, take_fd(&f->fd), fd, buf_view(&f->first), on_relay_end, f);
	buf_done(&f->first);
	if (!f->relay)
		flow_drop(f);
}

static void dial(struct flow *f, const uint32_t *addrs, size_t n)
{
	f->state = FLOW_DIAL;
	int r = dial_new(f->env.loop, addrs, n, f->dst_port, on_dialled, f, &f->dial);

	if (r < 0)
		refuse(f, r == -EACCES ? "leads to an address that is closed" : strerror(-r));
}

static void on_resolved(void *user, const uint32_t *addrs, size_t n)
{
	struct flow *f = user;

	f->resolve = NULL;
	if (n == 0)
		refuse(f, "no such name");
	else
		dial(f, addrs, n);
}

/* --- the first bytes ----------------------------------------------------------------------------------------- */

static void decided(struct flow *f)
{
	enum flow_verdict v = flow_decide(f->client->policy, f->name, f->dst_ip, f->dst_port);

	watch_set(f->watch, 0);
	timer_disarm(f->timer);
	if (v == FLOW_REFUSE) {
		refuse(f, "not allowed");
	} else if (v == FLOW_BY_ADDRESS) {
		f->http = false;		/* nothing is decided by what it says */
		dial(f, &f->dst_ip, 1);
	} else {
		f->state = FLOW_RESOLVE;
		int r = resolve_ask(f->env.resolver, f->client->ip, str_of(f->name), on_resolved, f, &f->resolve);

		if (r < 0)
			refuse(f, strerror(-r));
	}
}

static bool is_tls(const struct buf *b)
{
	return b->n > 0 && b->p[0] == 0x16;
}

/* A request line begins with a word in capitals. */
static bool is_http(const struct buf *b)
{
	for (size_t i = 0; i < b->n && i < 16; i++) {
		if (b->p[i] == ' ' && i > 0)
			return true;
		if (b->p[i] < 'A' || b->p[i] > 'Z')
			return b->p[i] == '-' && i > 0;
	}
	return b->n < 16;
}

/* 1: decided, 0: more bytes; names stay empty where there is none */
static int sniff_http(struct flow *f)
{
	static struct http_headers h;		/* one thread, never nested */
	struct message m;
	size_t scanned = 0;
	ssize_t n = head_find(buf_view(&f->first), &scanned);

	if (n == 0)
		return 0;
	if (n > 0 && message_request(&m, (struct str) { f->first.p, (size_t)n }, &h) == 0 &&
	    host_parse(http_header_get(&h, "host"), f->name) == 0)
		f->http = true;
	else
		f->name[0] = '\0';
	return 1;
}

static int sniff(struct flow *f)
{
	if (is_tls(&f->first)) {
		int r = sni_parse(buf_view(&f->first), f->name);

		if (r == SNI_MORE)
			return f->first.n < SNI_IN_MAX ? 0 : 1;
		if (r != SNI_NAME)
			f->name[0] = '\0';
		return 1;
	}
	return is_http(&f->first) ? sniff_http(f) : 1;
}

static void on_readable(void *user, int events)
{
	struct flow *f = user;
	char piece[16384];

	(void)events;
	ssize_t n = recv(f->fd, piece, sizeof piece, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		flow_drop(f);
		return;
	}
	buf_put(&f->first, piece, (size_t)n);
	timer_arm(f->timer, SNIFF_MS);
	if (f->first.bad)
		refuse(f, "says too much at first");
	else if (sniff(f))
		decided(f);
}

static void on_quiet(void *user)
{
	decided(user);				/* without a name */
}

int flow_new(const struct flow_env *env, struct client *c, int fd, uint32_t dst_ip, uint16_t dst_port)
{
	struct flow *f = calloc(1, sizeof *f);

	if (!f) {
		fd_close(fd);
		env->on_gone(env->user);
		return -ENOMEM;
	}
	*f = (struct flow) { .env = *env, .client = c, .fd = fd, .dst_ip = dst_ip, .dst_port = dst_port, .first = BUF_INIT(FIRST_MAX) };
	f->watch = watch_new(env->loop, fd, WATCH_IN, on_readable, f);
	f->timer = timer_new(env->loop, on_quiet, f);
	f->next = c->flows;
	f->link = &c->flows;
	if (f->next)
		f->next->link = &f->next;
	c->flows = f;
	c->n_flows++;
	if (!f->watch || !f->timer) {
		flow_drop(f);
		return -ENOMEM;
	}
	timer_arm(f->timer, policy_net_verdict(c->policy, dst_ip, dst_port) < 0 ? SNIFF_MS : QUIET_MS);
	return 0;
}

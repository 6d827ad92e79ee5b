/* SPDX-License-Identifier: Apache-2.0 */
/* flow: reads the first bytes, decides, connects, passes data on. */
#include "egress/flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "egress/authority.h"
#include "egress/clients.h"
#include "egress/dial.h"
#include "egress/pass.h"
#include "egress/reach.h"
#include "egress/relay.h"
#include "egress/sni.h"
#include "egress/upstream_tls.h"
#include "http/message.h"
#include "http/tls_filter.h"
#include "loop/loop.h"
#include "loop/stream.h"

#define SNIFF_MS 10000 /* limit for the first bytes, if the decision depends on them */
#define QUIET_MS 400   /* ... if the address is sufficient: a server that speaks first is not held up longer */
#define HANDSHAKE_MS 10000
#define FIRST_MAX (HTTP_HEAD_MAX + SNI_IN_MAX)

_Static_assert(PASS_FIELDS_MAX >= RULES_FIELDS_MAX, "all of a rule's fields can be set");

enum flow_state { FLOW_SNIFF, FLOW_CONNECT, FLOW_PASS };
enum flow_kind { KIND_OTHER, KIND_TLS, KIND_HTTP };

struct flow {
	struct flow_env env;
	struct client *client;
	struct flow *next, **link; /* list of the same client */
	enum flow_state state;
	enum flow_kind kind; /* KIND_OTHER also if the kind does not matter */
	int fd;
	uint32_t dst_ip;
	uint16_t dst_port;
	char name[POLICY_NAME_SIZE]; /* "" if none was found */
	bool rewrite;                /* requests are changed */
	struct buf first;            /* what the sandbox has sent so far */
	struct watch *watch;
	struct timer *timer;
	struct reach *reach;
	struct stream *server; /* during its TLS handshake */
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

/* Frees everything except relay and pass, which have ended or have been freed. */
static void flow_drop(struct flow *f)
{
	struct flow_env env = f->env;

	watch_free(f->watch);
	timer_free(f->timer);
	reach_cancel(f->reach);
	stream_close(f->server);
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
	log_debug("connection refused", "id=%s name=%s port=%u why=%s", f->client->id, f->name[0] ? f->name : "-",
	    f->dst_port, why);
	flow_drop(f);
}

enum flow_verdict flow_decide(const struct policy *p, const char *name, uint32_t ip, uint16_t port)
{
	struct str n = str_of(name);

	if (n.n && policy_name_find(p, POLICY_ALLOW, n, port))
		return FLOW_BY_NAME;
	if (policy_net_verdict(p, ip, port) < 0)
		return FLOW_REFUSE;
	/* Header fields set for a name are sent to that name, not to the address that the sandbox gives for it. */
	return n.n && policy_name_find(p, POLICY_REWRITE, n, port) ? FLOW_BY_NAME : FLOW_BY_ADDRESS;
}

bool flow_still_allowed(const struct flow *f)
{
	const struct policy *p = f->client->policy;

	if (f->state == FLOW_SNIFF)
		return true;
	/* A connection cannot switch between changed and unchanged requests, so it ends if the policy does. */
	return flow_decide(p, f->name, f->dst_ip, f->dst_port) != FLOW_REFUSE &&
	    f->rewrite == policy_name_find(p, POLICY_REWRITE, str_of(f->name), f->dst_port);
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

static const struct rule *rule_of(const struct flow *f)
{
	const struct rules *r = f->client->rules;

	return r ? rules_for(r, f->name) : NULL;
}

/* Called for each request, so a new value takes effect with the next one. */
static const struct pass_fields *fields_now(void *user, bool *ret_ok)
{
	static struct pass_fields set; /* borrowed by the caller until the next call */
	struct flow *f = user;
	const struct rule *r = f->rewrite ? rule_of(f) : NULL;

	*ret_ok = !f->rewrite || (r && !r->broken);
	if (!r || r->broken)
		return NULL;
	set.n = 0;
	for (size_t i = 0; i < r->n_fields; i++) {
		const struct rule_field *v = &r->fields[i];

		if (v->secret && f->kind != KIND_TLS) /* secrets are not sent in the clear */
			continue;
		set.v[set.n].name = str_of(v->name);
		set.v[set.n++].value = str_of(v->value);
	}
	return &set;
}

static const struct pass_ops pass_ops = { .fields = fields_now, .on_end = on_pass_end };
static const struct stream_ops no_ops; /* placeholder until pass.c takes the streams over */

/* Owns both streams. */
static void start_pass(struct flow *f, struct stream *c, struct stream *s, struct str first)
{
	if (!c || !s) {
		stream_close(c);
		stream_close(s);
		refuse(f, "out of memory");
		return;
	}
	f->state = FLOW_PASS;
	timer_disarm(f->timer);
	f->pass = pass_new(c, s, f->name, first, &pass_ops, f);
	buf_done(&f->first);
	if (!f->pass)
		refuse(f, "out of memory");
	else
		pass_start(f->pass);
}

/* --- TLS interception -------------------------------------------------------------------------------------------- */

static struct stream *secure(struct flow *f, int fd, SSL *ssl, struct str early, const struct stream_ops *ops)
{
	struct stream_filter *filter = ssl ? tls_filter_new(ssl, early, NULL, NULL) : NULL;
	struct stream *s;

	if (!filter) {
		fd_close(fd);
		return NULL;
	}
	s = stream_new(f->env.loop, fd, ops, f);
	if (!s) {
		filter->ops->free(filter);
		return NULL;
	}
	stream_filter(s, filter);
	stream_write(s, STR_NULL); /* starts the handshake */
	return s;
}

/* The host's certificate is verified: starts TLS with the sandbox in the host's name. */
static void on_server_ready(void *user)
{
	struct flow *f = user;
	SSL *ssl = f->client->authority ? authority_accept(f->client->authority, f->name) : NULL;
	struct stream *c = secure(f, take_fd(&f->fd), ssl, buf_view(&f->first), &no_ops);

	start_pass(f, c, take_ptr(&f->server), STR_NULL);
}

static void on_server_early(void *user, struct str data)
{
	(void)data;
	refuse(user, "the host speaks before it is asked");
}

static void on_server_eof(void *user)
{
	refuse(user, "the host ended the handshake");
}

static void on_server_error(void *user, int no)
{
	(void)no;
	refuse(user, "no handshake with the host, or a certificate that is not its own");
}

static const struct stream_ops server_ops = {
	.on_data = on_server_early,
	.on_eof = on_server_eof,
	.on_error = on_server_error,
	.on_ready = on_server_ready,
};

static void start_tls(struct flow *f, int fd)
{
	timer_arm(f->timer, HANDSHAKE_MS);
	f->server = secure(f, fd, upstream_tls_connect(f->name), STR_NULL, &server_ops);
	if (f->server)
		stream_read(f->server, true);
	else
		refuse(f, "out of memory");
}

/* --- connecting ---------------------------------------------------------------------------------------------- */

static void on_reached(void *user, int fd)
{
	struct flow *f = user;

	f->reach = NULL;
	if (fd < 0) {
		if (fd == -EACCES)
			egress_client_refused(f->client, f->name, f->dst_ip, f->dst_port,
			    "leads to an address that is closed");
		refuse(f, fd == -EACCES ? "leads to an address that is closed" : strerror(-fd));
		return;
	}
	watch_free(take_ptr(&f->watch));
	dial_keep_alive(fd);
	dial_keep_alive(f->fd);
	if (f->kind == KIND_TLS && f->rewrite) {
		start_tls(f, fd);
	} else if (f->kind == KIND_HTTP) {
		struct stream *s = stream_new(f->env.loop, fd, &no_ops, NULL);
		struct stream *c = stream_new(f->env.loop, take_fd(&f->fd), &no_ops, NULL);

		start_pass(f, c, s, buf_view(&f->first));
	} else {
		f->state = FLOW_PASS;
		timer_disarm(f->timer);
		f->relay = relay_new(f->env.loop, take_fd(&f->fd), fd, buf_view(&f->first), on_relay_end, f);
		buf_done(&f->first);
		if (!f->relay)
			refuse(f, "out of memory");
	}
}

static void decided(struct flow *f)
{
	const struct policy *p = f->client->policy;
	enum flow_verdict v = flow_decide(p, f->name, f->dst_ip, f->dst_port);
	const struct rules *r = f->client->rules;
	bool socks = p->flags & POLICY_SOCKS;

	watch_set(f->watch, 0);
	timer_disarm(f->timer);
	if (v == FLOW_REFUSE) {
		egress_client_refused(f->client, f->name, f->dst_ip, f->dst_port, "not allowed");
		refuse(f, "not allowed");
		return;
	}
	if (socks && !(r && r->socks.host[0])) {
		refuse(f, "its proxy is not known yet");
		return;
	}
	if (v == FLOW_BY_ADDRESS)
		f->kind = KIND_OTHER; /* the decision does not depend on the content */
	f->rewrite = f->name[0] && policy_name_find(p, POLICY_REWRITE, str_of(f->name), f->dst_port);
	f->state = FLOW_CONNECT;
	struct reach_spec sp = {
		.loop = f->env.loop,
		.resolver = f->env.resolver,
		.client = f->client->ip,
		.name = v == FLOW_BY_NAME ? f->name : "",
		.ip = f->dst_ip,
		.port = f->dst_port,
		.socks = socks ? &r->socks : NULL,
	};

	f->reach = reach_new(&sp, on_reached, f);
	if (!f->reach)
		refuse(f, "out of memory");
}

/* --- the first bytes ----------------------------------------------------------------------------------------- */

static bool is_tls(const struct buf *b)
{
	return b->n > 0 && b->p[0] == 0x16;
}

/* A request line starts with a word in capital letters. The one with a hyphen is M-SEARCH: a client that begins with
 * "SSH-2.0" does not go on before it has the server's answer. */
static bool is_http(const struct buf *b)
{
	for (size_t i = 0; i < b->n && i < 16; i++) {
		if (b->p[i] == ' ' && i > 0)
			return true;
		if (b->p[i] < 'A' || b->p[i] > 'Z')
			return b->p[i] == '-' && i == 1 && b->p[0] == 'M';
	}
	return b->n < 16;
}

/* 1: known, 0: more bytes are needed. The name stays empty if there is none. */
static int sniff_http(struct flow *f)
{
	static struct http_headers h; /* one thread, never nested */
	struct message m;
	size_t scanned = 0;
	ssize_t n = head_find(buf_view(&f->first), &scanned);

	if (n == 0)
		return 0;
	if (n > 0 && message_request(&m, (struct str) { f->first.p, (size_t)n }, &h) == 0 &&
	    host_parse(http_header_get(&h, "host"), f->name) == 0)
		f->kind = KIND_HTTP;
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
		if (r == SNI_NAME)
			f->kind = KIND_TLS;
		else
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

static void on_timer(void *user)
{
	struct flow *f = user;

	if (f->state != FLOW_SNIFF) {
		refuse(f, "the handshake takes too long");
	} else if (policy_port_rewritten(f->client->policy, f->dst_port)) {
		/* Passed on by its address, it could still send a request that a rule has to change. */
		egress_client_refused(f->client, "", f->dst_ip, f->dst_port, "names no host in time");
		refuse(f, "names no host in time");
	} else {
		decided(f); /* without a name */
	}
}

/* How long to wait for the first bytes: not at all if no name can matter, only briefly if the address is
 * sufficient. On a port with header rules it never is: a busy program may take a second from its connection to its
 * first byte, and its request would go out without the header. */
static uint64_t patience_ms(const struct flow *f)
{
	const struct policy *p = f->client->policy;

	if (!policy_port_named(p, f->dst_port))
		return 0;
	if (policy_port_rewritten(p, f->dst_port) || policy_net_verdict(p, f->dst_ip, f->dst_port) < 0)
		return SNIFF_MS;
	return QUIET_MS;
}

int flow_new(const struct flow_env *env, struct client *c, int fd, uint32_t dst_ip, uint16_t dst_port)
{
	struct flow *f = calloc(1, sizeof *f);

	if (!f) {
		fd_close(fd);
		env->on_gone(env->user);
		return -ENOMEM;
	}
	*f = (struct flow) { .env = *env,
		.client = c,
		.fd = fd,
		.dst_ip = dst_ip,
		.dst_port = dst_port,
		.first = BUF_INIT(FIRST_MAX) };
	f->watch = watch_new(env->loop, fd, WATCH_IN, on_readable, f);
	f->timer = timer_new(env->loop, on_timer, f);
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
	uint64_t wait_ms = patience_ms(f);

	if (wait_ms == 0)
		watch_set(f->watch, 0); /* the timer fires at once */
	timer_arm(f->timer, wait_ms);
	return 0;
}

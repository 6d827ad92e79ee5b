/* SPDX-License-Identifier: Apache-2.0 */
/* forward: tries UDP, TCP for truncated answers, then answers SERVFAIL. */
#include "egress/forward.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/rand.h"
#include "egress/dns.h"
#include "egress/resolvconf.h"
#include "loop/loop.h"
#include "loop/stream.h"

#define CLIENT_SLOTS 65536 /* an instance's address range: one counter per client */

struct forwarder {
	struct loop *loop;
	struct resolvconf *rc;
	struct forward *first;
	unsigned open;
	unsigned next_up; /* the server of the last good answer */
	uint8_t per_client[CLIENT_SLOTS];
};

_Static_assert(FORWARD_CLIENT_MAX <= UINT8_MAX, "the counters hold it");

struct forward {
	struct forwarder *fw;
	struct forward *next, **link;
	uint32_t client;
	struct dns_query q;
	uint16_t id;
	unsigned up, tries;
	forward_fn *fn;
	void *user;
	int fd; /* UDP */
	struct watch *watch;
	struct stream *tcp;
	struct buf in;
	struct timer *timer;
};

static void forward_try(struct forward *f);

struct forwarder *forwarder_new(struct loop *l, struct resolvconf *rc)
{
	struct forwarder *fw = calloc(1, sizeof *fw);

	if (fw) {
		fw->loop = l;
		fw->rc = rc;
	}
	return fw;
}

void forwarder_free(struct forwarder *fw)
{
	while (fw && fw->first)
		forward_cancel(fw->first);
	free(fw);
}

/* Ends the current attempt, over UDP or TCP. */
static void hang_up(struct forward *f)
{
	watch_free(take_ptr(&f->watch));
	fd_close(take_fd(&f->fd));
	stream_close(take_ptr(&f->tcp));
	buf_clear(&f->in);
}

void forward_cancel(struct forward *f)
{
	if (!f)
		return;
	hang_up(f);
	timer_free(f->timer);
	buf_done(&f->in);
	*f->link = f->next;
	if (f->next)
		f->next->link = f->link;
	f->fw->open--;
	f->fw->per_client[f->client % CLIENT_SLOTS]--;
	free(f);
}

static void forward_done(struct forward *f, const uint8_t *p, size_t n)
{
	forward_fn *fn = f->fn;
	void *user = f->user;

	f->fn = NULL;
	fn(user, p, n);
	forward_cancel(f);
}

static void forward_fail(struct forward *f)
{
	uint8_t out[DNS_QUERY_MAX];

	forward_done(f, out, dns_build_reply(&f->q, DNS_SERVFAIL, false, out));
}

static void try_next(struct forward *f)
{
	f->up++;
	forward_try(f);
}

/* Whether another server might give a better answer. */
static bool unsure(const struct forward *f, const struct dns_answer *a)
{
	bool weak = a->rcode == DNS_SERVFAIL || a->rcode == DNS_REFUSED || a->rcode == DNS_NOTIMP ||
	    a->rcode == DNS_FORMERR;

	return weak && f->tries < FORWARD_TRIES && f->tries < f->fw->rc->n;
}

static void take_answer(struct forward *f, uint8_t *p, size_t n, const struct dns_answer *a)
{
	if (unsure(f, a)) {
		try_next(f);
		return;
	}
	f->fw->next_up = f->up;
	p[0] = (uint8_t)(f->q.id >> 8);
	p[1] = (uint8_t)f->q.id;
	forward_done(f, p, n);
}

/* --- TCP ---------------------------------------------------------------------------------------------------- */

static void on_tcp_data(void *user, struct str data)
{
	struct forward *f = user;
	struct dns_answer a;

	buf_str(&f->in, data);
	if (f->in.bad) {
		try_next(f);
		return;
	}
	uint8_t *p = (uint8_t *)f->in.p;

	if (f->in.n < 2 || f->in.n - 2 < (size_t)(p[0] << 8 | p[1]))
		return;
	size_t n = (size_t)(p[0] << 8 | p[1]);

	if (dns_check_answer(p + 2, n, &f->q, f->id, &a) < 0)
		try_next(f);
	else
		take_answer(f, p + 2, n, &a);
}

static void on_tcp_eof(void *user)
{
	try_next(user);
}

static void on_tcp_error(void *user, int no)
{
	(void)no;
	try_next(user);
}

static const struct stream_ops tcp_ops = { .on_data = on_tcp_data, .on_eof = on_tcp_eof, .on_error = on_tcp_error };

/* Queries the same server over TCP, because the answer did not fit into a packet. */
static void ask_over_tcp(struct forward *f)
{
	const union upstream *u = &f->fw->rc->up[f->up % f->fw->rc->n];
	uint8_t out[2 + DNS_QUERY_MAX];
	size_t n = dns_build_query(&f->q, f->id, out + 2);

	hang_up(f);
	autoclose int fd = socket(u->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || (connect(fd, &u->sa, upstream_len(u)) < 0 && errno != EINPROGRESS)) {
		try_next(f);
		return;
	}
	f->tcp = stream_new(f->fw->loop, take_fd(&fd), &tcp_ops, f);
	if (!f->tcp) {
		forward_fail(f);
		return;
	}
	out[0] = (uint8_t)(n >> 8);
	out[1] = (uint8_t)n;
	timer_arm(f->timer, FORWARD_TRY_MS);
	stream_read(f->tcp, true);
	stream_write(f->tcp, (struct str) { (char *)out, n + 2 });
}

/* --- UDP ---------------------------------------------------------------------------------------------------- */

static void on_packet(void *user, int events)
{
	struct forward *f = user;
	uint8_t in[DNS_UDP_MAX + 1];
	struct dns_answer a;

	(void)events;
	ssize_t n = recv(f->fd, in, sizeof in, MSG_TRUNC);
	if (n < 0) {
		if (errno != EAGAIN && errno != EINTR)
			try_next(f); /* connection refused: no server there */
		return;
	}
	bool cut = (size_t)n > sizeof in;

	if (dns_check_answer(in, cut ? sizeof in : (size_t)n, &f->q, f->id, &a) < 0)
		return; /* another query's, or forged: the real one may follow */
	if (a.truncated || cut)
		ask_over_tcp(f);
	else
		take_answer(f, in, (size_t)n, &a);
}

/* One attempt; 0 or -errno. */
static int ask_over_udp(struct forward *f)
{
	const union upstream *u = &f->fw->rc->up[f->up % f->fw->rc->n];
	uint8_t out[DNS_QUERY_MAX];
	size_t n = dns_build_query(&f->q, f->id, out);

	f->fd = socket(u->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (f->fd < 0 || connect(f->fd, &u->sa, upstream_len(u)) < 0 || send(f->fd, out, n, 0) < 0)
		return -errno;
	f->watch = watch_new(f->fw->loop, f->fd, WATCH_IN, on_packet, f);
	return f->watch ? 0 : -ENOMEM;
}

static void forward_try(struct forward *f)
{
	for (;; f->up++) {
		hang_up(f);
		if (f->fw->rc->n == 0 || f->tries >= FORWARD_TRIES) {
			forward_fail(f);
			return;
		}
		f->tries++;
		rand_bytes(&f->id, sizeof f->id);
		if (ask_over_udp(f) == 0)
			break;
	}
	timer_arm(f->timer, FORWARD_TRY_MS);
}

static void on_timer(void *user)
{
	struct forward *f = user;

	if (f->tries > 0)
		f->up++;
	forward_try(f);
}

int forward_ask(struct forwarder *fw, uint32_t client, const struct dns_query *q, forward_fn *fn, void *user,
    struct forward **ret)
{
	if (fw->open >= FORWARD_MAX || fw->per_client[client % CLIENT_SLOTS] >= FORWARD_CLIENT_MAX)
		return -EBUSY;
	struct forward *f = calloc(1, sizeof *f);

	if (!f)
		return -ENOMEM;
	*f = (struct forward) { .fw = fw,
		.client = client,
		.q = *q,
		.up = fw->next_up,
		.fn = fn,
		.user = user,
		.fd = -1,
		.in = BUF_INIT(2 + DNS_TCP_MAX) };
	f->timer = timer_new(fw->loop, on_timer, f);
	if (!f->timer) {
		free(f);
		return -ENOMEM;
	}
	f->next = fw->first;
	f->link = &fw->first;
	if (f->next)
		f->next->link = &f->next;
	fw->first = f;
	fw->open++;
	fw->per_client[client % CLIENT_SLOTS]++;
	*ret = f;
	/* The first attempt also runs from the loop, so that the callback never runs inside this call. Sending at
	 * once and reporting only failures later would need a second code path. */
	timer_arm(f->timer, 0);
	return 0;
}

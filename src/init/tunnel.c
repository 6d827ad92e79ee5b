/* SPDX-License-Identifier: Apache-2.0 */
/* tunnel: "CONNECT anything:PORT" joins the caller to a port on the sandbox's own loopback.
 *
 * 127.0.0.1 is tried first, then ::1. Once connected the bytes go both ways as they are. */
#include "init/tunnel.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "http/json.h"
#include "http/server.h"
#include "init/init.h"
#include "init/mover.h"
#include "init/reply.h"
#include "loop/loop.h"
#include "loop/stream.h"

#define CONNECT_MS 5000
#define EARLY_MAX (64 * 1024)

struct tunnel {
	LIST_ENTRY(tunnel) link;	/* while joined */
	struct init *in;
	struct loop *loop;
	struct http_req *rq;		/* until it is taken over, or gone */
	uint16_t port;
	bool v6;			/* which address is being tried */
	int fd;				/* being connected */
	struct watch *watch;
	struct timer *limit;
	bool joined;			/* and not the request's any more */
	struct mover *mover;		/* while joined */
};

static void tunnel_free(void *p)
{
	struct tunnel *t = p;

	watch_free(t->watch);
	timer_free(t->limit);
	fd_close(t->fd);
	free(t);
}

static void on_over(void *user)
{
	struct tunnel *t = user;

	LIST_REMOVE(t, link);
	loop_defer(t->loop, tunnel_free, t);	/* the request may not be over yet */
}

static void join(struct tunnel *t)
{
	autobuf struct buf early = BUF_INIT(EARLY_MAX);
	struct stream *caller;

	if (http_hijack(t->rq, STR_LIT("HTTP/1.1 200 Connection established\r\n\r\n"), &caller, &early) < 0) {
		http_abort(t->rq);	/* on_close tidies up */
		return;
	}
	t->joined = true;
	LIST_INSERT_HEAD(&t->in->tunnels, t, link);
	if (early.bad)
		stream_reset(caller);
	else
		t->mover = mover_new(t->loop, stream_take_fd(caller), take_fd(&t->fd), buf_view(&early), on_over, t);
	if (!t->mover)
		on_over(t);
}

/* Connecting. */

static void refuse(struct tunnel *t)
{
	autojson json_t *body = json_pack("{s:i,s:s,s:i}", "code", 502, "message",
					  "The sandbox is running but port is not open", "port", (int)t->port);

	reply_json(t->rq, 502, NULL, body);
}

static void on_connected(void *user, int events);

/* Starts connecting to the current address. 0 or -errno. */
static int try_address(struct tunnel *t)
{
	struct sockaddr_in v4 = {
		.sin_family = AF_INET, .sin_port = htons(t->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)
	};
	struct sockaddr_in6 v6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(t->port), .sin6_addr = IN6ADDR_LOOPBACK_INIT
	};
	const int on = 1;

	t->fd = socket(t->v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (t->fd < 0)
		return -errno;
	(void)setsockopt(t->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	const struct sockaddr *sa = t->v6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4;
	if (connect(t->fd, sa, t->v6 ? sizeof(v6) : sizeof(v4)) < 0 && errno != EINPROGRESS) {
		int no = errno;

		fd_close(take_fd(&t->fd));
		return -no;
	}
	t->watch = watch_new(t->loop, t->fd, WATCH_OUT, on_connected, t);
	return t->watch ? 0 : -ENOMEM;
}

static void next_address(struct tunnel *t)
{
	watch_free(take_ptr(&t->watch));
	fd_close(take_fd(&t->fd));
	if (!t->v6) {
		t->v6 = true;
		if (try_address(t) == 0)
			return;
	}
	timer_disarm(t->limit);
	refuse(t);
}

static void on_connected(void *user, int events)
{
	struct tunnel *t = user;
	int no = 0;
	socklen_t len = sizeof(no);

	(void)events;
	if (getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &no, &len) < 0 || no) {
		next_address(t);
		return;
	}
	watch_free(take_ptr(&t->watch));
	timer_disarm(t->limit);
	join(t);
}

static void on_limit(void *user)
{
	struct tunnel *t = user;

	watch_free(take_ptr(&t->watch));
	refuse(t);
}

/* The request is over: taken over, refused or lost. */
static void on_close(struct http_req *rq, bool lost)
{
	struct tunnel *t = rq->user;

	(void)lost;
	t->rq = NULL;
	if (!t->joined)			/* nobody else frees it */
		tunnel_free(t);
}

static const struct http_req_ops tunnel_ops = { .on_close = on_close };

static bool parse_port(struct str authority, uint16_t *ret)
{
	const char *colon = authority.n ? memrchr(authority.p, ':', authority.n) : NULL;
	uint64_t port;

	if (!colon)
		return false;
	struct str digits = { colon + 1, (size_t)(authority.p + authority.n - colon) - 1 };
	if (str_to_u64(digits, UINT16_MAX, &port) < 0 || !port)
		return false;
	*ret = (uint16_t)port;
	return true;
}

void tunnel_open(struct init *in, struct http_req *rq)
{
	struct tunnel *t;
	uint16_t port;

	if (!parse_port(rq->target, &port)) {
		reply_error(rq, 400, "CONNECT wants HOST:PORT with a port from 1 to 65535");
		return;
	}
	t = calloc(1, sizeof(*t));
	if (t)
		*t = (struct tunnel) { .in = in, .loop = in->loop, .rq = rq, .port = port, .fd = -1 };
	if (t)
		t->limit = timer_new(in->loop, on_limit, t);
	if (!t || !t->limit) {
		free(t);
		reply_error(rq, 503, "out of memory");
		return;
	}
	rq->user = t;
	rq->ops = &tunnel_ops;
	timer_arm(t->limit, CONNECT_MS);
	if (try_address(t) < 0)
		next_address(t);
}

void tunnels_drop(struct init *in)
{
	struct tunnel *t;

	while ((t = LIST_FIRST(&in->tunnels))) {
		mover_break(t->mover);
		on_over(t);
	}
}

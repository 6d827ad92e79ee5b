/* SPDX-License-Identifier: Apache-2.0 */
/* control: handles one message after the other and answers each when it is in effect. */
#include "egress/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "egress/clients.h"
#include "egress/front.h"
#include "egress/proxy.h"
#include "ipc/check.h"
#include "ipc/egress.h"
#include "loop/loop.h"

#define ROUND_MAX 64

struct control {
	int fd;
	struct watch *watch;
	struct clients *clients;
	struct front *front;
	struct proxy *proxy; /* NULL until the proxy runs */
	const struct control_ops *ops;
	void *user;
	bool ready;
};

static const char *take_policy(struct control *co, const struct eg_policy *m, size_t n)
{
	struct policy *p = NULL;
	struct client *c;

	if (n < sizeof *m || n - sizeof *m != m->n_policy || !check_id(m->id))
		return "bad policy message";
	if (policy_decode(m + 1, m->n_policy, &p) < 0)
		return "bad policy";
	if (clients_set(co->clients, m->ip, m->id, p, &c) < 0)
		return "out of memory";
	log_debug("policy set", "id=%s nets=%u names=%u", c->id, p->n_nets, p->n_names);
	if (co->proxy)
		proxy_recheck(co->proxy, c);
	return NULL;
}

static const char *take_clear(struct control *co, const struct eg_clear *m, size_t n)
{
	if (n != sizeof *m)
		return "bad message";
	struct client *c = clients_find(co->clients, m->ip);

	if (c && co->proxy)
		proxy_cut(co->proxy, c);
	clients_clear(co->clients, m->ip);
	return NULL;
}

/* fd: -1 if none came; taken over by messages that carry one. */
static const char *take(struct control *co, const struct eg_head *h, size_t n, int *fd)
{
	if (n < sizeof *h || h->version != EG_VERSION)
		return "bad version";
	if ((h->type == EG_FRONT) != (*fd >= 0))
		return "an fd too many, or too few";
	switch (h->type) {
	case EG_POLICY:
		return take_policy(co, (const struct eg_policy *)h, n);
	case EG_CLEAR:
		return take_clear(co, (const struct eg_clear *)h, n);
	case EG_FRONT:
		front_link(co->front, take_fd(fd));
		return NULL;
	case EG_READY:
		if (co->ready)
			return "ready twice";
		co->ready = true;
		co->ops->on_ready(co->user);
		return NULL;
	default:
		return "unknown message";
	}
}

static void on_readable(void *user, int events)
{
	static _Alignas(8) char msg[EG_MAX];
	struct control *co = user;

	(void)events;
	for (int i = 0; i < ROUND_MAX; i++) {
		autoclose int fd = -1;
		size_t n_fds = 0;
		ssize_t n = fd_recv(co->fd, msg, sizeof msg, &fd, 1, &n_fds);

		if (n == -EAGAIN || n == -EINTR)
			return;
		const struct eg_head *h = (const struct eg_head *)msg;
		const char *why = n > 0 ? take(co, h, (size_t)n, &fd) : "closed";

		if (why) {
			co->ops->on_gone(co->user, why);
			return;
		}
		struct eg_plain re = { { EG_VERSION, EG_DONE, h->seq } };

		/* The warden reads all the time: a failed send means that it is gone. */
		if (fd_send(co->fd, &re, sizeof re, NULL, 0) < 0)
			co->ops->on_gone(co->user, "does not read");
	}
}

struct control *control_new(struct loop *l, int fd, struct clients *cs, struct front *f, const struct control_ops *ops,
    void *user)
{
	struct control *co = calloc(1, sizeof *co);

	if (!co)
		return NULL;
	*co = (struct control) { .fd = fd, .clients = cs, .front = f, .ops = ops, .user = user };
	co->watch = watch_new(l, fd, WATCH_IN, on_readable, co);
	if (!co->watch) {
		free(co);
		return NULL;
	}
	return co;
}

void control_proxy(struct control *co, struct proxy *px)
{
	co->proxy = px;
}

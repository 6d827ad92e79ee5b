/* SPDX-License-Identifier: Apache-2.0 */
/* front: receives rules, creates the authority that they need, and sends its certificate. */
#include "egress/front.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "egress/authority.h"
#include "egress/clients.h"
#include "ipc/check.h"
#include "ipc/rules.h"
#include "loop/loop.h"

#define ROUND_MAX 64

struct front {
	struct loop *loop;
	struct clients *clients;
	int fd;
	struct watch *watch;
};

/* Sent without waiting: if the socket to the front is full, the report is dropped. */
static void tell_refused(void *user, const struct client *c, const char *name, uint32_t ip, uint16_t port,
    const char *why)
{
	struct front *f = user;
	struct fe_refused m = { .head = { FE_VERSION, FE_REFUSED, 0 }, .ip = ip, .port = port };

	if (f->fd < 0)
		return;
	memcpy(m.id, c->id, sizeof m.id);
	(void)str_copy(m.name, sizeof m.name, str_of(name));
	(void)str_copy(m.why, sizeof m.why, str_of(why));
	(void)fd_send(f->fd, &m, sizeof m, NULL, 0);
}

struct front *front_new(struct loop *l, struct clients *cs)
{
	struct front *f = calloc(1, sizeof *f);

	if (f) {
		*f = (struct front) { .loop = l, .clients = cs, .fd = -1 };
		clients_on_refused(cs, tell_refused, f);
	}
	return f;
}

static void hang_up(struct front *f)
{
	watch_free(take_ptr(&f->watch));
	fd_close(take_fd(&f->fd));
}

static int answer(struct front *f, uint32_t seq, int no, const char *pem)
{
	autobuf struct buf b = BUF_INIT(sizeof(struct fe_done) + RULES_PEM_MAX);
	struct fe_done re = { .head = { FE_VERSION, FE_DONE, seq }, .no = no, .n_pem = (uint32_t)strlen(pem) };

	buf_put(&b, &re, sizeof re);
	buf_z(&b, pem);
	return b.bad || fd_send(f->fd, b.p, b.n, NULL, 0) < 0 ? -EIO : 0;
}

/* 0: answered, -errno: the link is unusable */
static int take(struct front *f, const struct fe_rules *m, size_t n)
{
	struct rules *r = NULL;

	if (n < sizeof *m || m->head.version != FE_VERSION || m->head.type != FE_RULES || n - sizeof *m != m->n_rules ||
	    !check_id(m->id))
		return -EBADMSG;
	int no = rules_decode(m + 1, m->n_rules, &r);

	if (no < 0)
		return no;
	struct client *c = clients_find_id(f->clients, m->id);

	if (!c) {
		rules_free(r);
		return answer(f, m->head.seq, ENOENT, "");
	}
	if (r->n > 0 && !c->authority) {
		c->authority = authority_new(m->seed, m->id);
		if (!c->authority) {
			rules_free(r);
			log_error("could not create a certificate authority", "id=%s", m->id);
			return answer(f, m->head.seq, EIO, "");
		}
	}
	rules_free(c->rules);
	c->rules = r;
	log_debug("rules set", "id=%s domains=%zu proxy=%d", c->id, r->n, r->socks.host[0] != '\0');
	return answer(f, m->head.seq, 0, r->n > 0 ? authority_pem(c->authority) : "");
}

static void on_readable(void *user, int events)
{
	static _Alignas(8) char msg[FE_MAX];
	struct front *f = user;

	(void)events;
	for (int i = 0; i < ROUND_MAX; i++) {
		size_t n_fds = 0;
		ssize_t n = fd_recv(f->fd, msg, sizeof msg, NULL, 0, &n_fds);

		if (n == -EAGAIN || n == -EINTR)
			return;
		int r = n > 0 ? take(f, (const struct fe_rules *)msg, (size_t)n) : -EPIPE;

		explicit_bzero(msg, n > 0 ? (size_t)n : 0);
		if (r < 0) {
			log_at(n == 0 ? LOG_LVL_DEBUG : LOG_LVL_WARN, "the connection to the front has closed",
			    "err=%s", strerror(-r));
			hang_up(f);
			return;
		}
	}
}

void front_link(struct front *f, int fd)
{
	hang_up(f);
	f->fd = fd;
	f->watch = fd_nonblock(fd, true) < 0 ? NULL : watch_new(f->loop, fd, WATCH_IN, on_readable, f);
	if (!f->watch)
		hang_up(f);
}

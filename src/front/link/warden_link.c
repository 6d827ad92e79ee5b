/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/warden_link: matches the warden's replies to requests by sequence number. */
#include "front/link/warden_link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "front/util/mem.h"
#include "ipc/check.h"
#include "ipc/policy.h"
#include "loop/loop.h"

#define BUCKETS 256  /* of pending calls, by seq */
#define ROUND_MAX 64 /* messages per turn of the loop */
/* no message for this long while a reply is due: the warden is probed */
#define QUIET_TICKS 5
#define SILENT_TICKS 10 /* no reply to the probe for this long: it counts as hung */

struct warden_call {
	LIST_ENTRY(warden_call) link;
	uint32_t seq;
	enum msg_type op;
	uint64_t asked_us;
	warden_fn *fn; /* NULL: cancelled */
	void *user;
};

struct unsent {
	STAILQ_ENTRY(unsent) link;
	size_t n;
	char msg[];
};

LIST_HEAD(call_list, warden_call);

struct warden_link {
	struct loop *loop;
	int fd;
	struct watch *watch;
	const struct warden_ops *ops;
	void *user;
	uint32_t last_seq;
	bool lost;
	size_t n_calls;
	unsigned quiet; /* ticks without a message while a reply is due */
	unsigned asked; /* ticks since the probe; 0: none was sent */
	bool silent;
	struct call_list calls[BUCKETS];
	STAILQ_HEAD(, unsent) unsent;
};

static void link_lost(struct warden_link *w, const char *why)
{
	if (w->lost)
		return;
	w->lost = true;
	watch_set(w->watch, 0);
	w->ops->on_lost(w->user, why);
}

static struct warden_call *call_find(struct warden_link *w, uint32_t seq)
{
	struct warden_call *c;

	LIST_FOREACH(c, &w->calls[seq % BUCKETS], link)
	{
		if (c->seq == seq)
			return c;
	}
	return NULL;
}

static void call_answer(struct warden_link *w, struct warden_call *c, const struct warden_reply *re)
{
	warden_fn *fn = c->fn;
	void *user = c->user;

	if (!re->more) {
		w->ops->on_answered(w->user, c->op, clock_mono_us() - c->asked_us);
		LIST_REMOVE(c, link);
		w->n_calls--;
		free(c);
	}
	if (fn)
		fn(user, re);
	else
		fd_close(re->fd);
}

/* Whether a message of that type is a valid reply to the request. */
static bool answers(const struct msg_info *question, unsigned type)
{
	return type == (unsigned)question->answer || type == (unsigned)question->other || type == RE_ERROR;
}

static void on_answer(struct warden_link *w, const struct msg_head *h, const struct msg_info *info, int fd)
{
	struct warden_call *c = call_find(w, h->seq);
	struct warden_reply re = { .msg = h, .fd = fd, .more = info->more };

	if (!c || !answers(msg_info(c->op), h->type) || (fd >= 0 && !msg_info(c->op)->fd)) {
		fd_close(fd);
		link_lost(w, c ? "answer to another question" : "answer to a question that was not asked");
		return;
	}
	if (h->type == RE_ERROR) {
		const struct msg_error *m = (const struct msg_error *)h;

		re.no = m->no > 0 ? m->no : EIO;
		re.text = check_text(m->text, sizeof m->text) ? m->text : "no reason given";
	}
	call_answer(w, c, &re);
}

/* fd: owned by the callee for events that carry one, else -1. */
static void on_event(struct warden_link *w, const struct msg_head *h, int fd)
{
	const struct warden_ops *ops = w->ops;

	switch ((enum msg_type)h->type) {
	case EV_EXITED:
		ops->on_exited(w->user, (const struct msg_exited *)h);
		break;
	case EV_OOM:
		ops->on_oom(w->user, (const struct msg_oom *)h);
		break;
	case EV_LOG_LEVEL:
		ops->on_log_level(w->user, (const struct msg_level *)h);
		break;
	case EV_REFUSED:
		ops->on_refused(w->user, (const struct msg_refused *)h);
		break;
	case EV_BLOCKED:
		ops->on_blocked(w->user, (const struct msg_blocked *)h);
		break;
	case EV_TLS_FILES:
		ops->on_tls_files(w->user);
		break;
	case EV_EGRESS:
		ops->on_egress(w->user, fd);
		break;
	case EV_AGENT:
		ops->on_agent(w->user, fd);
		break;
	case EV_WEBHOOKS:
		ops->on_webhooks(w->user, fd);
		break;
	case EV_OIDC:
		ops->on_oidc(w->user, fd);
		break;
	case EV_SHUTDOWN:
		ops->on_shutdown(w->user, (const struct msg_shutdown *)h);
		break;
	default:
		link_lost(w, "event that nobody handles");
	}
}

static void on_message(struct warden_link *w, const struct msg_head *h, size_t n, int fd)
{
	const struct msg_info *info = n < sizeof *h || h->version != MSG_VERSION ? NULL : msg_info(h->type);

	if (!info || n != info->size || info->kind == MSG_REQUEST) {
		fd_close(fd);
		link_lost(w, "message of a wrong type, size or version");
	} else if (info->kind == MSG_REPLY) {
		on_answer(w, h, info, fd);
	} else if (!info->fd) {
		fd_close(fd);
		on_event(w, h, -1);
	} else if (fd >= 0) { /* not set: the fd could not be received */
		on_event(w, h, fd);
	}
}

static void link_heard(struct warden_link *w)
{
	if (w->silent)
		log_info("the warden answers again", "pending=%zu", w->n_calls);
	w->silent = false;
	w->quiet = 0;
	if (w->asked)
		w->asked = 1; /* the warden is alive; the reply to the probe is still due */
}

static void link_read(struct warden_link *w)
{
	union {
		struct msg_head head;
		uint64_t align;
		char raw[MSG_MAX];
	} msg;

	for (int i = 0; i < ROUND_MAX && !w->lost; i++) {
		int fd = -1;
		size_t n_fds = 0;
		ssize_t n = fd_recv(w->fd, &msg, sizeof msg, &fd, 1, &n_fds);

		if (n == -EAGAIN || n == -EINTR)
			return;
		if (n <= 0) {
			link_lost(w, n == 0 ? "closed by the warden" : strerror((int)-n));
			return;
		}
		link_heard(w);
		on_message(w, &msg.head, (size_t)n, n_fds == 1 ? fd : -1);
	}
}

static int link_send(struct warden_link *w, const void *msg, size_t n)
{
	ssize_t r;

	do
		r = fd_send(w->fd, msg, n, NULL, 0);
	while (r == -EINTR);
	return r < 0 ? (int)r : 0;
}

static void link_flush(struct warden_link *w)
{
	struct unsent *u;

	while ((u = STAILQ_FIRST(&w->unsent))) {
		int r = link_send(w, u->msg, u->n);

		if (r == -EAGAIN)
			return;
		STAILQ_REMOVE_HEAD(&w->unsent, link);
		free(u);
		if (r < 0) {
			link_lost(w, strerror(-r));
			return;
		}
	}
	watch_set(w->watch, WATCH_IN);
}

static void on_ready(void *user, int events)
{
	struct warden_link *w = user;

	if (events & WATCH_OUT)
		link_flush(w);
	if ((events & WATCH_IN) && !w->lost)
		link_read(w);
}

struct warden_link *warden_link_new(struct loop *l, int fd, const struct warden_ops *ops, void *user)
{
	struct warden_link *w = must_alloc(sizeof *w);

	w->loop = l;
	w->fd = fd;
	w->ops = ops;
	w->user = user;
	STAILQ_INIT(&w->unsent);
	for (size_t i = 0; i < BUCKETS; i++)
		LIST_INIT(&w->calls[i]);
	w->watch = fd_nonblock(fd, true) < 0 ? NULL : watch_new(l, fd, WATCH_IN, on_ready, w);
	if (!w->watch) {
		warden_link_free(w);
		return NULL;
	}
	return w;
}

void warden_link_free(struct warden_link *w)
{
	struct warden_call *c;
	struct unsent *u;

	if (!w)
		return;
	watch_free(w->watch);
	fd_close(w->fd);
	for (size_t i = 0; i < BUCKETS; i++) {
		while ((c = LIST_FIRST(&w->calls[i]))) {
			LIST_REMOVE(c, link);
			free(c);
		}
	}
	while ((u = STAILQ_FIRST(&w->unsent))) {
		STAILQ_REMOVE_HEAD(&w->unsent, link);
		free(u);
	}
	free(w);
}

bool warden_link_due(const struct warden_link *w)
{
	const struct warden_call *c;

	for (size_t i = 0; i < BUCKETS; i++) {
		LIST_FOREACH(c, &w->calls[i], link)
		{
			if (c->fn)
				return true;
		}
	}
	return false;
}

void warden_compose(struct buf *out, const void *msg, size_t size, size_t n_policy_at, const struct policy *p)
{
	buf_put(out, msg, size);
	if (p)
		policy_encode(p, out);
	if (out->bad)
		/* the size was checked when the policy was parsed, so this is out of memory, see front/util/mem.h */
		abort();
	uint32_t n = (uint32_t)(out->n - size);

	memcpy(out->p + n_policy_at, &n, sizeof n);
}

struct warden_call *warden_ask(struct warden_link *w, enum msg_type op, void *msg, size_t size, warden_fn *fn,
    void *user)
{
	struct warden_call *c = must_alloc(sizeof *c);
	struct msg_head *h = msg;

	if (++w->last_seq == 0) /* 0 is for events */
		w->last_seq = 1;
	*h = (struct msg_head) { .version = MSG_VERSION, .type = (uint16_t)op, .seq = w->last_seq };
	*c = (struct warden_call) { .seq = w->last_seq, .op = op, .asked_us = clock_mono_us(), .fn = fn, .user = user };
	LIST_INSERT_HEAD(&w->calls[c->seq % BUCKETS], c, link);
	w->n_calls++;
	if (w->lost)
		return c; /* never gets a reply: the front is exiting */

	int r = STAILQ_EMPTY(&w->unsent) ? link_send(w, msg, size) : -EAGAIN;

	if (r == -EAGAIN) {
		struct unsent *u = must_alloc(sizeof *u + size);

		u->n = size;
		memcpy(u->msg, msg, size);
		STAILQ_INSERT_TAIL(&w->unsent, u, link);
		watch_set(w->watch, WATCH_IN | WATCH_OUT);
	}
	/* Any other error shows as the end of the link at the next read. */
	return c;
}

struct warden_call *warden_ask_id(struct warden_link *w, enum msg_type op, const char *id, const char *request,
    warden_fn *fn, void *user)
{
	struct msg_id m = { 0 };

	(void)str_copy(m.id, sizeof m.id, str_of(id));
	(void)str_copy(m.request, sizeof m.request, str_of(request));
	return warden_ask(w, op, &m, sizeof m, fn, user);
}

void warden_cancel(struct warden_call *c)
{
	if (c)
		c->fn = NULL;
}

/* --- probing the warden --- */

static void on_there(void *user, const struct warden_reply *re)
{
	struct warden_link *w = user;

	(void)re;
	w->asked = 0;
}

/* Fails pending requests for connections and samples. All others change something or ask for its result, so their
 * replies are still waited for. */
static void give_up_asking(struct warden_link *w)
{
	const struct warden_reply re = { .no = EHOSTDOWN, .text = "the warden does not answer", .fd = -1 };
	struct warden_call *c;

	for (size_t i = 0; i < BUCKETS; i++) {
		LIST_FOREACH(c, &w->calls[i], link)
		{
			warden_fn *fn = c->op == OP_CONNECT || c->op == OP_USAGE ? c->fn : NULL;

			if (fn) {
				c->fn = NULL; /* closes the fd of a late reply */
				fn(c->user, &re);
			}
		}
	}
}

/* Counts ticks instead of using the clock: if this process itself was stopped, it has read no messages meanwhile. */
void warden_link_tick(struct warden_link *w)
{
	struct msg_list m = { 0 };

	if (w->lost || w->n_calls == 0)
		return;
	if (++w->quiet >= QUIET_TICKS && !w->asked) {
		w->asked = 1;
		(void)warden_ask(w, OP_ROOM, &m, sizeof m, on_there, w);
	} else if (w->asked && ++w->asked > SILENT_TICKS && !w->silent) {
		w->silent = true;
		log_error("the warden does not answer", "pending=%zu for_s=%u", w->n_calls, w->asked);
	}
	if (w->silent)
		give_up_asking(w);
}

bool warden_silent(const struct warden_link *w)
{
	return w->silent;
}

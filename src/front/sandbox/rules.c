/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/rules: numbered requests to atoll-egress; those not answered are sent again on the next socket. */
#include "front/sandbox/rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/link/links.h"
#include "front/record/audit_acts.h"
#include "front/sandbox/facts.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/sandboxes.h"
#include "front/sandbox/spec_rules.h"
#include "front/sandbox/table.h"
#include "front/util/mem.h"
#include "front/util/vault.h"
#include "ipc/check.h"
#include "ipc/policy.h"
#include "ipc/rules.h"
#include "loop/loop.h"

#define WAIT_MS 10000
#define ROUND_MAX 64

_Static_assert(VAULT_SEED_SIZE == RULES_SEED_SIZE, "the vault makes seeds of the right size");

struct push {
	LIST_ENTRY(push) link;
	struct rules_link *l;
	uint32_t seq;       /* 0: not sent yet */
	struct sandbox *sb; /* a reference */
	struct timer *timer;
	rules_fn *fn;
	void *user;
};

struct rules_link {
	struct sandboxes *all;
	int fd;
	struct watch *watch;
	uint32_t last_seq;
	LIST_HEAD(, push) open;
};

static void send_waiting(struct rules_link *l);

struct rules_link *rules_link_new(struct sandboxes *all)
{
	struct rules_link *l = must_alloc(sizeof *l);

	l->all = all;
	l->fd = -1;
	LIST_INIT(&l->open);
	return l;
}

static void push_free(struct push *p)
{
	LIST_REMOVE(p, link);
	timer_free(p->timer);
	sandbox_unref(p->sb);
	free(p);
}

static void hang_up(struct rules_link *l)
{
	struct push *p;

	watch_free(take_ptr(&l->watch));
	fd_close(take_fd(&l->fd));
	LIST_FOREACH(p, &l->open, link)
	p->seq = 0; /* send it again on the next socket */
}

void rules_link_free(struct rules_link *l)
{
	if (!l)
		return;
	hang_up(l);
	while (!LIST_EMPTY(&l->open))
		push_free(LIST_FIRST(&l->open));
	free(l);
}

static void push_done(struct push *p, int no, const char *pem)
{
	rules_fn *fn = p->fn;
	void *user = p->user;

	push_free(p);
	if (fn)
		fn(user, no, pem);
}

/* --- replies ------------------------------------------------------------------------------------------------- */

/* The host name comes from the sandbox: it is untrusted. */
static int take_refused(struct rules_link *l, const char *msg, size_t n)
{
	struct fe_refused m;

	if (n != sizeof m)
		return -EBADMSG;
	memcpy(&m, msg, sizeof m);
	if (m.head.version != FE_VERSION || !check_id(m.id) || !check_text(m.name, sizeof m.name) ||
	    !check_text(m.why, sizeof m.why))
		return -EBADMSG;

	struct sandbox *sb = sandbox_table_find(l->all->table, str_of(m.id));

	if (sb) {
		const struct sandbox_facts of = sandbox_facts(sb);

		sandbox_note(sb, LOG_LVL_WARN, JOURNAL_SECURITY, "connection to the outside refused", "port=%u",
		    m.port);
		audit_egress(l->all->record, &of, &m);
	}
	return 0;
}

static int take(struct rules_link *l, const char *msg, size_t n)
{
	struct fe_head head;

	if (n >= sizeof head && (memcpy(&head, msg, sizeof head), head.type == FE_REFUSED))
		return take_refused(l, msg, n);

	struct fe_done re;
	char pem[RULES_PEM_MAX + 1] = "";
	struct push *p;

	if (n < sizeof re)
		return -EBADMSG;
	memcpy(&re, msg, sizeof re);
	if (re.head.version != FE_VERSION || re.head.type != FE_DONE || n - sizeof re != re.n_pem ||
	    re.n_pem > RULES_PEM_MAX)
		return -EBADMSG;
	memcpy(pem, msg + sizeof re, re.n_pem);
	if (strlen(pem) != re.n_pem)
		return -EBADMSG;
	LIST_FOREACH(p, &l->open, link)
	{
		if (p->seq == re.head.seq)
			break;
	}
	if (p && re.no) /* ENOENT is normal for a sandbox that is paused on disk: atoll-egress does not know it */
		log_at(re.no == ENOENT && !p->fn ? LOG_LVL_DEBUG : LOG_LVL_WARN,
		    "atoll-egress did not take the rules of a sandbox", "id=%s errno=%d", p->sb->id, re.no);
	if (p)
		push_done(p, re.no, pem);
	return 0;
}

static void on_ready(void *user, int events)
{
	struct rules_link *l = user;
	char msg[sizeof(struct fe_done) + RULES_PEM_MAX];

	if (events & WATCH_OUT) {
		watch_set(l->watch, WATCH_IN);
		send_waiting(l);
	}
	for (int i = 0; i < ROUND_MAX && l->fd >= 0; i++) {
		size_t n_fds;
		ssize_t n = fd_recv(l->fd, msg, sizeof msg, NULL, 0, &n_fds);

		if (n == -EAGAIN || n == -EINTR)
			return;
		int r = n > 0 ? take(l, msg, (size_t)n) : -EPIPE;

		if (r < 0) {
			log_at(n == 0 ? LOG_LVL_INFO : LOG_LVL_WARN,
			    "the link to atoll-egress has ended, waiting for the next", "err=%s", strerror(-r));
			hang_up(l);
		}
	}
}

/* --- requests ------------------------------------------------------------------------------------------------ */

/* Builds the whole message. If a secret is missing, its rule blocks all requests that it matches. */
static int compose(struct rules_link *l, const struct push *p, uint32_t seq, struct buf *out)
{
	struct sandboxes *all = l->all;
	const struct sandbox *sb = p->sb;
	autofree char *label = str_fmt("authority %s", sb->id);
	struct fe_rules m = { .head = { FE_VERSION, FE_RULES, seq } };
	struct rules *r = NULL;
	struct err e = ERR_INIT;

	if (!label || spec_rules_fill(all->link, sb->team, sb->spec.network, false, &r, &e) < 0) {
		log_error("could not create the network rules of a sandbox", "id=%s err=%s", sb->id, e.text);
		return -EIO;
	}
	memcpy(m.id, sb->id, sizeof m.id);
	vault_derive(all->link->vault, str_of(label), m.seed);
	buf_put(out, &m, sizeof m);
	rules_encode(r, out);
	rules_free(r);
	if (out->bad)
		return -EIO;
	m.n_rules = (uint32_t)(out->n - sizeof m);
	memcpy(out->p, &m, sizeof m);
	explicit_bzero(m.seed, sizeof m.seed);
	return 0;
}

/* Returns 0; -EAGAIN: the socket is full; other errors: the rules cannot be sent. */
static int send_one(struct rules_link *l, struct push *p)
{
	autobuf struct buf b = BUF_INIT(FE_MAX);

	if (++l->last_seq == 0)
		l->last_seq = 1;
	int r = compose(l, p, l->last_seq, &b);

	if (r == 0) {
		ssize_t n = fd_send(l->fd, b.p, b.n, NULL, 0);

		r = n < 0 ? (int)n : 0;
	}
	if (b.p)
		explicit_bzero(b.p, b.n);
	if (r == 0)
		p->seq = l->last_seq;
	return r;
}

static void send_waiting(struct rules_link *l)
{
	struct push *p, *next;

	for (p = LIST_FIRST(&l->open); p && l->fd >= 0; p = next) {
		next = LIST_NEXT(p, link);
		if (p->seq)
			continue;
		int r = send_one(l, p);

		if (r == -EAGAIN) {
			watch_set(l->watch, WATCH_IN | WATCH_OUT);
			return;
		}
		if (r < 0)
			timer_arm(p->timer, 0); /* reports the failure from the loop */
	}
}

void rules_link_set(struct rules_link *l, int fd)
{
	hang_up(l);
	l->fd = fd;
	l->watch = fd_nonblock(fd, true) < 0 ? NULL : watch_new(l->all->link->loop, fd, WATCH_IN, on_ready, l);
	if (!l->watch) {
		hang_up(l);
		return;
	}
	rules_push_all(l->all);
	send_waiting(l);
}

bool spec_has_rules(const struct spec *sp)
{
	return sp->policy && ((sp->policy->flags & POLICY_SOCKS) || policy_has_names(sp->policy, POLICY_REWRITE));
}

static void on_late(void *user)
{
	push_done(user, ETIMEDOUT, "");
}

void rules_push(struct sandbox *sb, rules_fn *fn, void *user)
{
	struct rules_link *l = sb->all->rules;
	struct push *p = must_alloc(sizeof *p);

	*p = (struct push) { .l = l,
		.sb = sandbox_ref(sb),
		.fn = fn,
		.user = user,
		.timer = timer_new(sb->all->link->loop, on_late, p) };
	if (!p->timer)
		abort(); /* out of memory, as in must_alloc() */
	timer_arm(p->timer, WAIT_MS);
	LIST_INSERT_HEAD(&l->open, p, link);
	send_waiting(l);
}

static void push_team(struct sandboxes *all, const char *team)
{
	for (struct sandbox *sb = sandbox_table_next(all->table, NULL); sb; sb = sandbox_table_next(all->table, sb)) {
		if (sb->state != SANDBOX_STARTING && spec_has_rules(&sb->spec) &&
		    (!team || strcmp(sb->team, team) == 0))
			rules_push(sb, NULL, NULL);
	}
}

void rules_push_all(struct sandboxes *all)
{
	push_team(all, NULL);
}

void rules_refresh(struct sandboxes *all, const char *team)
{
	push_team(all, team);
}

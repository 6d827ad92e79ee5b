/* SPDX-License-Identifier: Apache-2.0 */
/* front/proxy/lane: the thread, what it serves, and the messages that it gets. */
#include "front/proxy/lane.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "audit/chain.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/proxy/lane_impl.h"
#include "front/record/audit.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/table.h"
#include "front/util/mem.h"
#include "http/tls.h"
#include "loop/carrier.h"
#include "loop/loop.h"

#define TICK_MS 1000
#define STACK_BYTES (1024 * 1024)

/* --- the server ----------------------------------------------------------------------------------------------- */

static void on_handed(void *user, struct http_handed *h, void *to)
{
	struct lane *la = user;

	(void)to;
	lanes_hand(la->all, h);
}

static void on_quiet(void *user)
{
	struct lane *la = user;

	if (la->link.stopping)
		lanes_quiet(la->all);
}

static void on_tick(void *user)
{
	struct lane *la = user;

	for (struct sandbox *sb = sandbox_table_next(la->sandbox.table, NULL); sb;
	    sb = sandbox_table_next(la->sandbox.table, sb))
		sandbox_idle_tick(sb);
	la->conns = http_server_conns(la->server);
	la->evicted = http_server_evicted(la->server);
	timer_arm(la->tick, TICK_MS);
}

/* --- connections to init -------------------------------------------------------------------------------------- */

struct lane_ask {
	warden_fn *fn; /* NULL: cancelled */
	void *user;
};

struct lane_ask *lane_connect(struct lane *la, const struct sandbox *sb, const char *request, warden_fn *fn, void *user)
{
	struct lane_ask *a = must_alloc(sizeof *a);

	*a = (struct lane_ask) { .fn = fn, .user = user };
	lanes_ask(la, a, sb->id, request);
	return a;
}

void lane_cancel(struct lane_ask *a)
{
	if (a)
		a->fn = NULL;
}

struct connected_mail {
	struct mail mail;
	struct lane_ask *ask;
	int no, fd;
	char text[256];
};

static void deliver_connected(struct mail *m)
{
	struct connected_mail *c = container_of(m, struct connected_mail, mail);
	struct warden_reply re = { .no = c->no, .text = c->text, .fd = c->fd };

	if (c->ask->fn)
		c->ask->fn(c->ask->user, &re);
	else
		fd_close(c->fd);
	free(c->ask);
	free(c);
}

void lane_connected(struct lane *la, struct lane_ask *a, const struct warden_reply *re)
{
	struct connected_mail *c = must_alloc(sizeof *c);

	c->mail.deliver = deliver_connected;
	c->ask = a;
	c->no = re->no;
	c->fd = re->no ? -1 : re->fd;
	(void)snprintf(c->text, sizeof c->text, "%s", re->no && re->text ? re->text : "");
	mailbox_post(la->inbox, &c->mail);
}

/* --- messages ------------------------------------------------------------------------------------------------- */

struct lane_mail {
	struct mail mail;
	struct lane *lane;
	union {
		struct http_handed handed;
		struct replica_facts facts;
		char id[ID_SIZE];
		struct {
			int fd;
			struct http_secure *secure;
			bool both;
		} door;
	};
};

static struct lane_mail *mail_new(struct lane *la, void (*deliver)(struct mail *m))
{
	struct lane_mail *m = must_alloc(sizeof *m);

	m->mail.deliver = deliver;
	m->lane = la;
	return m;
}

static void deliver_listen(struct mail *mail)
{
	struct lane_mail *m = container_of(mail, struct lane_mail, mail);
	struct http_server *s = m->lane->server;

	if ((m->door.both ? http_server_listen_both : http_server_listen)(s, m->door.fd, m->door.secure) < 0)
		log_error("a thread cannot listen", "err='out of memory'");
	free(m);
}

void lane_listen(struct lane *la, int fd, struct http_secure *secure, bool both)
{
	struct lane_mail *m = mail_new(la, deliver_listen);

	m->door.fd = fd;
	m->door.secure = secure;
	m->door.both = both;
	mailbox_post(la->inbox, &m->mail);
}

static void deliver_hand(struct mail *mail)
{
	struct lane_mail *m = container_of(mail, struct lane_mail, mail);

	lanes_arrived(m->lane->all);
	(void)http_server_take(m->lane->server, &m->handed);
	free(m);
}

void lane_hand(struct lane *la, const struct http_handed *h)
{
	struct lane_mail *m = mail_new(la, deliver_hand);

	m->handed = *h;
	mailbox_post(la->inbox, &m->mail);
}

static void deliver_grant(struct mail *mail)
{
	struct lane_mail *m = container_of(mail, struct lane_mail, mail);

	(void)replica_new(&m->lane->sandbox, &m->facts);
	free(m);
}

void lane_grant(struct lane *la, struct replica_facts *f)
{
	struct lane_mail *m = mail_new(la, deliver_grant);

	m->facts = *f;
	mailbox_post(la->inbox, &m->mail);
}

static void deliver_revoke(struct mail *mail)
{
	struct lane_mail *m = container_of(mail, struct lane_mail, mail);
	struct sandbox *sb = sandbox_table_find(m->lane->sandbox.table, str_of(m->id));

	if (sb)
		replica_end(sb);
	(void)sem_post(&m->lane->all->done);
	free(m);
}

void lane_revoke(struct lane *la, const char *id)
{
	struct lane_mail *m = mail_new(la, deliver_revoke);

	(void)str_copy(m->id, sizeof m->id, str_of(id));
	mailbox_post(la->inbox, &m->mail);
	while (sem_wait(&la->all->done) < 0 && errno == EINTR)
		;
}

static void deliver_stop(struct mail *mail)
{
	struct lane_mail *m = container_of(mail, struct lane_mail, mail);
	struct lane *la = m->lane;

	la->link.stopping = true;
	http_server_stop_accepting(la->server);
	if (la->link.requests == 0) /* the last one may have ended after the main thread has counted it */
		lanes_quiet(la->all);
	free(m);
}

void lane_stop(struct lane *la)
{
	mailbox_post(la->inbox, &mail_new(la, deliver_stop)->mail);
}

static void deliver_quit(struct mail *mail)
{
	struct lane_mail *m = container_of(mail, struct lane_mail, mail);

	loop_stop(m->lane->loop);
	free(m);
}

void lane_quit(struct lane *la)
{
	mailbox_post(la->inbox, &mail_new(la, deliver_quit)->mail);
}

/* --- the thread ----------------------------------------------------------------------------------------------- */

static void connect_floors(struct lane *la, const struct proxies *p)
{
	la->link.opt = p->link->opt;
	la->link.loop = la->loop;
	la->link.fds = p->link->fds / (2 * la->all->n); /* as one of n processes with half as many: lanes_max_conns() */
	la->link.on_quiet = on_quiet;
	la->link.quiet_user = la;
	la->account.link = &la->link;
	la->account.metrics = p->account->metrics;
	la->record.link = &la->link;
	la->record.account = &la->account;
	la->record.audit = p->record->audit;
	la->record.notebooks = p->record->notebooks;
	la->record.all_witnessed = &p->record->witnessed;
	la->record.away = &lanes_record_ops;
	la->record.away_user = la->all;
	la->sandbox.link = &la->link;
	la->sandbox.account = &la->account;
	la->sandbox.record = &la->record;
	la->sandbox.away = &lanes_sandbox_ops;
	la->sandbox.away_user = la->all;
	la->proxy.link = &la->link;
	la->proxy.account = &la->account;
	la->proxy.record = &la->record;
	la->proxy.sandbox = &la->sandbox;
	la->proxy.lane = la;
}

int lane_init(struct lane *la, struct lanes *all)
{
	la->all = all;
	la->loop = loop_new();
	la->inbox = la->loop ? mailbox_new(la->loop) : NULL;
	if (!la->inbox)
		return -ENOMEM;
	connect_floors(la, all->proxies);
	loop_leaving_max(la->loop, links_max_leaving(&la->link));
	la->sandbox.table = sandbox_table_new();
	la->tick = timer_new(la->loop, on_tick, la);
	la->server = http_server_new(la->loop, -1, all->serve, la);
	if (!la->tick || !la->server)
		return -ENOMEM;
	http_server_hands(la->server, on_handed, la, UINT_MAX, true);
	http_server_limit(la->server, la->link.fds / 8 * 3);
	http_server_divide(la->server, 2 * all->n);
	http_server_head_timeout(la->server, la->link.opt.head_timeout_s * 1000ull);
	timer_arm(la->tick, TICK_MS);
	return 0;
}

static void *run(void *user)
{
	struct lane *la = user;

	(void)prctl(PR_SET_NAME, "atoll-lane");
	(void)la->all->confine(&la->all->err);
	(void)sem_post(&la->all->done);
	loop_run(la->loop);
	carrier_thread_ends();
	audit_sha256_thread_ends();
	tls_thread_ends();
	return NULL;
}

/* Signals are the main thread's. */
int lane_start(struct lane *la, struct err *e)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int no = pthread_attr_init(&attr);

	if (no == 0) {
		(void)sigfillset(&all);
		(void)pthread_sigmask(SIG_SETMASK, &all, &old);
		(void)pthread_attr_setstacksize(&attr, STACK_BYTES);
		la->all->err = ERR_INIT;
		no = pthread_create(&la->thread, &attr, run, la);
		(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
		(void)pthread_attr_destroy(&attr);
	}
	if (no)
		return err_set(e, no, "start a thread: %s", strerror(no));
	la->has_thread = true;
	while (sem_wait(&la->all->done) < 0 && errno == EINTR)
		;
	*e = la->all->err;
	return -e->no;
}

void lane_free(struct lane *la)
{
	struct sandbox *sb;

	if (la->inbox && la->server)
		mailbox_empty(la->inbox); /* it may have connections and replicas in it */
	http_server_free(la->server);
	timer_free(la->tick);
	while (la->sandbox.table && (sb = sandbox_table_next(la->sandbox.table, NULL)))
		replica_end(sb);
	sandbox_table_free(la->sandbox.table);
	if (la->inbox)
		mailbox_free(la->inbox);
	loop_free(la->loop);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* egress: a service, and the policies that it needs. */
#include "warden/service/egress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "engine/slot.h"
#include "ipc/egress.h"
#include "warden/layout.h"
#include "warden/link.h"
#include "warden/policy.h"
#include "warden/service/service.h"
#include "warden/unit_state.h"
#include "warden/warden.h"

#define ANSWER_MS 5000 /* no answer for this long: it is stuck */

static struct eg_head next_head(struct warden *w, enum eg_type type)
{
	struct egress_state *eg = &w->eg;

	if (++eg->sent == 0) /* 0 means "nothing to wait for" */
		eg->sent = 1;
	if (!eg->asked_ms)
		eg->asked_ms = clock_mono_ms();
	return (struct eg_head) { EG_VERSION, (uint16_t)type, eg->sent };
}

static uint32_t address_of(const struct unit *sb)
{
	struct slot s;

	slot_fill(sb->w->instance, sb->er.spec.slot, &s);
	return s.ip;
}

static void send_policy(struct unit *sb)
{
	struct warden *w = sb->w;
	autobuf struct buf b = BUF_INIT(EG_MAX);
	struct eg_policy m = { .head = next_head(w, EG_POLICY),
		.ip = address_of(sb),
		.n_policy = (uint32_t)sb->policy->n };

	memcpy(m.id, sb->er.spec.id, sizeof m.id);
	buf_put(&b, &m, sizeof m);
	buf_put(&b, sb->policy->bytes, sb->policy->n);
	if (!b.bad)
		link_send(w->eg.link, b.p, b.n, -1);
	else
		service_restart(w->egress); /* out of memory: the next process gets it again */
}

static void send_clear(struct unit *sb)
{
	struct eg_clear m = { .head = next_head(sb->w, EG_CLEAR), .ip = address_of(sb) };

	link_send(sb->w->eg.link, &m, sizeof m, -1);
}

/* --- messages from it -------------------------------------------------------------------------------------- */

static void on_packet(void *user, const void *p, size_t n, const int *fds, size_t n_fds)
{
	struct warden *w = user;
	struct eg_plain m;

	(void)fds;
	memcpy(&m, p, n < sizeof m ? n : sizeof m);
	if (n != sizeof m || n_fds || m.head.version != EG_VERSION || m.head.type != EG_DONE) {
		log_error("malformed message from atoll-egress, restarting it", "bytes=%zu", n);
		service_restart(w->egress);
		return;
	}
	w->eg.asked_ms = m.head.seq == w->eg.sent ? 0 : clock_mono_ms();
	struct unit *sb, *next;

	for (sb = LIST_FIRST(&w->eg.waiting); sb; sb = next) {
		next = LIST_NEXT(sb, telling.link);
		if (sb->telling.seq == m.head.seq)
			w->eg.told(sb);
	}
}

static void on_gone(void *user, const char *why)
{
	struct warden *w = user;

	(void)why;
	link_free(take_ptr(&w->eg.link));
	service_restart(w->egress);
}

static const struct link_ops link_ops = { .on_packet = on_packet, .on_gone = on_gone };

/* --- start and end ----------------------------------------------------------------------------------------- */

static void on_up(void *user, int fd)
{
	struct warden *w = user;
	struct unit *sb;

	log_info("resolver started", "pid=%d", (int)service_pid(w->egress));
	w->eg.link = link_new(w->loop, fd, &link_ops, w);
	if (!w->eg.link) {
		service_restart(w->egress);
		return;
	}
	LIST_FOREACH(sb, &w->units, all)
	{
		if (sb->state == UNIT_ENDING || !held_policy_proxied(sb->policy))
			continue;
		send_policy(sb);
		if (sb->telling.seq)
			sb->telling.seq = w->eg.sent;
	}
	struct eg_plain ready = { next_head(w, EG_READY) };

	link_send(w->eg.link, &ready, sizeof ready, -1);
	LIST_FOREACH(sb, &w->eg.waiting, telling.link)
	{ /* a new process knows no policies, so none needs to be cleared */
		if (!held_policy_proxied(sb->policy))
			sb->telling.seq = w->eg.sent;
	}
	egress_introduce(w);
}

static void on_down(void *user, const char *how)
{
	struct warden *w = user;

	(void)how;
	link_free(take_ptr(&w->eg.link));
	w->eg.asked_ms = 0;
	warden_settle(w);
}

static const struct service_ops service_ops = { .on_up = on_up, .on_down = on_down };

static void fill_options(const struct warden *w, struct egress_options *o)
{
	struct slot s;

	config_for_egress(&w->cfg, o);
	if (!w->names_port) /* sandboxes do not reach host names of the server */
		return;
	(void)str_copy(o->names_domain, sizeof o->names_domain, (struct str) { w->domain, strcspn(w->domain, ":") });
	slot_fill(w->instance, 0, &s);
	o->names_ip = s.names;
}

int egress_open(struct warden *w, int exe_fd, const char *exe, void (*told)(struct unit *sb), struct err *e)
{
	struct egress_options options;
	struct service_spec spec = { .name = "atoll-egress",
		.exe_fd = exe_fd,
		.exe = exe,
		.run = w->cfg.run,
		.options = &options,
		.options_size = sizeof options,
		.fds = { w->dns_udp, w->dns_tcp, w->proxy },
		.n_fds = 3,
		.delay_max_ms = w->cfg.restart_max_ms };

	fill_options(w, &options);
	if (user_find(w->cfg.egress_user, &spec.uid, &spec.gid, e) < 0)
		return -e->no;
	w->eg.told = told;
	if (service_new(w->loop, &spec, &service_ops, w, &w->egress, e) < 0)
		return -e->no;
	return service_start(w->egress, e);
}

void egress_close(struct warden *w)
{
	link_free(take_ptr(&w->eg.link));
	service_free(take_ptr(&w->egress));
}

void egress_tick(struct warden *w)
{
	if (!w->eg.link || !w->eg.asked_ms || clock_mono_ms() - w->eg.asked_ms < ANSWER_MS)
		return;
	log_error("atoll-egress does not answer, restarting it", "pid=%d", (int)service_pid(w->egress));
	w->eg.asked_ms = 0;
	service_restart(w->egress);
}

/* The warden does not see what the two exchange: secrets of the sandboxes' owners. */
void egress_introduce(struct warden *w)
{
	struct msg_ok ev = { .head = { MSG_VERSION, EV_EGRESS, 0 } };
	int pair[2];

	if (!w->eg.link || !w->link || w->proto.phase != PHASE_SERVE)
		return;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		log_error("could not create a socket between the front and atoll-egress", "err=%s", strerror(errno));
		return;
	}
	struct eg_plain m = { next_head(w, EG_FRONT) };

	link_send(w->eg.link, &m, sizeof m, pair[0]);
	link_send(w->link, &ev, sizeof ev, pair[1]);
}

/* --- messages to it ---------------------------------------------------------------------------------------- */

void egress_tell(struct unit *sb, bool had)
{
	struct warden *w = sb->w;
	bool has = held_policy_proxied(sb->policy);

	if (!has && !had) {
		w->eg.told(sb);
		return;
	}
	if (w->eg.link && has)
		send_policy(sb);
	else if (w->eg.link)
		send_clear(sb);
	if (!sb->telling.seq)
		LIST_INSERT_HEAD(&w->eg.waiting, sb, telling.link);
	/* Without a link the next process gets the policy; any number but 0 makes the request wait for that. */
	sb->telling.seq = w->eg.link ? w->eg.sent : UINT32_MAX;
}

void egress_settled(struct unit *sb)
{
	if (!sb->telling.seq)
		return;
	LIST_REMOVE(sb, telling.link);
	sb->telling.seq = 0;
}

void egress_forget(struct unit *sb)
{
	if (sb->w->eg.link && held_policy_proxied(sb->policy))
		send_clear(sb);
}

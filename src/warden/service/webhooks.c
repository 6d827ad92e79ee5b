/* SPDX-License-Identifier: Apache-2.0 */
/* webhooks: a helper process. */
#include "warden/service/webhooks.h"

#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "ipc/msg.h"
#include "ipc/webhooks.h"
#include "warden/layout.h"
#include "warden/link.h"
#include "warden/service/service.h"
#include "warden/warden.h"

/* It sends no messages to the warden. */
static void on_packet(void *user, const void *p, size_t n, const int *fds, size_t n_fds)
{
	struct warden *w = user;

	(void)p;
	(void)fds;
	(void)n_fds;
	log_error("malformed message from atoll-webhooks, restarting it", "bytes=%zu", n);
	service_restart(w->webhooks.service);
}

static void on_gone(void *user, const char *why)
{
	struct warden *w = user;

	(void)why;
	link_free(take_ptr(&w->webhooks.link));
	service_restart(w->webhooks.service);
}

static const struct link_ops link_ops = { .on_packet = on_packet, .on_gone = on_gone };

static void on_up(void *user, int fd)
{
	struct warden *w = user;

	w->webhooks.link = link_new(w->loop, fd, &link_ops, w);
	if (!w->webhooks.link)
		service_restart(w->webhooks.service);
	else
		webhooks_introduce(w);
}

static void on_down(void *user, const char *how)
{
	struct warden *w = user;

	(void)how;
	link_free(take_ptr(&w->webhooks.link));
	warden_settle(w);
}

static const struct service_ops service_ops = { .on_up = on_up, .on_down = on_down };

/* A user of its own, because traffic of atoll-egress passes the sandboxes' firewall rules, which allow neither
 * private ranges nor IPv6. */
static int find_user(const struct config *c, struct service_spec *spec, struct err *e)
{
	struct err none = ERR_INIT;

	if (user_find(c->hooks_user, &spec->uid, &spec->gid, &none) == 0)
		return 0;
	log_warn("the user for webhooks is missing: they run as the egress user and reach public IPv4 addresses only",
	    "err=%s", none.text);
	return user_find(c->egress_user, &spec->uid, &spec->gid, e);
}

int webhooks_open(struct warden *w, struct err *e)
{
	static char exe[PATH_MAX]; /* lives as long as the service, of which there is one per process */
	struct webhooks_options options;
	struct service_spec spec = { .name = "atoll-webhooks",
		.exe = exe,
		.run = w->cfg.run,
		.options = &options,
		.options_size = sizeof options,
		.delay_max_ms = w->cfg.restart_max_ms };
	struct err none = ERR_INIT;

	if (layout_program(w->cfg.libexec, "atoll-webhooks", exe, sizeof exe, &w->webhooks.exe_fd, &none) < 0) {
		log_warn("webhooks are disabled", "err=%s", none.text);
		return 0;
	}
	spec.exe_fd = w->webhooks.exe_fd;
	config_for_webhooks(&w->cfg, &options);
	if (find_user(&w->cfg, &spec, e) < 0 ||
	    service_new(w->loop, &spec, &service_ops, w, &w->webhooks.service, e) < 0)
		return -e->no;
	return service_start(w->webhooks.service, e);
}

void webhooks_close(struct warden *w)
{
	link_free(take_ptr(&w->webhooks.link));
	service_free(take_ptr(&w->webhooks.service));
}

/* The warden does not see what the two exchange. */
void webhooks_introduce(struct warden *w)
{
	struct msg_ok ev = { .head = { MSG_VERSION, EV_WEBHOOKS, 0 } };
	struct hk_head m = { HK_VERSION, HK_FRONT, 0 };
	int pair[2];

	if (!w->webhooks.link || !w->link || w->proto.phase != PHASE_SERVE)
		return;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		log_error("could not create a socket between the front and atoll-webhooks", "err=%s", strerror(errno));
		return;
	}
	link_send(w->webhooks.link, &m, sizeof m, pair[0]);
	link_send(w->link, &ev, sizeof ev, pair[1]);
}

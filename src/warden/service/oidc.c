/* SPDX-License-Identifier: Apache-2.0 */
/* oidc: a helper process. */
#include "warden/service/oidc.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "ipc/msg.h"
#include "ipc/oidc.h"
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
	log_error("malformed message from atoll-oidc, restarting it", "bytes=%zu", n);
	service_restart(w->oidc.service);
}

static void on_gone(void *user, const char *why)
{
	struct warden *w = user;

	(void)why;
	link_free(take_ptr(&w->oidc.link));
	service_restart(w->oidc.service);
}

static const struct link_ops link_ops = { .on_packet = on_packet, .on_gone = on_gone };

static void on_up(void *user, int fd)
{
	struct warden *w = user;

	w->oidc.link = link_new(w->loop, fd, &link_ops, w);
	if (!w->oidc.link)
		service_restart(w->oidc.service);
	else
		oidc_introduce(w);
}

static void on_down(void *user, const char *how)
{
	struct warden *w = user;

	(void)how;
	link_free(take_ptr(&w->oidc.link));
	warden_settle(w);
}

static const struct service_ops service_ops = { .on_up = on_up, .on_down = on_down };

/* The user of atoll-webhooks, another program that speaks to hosts outside: traffic of atoll-egress passes the
 * sandboxes' firewall rules. Neither of the two can trace the other. */
static int fill_spec(struct warden *w, struct service_spec *spec, struct err *e)
{
	if (user_find(w->cfg.hooks_user, &spec->uid, &spec->gid, e) < 0)
		return err_wrap(e, "start atoll-oidc (oidc_issuer)");
	if (w->cfg.oidc_client_secret_file[0]) {
		spec->fds[spec->n_fds] = w->oidc.secret_fd = open(w->cfg.oidc_client_secret_file, O_RDONLY | O_CLOEXEC);
		if (spec->fds[spec->n_fds++] < 0)
			return err_sys(e, "open oidc_client_secret_file = '%s'", w->cfg.oidc_client_secret_file);
	}
	return 0;
}

int oidc_open(struct warden *w, struct err *e)
{
	static char exe[PATH_MAX]; /* lives as long as the service, of which there is one per process */
	struct oidc_options options;
	struct service_spec spec = { .name = "atoll-oidc",
		.exe = exe,
		.run = w->cfg.run,
		.options = &options,
		.options_size = sizeof options,
		.delay_max_ms = w->cfg.restart_max_ms };

	if (!w->cfg.oidc_issuer[0])
		return 0;
	if (layout_program(w->cfg.libexec, "atoll-oidc", exe, sizeof exe, &w->oidc.exe_fd, e) < 0 ||
	    fill_spec(w, &spec, e) < 0)
		return -e->no;
	spec.exe_fd = w->oidc.exe_fd;
	config_for_oidc(&w->cfg, &options);
	options.oidc_has_secret = spec.n_fds > 0;
	if (service_new(w->loop, &spec, &service_ops, w, &w->oidc.service, e) < 0)
		return -e->no;
	return service_start(w->oidc.service, e);
}

void oidc_close(struct warden *w)
{
	link_free(take_ptr(&w->oidc.link));
	service_free(take_ptr(&w->oidc.service));
}

/* The warden does not see what the two exchange. */
void oidc_introduce(struct warden *w)
{
	struct msg_ok ev = { .head = { MSG_VERSION, EV_OIDC, 0 } };
	struct oi_head m = { OI_VERSION, OI_FRONT, 0 };
	int pair[2];

	if (!w->oidc.link || !w->link || w->proto.phase != PHASE_SERVE)
		return;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		log_error("could not create a socket between the front and atoll-oidc", "err=%s", strerror(errno));
		return;
	}
	link_send(w->oidc.link, &m, sizeof m, pair[0]);
	link_send(w->link, &ev, sizeof ev, pair[1]);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* agent: a service that needs only a socket to the front. */
#include "warden/service/agent.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "ipc/agent.h"
#include "loop/loop.h"
#include "warden/layout.h"
#include "warden/link.h"
#include "warden/service/service.h"
#include "warden/warden.h"

#define AGAIN_MS 1000 /* between two sockets for the same front, so that neither side can keep the warden busy */

static void on_again(void *user)
{
	agent_introduce(user);
}

/* Accepts only AG_LOST; any other message shows that the process misbehaves. */
static void on_packet(void *user, const void *p, size_t n, const int *fds, size_t n_fds)
{
	struct warden *w = user;
	struct ag_msg m = { 0 };

	(void)fds;
	if (n == sizeof m)
		memcpy(&m, p, sizeof m);
	if (m.version == AG_VERSION && m.type == AG_LOST && n_fds == 0) {
		timer_arm(w->ag.again, AGAIN_MS);
		return;
	}
	log_error("malformed message from atoll-agent, restarting it", "bytes=%zu", n);
	service_restart(w->agent);
}

static void on_gone(void *user, const char *why)
{
	struct warden *w = user;

	(void)why;
	link_free(take_ptr(&w->ag.link));
	service_restart(w->agent);
}

static const struct link_ops link_ops = { .on_packet = on_packet, .on_gone = on_gone };

static void on_up(void *user, int fd)
{
	struct warden *w = user;

	log_info("agent layer started", "pid=%d", (int)service_pid(w->agent));
	w->ag.link = link_new(w->loop, fd, &link_ops, w);
	if (w->ag.link)
		agent_introduce(w);
	else
		service_restart(w->agent);
}

static void on_down(void *user, const char *how)
{
	struct warden *w = user;

	(void)how;
	link_free(take_ptr(&w->ag.link));
	warden_settle(w);
}

static const struct service_ops service_ops = { .on_up = on_up, .on_down = on_down };

int agent_open(struct warden *w, int exe_fd, const char *exe, struct err *e)
{
	struct agent_options options;
	struct service_spec spec = { .name = "atoll-agent",
		.exe_fd = exe_fd,
		.exe = exe,
		.run = w->cfg.run,
		.options = &options,
		.options_size = sizeof options,
		.delay_max_ms = w->cfg.restart_max_ms };

	config_for_agent(&w->cfg, &options);
	(void)snprintf(options.state_dir, sizeof options.state_dir, "%s", AGENT_STATE);
	if (user_find(w->cfg.user, &spec.uid, &spec.gid, e) < 0)
		return -e->no;
	w->ag.again = timer_new(w->loop, on_again, w);
	if (!w->ag.again)
		return err_set(e, ENOMEM, "start the agent layer: out of memory");
	if (service_new(w->loop, &spec, &service_ops, w, &w->agent, e) < 0)
		return -e->no;
	return service_start(w->agent, e);
}

void agent_close(struct warden *w)
{
	link_free(take_ptr(&w->ag.link));
	service_free(take_ptr(&w->agent));
	timer_free(take_ptr(&w->ag.again));
}

void agent_introduce(struct warden *w)
{
	struct msg_ok ev = { .head = { MSG_VERSION, EV_AGENT, 0 } };
	struct ag_msg m = { AG_VERSION, AG_FRONT, w->ag.sent + 1 };
	int pair[2];

	if (!w->ag.link || !w->link || w->proto.phase != PHASE_SERVE)
		return; /* done when the other one is up */
	timer_disarm(w->ag.again);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		log_error("could not create a socket between the front and atoll-agent", "err=%s", strerror(errno));
		return;
	}
	w->ag.sent++;
	link_send(w->ag.link, &m, sizeof m, pair[0]);
	link_send(w->link, &ev, sizeof ev, pair[1]);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* resolver: a service whose link carries nothing; its end tells atoll-egress to end. */
#include "warden/resolver.h"

#include "base/fd.h"
#include "base/log.h"
#include "warden/layout.h"
#include "warden/service.h"
#include "warden/warden.h"

static void on_up(void *user, int fd)
{
	struct warden *w = user;

	w->egress_fd = fd;
	log_info("resolver started", "pid=%d", (int)service_pid(w->egress));
}

static void on_down(void *user, const char *how)
{
	struct warden *w = user;

	(void)how;
	fd_close(take_fd(&w->egress_fd));
	warden_settle(w);
}

static const struct service_ops service_ops = { .on_up = on_up, .on_down = on_down };

int resolver_open(struct warden *w, int exe_fd, const char *exe, struct err *e)
{
	static const char *const level_word[] = { "debug", "info", "warn", "error" };
	static const char *argv[8];		/* lives as long as the service, of which a process has one */
	struct service_spec spec = { .name = "atoll-egress", .exe_fd = exe_fd, .argv = (char *const *)argv,
		.fds = { w->dns_udp, w->dns_tcp }, .n_fds = 2, .delay_max_ms = w->cfg.restart_max_ms };
	size_t n = 0;

	argv[n++] = exe;
	argv[n++] = "--run";			/* tells whose it is in a list of processes */
	argv[n++] = w->cfg.run;
	argv[n++] = "--log-level";
	argv[n++] = level_word[w->cfg.log_level];
	if (user_find(w->cfg.egress_user, &spec.uid, &spec.gid, e) < 0)
		return -e->no;
	w->egress = service_new(w->loop, &spec, &service_ops, w);
	if (!w->egress)
		return err_set(e, ENOMEM, "start the resolver: out of memory");
	return service_start(w->egress, e);
}

void resolver_close(struct warden *w)
{
	fd_close(take_fd(&w->egress_fd));
	service_free(take_ptr(&w->egress));
}

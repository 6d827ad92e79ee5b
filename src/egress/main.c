/* SPDX-License-Identifier: Apache-2.0 */
/* atoll-egress: the sandboxes' resolver, and their proxy to the outside where the policy allows names. The warden
 * starts it as a user of its own with five fds: 3 is the link to the warden; 4 has its options (ipc/settings.h); 5 is
 * UDP port 53, 6 TCP port 53 and 7 the proxy's port of the gateway address. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cage.h"
#include "base/fd.h"
#include "base/log.h"
#include "egress/clients.h"
#include "egress/confine.h"
#include "egress/control.h"
#include "egress/dial.h"
#include "egress/forward.h"
#include "egress/front.h"
#include "egress/proxy.h"
#include "egress/resolvconf.h"
#include "egress/resolve.h"
#include "egress/serve.h"
#include "egress/upstream_tls.h"
#include "ipc/settings.h"
#include "loop/loop.h"

enum { FD_WARDEN = 3, FD_UDP = OPTIONS_FD + 1, FD_TCP, FD_PROXY };

#define REFRESH_MS 2000
#define FDS_WANTED 65536
#define FDS_OTHER 1024 /* for queries and the process itself */
#define FDS_PER_FLOW 6 /* two sockets, two pipes */

struct egress {
	struct loop *loop;
	struct resolvconf rc;
	struct timer *refresh;
	struct forwarder *fw;
	struct clients *clients;
	struct control *control;
	struct resolver *resolver;
	unsigned max_flows;
	struct egress_options opt;
};

static void on_refresh(void *user)
{
	struct egress *eg = user;

	resolvconf_refresh(&eg->rc);
	timer_arm(eg->refresh, REFRESH_MS);
}

static void on_warden_gone(void *user, const char *why)
{
	(void)user;
	log_debug("the warden is gone, exiting", "why=%s", why);
	_exit(0); /* there is no state to save, and a new warden needs the ports */
}

/* The warden has sent all policies, so queries can be answered. */
static void on_ready(void *user)
{
	struct egress *eg = user;
	struct proxy *px = proxy_new(eg->loop, FD_PROXY, eg->clients, eg->resolver, eg->max_flows);

	if (!px || !server_udp_new(eg->loop, FD_UDP, eg->fw, eg->clients) ||
	    !server_tcp_new(eg->loop, FD_TCP, eg->fw, eg->clients)) {
		log_error("could not start", "err=out of memory");
		_exit(1);
	}
	control_proxy(eg->control, px);
}

static const struct control_ops control_ops = { .on_ready = on_ready, .on_gone = on_warden_gone };

/* The number of connections that the fd limit allows. */
static unsigned flows_for_fds(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return 0;
	l.rlim_cur = l.rlim_max < FDS_WANTED ? l.rlim_max : FDS_WANTED;
	if (setrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur < 2 * FDS_OTHER)
		return (unsigned)(l.rlim_cur / (2 * FDS_PER_FLOW));
	return (unsigned)((l.rlim_cur - FDS_OTHER) / FDS_PER_FLOW);
}

static int egress_open(struct egress *eg, struct err *e)
{
	static const int fds[] = { FD_WARDEN, FD_UDP, FD_TCP, FD_PROXY };

	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		if (fd_cloexec(fds[i], true) < 0 || fd_nonblock(fds[i], true) < 0)
			return err_set(e, EBADF, "fd %d is missing: this program is started by atolld", fds[i]);
	}
	eg->max_flows = flows_for_fds();
	if (!eg->rc.fixed)
		resolvconf_open(&eg->rc);
	if (cage_refuse_rings(e) < 0)
		return -e->no;
	eg->loop = loop_new();
	eg->clients = clients_new();
	eg->fw = eg->loop ? forwarder_new(eg->loop, &eg->rc) : NULL;
	eg->resolver = eg->fw ? resolver_new(eg->loop, eg->fw) : NULL;
	struct front *f = eg->resolver && eg->clients ? front_new(eg->loop, eg->clients) : NULL;

	eg->control = f ? control_new(eg->loop, FD_WARDEN, eg->clients, f, &control_ops, eg) : NULL;
	if (!eg->control || !(eg->refresh = timer_new(eg->loop, on_refresh, eg)))
		return err_set(e, ENOMEM, "make the event loop");
	if (!eg->rc.fixed)
		timer_arm(eg->refresh, REFRESH_MS);
	if (upstream_tls_open(eg->opt.egress_ca_file, e) < 0)
		return -e->no;
	return egress_confine(e);
}

static int take_options(struct egress *eg, struct err *e)
{
	struct egress_options *opt = &eg->opt;

	if (options_take(OPTIONS_EGRESS, opt, sizeof *opt, e) < 0)
		return -e->no;
	log_set_level(opt->log_level);
	dial_allow(&opt->allow_private);
	serve_names(opt->names_domain, opt->names_ip);
	if (opt->dns_servers[0] && !resolvconf_fix(&eg->rc, str_of(opt->dns_servers)))
		return err_set(e, EINVAL, "dns_servers = '%s': wants at most %d addresses", opt->dns_servers,
		    UPSTREAMS_MAX);
	return 0;
}

int main(void)
{
	static struct egress eg;
	struct err e = ERR_INIT;

	log_setup("atoll-egress", LOG_LVL_INFO);
	if (take_options(&eg, &e) < 0) {
		(void)fprintf(stderr, "atoll-egress: %s (it is started by atolld)\n", e.text);
		return 2;
	}
	if (egress_open(&eg, &e) < 0) {
		log_error("could not start", "err=%s", e.text);
		return 1;
	}
	loop_run(eg.loop);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* atoll-egress: the sandboxes' resolver, and their proxy to the outside where the policy allows names. The warden
 * starts it as a user of its own with four fds: 3 is the link to the warden; 4 is UDP port 53, 5 TCP port 53 and 6
 * the proxy's port of the gateway address. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cage.h"
#include "base/fd.h"
#include "base/inet.h"
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
#include "loop/loop.h"

enum { FD_WARDEN = 3, FD_UDP, FD_TCP, FD_PROXY };

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
	const char *ca_file;
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
	for (int fd = FD_WARDEN; fd <= FD_PROXY; fd++) {
		if (fd_cloexec(fd, true) < 0 || fd_nonblock(fd, true) < 0)
			return err_set(e, EBADF, "fd %d is missing: this program is started by atolld", fd);
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
	if (upstream_tls_open(eg->ca_file, e) < 0)
		return -e->no;
	return egress_confine(e);
}

/* Comma-separated ranges, as the warden writes them. */
static bool take_ranges(const char *text)
{
	struct inet_range r[DIAL_RANGES_MAX];
	struct str rest = str_of(text);
	size_t n = 0;

	while (rest.p) {
		if (n == DIAL_RANGES_MAX || inet_parse(str_cut(&rest, ','), &r[n]) < 0)
			return false;
		n++;
	}
	dial_allow(r, n);
	return true;
}

static bool take_option(struct egress *eg, const char *name, const char *value)
{
	enum log_level level;

	if (strcmp(name, "--run") == 0) /* only shown in the process list */
		return true;
	if (strcmp(name, "--log-level") == 0 && log_level_parse(value, &level) == 0) {
		log_set_level(level);
		return true;
	}
	if (strcmp(name, "--ca-file") == 0) {
		eg->ca_file = value;
		return true;
	}
	if (strcmp(name, "--names") == 0)
		return serve_names(value);
	if (strcmp(name, "--dns") == 0)
		return resolvconf_fix(&eg->rc, str_of(value));
	return strcmp(name, "--allow-private") == 0 && take_ranges(value);
}

int main(int argc, char **argv)
{
	static struct egress eg;
	struct err e = ERR_INIT;

	log_setup("atoll-egress", LOG_LVL_INFO);
	for (int i = 1; i < argc; i += 2) {
		if (i + 1 == argc || !take_option(&eg, argv[i], argv[i + 1])) {
			(void)fprintf(stderr, "atoll-egress: unexpected argument '%s'\n", argv[i]);
			return 2;
		}
	}
	if (egress_open(&eg, &e) < 0) {
		log_error("could not start", "err=%s", e.text);
		return 1;
	}
	loop_run(eg.loop);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* atoll-egress: the sandboxes' resolver. Started by the warden as a user of its own with three fds:
 * 3 tells by its end that the warden is gone, 4 is UDP port 53 and 5 TCP port 53 of the gateway address. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "egress/confine.h"
#include "egress/forward.h"
#include "egress/resolvconf.h"
#include "egress/serve.h"
#include "loop/loop.h"

enum { FD_WARDEN = 3, FD_UDP, FD_TCP };

#define REFRESH_MS 2000

struct egress {
	struct loop *loop;
	struct resolvconf rc;
	struct timer *refresh;
};

static void on_warden(void *user, int events)
{
	char c[64];

	(void)user;
	(void)events;
	ssize_t n = read(FD_WARDEN, c, sizeof c);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		_exit(0);			/* nothing to save, and a new warden wants the port */
}

static void on_refresh(void *user)
{
	struct egress *eg = user;

	resolvconf_refresh(&eg->rc);
	timer_arm(eg->refresh, REFRESH_MS);
}

static int egress_open(struct egress *eg, struct err *e)
{
	for (int fd = FD_WARDEN; fd <= FD_TCP; fd++) {
		if (fd_cloexec(fd, true) < 0 || fd_nonblock(fd, true) < 0)
			return err_set(e, EBADF, "fd %d is missing: this program is started by atolld", fd);
	}
	resolvconf_open(&eg->rc);
	eg->loop = loop_new();
	struct forwarder *fw = eg->loop ? forwarder_new(eg->loop, &eg->rc) : NULL;

	if (!fw || !server_udp_new(eg->loop, FD_UDP, fw) || !server_tcp_new(eg->loop, FD_TCP, fw) ||
	    !watch_new(eg->loop, FD_WARDEN, WATCH_IN, on_warden, eg) || !(eg->refresh = timer_new(eg->loop, on_refresh, eg)))
		return err_set(e, ENOMEM, "make the event loop");
	timer_arm(eg->refresh, REFRESH_MS);
	return confine(e);
}

int main(int argc, char **argv)
{
	static struct egress eg;
	enum log_level level = LOG_LVL_INFO;
	struct err e = ERR_INIT;

	for (int i = 1; i < argc; i++) {
		bool has_value = i + 1 < argc;

		if (has_value && strcmp(argv[i], "--log-level") == 0 && log_level_parse(argv[i + 1], &level) == 0) {
			i++;
		} else if (has_value && strcmp(argv[i], "--run") == 0) {
			i++;			/* only for those who look at the process list */
		} else {
			(void)fprintf(stderr, "atoll-egress: unexpected argument '%s'\n", argv[i]);
			return 2;
		}
	}
	log_setup("atoll-egress", level);
	if (egress_open(&eg, &e) < 0) {
		log_error("could not start", "err=%s", e.text);
		return 1;
	}
	loop_run(eg.loop);
	return 0;
}

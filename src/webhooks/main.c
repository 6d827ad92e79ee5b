/* SPDX-License-Identifier: Apache-2.0 */
/* atoll-webhooks: delivers webhooks: speaks TLS to hosts named by users, and reads their answers. The warden
 * starts it with fd 3, the socket to the warden, over which it receives the socket to the current front, and fd 4, its
 * options (ipc/settings.h). Jobs come from the front (ipc/webhooks.h). It knows no secrets except the URLs, stores
 * nothing, and drops its jobs when the front exits: the next front sends them again. */
#include <errno.h>
#include <netdb.h>
#include <nss.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cage.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "ipc/settings.h"
#include "ipc/webhooks.h"
#include "webhooks/send.h"

#define FD_WARDEN 3
#define ROUND_MAX 64

struct webhooks {
	struct sender *sender;
	int front; /* -1: none */
};

static void drop_front(struct webhooks *h, const char *why)
{
	if (h->front >= 0)
		log_info("the connection to the front has closed, waiting for the next", "why=%s", why);
	fd_close(take_fd(&h->front));
	sender_drop_all(h->sender);
}

static void on_done(void *user, const struct hk_done *done)
{
	struct webhooks *h = user;

	if (h->front >= 0 && fd_send(h->front, done, sizeof *done, NULL, 0) < 0)
		drop_front(h, "it does not read");
}

/* false: the warden is gone. */
static bool read_warden(struct webhooks *h)
{
	struct hk_head m;
	size_t n_fds = 0;
	int fd = -1;
	ssize_t n = fd_recv(FD_WARDEN, &m, sizeof m, &fd, 1, &n_fds);

	if (n == -EAGAIN || n == -EINTR)
		return true;
	if (n != sizeof m || m.version != HK_VERSION || m.type != HK_FRONT || n_fds != 1) {
		if (n != 0)
			log_error("malformed message from the warden, exiting", "bytes=%zd", n);
		fd_close(n_fds == 1 ? fd : -1);
		return false;
	}
	drop_front(h, "another has come");
	if (fd_nonblock(fd, true) < 0)
		fd_close(fd);
	else
		h->front = fd;
	return true;
}

static void refuse(struct webhooks *h, uint32_t seq, const char *why)
{
	struct hk_done d = { .head = { HK_VERSION, HK_DONE, seq }, .outcome = HK_LOST };

	(void)snprintf(d.text, sizeof d.text, "%s", why);
	on_done(h, &d);
}

static void read_front(struct webhooks *h)
{
	static _Alignas(8) char msg[HK_MAX];

	for (int i = 0; i < ROUND_MAX && h->front >= 0; i++) {
		struct hk_job m;
		struct str url, body;
		size_t n_fds;
		ssize_t n = fd_recv(h->front, msg, sizeof msg, NULL, 0, &n_fds);

		if (n == -EAGAIN || n == -EINTR)
			return;
		if (n <= 0 || hk_job_check(msg, (size_t)n, &m, &url, &body) < 0) {
			drop_front(h, n == 0 ? "closed" : n < 0 ? strerror((int)-n) : "it makes no sense");
			return;
		}
		int r = sender_add(h->sender, &m, url, body);

		if (r < 0)
			refuse(h, m.head.seq, r == -EBUSY ? "too many at once" : "out of memory");
	}
}

static int open_all(struct webhooks *h, const struct webhooks_options *o, struct err *e)
{
	if (fd_cloexec(FD_WARDEN, true) < 0 || fd_nonblock(FD_WARDEN, true) < 0)
		return err_set(e, EBADF, "the warden's fd is missing");
	/* These two are built into libc. Others would be loaded on demand, which is not possible after the
	 * confinement. */
	if (__nss_configure_lookup("hosts", "files dns") < 0)
		return err_sys(e, "choose how names are resolved");
	if (sender_new(o, on_done, h, &h->sender, e) < 0)
		return -e->no;
	return cage_close_client(e);
}

int main(void)
{
	static struct webhooks_options o;
	struct webhooks h = { .front = -1 };
	struct err e = ERR_INIT;

	log_setup("atoll-webhooks", LOG_LVL_INFO);
	if (options_take(OPTIONS_WEBHOOKS, &o, sizeof o, &e) < 0) {
		(void)fprintf(stderr, "atoll-webhooks: %s (it is started by atolld)\n", e.text);
		return 2;
	}
	log_set_level(o.log_level);
	if (open_all(&h, &o, &e) < 0) {
		log_error("could not start", "err=%s", e.text);
		return 1;
	}
	for (;;) {
		const int fds[2] = { FD_WARDEN, h.front };
		bool ready[2];

		if (sender_wait(h.sender, fds, ready) < 0) {
			log_error("could not initialize libcurl, exiting", "jobs=?");
			return 1;
		}
		if (ready[0] && !read_warden(&h))
			break;
		if (ready[1] && h.front == fds[1])
			read_front(&h);
	}
	drop_front(&h, "the end");
	sender_free(h.sender);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* atoll-oidc: talks to the OpenID provider for the front: reads its documents, exchanges codes for tokens and checks
 * them. The warden starts it with fd 3, the socket to the warden, over which it receives the socket to the current
 * front, fd 4, its options (ipc/settings.h), and fd 5, the file with the client's secret, if there is one. Questions
 * come from the front (ipc/oidc.h), which gets no token. It stores nothing, and drops its work when the front exits. */
#include <errno.h>
#include <netdb.h>
#include <nss.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cage.h"
#include "base/fd.h"
#include "base/log.h"
#include "ipc/oidc.h"
#include "ipc/settings.h"
#include "oidc/fetch.h"
#include "oidc/login.h"

#define FD_WARDEN 3
#define FD_SECRET (OPTIONS_FD + 1)
#define SECRET_MAX 1024
#define ROUND_MAX 64

struct oidc {
	struct oidc_options opt;
	char secret[SECRET_MAX];
	struct fetcher *fetcher;
	struct logins *logins;
	int front;    /* -1: none */
	bool is_deaf; /* the front does not read */
};

static void drop_front(struct oidc *h, const char *why)
{
	if (h->front >= 0)
		log_info("the connection to the front has closed, waiting for the next", "why=%s", why);
	fd_close(take_fd(&h->front));
	h->is_deaf = false;
	logins_drop_all(h->logins);
}

/* Not dropped here: the caller is in the middle of a list. */
static void on_done(void *user, const struct oi_done *done)
{
	struct oidc *h = user;

	if (h->front >= 0 && fd_send(h->front, done, sizeof *done, NULL, 0) < 0)
		h->is_deaf = true;
}

/* false: the warden is gone. */
static bool read_warden(struct oidc *h)
{
	struct oi_head m;
	size_t n_fds = 0;
	int fd = -1;
	ssize_t n = fd_recv(FD_WARDEN, &m, sizeof m, &fd, 1, &n_fds);

	if (n == -EAGAIN || n == -EINTR)
		return true;
	if (n != sizeof m || m.version != OI_VERSION || m.type != OI_FRONT || n_fds != 1) {
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

static void read_front(struct oidc *h)
{
	static _Alignas(8) char msg[sizeof(struct oi_ask) + 1];

	for (int i = 0; i < ROUND_MAX && h->front >= 0; i++) {
		struct oi_ask m;
		size_t n_fds;
		ssize_t n = fd_recv(h->front, msg, sizeof msg, NULL, 0, &n_fds);

		if (n == -EAGAIN || n == -EINTR)
			return;
		if (n <= 0 || oi_ask_check(msg, (size_t)n, &m) < 0) {
			drop_front(h, n == 0 ? "closed" : n < 0 ? strerror((int)-n) : "it makes no sense");
			return;
		}
		login_ask(h->logins, &m);
		explicit_bzero(&m, sizeof m);
	}
}

/* The first line of the file. */
static int read_secret(struct oidc *h, struct err *e)
{
	ssize_t n;

	if (!h->opt.oidc_has_secret)
		return 0;
	n = pread(FD_SECRET, h->secret, sizeof h->secret - 1, 0);
	fd_close(FD_SECRET);
	if (n < 0)
		return err_sys(e, "read the client's secret");
	h->secret[n] = '\0';
	h->secret[strcspn(h->secret, "\r\n")] = '\0';
	return h->secret[0] ? 0 : err_set(e, EINVAL, "the file of the client's secret is empty");
}

static int open_all(struct oidc *h, struct err *e)
{
	if (fd_cloexec(FD_WARDEN, true) < 0 || fd_nonblock(FD_WARDEN, true) < 0)
		return err_set(e, EBADF, "the warden's fd is missing");
	/* These two are built into libc. Others would be loaded on demand, which is not possible after the
	 * confinement. */
	if (__nss_configure_lookup("hosts", "files dns") < 0)
		return err_sys(e, "choose how names are resolved");
	if (read_secret(h, e) < 0 || fetcher_new(h->opt.oidc_issuer, h->opt.oidc_ca_file, &h->fetcher, e) < 0)
		return -e->no;
	if (logins_new(&h->opt, str_of(h->secret), h->fetcher, on_done, h, &h->logins) < 0)
		return err_set(e, ENOMEM, "out of memory");
	return cage_close_client(e);
}

int main(void)
{
	static struct oidc h = { .front = -1 };
	struct err e = ERR_INIT;

	log_setup("atoll-oidc", LOG_LVL_INFO);
	if (options_take(OPTIONS_OIDC, &h.opt, sizeof h.opt, &e) < 0) {
		(void)fprintf(stderr, "atoll-oidc: %s (it is started by atolld)\n", e.text);
		return 2;
	}
	log_set_level(h.opt.log_level);
	if (open_all(&h, &e) < 0) {
		log_error("could not start", "err=%s", e.text);
		return 1;
	}
	for (;;) {
		const int fds[2] = { FD_WARDEN, h.front };
		bool ready[2];

		if (fetcher_wait(h.fetcher, fds, ready) < 0) {
			log_error("libcurl failed, exiting", "logins=?");
			return 1;
		}
		if (ready[0] && !read_warden(&h))
			break;
		if (ready[1] && h.front == fds[1])
			read_front(&h);
		if (h.is_deaf)
			drop_front(&h, "it does not read");
	}
	drop_front(&h, "the end");
	logins_free(h.logins);
	fetcher_free(h.fetcher);
	explicit_bzero(h.secret, sizeof h.secret);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/certs: fetches the certificate, then its key, then tries both together. */
#include "front/link/certs.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "front/util/mem.h"
#include "http/tls.h"
#include "loop/loop.h"

#define RETRY_MS 5000
#define RETRIES 12
#define EXPIRY_SOON_S (14 * 86400)

struct certs {
	struct links *links;
	struct tls *tls;
	struct timer *retry;
	struct warden_call *asking;
	struct buf cert; /* set while the key is being fetched */
	struct tls_cert_info info;
	void (*done)(void *user); /* until the first attempt has ended */
	void *user;
	unsigned tries;
	bool again; /* certs_again() was called during an attempt */
};

static void fetch(struct certs *c);

static void finished(struct certs *c, const struct err *e)
{
	buf_done(&c->cert);
	if (e && !c->info.not_after) {
		log_error("TLS is not served: the certificate cannot be used, retrying", "err=%s", e->text);
		timer_arm(c->retry, RETRY_MS);
	} else if (e && c->tries++ < RETRIES) {
		log_warn("the new TLS certificate cannot be used, keeping the old one and retrying", "err=%s", e->text);
		timer_arm(c->retry, RETRY_MS);
	} else if (e) {
		log_error("the new TLS certificate cannot be used, keeping the old one", "err=%s", e->text);
	}
	if (c->done) {
		void (*done)(void *) = c->done;

		c->done = NULL;
		done(c->user);
	}
	if (c->again) {
		c->again = false;
		certs_again(c);
	}
}

/* Reads from offset 0: the file offset is shared with the warden and may have been moved. */
static int read_file(int fd, struct buf *to, struct err *e)
{
	for (off_t at = 0;;) {
		char *p = buf_room(to, 4096);
		ssize_t n = p ? pread(fd, p, 4096, at) : 0;

		if (!p)
			return err_set(e, EFBIG, "read a TLS file: more than %d bytes", TLS_PEM_MAX);
		if (n < 0)
			return err_sys(e, "read a TLS file");
		if (n == 0)
			return 0;
		to->n += (size_t)n;
		at += n;
	}
}

static void note_loaded(const struct certs *c)
{
	int64_t left_s = c->info.not_after - (int64_t)time(NULL);

	log_info("TLS certificate loaded", "name=%s days_left=%lld", c->info.subject, (long long)(left_s / 86400));
	if (left_s < EXPIRY_SOON_S)
		log_warn(left_s < 0 ? "the TLS certificate has expired" : "the TLS certificate expires soon", "name=%s",
		    c->info.subject);
}

static void on_key(void *user, const struct warden_reply *re)
{
	struct certs *c = user;
	autoclose int fd = re->fd;
	autobuf struct buf key = BUF_INIT(TLS_PEM_MAX);
	struct err e = ERR_INIT;

	c->asking = NULL;
	if (re->no)
		(void)err_set(&e, re->no, "%s", re->text);
	else if (read_file(fd, &key, &e) == 0 &&
	    tls_load(c->tls, buf_view(&c->cert), buf_view(&key), &c->info, &e) == 0)
		note_loaded(c);
	if (key.p)
		explicit_bzero(key.p, key.n);
	finished(c, e.no ? &e : NULL);
}

static void ask(struct certs *c, enum tls_file which, warden_fn *fn)
{
	struct msg_tls_file m = { .which = which };

	c->asking = warden_ask(c->links->warden, OP_TLS_FILE, &m, sizeof m, fn, c);
}

static void on_cert(void *user, const struct warden_reply *re)
{
	struct certs *c = user;
	autoclose int fd = re->fd;
	struct err e = ERR_INIT;

	c->asking = NULL;
	c->cert = BUF_INIT(TLS_PEM_MAX);
	if (re->no)
		(void)err_set(&e, re->no, "%s", re->text);
	else if (read_file(fd, &c->cert, &e) == 0)
		ask(c, TLS_FILE_KEY, on_key);
	if (e.no)
		finished(c, &e);
}

static void fetch(struct certs *c)
{
	ask(c, TLS_FILE_CERT, on_cert);
}

static void on_retry(void *user)
{
	struct certs *c = user;

	if (!c->asking)
		fetch(c);
}

struct certs *certs_new(struct links *l, const uint8_t *ticket_secret)
{
	struct certs *c = must_alloc(sizeof *c);

	c->links = l;
	c->tls = tls_new(ticket_secret, true);
	c->retry = timer_new(l->loop, on_retry, c);
	if (!c->tls || !c->retry) {
		certs_free(c);
		return NULL;
	}
	return c;
}

void certs_begin(struct certs *c, void (*done)(void *user), void *user)
{
	c->done = done;
	c->user = user;
	fetch(c);
}

void certs_again(struct certs *c)
{
	c->tries = 0;
	if (c->asking)
		c->again = true;
	else
		fetch(c);
}

struct http_secure *certs_secure(struct certs *c)
{
	return tls_secure(c->tls);
}

int64_t certs_not_after(const struct certs *c)
{
	return c->info.not_after;
}

void certs_free(struct certs *c)
{
	if (!c)
		return;
	warden_cancel(c->asking);
	timer_free(c->retry);
	tls_free(c->tls);
	buf_done(&c->cert);
	free(c);
}

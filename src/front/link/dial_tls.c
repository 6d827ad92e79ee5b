/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/dial_tls: a TLS client that does not verify certificates. */
#include "front/link/dial_tls.h"

#include <stdlib.h>

#include "base/fd.h"
#include "http/tls_filter.h"
#include "loop/loop.h"
#include "loop/stream.h"

#define HANDSHAKE_MS 10000

struct dial_tls {
	struct stream *s;
	struct timer *limit;
	dial_tls_fn *fn;
	void *user;
};

static SSL_CTX *ctx;

int dial_tls_prepare(struct err *e)
{
	static const unsigned char alpn[] = "\10http/1.1";

	if (ctx)
		return 0;
	ctx = SSL_CTX_new(TLS_client_method());
	if (!ctx || !tls_filter_prepare() || !SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) ||
	    SSL_CTX_set_alpn_protos(ctx, alpn, sizeof alpn - 1) != 0)
		return err_set(e, EIO, "set TLS up for the ports of sandboxes");
	SSL_CTX_set_verify(ctx, SSL_VERIFY_NONE, NULL);
	(void)SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	(void)SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
	(void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	return 0;
}

void dial_tls_free(struct dial_tls *d)
{
	if (!d)
		return;
	stream_close(d->s);
	timer_free(d->limit);
	free(d);
}

static void finish(struct dial_tls *d, struct stream *s)
{
	dial_tls_fn *fn = d->fn;
	void *user = d->user;

	dial_tls_free(d);
	fn(user, s);
}

static void on_ready(void *user)
{
	struct dial_tls *d = user;

	finish(d, take_ptr(&d->s));
}

static void on_late(void *user)
{
	finish(user, NULL);
}

static void on_error(void *user, int no)
{
	(void)no;
	finish(user, NULL);
}

/* Not reached with data: decrypted bytes arrive only after on_ready, when the stream has another owner. */
static void on_data(void *user, struct str data)
{
	(void)data;
	finish(user, NULL);
}

static const struct stream_ops ops = { .on_data = on_data,
	.on_eof = on_late,
	.on_error = on_error,
	.on_ready = on_ready };

struct dial_tls *dial_tls_new(struct loop *l, int fd, dial_tls_fn *fn, void *user)
{
	struct dial_tls *d = calloc(1, sizeof *d);
	SSL *ssl = d && ctx ? SSL_new(ctx) : NULL;

	if (!ssl) {
		fd_close(fd);
		free(d);
		return NULL;
	}
	SSL_set_connect_state(ssl);

	struct stream_filter *filter = tls_filter_new(ssl, STR_NULL, NULL, NULL);

	d->fn = fn;
	d->user = user;
	d->limit = timer_new(l, on_late, d);
	if (filter && d->limit)
		d->s = stream_new(l, fd, &ops, d);
	else
		fd_close(fd);
	if (!d->s) {
		if (filter)
			filter->ops->free(filter);
		dial_tls_free(d);
		return NULL;
	}
	timer_arm(d->limit, HANDSHAKE_MS);
	stream_filter(d->s, filter);
	stream_write(d->s, STR_NULL); /* begins the handshake */
	stream_read(d->s, true);
	return d;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* http/tls_filter: OpenSSL between two buffers.
 *
 * A connection's BIO reads from the bytes that the stream has just received and writes to those that it is about
 * to send, so OpenSSL never uses a socket. Each call returns all plain bytes at once (at most as many as came in,
 * plus the part of a record that was incomplete): none are left inside. */
#include "http/tls_filter.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/err.h>

#include "base/buf.h"
#include "loop/stream.h"

#define RECORD 16384                /* maximum of plain bytes in one record */
#define PLAIN_MAX (4 * 1024 * 1024) /* never reached: one read of a stream and an incomplete record */

struct tls_filter {
	struct stream_filter base; /* must be first */
	SSL *ssl;
	struct buf early; /* received before the filter existed */
	struct str in;    /* during a call: what is left of the received bytes, */
	struct buf *out;  /* ... and the buffer for bytes to send */
	bool ready;
	void (*gone)(void *user);
	void *user;
};

static _Thread_local struct buf plain = { .max = PLAIN_MAX }; /* shared: borrowed until the next decode */
static _Thread_local char record[RECORD];                     /* small pieces are joined here */

/* --- the BIO ----------------------------------------------------------------------------------------------- */

static int bio_read(BIO *b, char *p, size_t n, size_t *ret)
{
	struct tls_filter *f = BIO_get_data(b);

	BIO_clear_retry_flags(b);
	if (f->early.n > 0) {
		*ret = n < f->early.n ? n : f->early.n;
		memcpy(p, f->early.p, *ret);
		buf_consume(&f->early, *ret);
		return 1;
	}
	if (f->in.n == 0) {
		BIO_set_retry_read(b);
		return 0;
	}
	*ret = n < f->in.n ? n : f->in.n;
	memcpy(p, f->in.p, *ret);
	str_skip(&f->in, *ret);
	return 1;
}

static int bio_write(BIO *b, const char *p, size_t n, size_t *ret)
{
	struct tls_filter *f = BIO_get_data(b);

	if (f->out)
		buf_put(f->out, p, n); /* overflow sets buf.bad, which the stream checks */
	*ret = n;
	return 1;
}

static long bio_ctrl(BIO *b, int cmd, long num, void *p)
{
	(void)b;
	(void)num;
	(void)p;
	return cmd == BIO_CTRL_FLUSH;
}

static BIO_METHOD *bio_method(void)
{
	static BIO_METHOD *m;

	if (!m && (m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "atoll"))) {
		(void)BIO_meth_set_read_ex(m, bio_read);
		(void)BIO_meth_set_write_ex(m, bio_write);
		(void)BIO_meth_set_ctrl(m, bio_ctrl);
	}
	return m;
}

/* --- the filter -------------------------------------------------------------------------------------------- */

/* Answers a client that was given http:// for this port in plain HTTP. */
static void explain_plain_http(struct buf *out)
{
	static const char text[] = "This port speaks HTTPS: use https:// instead of http://\n";

	buf_fmt(out,
	    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\nConnection: "
	    "close\r\n\r\n%s",
	    sizeof text - 1, text);
}

/* Reads until OpenSSL wants more. 0, or the result of SSL_get_error(). */
static int read_all(struct tls_filter *f)
{
	size_t got;
	char *p;

	buf_clear(&plain);
	while ((p = buf_room(&plain, RECORD)) && SSL_read_ex(f->ssl, p, RECORD, &got))
		plain.n += got;
	if (!p)
		return SSL_ERROR_SYSCALL;
	int why = SSL_get_error(f->ssl, 0);

	return why == SSL_ERROR_WANT_READ ? 0 : why;
}

static int decode(struct stream_filter *base, struct str wire, struct str *ret_plain, struct buf *out)
{
	struct tls_filter *f = (struct tls_filter *)base;
	int flags = 0;

	f->in = wire;
	f->out = out;
	ERR_clear_error();
	int why = read_all(f);
	f->out = NULL;
	if (why == SSL_ERROR_ZERO_RETURN) {
		flags |= STREAM_FILTER_END;
	} else if (why) {
		if (!f->ready && ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST) {
			buf_clear(out);
			explain_plain_http(out);
		}
		return -EPROTO;
	}
	if (!f->ready && SSL_is_init_finished(f->ssl)) {
		f->ready = true;
		flags |= STREAM_FILTER_READY;
	}
	*ret_plain = buf_view(&plain);
	return flags;
}

static int write_record(struct tls_filter *f, const char *p, size_t n)
{
	size_t done;

	if (n == 0)
		return 0;
	return SSL_write_ex(f->ssl, p, n, &done) && done == n ? 0 : -EPROTO;
}

/* Small consecutive pieces share a record, so that a chunk's size line does not need one of its own. */
static int encode(struct stream_filter *base, const struct str *v, size_t n, struct buf *out)
{
	struct tls_filter *f = (struct tls_filter *)base;
	size_t have = 0;
	int r = 0;

	f->out = out;
	f->in = STR_NULL;
	ERR_clear_error();
	if (!f->ready)
		(void)SSL_do_handshake(
		    f->ssl); /* starts the handshake of a client, or of a server that has early bytes */
	for (size_t i = 0; i < n && r == 0; i++) {
		struct str s = v[i];

		while (s.n > 0 && r == 0) {
			if (have == 0 && s.n >= RECORD) {
				r = write_record(f, s.p, RECORD);
				str_skip(&s, RECORD);
				continue;
			}
			size_t cut = RECORD - have < s.n ? RECORD - have : s.n;

			memcpy(record + have, s.p, cut);
			have += cut;
			str_skip(&s, cut);
			if (have == RECORD) {
				r = write_record(f, record, have);
				have = 0;
			}
		}
	}
	if (r == 0)
		r = write_record(f, record, have);
	f->out = NULL;
	return r;
}

static void finish(struct stream_filter *base, struct buf *out)
{
	struct tls_filter *f = (struct tls_filter *)base;

	if (!f->ready)
		return;
	f->out = out;
	f->in = STR_NULL;
	ERR_clear_error();
	(void)SSL_shutdown(f->ssl); /* sends close_notify; the peer's is not waited for */
	f->out = NULL;
}

static void filter_free(struct stream_filter *base)
{
	struct tls_filter *f = (struct tls_filter *)base;

	SSL_free(f->ssl);
	buf_done(&f->early);
	if (f->gone)
		f->gone(f->user);
	free(f);
}

static const struct stream_filter_ops filter_ops = { .decode = decode,
	.encode = encode,
	.finish = finish,
	.free = filter_free };

struct stream_filter *tls_filter_new(SSL *ssl, struct str early, void (*gone)(void *user), void *user)
{
	struct tls_filter *f = ssl ? calloc(1, sizeof *f) : NULL;
	BIO_METHOD *m = bio_method();
	BIO *b = f && m ? BIO_new(m) : NULL;

	if (f) {
		f->early = BUF_INIT(early.n);
		buf_str(&f->early, early);
	}
	if (!b || f->early.bad) {
		BIO_free(b);
		SSL_free(ssl);
		if (f)
			buf_done(&f->early);
		free(f);
		return NULL;
	}
	f->base.ops = &filter_ops;
	f->ssl = ssl;
	f->gone = gone;
	f->user = user;
	BIO_set_data(b, f);
	BIO_set_init(b, 1);
	SSL_set_bio(ssl, b, b);
	return &f->base;
}

SSL *tls_filter_ssl(struct stream_filter *base)
{
	return ((struct tls_filter *)base)->ssl;
}

bool tls_filter_prepare(void)
{
	return bio_method() != NULL;
}

void tls_filter_thread_ends(void)
{
	buf_done(&plain);
}

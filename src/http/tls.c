/* SPDX-License-Identifier: Apache-2.0 */
/* http/tls: certificates and tickets of a server. */
#include "http/tls.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/buf.h"
#include "http/tls_filter.h"

#define KEY_NAME 16
#define KEY_BYTES 32

/* For TLS 1.2; all ciphers of 1.3 are acceptable. All are allowed by HTTP/2. */
#define CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20"

struct ticket_key {
	uint64_t epoch; /* 0: not derived yet */
	uint8_t name[KEY_NAME], aes[KEY_BYTES], mac[KEY_BYTES];
};

struct tls {
	struct http_secure secure; /* must be first */
	atomic_uint refs;          /* one for the owner and one per filter */
	pthread_mutex_t lock;      /* for ctx and keys: connections may be of several threads */
	SSL_CTX *ctx;              /* NULL until the first certificate */
	uint8_t secret[TLS_SECRET_SIZE];
	struct ticket_key keys[2]; /* of the current period and of the previous one */
	bool offer_h2;
};

static void tls_unref(struct tls *t)
{
	if (atomic_fetch_sub(&t->refs, 1) > 1)
		return;
	(void)pthread_mutex_destroy(&t->lock);
	SSL_CTX_free(t->ctx);
	OPENSSL_cleanse(t->secret, sizeof t->secret);
	OPENSSL_cleanse(t->keys, sizeof t->keys);
	free(t);
}

static void filter_gone(void *user)
{
	tls_unref(user);
}

static struct stream_filter *open_filter(struct http_secure *sec, struct str early)
{
	struct tls *t = (struct tls *)sec;

	(void)pthread_mutex_lock(&t->lock);

	SSL *ssl = t->ctx ? SSL_new(t->ctx) : NULL;

	(void)pthread_mutex_unlock(&t->lock);
	if (!ssl)
		return NULL;
	SSL_set_accept_state(ssl);
	struct stream_filter *f = tls_filter_new(ssl, early, filter_gone, t);

	if (f)
		t->refs++;
	return f;
}

static bool is_h2(struct stream_filter *base)
{
	const unsigned char *p;
	unsigned n;

	SSL_get0_alpn_selected(tls_filter_ssl(base), &p, &n);
	return n == 2 && memcmp(p, "h2", 2) == 0;
}

/* --- tickets ----------------------------------------------------------------------------------------------- */

static void derive(const struct tls *t, uint64_t epoch, uint8_t part, uint8_t out[32])
{
	uint8_t text[16] = "ticket.";
	unsigned n = 32;

	for (int i = 0; i < 8; i++)
		text[7 + i] = (uint8_t)(epoch >> (8 * i));
	text[15] = part;
	(void)HMAC(EVP_sha256(), t->secret, sizeof t->secret, text, sizeof text, out, &n);
}

/* The key of `back` periods ago (0 or 1). */
static void ticket_key(struct tls *t, uint64_t back, struct ticket_key *ret)
{
	uint64_t epoch = (uint64_t)time(NULL) / TLS_TICKET_S - back;
	struct ticket_key *k = &t->keys[epoch % 2];
	uint8_t name[32];

	(void)pthread_mutex_lock(&t->lock);
	if (k->epoch != epoch) {
		k->epoch = epoch;
		derive(t, epoch, 'n', name);
		memcpy(k->name, name, sizeof k->name);
		derive(t, epoch, 'a', k->aes);
		derive(t, epoch, 'm', k->mac);
	}
	*ret = *k;
	(void)pthread_mutex_unlock(&t->lock);
}

static bool ticket_set(const struct ticket_key *k, unsigned char *iv, EVP_CIPHER_CTX *c, EVP_MAC_CTX *m, bool seal)
{
	OSSL_PARAM params[] = {
		OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, (void *)k->mac, sizeof k->mac),
		OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, "sha256", 0),
		OSSL_PARAM_construct_end(),
	};

	return EVP_MAC_CTX_set_params(m, params) && EVP_CipherInit_ex(c, EVP_aes_256_cbc(), NULL, k->aes, iv, seal);
}

/* OpenSSL asks for the key of a new ticket, or for the one that a received ticket names. 1: found; 2: found, and
 * issue a new ticket; 0: unknown, do a full handshake. */
static int on_ticket(SSL *ssl, unsigned char *name, unsigned char *iv, EVP_CIPHER_CTX *c, EVP_MAC_CTX *m, int seal)
{
	struct tls *t = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
	struct ticket_key k;

	if (seal) {
		ticket_key(t, 0, &k);
		memcpy(name, k.name, KEY_NAME);
		return RAND_bytes(iv, EVP_MAX_IV_LENGTH) == 1 && ticket_set(&k, iv, c, m, true) ? 1 : -1;
	}
	for (uint64_t back = 0; back < 2; back++) {
		ticket_key(t, back, &k);
		if (CRYPTO_memcmp(name, k.name, KEY_NAME) != 0)
			continue;
		if (!ticket_set(&k, iv, c, m, false))
			return -1;
		/* Clients of TLS 1.3 use a ticket once and need another for the next connection. */
		return back > 0 || SSL_version(ssl) >= TLS1_3_VERSION ? 2 : 1;
	}
	return 0;
}

/* --- certificates ------------------------------------------------------------------------------------------ */

static int on_alpn(SSL *ssl, const unsigned char **ret, unsigned char *ret_n, const unsigned char *in, unsigned n,
    void *arg)
{
	static const unsigned char all[] = "\2h2\10http/1.1";
	const struct tls *t = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
	unsigned skip = t->offer_h2 ? 0 : 3;
	unsigned char *chosen;

	(void)arg;
	if (SSL_select_next_proto(&chosen, ret_n, all + skip, sizeof all - 1 - skip, in, n) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*ret = chosen;
	return SSL_TLSEXT_ERR_OK;
}

static int ssl_err(struct err *e, const char *what)
{
	unsigned long no = ERR_peek_last_error();
	const char *why = no ? ERR_reason_error_string(no) : NULL;

	return err_set(e, EINVAL, "%s: %s", what, why ? why : "not understood");
}

static int no_password(char *p, int size, int rw, void *user)
{
	(void)p;
	(void)size;
	(void)rw;
	(void)user;
	return -1; /* do not prompt on a terminal */
}

static int use_cert(SSL_CTX *ctx, struct str pem, struct tls_cert_info *ret, struct err *e)
{
	BIO *b = BIO_new_mem_buf(pem.p, (int)pem.n);
	X509 *x = b ? PEM_read_bio_X509_AUX(b, NULL, no_password, NULL) : NULL;
	struct tm tm;
	int r = 0;

	if (!x || SSL_CTX_use_certificate(ctx, x) != 1)
		r = ssl_err(e, "read the certificate");
	if (r == 0) {
		ret->subject[0] = '\0';
		(void)X509_NAME_get_text_by_NID(X509_get_subject_name(x), NID_commonName, ret->subject,
		    sizeof ret->subject);
		ret->not_after = ASN1_TIME_to_tm(X509_get0_notAfter(x), &tm) ? timegm(&tm) : 0;
	}
	X509_free(x);
	while (r == 0 && (x = PEM_read_bio_X509(b, NULL, no_password, NULL))) {
		if (SSL_CTX_add0_chain_cert(ctx, x) != 1) {
			X509_free(x);
			r = ssl_err(e, "read the certificate's chain");
		}
	}
	BIO_free(b);
	ERR_clear_error(); /* PEM_read reports the end of the text as an error */
	return r;
}

static int use_key(SSL_CTX *ctx, struct str pem, struct err *e)
{
	BIO *b = BIO_new_mem_buf(pem.p, (int)pem.n);
	EVP_PKEY *k = b ? PEM_read_bio_PrivateKey(b, NULL, no_password, NULL) : NULL;
	int r = 0;

	if (!k)
		r = ssl_err(e, "read the key (one with a password cannot be used)");
	else if (SSL_CTX_use_PrivateKey(ctx, k) != 1 || SSL_CTX_check_private_key(ctx) != 1)
		r = ssl_err(e, "use the key with this certificate");
	EVP_PKEY_free(k);
	BIO_free(b);
	return r;
}

static SSL_CTX *ctx_new(struct tls *t)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());

	if (!ctx || !SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) || !SSL_CTX_set_cipher_list(ctx, CIPHERS) ||
	    !SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"atoll", 5) ||
	    !SSL_CTX_set_tlsext_ticket_key_evp_cb(ctx, on_ticket)) {
		SSL_CTX_free(ctx);
		return NULL;
	}
	(void)SSL_CTX_set_options(ctx,
	    SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE |
		SSL_OP_PRIORITIZE_CHACHA);
	/* An idle connection keeps no buffers; a busy one gets them from the allocator's pool. */
	(void)SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
	(void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	(void)SSL_CTX_set_timeout(ctx, TLS_TICKET_S);
	(void)SSL_CTX_set_app_data(ctx, t);
	SSL_CTX_set_alpn_select_cb(ctx, on_alpn, NULL);
	return ctx;
}

int tls_load(struct tls *t, struct str cert_pem, struct str key_pem, struct tls_cert_info *ret, struct err *e)
{
	if (cert_pem.n > TLS_PEM_MAX || key_pem.n > TLS_PEM_MAX)
		return err_set(e, EFBIG, "the certificate or its key is larger than %d bytes", TLS_PEM_MAX);
	ERR_clear_error();
	SSL_CTX *ctx = ctx_new(t);
	if (!ctx)
		return ssl_err(e, "set TLS up");
	if (use_cert(ctx, cert_pem, ret, e) < 0 || use_key(ctx, key_pem, e) < 0) {
		SSL_CTX_free(ctx);
		return -e->no;
	}
	(void)pthread_mutex_lock(&t->lock);

	SSL_CTX *old = t->ctx;

	t->ctx = ctx;
	(void)pthread_mutex_unlock(&t->lock);
	SSL_CTX_free(old); /* open connections hold references of their own */
	return 0;
}

struct tls *tls_new(const uint8_t secret[TLS_SECRET_SIZE], bool offer_h2)
{
	struct tls *t = calloc(1, sizeof *t);
	/* OpenSSL reads its configuration and looks up its algorithms on first use. Later, files may be
	 * inaccessible. */
	SSL_CTX *warm = t ? ctx_new(t) : NULL;

	if (!warm || !tls_filter_prepare()) {
		SSL_CTX_free(warm);
		free(t);
		return NULL;
	}
	SSL_CTX_free(warm);
	t->refs = 1;
	(void)pthread_mutex_init(&t->lock, NULL);
	t->secure = (struct http_secure) { .open = open_filter, .is_h2 = is_h2 };
	t->offer_h2 = offer_h2;
	memcpy(t->secret, secret, sizeof t->secret);
	return t;
}

struct http_secure *tls_secure(struct tls *t)
{
	return &t->secure;
}

void tls_thread_ends(void)
{
	tls_filter_thread_ends();
}

void tls_free(struct tls *t)
{
	if (t)
		tls_unref(t);
}

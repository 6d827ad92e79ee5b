/* SPDX-License-Identifier: Apache-2.0 */
/* upstream_tls: one context for all hosts, and one for proxies. */
#include "egress/upstream_tls.h"

#include <stddef.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/inet.h"
#include "http/tls_filter.h"

static SSL_CTX *ctx;
static SSL_CTX *proxy_ctx; /* the same authorities, without ALPN */

int upstream_tls_open(const char *ca_file, struct err *e)
{
	static const unsigned char alpn[] = "\10http/1.1";

	ctx = SSL_CTX_new(TLS_client_method());
	if (!ctx || !tls_filter_prepare() || SSL_CTX_set_default_verify_paths(ctx) != 1 ||
	    !SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) ||
	    SSL_CTX_set_alpn_protos(ctx, alpn, sizeof alpn - 1) != 0)
		return err_set(e, EIO, "set TLS up");
	if (ca_file[0] && SSL_CTX_load_verify_locations(ctx, ca_file, NULL) != 1)
		return err_set(e, EINVAL, "read the authorities in '%s'", ca_file);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	(void)SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	(void)SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
	proxy_ctx = SSL_CTX_new(TLS_client_method());
	if (!proxy_ctx || !SSL_CTX_set_min_proto_version(proxy_ctx, TLS1_2_VERSION))
		return err_set(e, EIO, "set TLS up");
	SSL_CTX_set1_cert_store(proxy_ctx, SSL_CTX_get_cert_store(ctx));
	SSL_CTX_set_verify(proxy_ctx, SSL_VERIFY_PEER, NULL);
	(void)SSL_CTX_set_options(proxy_ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	(void)SSL_CTX_set_mode(proxy_ctx, SSL_MODE_RELEASE_BUFFERS);
	return 0;
}

SSL *upstream_tls_connect(const char *host)
{
	SSL *ssl = SSL_new(ctx);

	if (!ssl)
		return NULL;
	SSL_set_connect_state(ssl);
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	if (SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1)
		return ssl;
	SSL_free(ssl);
	return NULL;
}

/* NULL: out of memory, or no certificate in it. */
static X509_STORE *store_of(const char *pem)
{
	X509_STORE *store = X509_STORE_new();
	BIO *b = BIO_new_mem_buf(pem, -1);
	X509 *cert;
	int n = 0;

	while (store && b && (cert = PEM_read_bio_X509(b, NULL, NULL, NULL))) {
		n += X509_STORE_add_cert(store, cert);
		X509_free(cert);
	}
	ERR_clear_error(); /* the error that marks the end of the list */
	BIO_free(b);
	if (n > 0)
		return store;
	X509_STORE_free(store);
	return NULL;
}

static bool trust(SSL *ssl, const char *ca)
{
	X509_STORE *store = store_of(ca);
	bool ok = store && SSL_set1_verify_cert_store(ssl, store) == 1;

	X509_STORE_free(store);
	return ok;
}

SSL *upstream_tls_proxy(const char *host, const char *ca)
{
	SSL *ssl = SSL_new(proxy_ctx);
	struct inet_range ip;
	bool ok = false;

	if (!ssl)
		return NULL;
	SSL_set_connect_state(ssl);
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	if (inet_parse(str_of(host), &ip) == 0)
		ok = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
	else
		ok = SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
	if (ok && (!ca || trust(ssl, ca)))
		return ssl;
	SSL_free(ssl);
	return NULL;
}

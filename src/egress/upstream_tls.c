/* SPDX-License-Identifier: Apache-2.0 */
/* upstream_tls: one context for all. */
#include "egress/upstream_tls.h"

#include <stddef.h>

#include <openssl/x509v3.h>

#include "http/tls_filter.h"

static SSL_CTX *ctx;

int upstream_tls_open(const char *ca_file, struct err *e)
{
	static const unsigned char alpn[] = "\10http/1.1";

	ctx = SSL_CTX_new(TLS_client_method());
	if (!ctx || !tls_filter_prepare() || SSL_CTX_set_default_verify_paths(ctx) != 1 ||
		!SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) ||
		SSL_CTX_set_alpn_protos(ctx, alpn, sizeof alpn - 1) != 0)
		return err_set(e, EIO, "set TLS up");
	if (ca_file && SSL_CTX_load_verify_locations(ctx, ca_file, NULL) != 1)
		return err_set(e, EINVAL, "read the authorities in '%s'", ca_file);
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	(void)SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
	(void)SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
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

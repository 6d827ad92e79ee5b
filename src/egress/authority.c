/* SPDX-License-Identifier: Apache-2.0 */
/* authority: P-256 keys and X.509 certificates.
 *
 * The key is derived from the seed alone, so a sandbox that trusted the authority before a restart of this process
 * trusts it afterwards. All hosts share one key, which is generated at each start. */
#include "egress/authority.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#define CA_DAYS 3650
#define HOST_DAYS 30
#define RENEW_S (24 * 3600)
#define BACK_S (24 * 3600) /* allows for clock differences */
#define HOSTS_MAX RULES_DOMAINS_MAX

struct host {
	char name[POLICY_NAME_SIZE];
	X509 *cert;
	time_t made;
};

struct authority {
	EVP_PKEY *key;
	X509 *cert;
	char pem[RULES_PEM_MAX];
	struct host hosts[HOSTS_MAX]; /* a ring */
	size_t next;
};

static EVP_PKEY *host_key; /* generated at the start of the process */
static SSL_CTX *ctx;

/* A number from 1 to the order of the group minus 1. */
static BIGNUM *scalar_of(const uint8_t seed[RULES_SEED_SIZE], const EC_GROUP *g)
{
	BN_CTX *bc = BN_CTX_secure_new();
	BIGNUM *n = BN_bin2bn(seed, RULES_SEED_SIZE, NULL), *limit = BN_dup(EC_GROUP_get0_order(g));
	bool well = bc && n && limit && BN_sub_word(limit, 1) && BN_mod(n, n, limit, bc) && BN_add_word(n, 1);

	BN_free(limit);
	BN_CTX_free(bc);
	if (well)
		return n;
	BN_clear_free(n);
	return NULL;
}

static EVP_PKEY *key_from(const BIGNUM *n, const EC_GROUP *g)
{
	EC_POINT *pub = EC_POINT_new(g);
	OSSL_PARAM_BLD *b = OSSL_PARAM_BLD_new();
	EVP_PKEY_CTX *kc = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
	unsigned char point[128];
	OSSL_PARAM *params = NULL;
	EVP_PKEY *key = NULL;
	size_t len = pub && EC_POINT_mul(g, pub, n, NULL, NULL, NULL)
	    ? EC_POINT_point2oct(g, pub, POINT_CONVERSION_UNCOMPRESSED, point, sizeof point, NULL)
	    : 0;

	if (len && b && kc && OSSL_PARAM_BLD_push_utf8_string(b, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) &&
	    OSSL_PARAM_BLD_push_BN(b, OSSL_PKEY_PARAM_PRIV_KEY, n) &&
	    OSSL_PARAM_BLD_push_octet_string(b, OSSL_PKEY_PARAM_PUB_KEY, point, len) &&
	    (params = OSSL_PARAM_BLD_to_param(b)) && EVP_PKEY_fromdata_init(kc) > 0 &&
	    EVP_PKEY_fromdata(kc, &key, EVP_PKEY_KEYPAIR, params) <= 0)
		key = NULL;
	OSSL_PARAM_free(params);
	OSSL_PARAM_BLD_free(b);
	EVP_PKEY_CTX_free(kc);
	EC_POINT_free(pub);
	return key;
}

static EVP_PKEY *key_of_seed(const uint8_t seed[RULES_SEED_SIZE])
{
	EC_GROUP *g = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
	BIGNUM *n = g ? scalar_of(seed, g) : NULL;
	EVP_PKEY *key = n ? key_from(n, g) : NULL;

	BN_clear_free(n);
	EC_GROUP_free(g);
	return key;
}

static bool add_ext(X509 *x, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX v;

	X509V3_set_ctx_nodb(&v);
	X509V3_set_ctx(&v, issuer, x, NULL, NULL, 0);
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &v, nid, value);
	bool well = e && X509_add_ext(x, e, -1);

	X509_EXTENSION_free(e);
	return well;
}

/* Everything except the extensions and the signature. A cn that is too long for the field is left out: only the
 * names in the extensions count. */
static X509 *cert_new(const char *cn, const X509_NAME *issuer, EVP_PKEY *key, int days)
{
	X509 *x = X509_new();
	unsigned char serial[16];
	BIGNUM *n = RAND_bytes(serial, sizeof serial) == 1 ? BN_bin2bn(serial, sizeof serial, NULL) : NULL;
	X509_NAME *name = X509_NAME_new();
	bool well = x && n && name &&
	    X509_NAME_add_entry_by_txt(name, "O", MBSTRING_ASC, (const unsigned char *)"atoll", -1, -1, 0) &&
	    (strlen(cn) > 64 ||
		X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)cn, -1, -1, 0)) &&
	    X509_set_version(x, X509_VERSION_3) && BN_to_ASN1_INTEGER(n, X509_get_serialNumber(x)) &&
	    X509_gmtime_adj(X509_getm_notBefore(x), -BACK_S) && X509_gmtime_adj(X509_getm_notAfter(x), 86400L * days) &&
	    X509_set_subject_name(x, name) && X509_set_issuer_name(x, issuer ? issuer : name) &&
	    X509_set_pubkey(x, key);

	X509_NAME_free(name);
	BN_free(n);
	if (well)
		return x;
	X509_free(x);
	return NULL;
}

static X509 *make_ca(const char *id, EVP_PKEY *key)
{
	char cn[64];

	(void)snprintf(cn, sizeof cn, "atoll egress of %s", id);
	X509 *x = cert_new(cn, NULL, key, CA_DAYS);

	if (x && add_ext(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
	    add_ext(x, x, NID_key_usage, "critical,keyCertSign,cRLSign") &&
	    add_ext(x, x, NID_subject_key_identifier, "hash") && X509_sign(x, key, EVP_sha256()))
		return x;
	X509_free(x);
	return NULL;
}

static X509 *make_host(struct authority *a, const char *name)
{
	char san[POLICY_NAME_SIZE + 8];
	X509 *x = cert_new(name, X509_get_subject_name(a->cert), host_key, HOST_DAYS);

	(void)snprintf(san, sizeof san, "DNS:%s", name);
	if (x && add_ext(x, a->cert, NID_subject_alt_name, san) &&
	    add_ext(x, a->cert, NID_basic_constraints, "critical,CA:FALSE") &&
	    add_ext(x, a->cert, NID_key_usage, "critical,digitalSignature") &&
	    add_ext(x, a->cert, NID_ext_key_usage, "serverAuth") &&
	    add_ext(x, a->cert, NID_authority_key_identifier, "keyid") && X509_sign(x, a->key, EVP_sha256()))
		return x;
	X509_free(x);
	return NULL;
}

static bool write_pem(struct authority *a)
{
	BIO *b = BIO_new(BIO_s_mem());
	char *p;
	long n = b && PEM_write_bio_X509(b, a->cert) ? BIO_get_mem_data(b, &p) : 0;
	bool well = n > 0 && (size_t)n < sizeof a->pem;

	if (well)
		memcpy(a->pem, p, (size_t)n);
	BIO_free(b);
	return well;
}

static int on_alpn(SSL *ssl, const unsigned char **ret, unsigned char *ret_n, const unsigned char *in, unsigned n,
    void *arg)
{
	static const unsigned char ours[] = "\10http/1.1";
	unsigned char *chosen;

	(void)ssl;
	(void)arg;
	if (SSL_select_next_proto(&chosen, ret_n, ours, sizeof ours - 1, in, n) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*ret = chosen;
	return SSL_TLSEXT_ERR_OK;
}

static bool prepare(void)
{
	if (!host_key)
		host_key = EVP_EC_gen("prime256v1");
	if (!ctx && (ctx = SSL_CTX_new(TLS_server_method()))) {
		(void)SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
		(void)SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
		(void)SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
		(void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
		SSL_CTX_set_alpn_select_cb(ctx, on_alpn, NULL);
	}
	return host_key && ctx;
}

struct authority *authority_new(const uint8_t seed[RULES_SEED_SIZE], const char *id)
{
	struct authority *a = prepare() ? calloc(1, sizeof *a) : NULL;

	if (!a)
		return NULL;
	a->key = key_of_seed(seed);
	a->cert = a->key ? make_ca(id, a->key) : NULL;
	if (!a->cert || !write_pem(a)) {
		authority_free(a);
		return NULL;
	}
	return a;
}

void authority_free(struct authority *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < HOSTS_MAX; i++)
		X509_free(a->hosts[i].cert);
	X509_free(a->cert);
	EVP_PKEY_free(a->key);
	free(a);
}

const char *authority_pem(const struct authority *a)
{
	return a->pem;
}

static X509 *cert_for(struct authority *a, const char *name)
{
	time_t now = time(NULL);
	struct host *h = NULL;

	for (size_t i = 0; i < HOSTS_MAX && !h; i++) {
		if (a->hosts[i].cert && strcmp(a->hosts[i].name, name) == 0)
			h = &a->hosts[i];
	}
	if (h && now - h->made < RENEW_S && now >= h->made)
		return h->cert;
	if (!h)
		h = &a->hosts[a->next++ % HOSTS_MAX];
	X509 *x = make_host(a, name);

	if (!x)
		return NULL;
	X509_free(h->cert);
	h->cert = x;
	h->made = now;
	(void)str_copy(h->name, sizeof h->name, str_of(name));
	return x;
}

SSL *authority_accept(struct authority *a, const char *host)
{
	X509 *x = cert_for(a, host);
	SSL *ssl = x ? SSL_new(ctx) : NULL;

	if (!ssl)
		return NULL;
	SSL_set_accept_state(ssl);
	if (SSL_use_certificate(ssl, x) == 1 && SSL_use_PrivateKey(ssl, host_key) == 1)
		return ssl;
	SSL_free(ssl);
	return NULL;
}

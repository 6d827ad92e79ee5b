/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/x509: does what `openssl req` and `openssl x509` do, without their configuration files. */
#include "cli/host/x509.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "base/fd.h"

#define DAY_S 86400
#define CLOCK_SLACK_S 3600 /* for clients whose clock is slow */
#define NAMES_MAX 2048
#define SERIAL_BYTES 16

#define FREE_BY(type, fn) \
	static void fn##_cleanup(type **p) \
	{ \
		fn(*p); \
	}
FREE_BY(EVP_PKEY, EVP_PKEY_free)
FREE_BY(X509, X509_free)
FREE_BY(BIO, BIO_free_all)
#define autokey __attribute__((cleanup(EVP_PKEY_free_cleanup)))
#define autox509 __attribute__((cleanup(X509_free_cleanup)))
#define autobio __attribute__((cleanup(BIO_free_all_cleanup)))

static int ssl_err(struct err *e, const char *what)
{
	unsigned long no = ERR_peek_last_error();
	const char *why = no ? ERR_reason_error_string(no) : NULL;

	return err_set(e, EINVAL, "%s: %s", what, why ? why : "malformed");
}

bool x509_name_valid(const char *name)
{
	size_t label = 0;

	if (strncmp(name, "*.", 2) == 0)
		name += 2;
	if (!*name || strlen(name) > 200)
		return false;
	for (const char *p = name;; p++) {
		if (*p == '.' || !*p) {
			if (label == 0 || label > 63 || p[-1] == '-')
				return false;
			if (!*p)
				return true;
			label = 0;
		} else if ((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') || (*p == '-' && label > 0)) {
			label++;
		} else {
			return false;
		}
	}
}

static int put_ext(X509 *x, X509 *issuer, int nid, const char *value, struct err *e)
{
	X509V3_CTX ctx;

	X509V3_set_ctx(&ctx, issuer ? issuer : x, x, NULL, NULL, 0);
	X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	int ok = ext && X509_add_ext(x, ext, -1);

	X509_EXTENSION_free(ext);
	return ok ? 0 : ssl_err(e, OBJ_nid2sn(nid));
}

/* Sets the fields common to all certificates: version, serial number, dates, key, subject and issuer. */
static int fill(X509 *x, const char *common_name, X509 *issuer, EVP_PKEY *key, unsigned days, struct err *e)
{
	unsigned char serial[SERIAL_BYTES];
	X509_NAME *subject = X509_get_subject_name(x);

	if (RAND_bytes(serial, sizeof serial) != 1)
		return ssl_err(e, "generate a serial number");
	serial[0] &= 0x7f;
	BIGNUM *bn = BN_bin2bn(serial, sizeof serial, NULL);
	bool ok = bn && BN_to_ASN1_INTEGER(bn, X509_get_serialNumber(x));

	BN_free(bn);
	ok = ok && X509_set_version(x, X509_VERSION_3) && X509_gmtime_adj(X509_getm_notBefore(x), -CLOCK_SLACK_S) &&
	    X509_gmtime_adj(X509_getm_notAfter(x), (long)days * DAY_S) && X509_set_pubkey(x, key) &&
	    X509_NAME_add_entry_by_txt(subject, "O", MBSTRING_UTF8, (const unsigned char *)"atoll", -1, -1, 0) &&
	    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)common_name, -1, -1, 0) &&
	    X509_set_issuer_name(x, issuer ? X509_get_subject_name(issuer) : subject);
	return ok ? 0 : ssl_err(e, "fill in a certificate");
}

static int put_pem(X509 *x, EVP_PKEY *key, struct buf *ret_cert, struct buf *ret_key, struct err *e)
{
	autobio BIO *cert = BIO_new(BIO_s_mem());
	autobio BIO *priv = BIO_new(BIO_s_mem());
	char *p;

	if (!cert || !priv || !PEM_write_bio_X509(cert, x) ||
	    !PEM_write_bio_PrivateKey(priv, key, NULL, NULL, 0, NULL, NULL))
		return ssl_err(e, "write a certificate");
	long n = BIO_get_mem_data(cert, &p);
	buf_put(ret_cert, p, (size_t)n);
	n = BIO_get_mem_data(priv, &p);
	buf_put(ret_key, p, (size_t)n);
	return ret_cert->bad || ret_key->bad ? err_set(e, ENOMEM, "write a certificate: out of memory") : 0;
}

/* Writes the name constraints. The "*." is omitted, because a constraint on a name applies to all names under it. */
static int constraints(const struct x509_names *names, struct buf *b, struct err *e)
{
	buf_z(b, "critical");
	for (size_t i = 0; i < names->n_dns; i++) {
		const char *z = names->dns[i];

		if (strncmp(z, "*.", 2) != 0)
			buf_fmt(b, ",permitted;DNS:%s", z);
		else if (i == 0 || strcmp(names->dns[i - 1], z + 2) != 0)
			buf_fmt(b, ",permitted;DNS:%s", z + 2);
	}
	if (names->loopback)
		buf_z(b, ",permitted;IP:127.0.0.0/255.0.0.0,permitted;IP:::1/ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
	else
		buf_z(b, ",excluded;IP:0.0.0.0/0.0.0.0,excluded;IP:::/::");
	return buf_cstr(b) ? 0 : err_set(e, E2BIG, "too many names");
}

int x509_make_ca(const char *common_name, const struct x509_names *names, unsigned days, struct buf *ret_cert,
    struct buf *ret_key, struct err *e)
{
	autobuf struct buf limits = BUF_INIT(NAMES_MAX);
	autokey EVP_PKEY *key = EVP_EC_gen("P-256");
	autox509 X509 *x = X509_new();

	if (!key || !x)
		return ssl_err(e, "generate a key");
	if (constraints(names, &limits, e) < 0 || fill(x, common_name, NULL, key, days, e) < 0 ||
	    put_ext(x, NULL, NID_basic_constraints, "critical,CA:TRUE,pathlen:0", e) < 0 ||
	    put_ext(x, NULL, NID_key_usage, "critical,keyCertSign,cRLSign", e) < 0 ||
	    put_ext(x, NULL, NID_subject_key_identifier, "hash", e) < 0 ||
	    put_ext(x, NULL, NID_name_constraints, buf_cstr(&limits), e) < 0)
		return -e->no;
	if (!X509_sign(x, key, EVP_sha256()))
		return ssl_err(e, "sign the authority's certificate");
	return put_pem(x, key, ret_cert, ret_key, e);
}

static X509 *read_cert(struct str pem)
{
	autobio BIO *b = BIO_new_mem_buf(pem.p, (int)pem.n);

	return b ? PEM_read_bio_X509(b, NULL, NULL, "") : NULL;
}

static EVP_PKEY *read_key(struct str pem)
{
	autobio BIO *b = BIO_new_mem_buf(pem.p, (int)pem.n);

	return b ? PEM_read_bio_PrivateKey(b, NULL, NULL, "") : NULL;
}

static int alt_names(const struct x509_names *names, struct buf *b, struct err *e)
{
	for (size_t i = 0; i < names->n_dns; i++)
		buf_fmt(b, "%sDNS:%s", i ? "," : "", names->dns[i]);
	if (names->loopback)
		buf_z(b, ",IP:127.0.0.1,IP:::1");
	return buf_cstr(b) ? 0 : err_set(e, E2BIG, "too many names");
}

/* Verifies the certificate as a client that trusts only this authority. */
static int check(X509 *ca, X509 *x, struct err *e)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	int r = 0;

	if (!store || !ctx || !X509_STORE_add_cert(store, ca) || !X509_STORE_CTX_init(ctx, store, x, NULL))
		r = ssl_err(e, "check the certificate");
	else if (X509_verify_cert(ctx) != 1)
		r = err_set(e, EKEYREJECTED, "the authority cannot sign this certificate: %s",
		    X509_verify_cert_error_string(X509_STORE_CTX_get_error(ctx)));
	else if (X509_cmp_time(X509_get0_notAfter(ca), &(time_t) { time(NULL) }) < 0 ||
	    ASN1_TIME_compare(X509_get0_notAfter(ca), X509_get0_notAfter(x)) < 0)
		r = err_set(e, EKEYREJECTED, "the authority cannot sign this certificate: it expires earlier");
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	return r;
}

int x509_make_cert(struct str ca_cert, struct str ca_key, const struct x509_names *names, unsigned days,
    struct buf *ret_cert, struct buf *ret_key, struct err *e)
{
	autobuf struct buf alt = BUF_INIT(NAMES_MAX);
	autokey EVP_PKEY *key = EVP_EC_gen("P-256");
	autokey EVP_PKEY *signer = read_key(ca_key);
	autox509 X509 *ca = read_cert(ca_cert);
	autox509 X509 *x = X509_new();

	if (!ca || !signer || X509_check_private_key(ca, signer) != 1)
		return ssl_err(e, "read the authority's certificate and key");
	if (!key || !x)
		return ssl_err(e, "generate a key");
	if (alt_names(names, &alt, e) < 0 || fill(x, names->dns[0], ca, key, days, e) < 0 ||
	    put_ext(x, ca, NID_basic_constraints, "critical,CA:FALSE", e) < 0 ||
	    put_ext(x, ca, NID_key_usage, "critical,digitalSignature", e) < 0 ||
	    put_ext(x, ca, NID_ext_key_usage, "serverAuth", e) < 0 ||
	    put_ext(x, ca, NID_subject_key_identifier, "hash", e) < 0 ||
	    put_ext(x, ca, NID_authority_key_identifier, "keyid:always", e) < 0 ||
	    put_ext(x, ca, NID_subject_alt_name, buf_cstr(&alt), e) < 0)
		return -e->no;
	if (!X509_sign(x, signer, EVP_sha256()))
		return ssl_err(e, "sign the certificate");
	if (check(ca, x, e) < 0 || put_pem(x, key, ret_cert, ret_key, e) < 0)
		return -e->no;
	buf_str(ret_cert, ca_cert);
	return ret_cert->bad ? err_set(e, ENOMEM, "write a certificate: out of memory") : 0;
}

int x509_info(struct str cert, struct x509_info *ret, struct err *e)
{
	autox509 X509 *x = read_cert(cert);
	unsigned char md[EVP_MAX_MD_SIZE];
	unsigned n = 0;
	struct tm tm;

	if (!x || X509_digest(x, EVP_sha256(), md, &n) != 1 || !ASN1_TIME_to_tm(X509_get0_notAfter(x), &tm))
		return ssl_err(e, "read a certificate");
	for (unsigned i = 0; i < n && i < 32; i++)
		(void)snprintf(ret->fingerprint + 2 * i, 3, "%02x", md[i]);
	ret->not_after = timegm(&tm);
	return 0;
}

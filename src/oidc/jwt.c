/* SPDX-License-Identifier: Apache-2.0 */
/* oidc/jwt: three parts of base64url; keys and signatures by OpenSSL. */
#include "oidc/jwt.h"

#include <errno.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "http/json.h"

#define RSA_MIN_BITS 2048
#define RSA_MAX_BITS 8192 /* a larger one takes long to check */
#define EXPONENT_MAX_BITS 64
#define COORDINATE_MAX 66

enum family { FAMILY_RSA, FAMILY_PSS, FAMILY_EC };

static const struct algorithm {
	const char *name, *digest;
	enum family family;
	const char *curve; /* of OpenSSL */
	size_t half;       /* bytes of each half of the signature of a curve */
} algorithms[] = {
	{ "RS256", "SHA256", FAMILY_RSA, NULL, 0 },
	{ "RS384", "SHA384", FAMILY_RSA, NULL, 0 },
	{ "RS512", "SHA512", FAMILY_RSA, NULL, 0 },
	{ "PS256", "SHA256", FAMILY_PSS, NULL, 0 },
	{ "PS384", "SHA384", FAMILY_PSS, NULL, 0 },
	{ "PS512", "SHA512", FAMILY_PSS, NULL, 0 },
	{ "ES256", "SHA256", FAMILY_EC, "prime256v1", 32 },
	{ "ES384", "SHA384", FAMILY_EC, "secp384r1", 48 },
};

static const struct {
	const char *name, *curve;
	size_t size;
} curves[] = {
	{ "P-256", "prime256v1", 32 },
	{ "P-384", "secp384r1", 48 },
};

static const struct algorithm *algorithm_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(algorithms); i++) {
		if (strcmp(algorithms[i].name, name) == 0)
			return &algorithms[i];
	}
	return NULL;
}

/* --- tokens --- */

/* The alphabet of URLs, without padding. */
static int decode(struct str in, struct buf *out)
{
	autobuf struct buf plain = BUF_INIT(JWT_MAX);

	for (size_t i = 0; i < in.n; i++) {
		char c = in.p[i];

		if (c == '+' || c == '/' || c == '=')
			return -EINVAL;
		buf_ch(&plain, c == '-' ? '+' : c == '_' ? '/' : c);
	}
	return plain.bad ? -EINVAL : base64_decode(buf_view(&plain), out);
}

static int decode_object(struct str part, json_t **ret)
{
	autobuf struct buf text = BUF_INIT(JWT_MAX);
	struct err none = ERR_INIT;

	if (decode(part, &text) < 0)
		return -EINVAL;
	return json_read_object(buf_view(&text), false, ret, &none);
}

static int read_header(struct str part, struct jwt *ret, struct err *e)
{
	const char *alg = NULL, *kid = NULL;
	autojson json_t *o = NULL;
	struct err none = ERR_INIT;

	if (decode_object(part, &o) < 0 || json_need_str(o, "alg", &alg, &none) < 0 ||
	    json_get_str(o, "kid", &kid, &none) < 0)
		return err_set(e, EINVAL, "the header of the token is malformed");
	if (!str_copy(ret->alg, sizeof ret->alg, str_of(alg)) || !algorithm_find(alg))
		return err_set(e, EINVAL, "the token is signed with '%.16s', which is not accepted", alg);
	if (kid && !str_copy(ret->kid, sizeof ret->kid, str_of(kid)))
		return err_set(e, EINVAL, "the name of the token's key is too long");
	/* extensions that must be understood; and payloads that are not in base64 */
	if (json_object_get(o, "crit") || json_object_get(o, "b64"))
		return err_set(e, EINVAL, "the token wants an extension, which is not accepted");
	return 0;
}

int jwt_parse(struct str text, struct jwt *ret, struct err *e)
{
	struct str rest = text, header = str_cut(&rest, '.'), payload = str_cut(&rest, '.');

	*ret = (struct jwt) { .signature = BUF_INIT(JWT_MAX) };
	if (text.n > JWT_MAX || !payload.p || !rest.p || memchr(rest.p, '.', rest.n))
		return err_set(e, EINVAL, "it is no signed token");
	if (read_header(header, ret, e) < 0)
		return -e->no;
	ret->signed_part = (struct str) { text.p, header.n + 1 + payload.n };
	if (decode_object(payload, &ret->claims) < 0 || decode(rest, &ret->signature) < 0 || ret->signature.n == 0) {
		jwt_done(ret);
		return err_set(e, EINVAL, "the token is malformed");
	}
	return 0;
}

void jwt_done(struct jwt *t)
{
	json_decref(t->claims);
	buf_done(&t->signature);
	*t = (struct jwt) { 0 };
}

/* --- keys --- */

static EVP_PKEY *key_from(const char *type, OSSL_PARAM_BLD *b)
{
	OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(b);
	EVP_PKEY_CTX *c = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
	EVP_PKEY *key = NULL;

	if (!params || !c || EVP_PKEY_fromdata_init(c) != 1 ||
	    EVP_PKEY_fromdata(c, &key, EVP_PKEY_PUBLIC_KEY, params) != 1)
		key = NULL;
	EVP_PKEY_CTX_free(c);
	OSSL_PARAM_free(params);
	return key;
}

static BIGNUM *number(const json_t *o, const char *field)
{
	const char *text = json_string_value(json_object_get(o, field));
	autobuf struct buf bytes = BUF_INIT(RSA_MAX_BITS / 8 + 1);

	if (!text || decode(str_of(text), &bytes) < 0 || bytes.n == 0)
		return NULL;
	return BN_bin2bn((const unsigned char *)bytes.p, (int)bytes.n, NULL);
}

static EVP_PKEY *rsa_key(const json_t *o)
{
	BIGNUM *n = number(o, "n"), *exp = number(o, "e");
	OSSL_PARAM_BLD *b = OSSL_PARAM_BLD_new();
	EVP_PKEY *key = NULL;

	if (n && exp && b && BN_num_bits(n) >= RSA_MIN_BITS && BN_num_bits(n) <= RSA_MAX_BITS && BN_is_odd(n) &&
	    BN_num_bits(exp) <= EXPONENT_MAX_BITS && BN_is_odd(exp) && !BN_is_one(exp) &&
	    OSSL_PARAM_BLD_push_BN(b, OSSL_PKEY_PARAM_RSA_N, n) == 1 &&
	    OSSL_PARAM_BLD_push_BN(b, OSSL_PKEY_PARAM_RSA_E, exp) == 1)
		key = key_from("RSA", b);
	OSSL_PARAM_BLD_free(b);
	BN_free(n);
	BN_free(exp);
	return key;
}

static EVP_PKEY *ec_key(const json_t *o)
{
	const char *crv = json_string_value(json_object_get(o, "crv"));
	const char *x = json_string_value(json_object_get(o, "x")), *y = json_string_value(json_object_get(o, "y"));
	autobuf struct buf point = BUF_INIT(1 + 2 * COORDINATE_MAX);
	EVP_PKEY *key = NULL;
	size_t i = 0;

	while (crv && i < ARRAY_LEN(curves) && strcmp(curves[i].name, crv) != 0)
		i++;
	if (!crv || i == ARRAY_LEN(curves) || !x || !y)
		return NULL;
	buf_ch(&point, 4); /* uncompressed */
	if (decode(str_of(x), &point) < 0 || point.n != 1 + curves[i].size || decode(str_of(y), &point) < 0 ||
	    point.n != 1 + 2 * curves[i].size)
		return NULL;
	OSSL_PARAM_BLD *b = OSSL_PARAM_BLD_new();

	if (b &&
	    OSSL_PARAM_BLD_push_utf8_string(b, OSSL_PKEY_PARAM_GROUP_NAME, curves[i].curve, strlen(curves[i].curve)) ==
		1 &&
	    OSSL_PARAM_BLD_push_octet_string(b, OSSL_PKEY_PARAM_PUB_KEY, point.p, point.n) == 1)
		key = key_from("EC", b); /* fails if the point is not on the curve */
	OSSL_PARAM_BLD_free(b);
	return key;
}

static bool is_for_signatures(const json_t *o)
{
	const char *use = json_string_value(json_object_get(o, "use"));
	const json_t *ops = json_object_get(o, "key_ops"), *op;
	bool verifies = !ops;
	size_t i;

	json_array_foreach(ops, i, op)
	{
		const char *name = json_string_value(op);

		verifies = verifies || (name && strcmp(name, "verify") == 0);
	}
	return verifies && (!use || strcmp(use, "sig") == 0);
}

/* false: it is left out. */
static bool read_key(const json_t *o, struct jwk *ret)
{
	const char *kty = json_string_value(json_object_get(o, "kty"));
	const json_t *kid = json_object_get(o, "kid"), *alg = json_object_get(o, "alg");

	*ret = (struct jwk) { 0 };
	if (!kty || !is_for_signatures(o) || (kid && !json_is_string(kid)) || (alg && !json_is_string(alg)) ||
	    (kid && !str_copy(ret->kid, sizeof ret->kid, str_of(json_string_value(kid)))) ||
	    (alg && !str_copy(ret->alg, sizeof ret->alg, str_of(json_string_value(alg)))))
		return false;
	if (strcmp(kty, "RSA") == 0)
		ret->key = rsa_key(o);
	else if (strcmp(kty, "EC") == 0)
		ret->key = ec_key(o);
	return ret->key != NULL;
}

int jwks_parse(struct str json, struct jwks *ret, struct err *e)
{
	autojson json_t *o = NULL;
	struct err none = ERR_INIT;
	const json_t *keys, *one;
	size_t i;

	*ret = (struct jwks) { 0 };
	if (json_read_object(json, false, &o, &none) < 0 || !json_is_array(keys = json_object_get(o, "keys")))
		return err_set(e, EINVAL, "it is no set of keys");
	json_array_foreach(keys, i, one)
	{
		if (ret->n < JWKS_MAX && read_key(one, &ret->v[ret->n]))
			ret->n++;
	}
	return 0;
}

void jwks_done(struct jwks *s)
{
	for (size_t i = 0; i < s->n; i++)
		EVP_PKEY_free(s->v[i].key);
	*s = (struct jwks) { 0 };
}

/* --- signatures --- */

static bool fits(const struct jwk *k, const struct algorithm *a)
{
	char group[32];
	size_t n;

	if (*k->alg && strcmp(k->alg, a->name) != 0)
		return false;
	if (a->family != FAMILY_EC)
		return EVP_PKEY_is_a(k->key, "RSA");
	return EVP_PKEY_is_a(k->key, "EC") && EVP_PKEY_get_group_name(k->key, group, sizeof group, &n) == 1 &&
	    strcmp(group, a->curve) == 0;
}

/* OpenSSL takes the two numbers of a curve's signature in DER. */
static int to_der(struct str raw, size_t half, struct buf *out)
{
	ECDSA_SIG *sig = ECDSA_SIG_new();
	unsigned char *der = NULL;
	int n = 0;

	if (raw.n != 2 * half || !sig) {
		ECDSA_SIG_free(sig);
		return -EBADMSG;
	}
	BIGNUM *r = BN_bin2bn((const unsigned char *)raw.p, (int)half, NULL);
	BIGNUM *s = BN_bin2bn((const unsigned char *)raw.p + half, (int)half, NULL);

	if (r && s && ECDSA_SIG_set0(sig, r, s) == 1) {
		n = i2d_ECDSA_SIG(sig, &der);
	} else {
		BN_free(r);
		BN_free(s);
	}
	if (n > 0)
		buf_put(out, der, (size_t)n);
	OPENSSL_free(der);
	ECDSA_SIG_free(sig);
	return n > 0 && !out->bad ? 0 : -EBADMSG;
}

static bool is_signed_by(const struct jwt *t, const struct algorithm *a, EVP_PKEY *key)
{
	autobuf struct buf der = BUF_INIT(256);
	struct str sig = buf_view(&t->signature);
	EVP_MD_CTX *c = EVP_MD_CTX_new();
	EVP_PKEY_CTX *pc = NULL;
	bool ok = c && EVP_DigestVerifyInit_ex(c, &pc, a->digest, NULL, NULL, key, NULL) == 1;

	if (ok && a->family == FAMILY_PSS)
		ok = EVP_PKEY_CTX_set_rsa_padding(pc, RSA_PKCS1_PSS_PADDING) == 1 &&
		    EVP_PKEY_CTX_set_rsa_pss_saltlen(pc, RSA_PSS_SALTLEN_DIGEST) == 1;
	if (ok && a->family == FAMILY_EC) {
		ok = to_der(sig, a->half, &der) == 0;
		sig = buf_view(&der);
	}
	ok = ok &&
	    EVP_DigestVerify(c, (const unsigned char *)sig.p, sig.n, (const unsigned char *)t->signed_part.p,
		t->signed_part.n) == 1;
	EVP_MD_CTX_free(c);
	return ok;
}

int jwt_verify(const struct jwt *t, const struct jwks *keys, struct err *e)
{
	const struct algorithm *a = algorithm_find(t->alg);
	size_t candidates = 0;

	if (!a)
		return err_set(e, EINVAL, "the token is signed with '%s', which is not accepted", t->alg);
	for (size_t i = 0; i < keys->n; i++) {
		const struct jwk *k = &keys->v[i];

		if ((*t->kid && strcmp(k->kid, t->kid) != 0) || !fits(k, a))
			continue;
		candidates++;
		if (is_signed_by(t, a, k->key))
			return 0;
	}
	if (candidates)
		return err_set(e, EBADMSG, "the signature of the token is wrong");
	return err_set(e, ENOENT, "the provider has no key for the token (%s)", t->alg);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Units of oidc/jwt: signatures of all accepted kinds are checked, and whatever else a token asks for is refused. */
#include "oidc/jwt.h"

#include <errno.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rsa.h>
#include <string.h>

#include "base/fd.h"
#include "http/json.h"
#include "unit.h"

#define TEXT_MAX 16384

static EVP_PKEY *rsa, *other_rsa, *weak_rsa, *p256, *p384;
static struct err e;

static void put_url64(struct buf *out, struct str in)
{
	size_t at = out->n;

	base64_encode(out, in, false);
	for (; at < out->n; at++)
		out->p[at] = out->p[at] == '+' ? '-' : out->p[at] == '/' ? '_' : out->p[at];
}

static void put_number(struct buf *out, const char *name, EVP_PKEY *key, const char *param, size_t size)
{
	unsigned char bytes[1024];
	BIGNUM *n = NULL;

	assert_int_equal(EVP_PKEY_get_bn_param(key, param, &n), 1);
	int len = size ? BN_bn2binpad(n, bytes, (int)size) : BN_bn2bin(n, bytes);

	buf_fmt(out, ",\"%s\":\"", name);
	put_url64(out, (struct str) { (char *)bytes, (size_t)len });
	buf_ch(out, '"');
	BN_free(n);
}

/* more: further members, with a comma in front. */
static void put_jwk(struct buf *out, EVP_PKEY *key, const char *more)
{
	if (EVP_PKEY_is_a(key, "RSA")) {
		buf_fmt(out, "{\"kty\":\"RSA\"%s", more);
		put_number(out, "n", key, OSSL_PKEY_PARAM_RSA_N, 0);
		put_number(out, "e", key, OSSL_PKEY_PARAM_RSA_E, 0);
	} else {
		size_t size = key == p256 ? 32 : 48;

		buf_fmt(out, "{\"kty\":\"EC\",\"crv\":\"%s\"%s", key == p256 ? "P-256" : "P-384", more);
		put_number(out, "x", key, OSSL_PKEY_PARAM_EC_PUB_X, size);
		put_number(out, "y", key, OSSL_PKEY_PARAM_EC_PUB_Y, size);
	}
	buf_ch(out, '}');
}

static void keys_of(EVP_PKEY *key, const char *more, struct jwks *ret)
{
	autobuf struct buf text = BUF_INIT(TEXT_MAX);

	buf_z(&text, "{\"keys\":[{\"kty\":\"oct\",\"k\":\"c2VjcmV0\"},");
	put_jwk(&text, key, more);
	buf_z(&text, "]}");
	assert_int_equal(jwks_parse(buf_view(&text), ret, &e), 0);
}

/* DER, and the two numbers side by side. */
static void put_raw(struct buf *out, const unsigned char *der, size_t n, size_t half)
{
	ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &der, (long)n);
	unsigned char raw[96];

	assert_non_null(sig);
	(void)BN_bn2binpad(ECDSA_SIG_get0_r(sig), raw, (int)half);
	(void)BN_bn2binpad(ECDSA_SIG_get0_s(sig), raw + half, (int)half);
	put_url64(out, (struct str) { (char *)raw, 2 * half });
	ECDSA_SIG_free(sig);
}

static void sign(struct buf *t, EVP_PKEY *key, const char *digest, bool pss)
{
	unsigned char sig[1024];
	size_t n = sizeof sig;
	EVP_MD_CTX *c = EVP_MD_CTX_new();
	EVP_PKEY_CTX *pc;

	assert_int_equal(EVP_DigestSignInit_ex(c, &pc, digest, NULL, NULL, key, NULL), 1);
	if (pss) {
		assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(pc, RSA_PKCS1_PSS_PADDING), 1);
		assert_int_equal(EVP_PKEY_CTX_set_rsa_pss_saltlen(pc, RSA_PSS_SALTLEN_DIGEST), 1);
	}
	assert_int_equal(EVP_DigestSign(c, sig, &n, (unsigned char *)t->p, t->n), 1);
	EVP_MD_CTX_free(c);
	buf_ch(t, '.');
	if (EVP_PKEY_is_a(key, "EC"))
		put_raw(t, sig, n, key == p256 ? 32 : 48);
	else
		put_url64(t, (struct str) { (char *)sig, n });
}

static void begin(struct buf *t, const char *header)
{
	buf_clear(t);
	put_url64(t, str_of(header));
	buf_ch(t, '.');
	put_url64(t, STR_LIT("{\"sub\":\"ada\"}"));
}

static int check(const struct buf *text, const struct jwks *keys)
{
	struct jwt t = { 0 };
	int r = jwt_parse(buf_view(text), &t, &e);

	if (r == 0)
		r = jwt_verify(&t, keys, &e);
	jwt_done(&t);
	return r;
}

static void all_accepted_kinds_are_checked(void **state)
{
	static const struct {
		const char *alg, *digest;
		EVP_PKEY **key;
		bool pss;
	} kinds[] = {
		{ "RS256", "SHA256", &rsa, false },
		{ "RS384", "SHA384", &rsa, false },
		{ "RS512", "SHA512", &rsa, false },
		{ "PS256", "SHA256", &rsa, true },
		{ "PS384", "SHA384", &rsa, true },
		{ "PS512", "SHA512", &rsa, true },
		{ "ES256", "SHA256", &p256, false },
		{ "ES384", "SHA384", &p384, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		autobuf struct buf t = BUF_INIT(TEXT_MAX);
		autofree char *header = str_fmt("{\"alg\":\"%s\",\"kid\":\"k\"}", kinds[i].alg);
		struct jwks keys, others;

		keys_of(*kinds[i].key, ",\"kid\":\"k\",\"use\":\"sig\"", &keys);
		assert_int_equal(keys.n, 1);
		begin(&t, header);
		sign(&t, *kinds[i].key, kinds[i].digest, kinds[i].pss);
		assert_int_equal(check(&t, &keys), 0);
		/* every part counts */
		for (size_t at = 0; at < t.n; at += 7) {
			if (t.p[at] == '.')
				continue;
			t.p[at] ^= 1;
			assert_true(check(&t, &keys) < 0);
			t.p[at] ^= 1;
		}
		t.n -= 4; /* cut off */
		assert_true(check(&t, &keys) < 0);
		t.n += 4;
		keys_of(other_rsa, ",\"kid\":\"k\"", &others);
		assert_int_equal(check(&t, &others), *kinds[i].key == rsa ? -EBADMSG : -ENOENT);
		jwks_done(&others);
		jwks_done(&keys);
	}
}

static void none_and_shared_secrets_are_refused(void **state)
{
	static const char *const headers[] = { "{\"alg\":\"none\"}", "{\"alg\":\"None\"}", "{\"alg\":\"NONE\"}",
		"{\"alg\":\"\"}", "{\"alg\":\"HS256\"}", "{\"alg\":\"HS512\"}", "{\"alg\":\"rs256\"}",
		"{\"alg\":\"RS1\"}", "{\"alg\":null}", "{}", "[]", "{\"alg\":\"RS256\",\"alg\":\"none\"}",
		"{\"alg\":[\"RS256\"]}", "{\"alg\":\"EdDSA\"}", "{\"alg\":\"RS256\",\"crit\":[\"exp\"]}",
		"{\"alg\":\"RS256\",\"b64\":false}", "{\"alg\":\"RS256\",\"kid\":1}" };
	autobuf struct buf t = BUF_INIT(TEXT_MAX);
	struct jwks keys;

	(void)state;
	keys_of(rsa, "", &keys);
	for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
		begin(&t, headers[i]);
		buf_ch(&t, '.');
		assert_int_equal(check(&t, &keys), -EINVAL); /* without a signature */
		begin(&t, headers[i]);
		sign(&t, rsa, "SHA256", false); /* with a good one */
		assert_int_equal(check(&t, &keys), -EINVAL);
	}
	jwks_done(&keys);
}

/* The public key as the secret of an HMAC, under a name of a signature and under its own. */
static void a_public_key_is_no_secret(void **state)
{
	static const char *const algs[] = { "HS256", "RS256", "ES256" };
	unsigned char mac[EVP_MAX_MD_SIZE];
	struct jwks keys;
	unsigned n;

	(void)state;
	keys_of(rsa, ",\"kid\":\"k\"", &keys);
	for (size_t i = 0; i < ARRAY_LEN(algs); i++) {
		autobuf struct buf t = BUF_INIT(TEXT_MAX), secret = BUF_INIT(TEXT_MAX);
		autofree char *header = str_fmt("{\"alg\":\"%s\",\"kid\":\"k\"}", algs[i]);

		put_jwk(&secret, rsa, "");
		begin(&t, header);
		assert_non_null(HMAC(EVP_sha256(), secret.p, (int)secret.n, (unsigned char *)t.p, t.n, mac, &n));
		buf_ch(&t, '.');
		put_url64(&t, (struct str) { (char *)mac, n });
		assert_true(check(&t, &keys) < 0);
	}
	jwks_done(&keys);
}

static void a_key_is_used_for_what_it_is_for(void **state)
{
	static const struct {
		const char *more;
		size_t n;   /* usable */
		int result; /* of an RS256 token of the key "k" */
	} cases[] = {
		{ ",\"kid\":\"k\"", 1, 0 },
		{ ",\"kid\":\"other\"", 1, -ENOENT },
		{ "", 1, -ENOENT },
		{ ",\"kid\":\"k\",\"alg\":\"RS256\"", 1, 0 },
		{ ",\"kid\":\"k\",\"alg\":\"PS256\"", 1, -ENOENT },
		{ ",\"kid\":\"k\",\"alg\":\"RS512\"", 1, -ENOENT },
		{ ",\"kid\":\"k\",\"use\":\"enc\"", 0, -ENOENT },
		{ ",\"kid\":\"k\",\"key_ops\":[\"encrypt\"]", 0, -ENOENT },
		{ ",\"kid\":\"k\",\"key_ops\":[\"sign\",\"verify\"]", 1, 0 },
		{ ",\"kid\":7", 0, -ENOENT },
	};
	autobuf struct buf t = BUF_INIT(TEXT_MAX), es = BUF_INIT(TEXT_MAX);
	struct jwks keys;

	(void)state;
	begin(&t, "{\"alg\":\"RS256\",\"kid\":\"k\",\"jwk\":{},\"jku\":\"https://evil.example\"}");
	sign(&t, rsa, "SHA256", false);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		keys_of(rsa, cases[i].more, &keys);
		assert_int_equal(keys.n, cases[i].n);
		assert_int_equal(check(&t, &keys), cases[i].result);
		jwks_done(&keys);
	}
	/* of another curve */
	begin(&es, "{\"alg\":\"ES256\"}");
	sign(&es, p384, "SHA256", false);
	keys_of(p384, "", &keys);
	assert_int_equal(check(&es, &keys), -ENOENT);
	jwks_done(&keys);
}

static void weak_and_malformed_keys_are_left_out(void **state)
{
	static const char *const sets[] = { "{\"keys\":[]}", "{\"keys\":[1,null,{},{\"kty\":\"RSA\"}]}",
		"{\"keys\":[{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}]}",
		"{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AQ\",\"y\":\"AQ\"}]}",
		"{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE\","
		"\"y\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE\"}]}" };
	struct jwks keys;

	(void)state;
	keys_of(weak_rsa, "", &keys);
	assert_int_equal(keys.n, 0);
	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		assert_int_equal(jwks_parse(str_of(sets[i]), &keys, &e), 0);
		assert_int_equal(keys.n, 0);
	}
	assert_int_equal(jwks_parse(STR_LIT("{}"), &keys, &e), -EINVAL);
	assert_int_equal(jwks_parse(STR_LIT("<html>"), &keys, &e), -EINVAL);
}

static void what_is_no_token_is_refused(void **state)
{
	static const char *const texts[] = { "", ".", "..", "a.b", "a.b.c.d", "e30.e30.", "eyJhbGciOiJSUzI1NiJ9..",
		"eyJhbGciOiJSUzI1NiJ9.e30=.AA", "eyJhbGciOiJSUzI1NiJ9.W10.AA", "eyJhbGciOiJSUzI1NiJ9.e30.A/" };
	struct jwt t;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_int_equal(jwt_parse(str_of(texts[i]), &t, &e), -EINVAL);
}

static int set_up(void **state)
{
	(void)state;
	rsa = EVP_RSA_gen(2048);
	other_rsa = EVP_RSA_gen(2048);
	weak_rsa = EVP_RSA_gen(1024);
	p256 = EVP_EC_gen("P-256");
	p384 = EVP_EC_gen("P-384");
	return rsa && other_rsa && weak_rsa && p256 && p384 ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	EVP_PKEY_free(rsa);
	EVP_PKEY_free(other_rsa);
	EVP_PKEY_free(weak_rsa);
	EVP_PKEY_free(p256);
	EVP_PKEY_free(p384);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_accepted_kinds_are_checked),
		cmocka_unit_test(none_and_shared_secrets_are_refused),
		cmocka_unit_test(a_public_key_is_no_secret),
		cmocka_unit_test(a_key_is_used_for_what_it_is_for),
		cmocka_unit_test(weak_and_malformed_keys_are_left_out),
		cmocka_unit_test(what_is_no_token_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

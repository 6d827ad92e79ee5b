/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/token: tokens and signatures on top of libcrypto. */
#include "front/util/token.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/rand.h"
#include "http/json.h"

static const EVP_MD *sha256_algorithm(void)
{
	static EVP_MD *md; /* fetched once: a fetch per hash costs more than the hash and may open files */

	if (!md)
		md = EVP_MD_fetch(NULL, "SHA256", NULL);
	return md;
}

static void need(bool ok)
{
	if (ok)
		return;
	log_error("the crypto library cannot hash, exiting", "algorithm=SHA256");
	abort(); /* continuing would mean accepting or refusing every secret */
}

static void add_parts(EVP_MD_CTX *ctx, const struct str *parts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		need(parts[i].n == 0 || EVP_DigestUpdate(ctx, parts[i].p, parts[i].n) == 1);
}

static EVP_MD_CTX *begin(void)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	const EVP_MD *md = sha256_algorithm();

	need(ctx && md && EVP_DigestInit_ex2(ctx, md, NULL) == 1);
	return ctx;
}

static void digest_parts(const struct str *parts, size_t n, uint8_t ret[SHA256_SIZE])
{
	EVP_MD_CTX *ctx = begin();

	add_parts(ctx, parts, n);
	need(EVP_DigestFinal_ex(ctx, ret, NULL) == 1);
	EVP_MD_CTX_free(ctx);
}

void sha256(struct str s, uint8_t ret[SHA256_SIZE])
{
	digest_parts(&s, 1, ret);
}

bool secret_eq(struct str a, struct str b)
{
	return a.n == b.n && CRYPTO_memcmp(a.p, b.p, a.n) == 0;
}

void token_make(char ret[TOKEN_SIZE])
{
	rand_label(ret, TOKEN_SIZE - 1);
}

struct signing {
	EVP_MD_CTX *head; /* hash state of everything before the token */
	EVP_MD_CTX *scratch;
};

struct signing *signing_new(struct str path, const char *op, struct str user)
{
	const struct str colon = STR_LIT(":");
	const struct str parts[] = { path, colon, str_of(op), colon, user, colon };
	struct signing *s = malloc(sizeof *s);

	need(s != NULL);
	*s = (struct signing) { begin(), begin() };
	add_parts(s->head, parts, sizeof parts / sizeof *parts);
	return s;
}

void signing_free(struct signing *s)
{
	if (!s)
		return;
	EVP_MD_CTX_free(s->head);
	EVP_MD_CTX_free(s->scratch);
	free(s);
}

void signing_make(struct signing *s, struct str token, struct str expiry, char ret[SIGNATURE_SIZE])
{
	const struct str parts[] = { token, expiry.p ? STR_LIT(":") : STR_NULL, expiry };
	autobuf struct buf out = BUF_INIT(SIGNATURE_SIZE);
	uint8_t hash[SHA256_SIZE];

	need(EVP_MD_CTX_copy_ex(s->scratch, s->head) == 1);
	add_parts(s->scratch, parts, sizeof parts / sizeof *parts);
	need(EVP_DigestFinal_ex(s->scratch, hash, NULL) == 1);
	buf_z(&out, "v1_");
	base64_encode(&out, (struct str) { (const char *)hash, sizeof hash }, false);
	(void)str_copy(ret, SIGNATURE_SIZE, buf_view(&out));
}

void signature_make(struct str path, const char *op, struct str user, struct str token, struct str expiry,
    char ret[SIGNATURE_SIZE])
{
	struct signing *s = signing_new(path, op, user);

	signing_make(s, token, expiry, ret);
	signing_free(s);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* front/token: tokens and signatures on top of libcrypto. */
#include "front/token.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/rand.h"
#include "http/json.h"

static const EVP_MD *sha256_algorithm(void)
{
	static EVP_MD *md;	/* fetched once: a fetch per hash costs more than the hash, and may open files */

	if (!md)
		md = EVP_MD_fetch(NULL, "SHA256", NULL);
	return md;
}

static void digest_parts(const struct str *parts, size_t n, uint8_t ret[SHA256_SIZE])
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	const EVP_MD *md = sha256_algorithm();
	bool ok = ctx && md && EVP_DigestInit_ex2(ctx, md, NULL) == 1;

	for (size_t i = 0; ok && i < n; i++)
		ok = parts[i].n == 0 || EVP_DigestUpdate(ctx, parts[i].p, parts[i].n) == 1;
	ok = ok && EVP_DigestFinal_ex(ctx, ret, NULL) == 1;
	EVP_MD_CTX_free(ctx);
	if (!ok) {
		log_error("the crypto library cannot hash, ending", "algorithm=SHA256");
		abort();	/* going on would mean accepting or refusing everybody */
	}
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

void signature_make(struct str path, const char *op, struct str user, struct str token, struct str expiry,
		    char ret[SIGNATURE_SIZE])
{
	const struct str colon = STR_LIT(":");
	const struct str parts[] = { path, colon, str_of(op), colon, user, colon, token, expiry.p ? colon : STR_NULL,
		expiry };
	autobuf struct buf out = BUF_INIT(SIGNATURE_SIZE);
	uint8_t hash[SHA256_SIZE];

	digest_parts(parts, sizeof parts / sizeof *parts, hash);
	buf_z(&out, "v1_");
	base64_encode(&out, (struct str) { (const char *)hash, sizeof hash }, false);
	(void)str_copy(ret, SIGNATURE_SIZE, buf_view(&out));
}

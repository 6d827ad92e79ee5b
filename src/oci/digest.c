/* SPDX-License-Identifier: Apache-2.0 */
/* oci/digest: SHA-256 with OpenSSL. */
#include "oci/digest.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdlib.h>

struct digest_run {
	EVP_MD_CTX *ctx;
};

static int hex_value(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int digest_parse(struct str text, struct digest *ret, struct err *e)
{
	struct str hex = text, name = str_cut(&hex, ':');
	struct digest d;

	if (!hex.p)
		return err_set(e, EINVAL, "'%.*s' is not a digest", STR_ARG(text));
	if (!str_is(name, "sha256"))
		return err_set(e, EINVAL, "digests of kind '%.*s' are not supported, only sha256", STR_ARG(name));
	if (hex.n != 64)
		return err_set(e, EINVAL, "a sha256 digest has 64 hex digits, not %zu", hex.n);
	for (size_t i = 0; i < sizeof d.b; i++) {
		int hi = hex_value(hex.p[2 * i]), lo = hex_value(hex.p[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return err_set(e, EINVAL, "'%.*s' is not a digest: lower-case hex digits only", STR_ARG(text));
		d.b[i] = (uint8_t)(hi << 4 | lo);
	}
	*ret = d;
	return 0;
}

void digest_hex(const struct digest *d, char out[DIGEST_HEX_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < sizeof d->b; i++) {
		out[2 * i] = digits[d->b[i] >> 4];
		out[2 * i + 1] = digits[d->b[i] & 15];
	}
	out[64] = '\0';
}

void digest_text(const struct digest *d, char out[DIGEST_TEXT_SIZE])
{
	memcpy(out, "sha256:", 7);
	digest_hex(d, out + 7);
}

struct digest_run *digest_run_new(void)
{
	struct digest_run *r = calloc(1, sizeof *r);

	if (!r)
		return NULL;
	r->ctx = EVP_MD_CTX_new();
	if (!r->ctx || EVP_DigestInit_ex(r->ctx, EVP_sha256(), NULL) != 1) {
		digest_run_free(r);
		return NULL;
	}
	return r;
}

void digest_run_put(struct digest_run *r, const void *p, size_t n)
{
	(void)EVP_DigestUpdate(r->ctx, p, n);
}

void digest_run_end(struct digest_run *r, struct digest *ret)
{
	unsigned n = sizeof ret->b;

	(void)EVP_DigestFinal_ex(r->ctx, ret->b, &n);
}

void digest_run_free(struct digest_run *r)
{
	if (!r)
		return;
	EVP_MD_CTX_free(r->ctx);
	free(r);
}

void digest_of(struct str bytes, struct digest *ret)
{
	(void)SHA256((const unsigned char *)bytes.p, bytes.n, ret->b);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* audit/chain: composes, parses and hashes lines. */
#include "audit/chain.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

#define BLOCK 64 /* of SHA-256 */

struct audit_seal {
	EVP_MD *md;
	EVP_MD_CTX *ctx;
	EVP_MD_CTX *inner, *outer; /* HMAC's two hash states after the key; NULL without a key */
};

static EVP_MD_CTX *keyed(const EVP_MD *md, const uint8_t key[AUDIT_KEY_SIZE], uint8_t pad)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	uint8_t block[BLOCK];

	for (size_t i = 0; i < sizeof block; i++)
		block[i] = (uint8_t)((i < AUDIT_KEY_SIZE ? key[i] : 0) ^ pad);
	if (ctx && (EVP_DigestInit_ex2(ctx, md, NULL) != 1 || EVP_DigestUpdate(ctx, block, sizeof block) != 1)) {
		EVP_MD_CTX_free(ctx);
		ctx = NULL;
	}
	OPENSSL_cleanse(block, sizeof block);
	return ctx;
}

struct audit_seal *audit_seal_new(const uint8_t key[AUDIT_KEY_SIZE])
{
	struct audit_seal *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->md = EVP_MD_fetch(NULL, "SHA256", NULL); /* once: the lookup takes as long as hashing a line */
	s->ctx = EVP_MD_CTX_new();
	if (key && s->md) {
		s->inner = keyed(s->md, key, 0x36);
		s->outer = keyed(s->md, key, 0x5c);
	}
	if (!s->md || !s->ctx || (key && (!s->inner || !s->outer))) {
		audit_seal_free(s);
		return NULL;
	}
	return s;
}

void audit_seal_free(struct audit_seal *s)
{
	if (!s)
		return;
	EVP_MD_CTX_free(s->inner);
	EVP_MD_CTX_free(s->outer);
	EVP_MD_CTX_free(s->ctx);
	EVP_MD_free(s->md);
	free(s);
}

/* OpenSSL fails here only if it is out of memory or broken. A record without its hash must not be written. */
static void hash(struct audit_seal *s, struct str bytes, uint8_t ret[AUDIT_HASH_SIZE])
{
	if (EVP_DigestInit_ex2(s->ctx, s->md, NULL) != 1 || EVP_DigestUpdate(s->ctx, bytes.p, bytes.n) != 1 ||
	    EVP_DigestFinal_ex(s->ctx, ret, NULL) != 1)
		abort();
}

static void mac(struct audit_seal *s, const uint8_t of[AUDIT_HASH_SIZE], uint8_t ret[AUDIT_MAC_SIZE])
{
	uint8_t sum[AUDIT_HASH_SIZE];

	if (!s->inner) {
		memset(ret, 0, AUDIT_MAC_SIZE);
		return;
	}
	if (EVP_MD_CTX_copy_ex(s->ctx, s->inner) != 1 || EVP_DigestUpdate(s->ctx, of, AUDIT_HASH_SIZE) != 1 ||
	    EVP_DigestFinal_ex(s->ctx, sum, NULL) != 1 || EVP_MD_CTX_copy_ex(s->ctx, s->outer) != 1 ||
	    EVP_DigestUpdate(s->ctx, sum, sizeof sum) != 1 || EVP_DigestFinal_ex(s->ctx, sum, NULL) != 1)
		abort();
	memcpy(ret, sum, AUDIT_MAC_SIZE);
}

void audit_hex(const uint8_t *p, size_t n, char *ret)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		ret[2 * i] = digits[p[i] >> 4];
		ret[2 * i + 1] = digits[p[i] & 15];
	}
	ret[2 * n] = '\0';
}

static int hex_value(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int audit_unhex(struct str text, uint8_t *ret, size_t n)
{
	if (text.n != 2 * n)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		int hi = hex_value(text.p[2 * i]), lo = hex_value(text.p[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return -EBADMSG;
		ret[i] = (uint8_t)(hi << 4 | lo);
	}
	return 0;
}

/* Looks the algorithm up once per thread, see audit_seal_new(). */
static _Thread_local struct audit_seal *plain;

void audit_sha256_thread_ends(void)
{
	audit_seal_free(plain);
	plain = NULL;
}

void audit_sha256(struct str bytes, char ret[AUDIT_HEX_SIZE])
{
	uint8_t sum[AUDIT_HASH_SIZE];

	if (!plain && !(plain = audit_seal_new(NULL)))
		abort();
	hash(plain, (struct str) { bytes.n ? bytes.p : "", bytes.n }, sum);
	audit_hex(sum, sizeof sum, ret);
}

bool audit_word_valid(struct str s)
{
	if (s.n > AUDIT_WORD_MAX)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
			c == '.' || c == ':' || c == '-'))
			return false;
	}
	return true;
}

/* Valid JSON is the writer's responsibility; this checks that the object stays within its line. */
static bool fields_valid(struct str s)
{
	if (s.n < 2 || s.n > AUDIT_FIELDS_MAX || s.p[0] != '{' || s.p[s.n - 1] != '}')
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if ((unsigned char)s.p[i] < ' ' || (unsigned char)s.p[i] > 0x7f)
			return false;
	}
	return true;
}

int audit_compose(struct audit_seal *s, const struct audit_record *rec, struct audit_point *at, struct buf *out)
{
	char when[CLOCK_RFC3339_SIZE], hex[AUDIT_HEX_SIZE];
	uint8_t sum[AUDIT_HASH_SIZE], code[AUDIT_MAC_SIZE];
	size_t begin = out->n;

	if (rec->kind.n == 0 || !audit_word_valid(rec->kind) || !audit_word_valid(rec->request) ||
	    !audit_word_valid(rec->team) || !audit_word_valid(rec->key) || !audit_word_valid(rec->sandbox) ||
	    !audit_word_valid(rec->session) || !fields_valid(rec->fields))
		return -EINVAL;
	clock_rfc3339(rec->at_ms, when);
	audit_hex(at->hash, sizeof at->hash, hex);
	buf_fmt(out,
	    "{\"seq\":%llu,\"time\":\"%s\",\"kind\":\"%.*s\",\"request\":\"%.*s\",\"team\":\"%.*s\",\"key\":\"%.*s\","
	    "\"sandbox\":\"%.*s\",\"session\":\"%.*s\",\"fields\":",
	    (unsigned long long)at->seq + 1, when, STR_ARG(rec->kind), STR_ARG(rec->request), STR_ARG(rec->team),
	    STR_ARG(rec->key), STR_ARG(rec->sandbox), STR_ARG(rec->session));
	buf_str(out, rec->fields);
	buf_fmt(out, ",\"prev\":\"%s\"", hex);
	if (out->bad)
		return -ENOMEM;
	hash(s, (struct str) { out->p + begin, out->n - begin }, sum);
	mac(s, sum, code);
	audit_hex(sum, sizeof sum, hex);
	buf_fmt(out, ",\"hash\":\"%s\"", hex);
	audit_hex(code, sizeof code, hex);
	buf_fmt(out, ",\"mac\":\"%s\"}\n", hex);
	if (out->bad)
		return -ENOMEM;
	at->seq++;
	memcpy(at->hash, sum, sizeof sum);
	return 0;
}

static bool skip_text(struct str *s, const char *z)
{
	size_t n = strlen(z);

	if (s->n < n || memcmp(s->p, z, n) != 0)
		return false;
	str_skip(s, n);
	return true;
}

/* Parses `z`, which ends with an opening quote, then a word and its closing quote. */
static bool read_word(struct str *s, const char *z, struct str *ret)
{
	if (!skip_text(s, z))
		return false;

	const char *end = memchr(s->p, '"', s->n);

	if (!end)
		return false;
	*ret = (struct str) { s->p, (size_t)(end - s->p) };
	str_skip(s, ret->n + 1);
	return audit_word_valid(*ret);
}

static bool read_seq(struct str *s, uint64_t *ret)
{
	size_t n = 0;

	if (!skip_text(s, "{\"seq\":"))
		return false;
	while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9')
		n++;
	if (n == 0 || s->p[0] == '0' || str_to_u64((struct str) { s->p, n }, UINT64_MAX - 1, ret) < 0)
		return false;
	str_skip(s, n);
	return true;
}

#define TAIL_MAC (sizeof ",\"mac\":\"\"}" - 1 + 2 * AUDIT_MAC_SIZE)
#define TAIL_HASH (sizeof ",\"hash\":\"\"" - 1 + 2 * AUDIT_HASH_SIZE)
#define TAIL_PREV (sizeof ",\"prev\":\"\"" - 1 + 2 * AUDIT_HASH_SIZE)

/* The last members have a fixed size, so they are located from the end. */
static int read_tail(struct str *rest, const char *begin, struct audit_line *ret)
{
	struct str tail;

	if (rest->n < TAIL_MAC + TAIL_HASH + TAIL_PREV)
		return -EBADMSG;
	tail = (struct str) { rest->p + rest->n - TAIL_MAC - TAIL_HASH - TAIL_PREV, TAIL_MAC + TAIL_HASH + TAIL_PREV };
	rest->n -= tail.n;
	if (!skip_text(&tail, ",\"prev\":\"") ||
	    audit_unhex((struct str) { tail.p, 2 * AUDIT_HASH_SIZE }, ret->prev, AUDIT_HASH_SIZE) < 0)
		return -EBADMSG;
	str_skip(&tail, 2 * AUDIT_HASH_SIZE);
	if (!skip_text(&tail, "\""))
		return -EBADMSG;
	ret->covered = (struct str) { begin, (size_t)(tail.p - begin) };
	if (!skip_text(&tail, ",\"hash\":\"") ||
	    audit_unhex((struct str) { tail.p, 2 * AUDIT_HASH_SIZE }, ret->hash, AUDIT_HASH_SIZE) < 0)
		return -EBADMSG;
	str_skip(&tail, 2 * AUDIT_HASH_SIZE);
	if (!skip_text(&tail, "\",\"mac\":\"") ||
	    audit_unhex((struct str) { tail.p, 2 * AUDIT_MAC_SIZE }, ret->mac, AUDIT_MAC_SIZE) < 0)
		return -EBADMSG;
	str_skip(&tail, 2 * AUDIT_MAC_SIZE);
	return str_is(tail, "\"}") ? 0 : -EBADMSG;
}

int audit_read(struct str line, struct audit_line *ret)
{
	struct audit_line l = { 0 };
	struct str rest = line, when;
	uint64_t us;

	if (line.n > AUDIT_LINE_MAX || !read_seq(&rest, &l.seq) || !read_word(&rest, ",\"time\":\"", &when) ||
	    clock_parse_rfc3339(when, &us) < 0 || !read_word(&rest, ",\"kind\":\"", &l.rec.kind) || l.rec.kind.n == 0 ||
	    !read_word(&rest, ",\"request\":\"", &l.rec.request) || !read_word(&rest, ",\"team\":\"", &l.rec.team) ||
	    !read_word(&rest, ",\"key\":\"", &l.rec.key) || !read_word(&rest, ",\"sandbox\":\"", &l.rec.sandbox) ||
	    !read_word(&rest, ",\"session\":\"", &l.rec.session) || !skip_text(&rest, ",\"fields\":") ||
	    read_tail(&rest, line.p, &l) < 0 || !fields_valid(rest))
		return -EBADMSG;
	l.rec.at_ms = us / 1000;
	l.rec.fields = rest;
	*ret = l;
	return 0;
}

bool audit_hash_fits(struct audit_seal *s, const struct audit_line *l)
{
	uint8_t sum[AUDIT_HASH_SIZE];

	hash(s, l->covered, sum);
	return memcmp(sum, l->hash, sizeof sum) == 0;
}

bool audit_mac_fits(struct audit_seal *s, const struct audit_line *l)
{
	uint8_t code[AUDIT_MAC_SIZE];

	if (!s->inner)
		return true;
	mac(s, l->hash, code);
	return CRYPTO_memcmp(code, l->mac, sizeof code) == 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* front/console/codes: a table of fixed size. Only hashes are stored. */
#include "front/console/codes.h"

#include <stdlib.h>
#include <string.h>

#include "front/util/mem.h"

struct entry {
	uint8_t hash[SHA256_SIZE];
	struct login_code of;
	uint64_t n; /* in the order of creation; 0: free */
	uint64_t until_ms;
};

struct login_codes {
	struct entry v[CODES_MAX];
	uint64_t n;
};

struct login_codes *login_codes_new(void)
{
	return must_alloc(sizeof(struct login_codes));
}

void login_codes_free(struct login_codes *c)
{
	free(c);
}

/* The entry for a new code. The oldest of a key that has too many, a free one, or the oldest. */
static struct entry *room(struct login_codes *c, const char *key)
{
	struct entry *oldest = c->v, *own = NULL;
	size_t n_own = 0;

	for (size_t i = 0; i < CODES_MAX; i++) {
		struct entry *en = &c->v[i];

		if (en->n && strcmp(en->of.key, key) == 0) {
			n_own++;
			if (!own || en->n < own->n)
				own = en;
		}
		if (en->n < oldest->n)
			oldest = en;
	}
	return n_own >= CODES_OF_KEY ? own : oldest;
}

void login_code_make(struct login_codes *c, const struct login_code *of, uint64_t until_mono_ms, char code[TOKEN_SIZE])
{
	struct entry *en = room(c, of->key);

	*en = (struct entry) { .of = *of, .n = ++c->n, .until_ms = until_mono_ms };
	token_make(code);
	sha256(str_of(code), en->hash);
}

bool login_code_take(struct login_codes *c, struct str code, uint64_t now_mono_ms, struct login_code *ret)
{
	uint8_t hash[SHA256_SIZE];

	sha256(code, hash);
	for (size_t i = 0; i < CODES_MAX; i++) {
		struct entry *en = &c->v[i];

		if (!en->n || memcmp(en->hash, hash, sizeof hash) != 0)
			continue;
		bool fresh = now_mono_ms < en->until_ms;

		*ret = en->of;
		*en = (struct entry) { 0 };
		return fresh;
	}
	return false;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* front/account/penalty: a set-associative table. */
#include "front/account/penalty.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/rand.h"
#include "front/util/mem.h"

#define SETS 256
#define WAYS 4
#define FORGET_MS 60000 /* without a further wrong key */
#define FIRST_MS 100

struct entry {
	struct penalty_addr addr;
	uint64_t last_ms;
	uint32_t mistakes; /* 0: free entry */
	uint32_t waiting;
};

struct penalties {
	struct entry v[SETS][WAYS];
	uint32_t salt; /* random, so that an attacker cannot choose addresses that share a set */
};

struct penalties *penalties_new(void)
{
	struct penalties *p = must_alloc(sizeof *p);

	rand_bytes(&p->salt, sizeof p->salt);
	return p;
}

void penalties_free(struct penalties *p)
{
	free(p);
}

void penalty_addr(const struct sockaddr_storage *from, struct penalty_addr *ret)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;

	memset(ret, 0, sizeof *ret);
	if (from->ss_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
		memcpy(ret->bytes, &v6->sin6_addr, 8);
	} else if (from->ss_family == AF_INET6) {
		memcpy(ret->bytes, &v6->sin6_addr, 16);
	} else if (from->ss_family == AF_INET) {
		ret->bytes[10] = ret->bytes[11] = 0xff;
		memcpy(ret->bytes + 12, &v4->sin_addr, 4);
	}
}

static struct entry *set_of(struct penalties *p, const struct penalty_addr *a)
{
	uint32_t h = p->salt ^ 2166136261u;

	for (size_t i = 0; i < sizeof a->bytes; i++)
		h = (h ^ a->bytes[i]) * 16777619u;
	return p->v[(h ^ h >> 16) % SETS];
}

static struct entry *find(struct penalties *p, const struct penalty_addr *a)
{
	struct entry *set = set_of(p, a);

	for (size_t i = 0; i < WAYS; i++) {
		if (set[i].mistakes && memcmp(&set[i].addr, a, sizeof *a) == 0)
			return &set[i];
	}
	return NULL;
}

static struct entry *make(struct penalties *p, const struct penalty_addr *a)
{
	struct entry *set = set_of(p, a), *oldest = set;

	for (size_t i = 1; i < WAYS; i++) {
		if (set[i].last_ms < oldest->last_ms)
			oldest = &set[i];
	}
	*oldest = (struct entry) { .addr = *a };
	return oldest;
}

int penalty_wrong(struct penalties *p, const struct penalty_addr *a, uint64_t now_ms)
{
	struct entry *en = find(p, a);

	if (!en)
		en = make(p, a);
	if (now_ms - en->last_ms > FORGET_MS)
		en->mistakes = 0;
	en->last_ms = now_ms;
	if (++en->mistakes <= PENALTY_FREE)
		return 0;
	if (en->waiting >= PENALTY_WAITING_MAX)
		return -1;
	en->waiting++;

	uint32_t doublings = en->mistakes - PENALTY_FREE - 1;

	return doublings > 4 ? PENALTY_MAX_MS : FIRST_MS << doublings;
}

void penalty_over(struct penalties *p, const struct penalty_addr *a)
{
	struct entry *en = find(p, a);

	if (en && en->waiting > 0)
		en->waiting--;
}

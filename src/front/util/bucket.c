/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/bucket: a token bucket, stored as the time when it is full again. */
#include "front/util/bucket.h"

#define BURST 2 /* seconds' worth of requests */

static uint32_t up_to_s(uint64_t us)
{
	return (uint32_t)((us + 1000000 - 1) / 1000000);
}

bool bucket_take(struct bucket *b, uint32_t per_s, uint64_t now_ms, struct bucket_view *ret)
{
	uint64_t now = now_ms * 1000, one = 1000000ull / per_s, room = BURST * 1000000ull;

	if (one == 0)
		one = 1;

	uint64_t full = b->full_us > now ? b->full_us : now;
	bool taken = full - now + one <= room;

	if (taken)
		full += one;
	b->full_us = full;
	*ret = (struct bucket_view) {
		.limit = per_s,
		.remaining = (uint32_t)((room - (full - now)) / one),
		.reset_s = up_to_s(full - now),
		.retry_s = taken ? 0 : up_to_s(full - now + one - room),
	};
	return taken;
}

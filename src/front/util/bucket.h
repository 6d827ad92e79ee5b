/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/bucket: a limit of requests per second, with bursts of twice that number. No I/O. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bucket {           /* zeroed: full */
	uint64_t full_us; /* time when it will be full again, by the caller's clock */
};

struct bucket_view {    /* for the RateLimit-* headers */
	uint32_t limit; /* requests per second; 0: no limit */
	uint32_t remaining;
	uint32_t reset_s; /* seconds until it is full again */
	uint32_t retry_s; /* if refused: seconds until there is room for one */
};

/* Takes one request out; returns false if none is left. */
bool bucket_take(struct bucket *b, uint32_t per_s, uint64_t now_ms, struct bucket_view *ret);

/* SPDX-License-Identifier: Apache-2.0 */
/* front/util/bucket: how many requests per second; a burst of twice that may come at once. No I/O. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bucket {           /* zeroed: full */
	uint64_t full_us; /* when it will be full again, on the clock of the caller */
};

struct bucket_view {    /* for the RateLimit-* headers */
	uint32_t limit; /* requests per second; 0: no limit */
	uint32_t remaining;
	uint32_t reset_s; /* until it is full again */
	uint32_t retry_s; /* when refused: until there is room for one */
};

/* Takes one request out; false when there is none left. */
bool bucket_take(struct bucket *b, uint32_t per_s, uint64_t now_ms, struct bucket_view *ret);

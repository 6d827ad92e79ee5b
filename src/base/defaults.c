/* SPDX-License-Identifier: Apache-2.0 */
/* base/defaults: the default sizes of the storage file. */
#include "base/defaults.h"

#define POOL_MB 8192
#define POOL_MAX_MB (64 * 1024)
#define POOL_MIN_MB 256

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void default_pool_sizes(uint64_t free_mb, uint64_t *size_mb, uint64_t *max_mb)
{
	if (!*size_mb) {
		*size_mb = least(POOL_MB, free_mb / 4 > POOL_MIN_MB ? free_mb / 4 : POOL_MIN_MB);
		if (*max_mb)
			*size_mb = least(*size_mb, *max_mb);
	}
	if (!*max_mb)
		*max_mb = least(POOL_MAX_MB, free_mb / 2);
	if (*max_mb < *size_mb)
		*max_mb = *size_mb;
}

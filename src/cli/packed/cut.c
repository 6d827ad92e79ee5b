/* SPDX-License-Identifier: Apache-2.0 */
/* cli/packed/cut: a rolling hash over the last 64 bytes. */
#include "cli/packed/cut.h"

#define MASK (~UINT64_C(0) << 44) /* 20 bits: a cut each MiB, on average */

/* The state 64 bytes ago is shifted out. */
static uint64_t mix(uint8_t byte)
{
	uint64_t x = (byte + 1) * UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

size_t cut_find(const uint8_t *p, size_t n)
{
	static uint64_t table[256];
	uint64_t h = 0;

	if (!table[0]) {
		for (unsigned i = 0; i < 256; i++)
			table[i] = mix((uint8_t)i);
	}
	for (size_t i = n > CUT_MIN ? CUT_MIN - 64 : n; i < n; i++) {
		h = (h << 1) + table[p[i]];
		if (i >= CUT_MIN && !(h & MASK))
			return i + 1;
	}
	return n;
}

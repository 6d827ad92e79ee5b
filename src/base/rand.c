/* SPDX-License-Identifier: Apache-2.0 */
/* rand: random bytes from the kernel. */
#include "base/rand.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/types.h>

void rand_bytes(void *p, size_t n)
{
	char *at = p;

	while (n > 0) {
		ssize_t r = getrandom(at, n, 0);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			abort();
		at += r;
		n -= (size_t)r;
	}
}

/* A forked copy would give out the same ids: for programs that do not fork. */
uint64_t rand_id(void)
{
	static _Thread_local uint64_t stock[32]; /* getrandom() never returns less for up to 256 bytes */
	static _Thread_local size_t left;

	if (left == 0) {
		rand_bytes(stock, sizeof stock);
		left = sizeof stock / sizeof *stock;
	}
	return stock[--left];
}

void rand_hex(char *z, size_t n_digits)
{
	rand_bytes(z, n_digits);
	for (size_t i = 0; i < n_digits; i++)
		z[i] = "0123456789abcdef"[(unsigned char)z[i] & 15];
	z[n_digits] = '\0';
}

void rand_label(char *z, size_t n_chars)
{
	static const char set[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	unsigned char pool[64];
	size_t left = 0;

	for (size_t i = 0; i < n_chars;) {
		if (left == 0) {
			rand_bytes(pool, sizeof pool);
			left = sizeof pool;
		}
		unsigned char b = pool[--left];

		if (b < 252) /* 7 * 36: higher values would favour the first letters */
			z[i++] = set[b % 36];
	}
	z[n_chars] = '\0';
}

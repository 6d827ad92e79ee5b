/* SPDX-License-Identifier: Apache-2.0 */
/* base/tar_head: numbers and texts of a header block. */
#include "base/tar_head.h"

#include <errno.h>
#include <string.h>

static int binary_number(const unsigned char *u, size_t n, int64_t *ret)
{
	bool negative = u[0] == 0xff;
	uint64_t v = negative ? UINT64_MAX : 0;

	for (size_t i = 1; i < n; i++) {
		if (i + 8 < n && u[i] != (negative ? 0xff : 0))
			return -EBADMSG;
		v = v << 8 | u[i];
	}
	*ret = (int64_t)v;
	return !negative && *ret < 0 ? -EBADMSG : 0;
}

int tar_number(const char *p, size_t n, int64_t *ret)
{
	const unsigned char *u = (const unsigned char *)p;
	uint64_t v = 0;
	size_t i = 0;

	if (u[0] == 0x80 || u[0] == 0xff)
		return binary_number(u, n, ret);
	while (i < n && p[i] == ' ')
		i++;
	for (; i < n && p[i] >= '0' && p[i] <= '7'; i++) {
		if (v >> 59)
			return -EBADMSG;
		v = v << 3 | (uint64_t)(p[i] - '0');
	}
	if (i < n && p[i] != ' ' && p[i] != '\0')
		return -EBADMSG;
	*ret = (int64_t)v;
	return 0;
}

bool tar_checksum_ok(const char *block)
{
	int64_t want, sum = 0;

	if (tar_number(block + TAR_CHECKSUM, 8, &want) < 0)
		return false;
	for (int i = 0; i < TAR_BLOCK; i++)
		sum += i >= TAR_CHECKSUM && i < TAR_CHECKSUM + 8 ? ' ' : (unsigned char)block[i];
	return sum == want;
}

bool tar_is_zero(const char *block)
{
	for (int i = 0; i < TAR_BLOCK; i++) {
		if (block[i])
			return false;
	}
	return true;
}

struct str tar_text(const char *p, size_t max)
{
	return (struct str) { p, strnlen(p, max) };
}

/* SPDX-License-Identifier: Apache-2.0 */
/* base/tar_head: numbers, names and records of headers. */
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

bool tar_is_extra(const char *block)
{
	return block[TAR_TYPE] && strchr("xgLK", block[TAR_TYPE]);
}

static int copy_text(struct str text, char dst[TAR_NAME_MAX])
{
	return (text.n > 0 && memchr(text.p, '\0', text.n)) || !str_copy(dst, TAR_NAME_MAX, text) ? -EBADMSG : 0;
}

int tar_name_of(const char *block, struct str given, char dst[TAR_NAME_MAX])
{
	struct str name = tar_text(block + TAR_NAME, TAR_NAME_N), prefix = tar_text(block + TAR_PREFIX, TAR_PREFIX_N);
	autobuf struct buf whole = BUF_INIT(TAR_NAME_MAX);

	if (given.n > 0) {
		name = given;
	} else if (memcmp(block + TAR_MAGIC, "ustar\0", 6) == 0 &&
	    prefix.n > 0) { /* GNU's own format uses these bytes differently */
		buf_str(&whole, prefix);
		buf_ch(&whole, '/');
		buf_str(&whole, name);
		name = buf_view(&whole);
	}
	return whole.bad || name.n == 0 ? -EBADMSG : copy_text(name, dst);
}

int tar_target_of(const char *block, struct str given, char dst[TAR_NAME_MAX])
{
	return copy_text(given.n > 0 ? given : tar_text(block + TAR_LINK, TAR_LINK_N), dst);
}

int tar_pax_next(struct str *in, struct str *ret_key, struct str *ret_value)
{
	if (in->n == 0)
		return 0;

	struct str rest = *in, len = str_cut(&rest, ' ');
	uint64_t n;

	if (!rest.p || str_to_u64(len, in->n, &n) < 0 || n < len.n + 2 || in->p[n - 1] != '\n')
		return -EBADMSG;
	struct str value = { rest.p, (size_t)n - len.n - 2 }, key = str_cut(&value, '=');

	if (!value.p || key.n == 0)
		return -EBADMSG;
	*ret_key = key;
	*ret_value = value;
	str_skip(in, (size_t)n);
	return 1;
}

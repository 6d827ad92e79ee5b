/* SPDX-License-Identifier: Apache-2.0 */
/* http/url: percent decoding and query strings. */
#include "http/url.h"

#include <errno.h>

#include "base/fd.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int url_decode(struct str in, bool plus_is_space, struct buf *out)
{
	for (size_t i = 0; i < in.n; i++) {
		char c = in.p[i];

		if (c == '%') {
			if (in.n - i < 3)
				return -EINVAL;
			int hi = hex_digit(in.p[i + 1]), lo = hex_digit(in.p[i + 2]);
			if (hi < 0 || lo < 0)
				return -EINVAL;
			c = (char)(hi << 4 | lo);
			i += 2;
		} else if (c == '+' && plus_is_space) {
			c = ' ';
		}
		if (c == '\0')
			return -EILSEQ;
		buf_ch(out, c);
	}
	return 0;
}

bool query_next(struct str *query, struct str *ret_name, struct str *ret_value)
{
	while (query->n) {
		struct str value = str_cut(query, '&');
		struct str name = str_cut(&value, '=');

		if (name.n == 0 && value.n == 0)
			continue; /* "&&" */
		*ret_name = name;
		*ret_value = value.p ? value : (struct str) { name.p + name.n, 0 };
		return true;
	}
	return false;
}

/* Whether `in` decodes to the text z; false for malformed escapes. */
static bool decodes_to(struct str in, const char *z)
{
	autobuf struct buf b = BUF_INIT(in.n + 1);

	return url_decode(in, true, &b) == 0 && !b.bad && str_is(buf_view(&b), z);
}

int query_get(struct str query, const char *name, char **ret)
{
	struct str key, value;

	while (query_next(&query, &key, &value)) {
		if (!decodes_to(key, name))
			continue;
		autobuf struct buf b = BUF_INIT(value.n + 1);
		int rc = url_decode(value, true, &b);
		if (rc < 0)
			return rc;
		char *z = b.bad ? NULL : str_dup(buf_view(&b));
		if (!z)
			return -ENOMEM;
		*ret = z;
		return 0;
	}
	return -ENOENT;
}

void url_encode(struct buf *out, struct str in)
{
	static const char hex[] = "0123456789ABCDEF";

	for (size_t i = 0; i < in.n; i++) {
		unsigned char c = (unsigned char)in.p[i];

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
		    c == '.' || c == '_' || c == '~') {
			buf_ch(out, (char)c);
		} else {
			buf_put(out, (char[]) { '%', hex[c >> 4], hex[c & 15] }, 3);
		}
	}
}

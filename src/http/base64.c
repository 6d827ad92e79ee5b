/* SPDX-License-Identifier: Apache-2.0 */
/* http/base64: the standard alphabet, as in JSON bodies, signatures and Authorization fields. */
#include <errno.h>

#include "http/json.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

int base64_decode(struct str in, struct buf *out)
{
	size_t pads = 0;

	while (in.n && in.p[in.n - 1] == '=' && pads < 2) {
		in.n--;
		pads++;
	}
	if (in.n % 4 == 1 || (pads && (in.n + pads) % 4))
		return -EINVAL;
	if (in.n == 0)
		return 0;
	size_t room = in.n / 4 * 3 + (in.n % 4 ? in.n % 4 - 1 : 0);
	char *to = buf_room(out, room);
	if (!to)
		return -ENOMEM;

	uint32_t acc = 0;
	unsigned bits = 0;
	for (size_t i = 0; i < in.n; i++) {
		int d = digit(in.p[i]);

		if (d < 0)
			return -EINVAL;
		acc = acc << 6 | (uint32_t)d;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			*to++ = (char)(acc >> bits);
			acc &= (1u << bits) - 1;
		}
	}
	if (acc)
		return -EINVAL; /* non-zero trailing bits: the text would have two encodings */
	out->n += room;
	return 0;
}

void base64_encode(struct buf *out, struct str in, bool pad)
{
	const unsigned char *p = (const unsigned char *)in.p;
	size_t i = 0, whole = in.n / 3 * 4;
	/* reserved at once: every byte that a command prints passes through here */
	char *to = whole ? buf_room(out, whole) : NULL;

	if (whole && !to)
		return;
	for (; in.n - i >= 3; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16 | (uint32_t)p[i + 1] << 8 | p[i + 2];

		*to++ = alphabet[v >> 18];
		*to++ = alphabet[v >> 12 & 63];
		*to++ = alphabet[v >> 6 & 63];
		*to++ = alphabet[v & 63];
	}
	out->n += whole;
	if (in.n - i == 2) {
		uint32_t v = (uint32_t)p[i] << 16 | (uint32_t)p[i + 1] << 8;

		buf_put(out, (char[]) { alphabet[v >> 18], alphabet[v >> 12 & 63], alphabet[v >> 6 & 63], '=' },
		    pad ? 4 : 3);
	} else if (in.n - i == 1) {
		uint32_t v = (uint32_t)p[i] << 16;

		buf_put(out, (char[]) { alphabet[v >> 18], alphabet[v >> 12 & 63], '=', '=' }, pad ? 4 : 2);
	}
}

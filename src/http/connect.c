/* SPDX-License-Identifier: Apache-2.0 */
/* http/connect: envelopes and error codes of the Connect RPC protocol. */
#include "http/connect.h"

#include <errno.h>

#include "base/fd.h"

int envelope_parse(struct str *in, struct envelope *ret)
{
	if (in->n < ENVELOPE_HEAD)
		return 0;
	const unsigned char *h = (const unsigned char *)in->p;
	uint32_t len = (uint32_t)h[1] << 24 | (uint32_t)h[2] << 16 | (uint32_t)h[3] << 8 | h[4];
	if (len > ENVELOPE_MAX || (h[0] & ~(ENVELOPE_COMPRESSED | ENVELOPE_END)))
		return -EBADMSG;
	if (in->n - ENVELOPE_HEAD < len)
		return 0;
	*ret = (struct envelope) { .flags = h[0], .body = { in->p + ENVELOPE_HEAD, len } };
	str_skip(in, ENVELOPE_HEAD + (size_t)len);
	return 1;
}

void envelope_put(struct buf *out, uint8_t flags, struct str body)
{
	if (body.n > ENVELOPE_MAX) {
		out->bad = true;
		return;
	}
	const unsigned char head[ENVELOPE_HEAD] = {
		flags,
		(unsigned char)(body.n >> 24),
		(unsigned char)(body.n >> 16),
		(unsigned char)(body.n >> 8),
		(unsigned char)body.n,
	};

	buf_put(out, head, sizeof head);
	buf_str(out, body);
}

static const struct {
	const char *name;
	int status;
} codes[] = {
	[CONNECT_OK] = { "ok", 200 },
	[CONNECT_CANCELED] = { "canceled", 499 },
	[CONNECT_UNKNOWN] = { "unknown", 500 },
	[CONNECT_INVALID_ARGUMENT] = { "invalid_argument", 400 },
	[CONNECT_DEADLINE_EXCEEDED] = { "deadline_exceeded", 504 },
	[CONNECT_NOT_FOUND] = { "not_found", 404 },
	[CONNECT_ALREADY_EXISTS] = { "already_exists", 409 },
	[CONNECT_PERMISSION_DENIED] = { "permission_denied", 403 },
	[CONNECT_RESOURCE_EXHAUSTED] = { "resource_exhausted", 429 },
	[CONNECT_FAILED_PRECONDITION] = { "failed_precondition", 400 },
	[CONNECT_ABORTED] = { "aborted", 409 },
	[CONNECT_OUT_OF_RANGE] = { "out_of_range", 400 },
	[CONNECT_UNIMPLEMENTED] = { "unimplemented", 501 },
	[CONNECT_INTERNAL] = { "internal", 500 },
	[CONNECT_UNAVAILABLE] = { "unavailable", 503 },
	[CONNECT_DATA_LOSS] = { "data_loss", 500 },
	[CONNECT_UNAUTHENTICATED] = { "unauthenticated", 401 },
};

const char *connect_code_name(enum connect_code c)
{
	return (size_t)c < ARRAY_LEN(codes) ? codes[c].name : "unknown";
}

int connect_code_status(enum connect_code c)
{
	return (size_t)c < ARRAY_LEN(codes) ? codes[c].status : 500;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* http/connect: envelopes and error codes of the Connect RPC protocol. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

#define ENVELOPE_HEAD 5
#define ENVELOPE_MAX (16 * 1024 * 1024)
#define ENVELOPE_COMPRESSED 0x01
#define ENVELOPE_END 0x02

struct envelope {
	uint8_t flags;
	struct str body;
};

/* One flag byte, a big-endian length, the body. Returns 1 and moves *in past it, 0 for "more bytes", or -EBADMSG. */
int envelope_parse(struct str *in, struct envelope *ret);
void envelope_put(struct buf *out, uint8_t flags, struct str body);

enum connect_code {
	CONNECT_OK,
	CONNECT_CANCELED,
	CONNECT_UNKNOWN,
	CONNECT_INVALID_ARGUMENT,
	CONNECT_DEADLINE_EXCEEDED,
	CONNECT_NOT_FOUND,
	CONNECT_ALREADY_EXISTS,
	CONNECT_PERMISSION_DENIED,
	CONNECT_RESOURCE_EXHAUSTED,
	CONNECT_FAILED_PRECONDITION,
	CONNECT_ABORTED,
	CONNECT_OUT_OF_RANGE,
	CONNECT_UNIMPLEMENTED,
	CONNECT_INTERNAL,
	CONNECT_UNAVAILABLE,
	CONNECT_DATA_LOSS,
	CONNECT_UNAUTHENTICATED,
};

const char *connect_code_name(enum connect_code c); /* "not_found" */
int connect_code_status(enum connect_code c);       /* 404 */

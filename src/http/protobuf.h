/* SPDX-License-Identifier: Apache-2.0 */
/* http/protobuf: protobuf messages as JSON trees, by tables.
 *
 * The handlers of an RPC know one form of a message: the tree that protobuf's JSON mapping has (lowerCamelCase names,
 * bytes as base64, enums by name, 64-bit integers as text, times as RFC 3339). A table per message says which field has
 * which number, and these functions go from one form to the other. No I/O.
 *
 * Read leniently where protobuf is: fields that the table does not know, or that come in another wire type, are
 * skipped; of a field that comes twice the last counts, and messages are merged; a member of a oneof puts out the
 * others. Refused: cut off or overlong encodings, groups, text that is not UTF-8 or holds a NUL byte, more than
 * PB_ITEMS_MAX items. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define PB_ITEMS_MAX 100000 /* of one repeated field or map */

enum pb_kind {
	PB_STRING,
	PB_BYTES,
	PB_BOOL,
	PB_UINT32,
	PB_SINT32,
	PB_INT64,
	PB_ENUM,
	PB_MESSAGE,
	PB_MAP,  /* string to string */
	PB_TIME, /* google.protobuf.Timestamp */
};

struct pb_value {
	const char *name;
	int32_t number;
};

struct pb_enum {
	const struct pb_value *values;
	size_t n;
};

struct pb_field {
	const char *name; /* in JSON */
	uint32_t number;
	enum pb_kind kind;
	bool repeated; /* PB_STRING and PB_MESSAGE only */
	uint8_t oneof; /* not 0: of the fields with the same mark one is set at most */
	const struct pb_message *message;
	const struct pb_enum *values;
};

struct pb_message {
	const struct pb_field *fields;
	size_t n;
};

/* A new object, or -EINVAL with a text for the client, or -ENOMEM. */
int pb_read(const struct pb_message *m, struct str in, json_t **ret, struct err *e);

/* What of the tree has no place in the message, or does not fit it, is left out. */
void pb_put(struct buf *out, const struct pb_message *m, const json_t *tree);

/* One field; of a repeated one, one item. */
void pb_put_field(struct buf *out, const struct pb_message *m, const char *name, const json_t *value);

/* A message that holds only bytes, down a path of names that ends with NULL: what a stream of data is made of. */
void pb_put_bytes(struct buf *out, const struct pb_message *m, const char *const *path, struct str bytes);

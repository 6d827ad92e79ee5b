/* SPDX-License-Identifier: Apache-2.0 */
/* http/protobuf: converts protobuf messages to JSON trees and back, driven by tables.
 *
 * The handlers of an RPC use one form of a message: the tree of protobuf's JSON mapping (lowerCamelCase names,
 * bytes as base64, enums by name, 64-bit integers as text, times as RFC 3339). A table per message lists its
 * fields and their numbers. No I/O.
 *
 * Parsing is lenient where protobuf is: unknown fields and fields of another wire type are skipped; of a repeated
 * scalar the last one counts, and messages are merged; a member of a oneof removes the others. Refused are
 * truncated or overlong encodings, groups, text that is not UTF-8 or contains a NUL byte, and more than
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
	uint8_t oneof; /* not 0: at most one of the fields with the same value is set */
	const struct pb_message *message;
	const struct pb_enum *values;
};

struct pb_message {
	const struct pb_field *fields;
	size_t n;
};

/* Returns a new object, or -EINVAL with a message for the client, or -ENOMEM. */
int pb_read(const struct pb_message *m, struct str in, json_t **ret, struct err *e);

/* Members of the tree that the message lacks, or that do not fit, are left out. */
void pb_put(struct buf *out, const struct pb_message *m, const json_t *tree);

/* Writes one field; of a repeated one, one item. */
void pb_put_field(struct buf *out, const struct pb_message *m, const char *name, const json_t *value);

/* Writes a message that contains only bytes, at a path of names that ends with NULL. Used for streams of data. */
void pb_put_bytes(struct buf *out, const struct pb_message *m, const char *const *path, struct str bytes);

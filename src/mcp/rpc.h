/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/rpc: reading of JSON-RPC 2.0 messages, with the exact error for each that is none. Bytes in, one verdict out; no
 * I/O. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/str.h"

#define RPC_BATCH_MAX 64 /* messages in one */

enum rpc_code {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_METHOD_NOT_FOUND = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL_ERROR = -32603,
	RPC_HEADER_MISMATCH = -32020, /* these two: of MCP */
	RPC_UNSUPPORTED_VERSION = -32022,
};

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE };

struct rpc_msg { /* borrowed from what was parsed */
	enum rpc_kind kind;
	json_t *id;         /* string or integer; NULL: of a notification, or of an error without one */
	const char *method; /* NULL: of a response */
	json_t *params;     /* an object; NULL: none */
};

/* The text as JSON: an object, or an array with something in it. NULL: *ret_error is the answer, which has no id. */
json_t *rpc_parse(struct str text, json_t **ret_error);

/* One message. False: *ret_error is the answer. */
bool rpc_read(json_t *j, struct rpc_msg *ret, json_t **ret_error);

/* Answers; each takes what it is given but for the id. NULL: memory. */
json_t *rpc_result(const json_t *id, json_t *result);
json_t *rpc_error(const json_t *id, int code, const char *message, json_t *data); /* id NULL: null */
json_t *rpc_notification(const char *method, json_t *params);

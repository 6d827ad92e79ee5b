/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/rpc: parses JSON-RPC 2.0 messages, and answers invalid ones with the right error. Does no I/O. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/str.h"

#define RPC_BATCH_MAX 64 /* messages in a batch */

enum rpc_code {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_METHOD_NOT_FOUND = -32601,
	RPC_INVALID_PARAMS = -32602,
	RPC_INTERNAL_ERROR = -32603,
	RPC_HEADER_MISMATCH = -32020, /* this and the next: defined by MCP */
	RPC_UNSUPPORTED_VERSION = -32022,
};

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE };

struct rpc_msg { /* borrowed from the parsed JSON */
	enum rpc_kind kind;
	json_t *id;         /* string or integer; NULL: a notification, or an error without id */
	const char *method; /* NULL: a response */
	json_t *params;     /* an object; NULL: none */
};

/* Parses an object or a non-empty array. NULL: *ret_error is the response, without an id. */
json_t *rpc_parse(struct str text, json_t **ret_error);

/* Reads one message. False: *ret_error is the response. */
bool rpc_read(json_t *j, struct rpc_msg *ret, json_t **ret_error);

/* Build messages. Each takes ownership of its arguments except the id. NULL: out of memory. */
json_t *rpc_result(const json_t *id, json_t *result);
json_t *rpc_error(const json_t *id, int code, const char *message, json_t *data); /* id NULL: null */
json_t *rpc_notification(const char *method, json_t *params);

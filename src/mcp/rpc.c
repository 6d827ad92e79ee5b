/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/rpc: parses and checks messages. */
#include "mcp/rpc.h"

#include <stdio.h>
#include <string.h>

#include "http/json.h"

#define METHOD_MAX 256

json_t *rpc_error(const json_t *id, int code, const char *message, json_t *data)
{
	json_t *error = json_pack("{s:i,s:s,s:o*}", "code", code, "message", message, "data", data);

	if (!error) /* the message may quote the client: truncated or invalid UTF-8 is not JSON */
		error = json_pack("{s:i,s:s}", "code", code, "message", "request refused");
	return json_pack("{s:s,s:o,s:o}", "jsonrpc", "2.0", "id", id ? json_deep_copy(id) : json_null(), "error",
	    error);
}

json_t *rpc_result(const json_t *id, json_t *result)
{
	return json_pack("{s:s,s:o,s:o}", "jsonrpc", "2.0", "id", json_deep_copy(id), "result", result);
}

json_t *rpc_notification(const char *method, json_t *params)
{
	return json_pack("{s:s,s:s,s:o*}", "jsonrpc", "2.0", "method", method, "params", params);
}

json_t *rpc_parse(struct str text, json_t **ret_error)
{
	json_error_t je;
	json_t *j = NULL;

	const char *much = json_too_much(text);

	if (much) {
		char message[64];

		(void)snprintf(message, sizeof message, "Parse error: the message %s", much);
		*ret_error = rpc_error(NULL, RPC_PARSE_ERROR, message, NULL);
		return NULL;
	}
	/* NUL is accepted here and refused later, with the name of the field */
	j = json_loadb(text.p ? text.p : "", text.n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &je);
	if (!j) {
		*ret_error = rpc_error(NULL, RPC_PARSE_ERROR, "Parse error: not valid JSON", NULL);
		return NULL;
	}
	const char *why = NULL;

	if (json_is_array(j) && json_array_size(j) == 0)
		why = "Invalid Request: the batch is empty";
	else if (json_is_array(j) && json_array_size(j) > RPC_BATCH_MAX)
		why = "Invalid Request: too many messages in one batch";
	else if (!json_is_array(j) && !json_is_object(j))
		why = "Invalid Request: a message must be an object";
	if (!why)
		return j;
	*ret_error = rpc_error(NULL, RPC_INVALID_REQUEST, why, NULL);
	json_decref(j);
	return NULL;
}

static bool is_response(const json_t *j)
{
	return json_object_get(j, "result") || json_object_get(j, "error");
}

/* A C string ends at NUL, so what is compared would not be what was sent. Arguments of a tool are checked by their
 * schema instead. */
static bool has_nul(const json_t *j, bool in_params)
{
	const char *name;
	json_t *one;
	size_t i;

	if (json_is_string(j))
		return memchr(json_string_value(j), '\0', json_string_length(j)) != NULL;
	json_array_foreach((json_t *)j, i, one)
	{
		if (has_nul(one, false))
			return true;
	}
	json_object_foreach((json_t *)j, name, one)
	{
		if (!(in_params && strcmp(name, "arguments") == 0) && has_nul(one, false))
			return true;
	}
	return false;
}

static const char *what_is_wrong(const json_t *j, const struct rpc_msg *m, const json_t *method)
{
	const char *version = json_string_value(json_object_get(j, "jsonrpc"));
	const json_t *params = json_object_get(j, "params");

	if (!version || strcmp(version, "2.0") != 0)
		return "Invalid Request: field 'jsonrpc' must be \"2.0\"";
	if (m->id && !json_is_string(m->id) && !json_is_integer(m->id))
		return "Invalid Request: field 'id' must be a string or an integer";
	if (!method)
		return is_response(j) ? NULL : "Invalid Request: field 'method' is missing";
	if (!json_is_string(method) || json_string_length(method) == 0 || json_string_length(method) > METHOD_MAX)
		return "Invalid Request: field 'method' must be a string";
	if (is_response(j))
		return "Invalid Request: the message is both a request and a response";
	if (params && !json_is_object(params))
		return "Invalid Request: field 'params' must be an object";
	if (has_nul(method, false) || has_nul(m->id, false) || has_nul(params, true))
		return "Invalid Request: a string contains a NUL character";
	return NULL;
}

bool rpc_read(json_t *j, struct rpc_msg *ret, json_t **ret_error)
{
	if (!json_is_object(j)) {
		*ret_error = rpc_error(NULL, RPC_INVALID_REQUEST, "Invalid Request: a message must be an object", NULL);
		return false;
	}
	json_t *method = json_object_get(j, "method");

	*ret = (struct rpc_msg) { .id = json_object_get(j, "id"),
		.method = json_string_value(method),
		.params = json_object_get(j, "params") };
	const char *why = what_is_wrong(j, ret, method);

	if (why) {
		bool known = json_is_string(ret->id) || json_is_integer(ret->id);

		*ret_error = rpc_error(known ? ret->id : NULL, RPC_INVALID_REQUEST, why, NULL);
		return false;
	}
	ret->kind = !method ? RPC_RESPONSE : ret->id ? RPC_REQUEST : RPC_NOTIFICATION;
	return true;
}

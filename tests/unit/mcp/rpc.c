/* SPDX-License-Identifier: Apache-2.0 */
/* Units of mcp/rpc: each kind of wrong message has its own answer. */
#include <stdint.h>

#include <stdlib.h>
#include <string.h>

#include "http/json.h"
#include "mcp/rpc.h"
#include "unit.h"

static int code_of(json_t *answer)
{
	int code = (int)json_integer_value(json_object_get(json_object_get(answer, "error"), "code"));

	json_decref(answer);
	return code;
}

/* 0: it is a message of that kind. */
static int verdict(const char *text, enum rpc_kind kind)
{
	json_t *error = NULL;
	struct rpc_msg m;
	autojson json_t *j = rpc_parse(str_of(text), &error);

	if (!j || !rpc_read(j, &m, &error))
		return code_of(error);
	assert_int_equal(m.kind, kind);
	return 0;
}

static void messages_are_told_apart(void **state)
{
	(void)state;
	assert_int_equal(verdict("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}", RPC_REQUEST), 0);
	assert_int_equal(verdict("{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"a\",\"params\":{}}", RPC_REQUEST), 0);
	assert_int_equal(verdict("{\"jsonrpc\":\"2.0\",\"method\":\"a\"}", RPC_NOTIFICATION), 0);
	assert_int_equal(verdict("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", RPC_RESPONSE), 0);
	assert_int_equal(
	    verdict("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"\"}}", RPC_RESPONSE), 0);
}

static void what_is_not_json_is_a_parse_error(void **state)
{
	static const char *const bad[] = { "", " ", "{", "{\"a\":1,}", "{\"a\":1,\"a\":2}", "nonsense", "\"\xff\"" };

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(verdict(bad[i], RPC_REQUEST), RPC_PARSE_ERROR);
}

static void nul_is_for_arguments_only(void **state)
{
	(void)state;
	/* their schema refuses it */
	assert_int_equal(
	    verdict("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"arguments\":{\"x\":\"\\u0000\"}}}",
		RPC_REQUEST),
	    0);
	assert_int_equal(verdict("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\\u0000\"}", RPC_REQUEST),
	    RPC_INVALID_REQUEST);
	assert_int_equal(verdict("{\"jsonrpc\":\"2.0\",\"id\":\"\\u0000\",\"method\":\"a\"}", RPC_REQUEST),
	    RPC_INVALID_REQUEST);
	assert_int_equal(
	    verdict("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"name\":\"b\\u0000\"}}", RPC_REQUEST),
	    RPC_INVALID_REQUEST);
	assert_int_equal(
	    verdict("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"m\":[{\"arguments\":\"\\u0000\"}]}}",
		RPC_REQUEST),
	    RPC_INVALID_REQUEST);
}

static void nesting_is_bounded(void **state)
{
	char deep[400];

	(void)state;
	memset(deep, '[', 200);
	memset(deep + 200, ']', 200);
	json_t *error = NULL;

	assert_null(rpc_parse((struct str) { deep, sizeof deep }, &error));
	assert_int_equal(code_of(error), RPC_PARSE_ERROR);
}

static void values_are_bounded(void **state)
{
	const size_t n = 3 * 200000;
	char *many = malloc(n);
	json_t *error = NULL;

	(void)state;
	for (size_t i = 0; i < n; i += 3)
		memcpy(many + i, "{},", 3);
	many[0] = '[', many[1] = '1', many[n - 1] = ']';
	assert_null(rpc_parse((struct str) { many, n }, &error));
	assert_non_null(
	    strstr(json_string_value(json_object_get(json_object_get(error, "error"), "message")), "too many values"));
	assert_int_equal(code_of(error), RPC_PARSE_ERROR);
	free(many);
}

static void what_is_no_message_is_an_invalid_request(void **state)
{
	static const char *const bad[] = {
		"[]",
		"1",
		"\"a\"",
		"null",
		"{}",
		"{\"id\":1,\"method\":\"a\"}",
		"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"a\"}",
		"{\"jsonrpc\":2.0,\"id\":1,\"method\":\"a\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":1}",
		"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"a\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"a\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"a\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":1}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":[1]}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"result\":{}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(verdict(bad[i], RPC_REQUEST), RPC_INVALID_REQUEST);
}

static void an_error_has_the_id_of_its_request_if_that_can_be_read(void **state)
{
	json_t *error = NULL;
	struct rpc_msg m;
	autojson json_t *j = rpc_parse(STR_LIT("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":3}"), &error);

	(void)state;
	assert_false(rpc_read(j, &m, &error));
	assert_int_equal(json_integer_value(json_object_get(error, "id")), 7);
	json_decref(error);
	error = NULL;
	assert_null(rpc_parse(STR_LIT("{"), &error));
	assert_true(json_is_null(json_object_get(error, "id")));
	json_decref(error);
}

static void a_batch_is_bounded(void **state)
{
	autobuf struct buf b = BUF_INIT(65536);
	json_t *error = NULL;

	(void)state;
	buf_ch(&b, '[');
	for (int i = 0; i <= RPC_BATCH_MAX; i++)
		buf_fmt(&b, "%s1", i ? "," : "");
	buf_ch(&b, ']');
	assert_null(rpc_parse(buf_view(&b), &error));
	assert_int_equal(code_of(error), RPC_INVALID_REQUEST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_are_told_apart),
		cmocka_unit_test(what_is_not_json_is_a_parse_error),
		cmocka_unit_test(nul_is_for_arguments_only),
		cmocka_unit_test(nesting_is_bounded),
		cmocka_unit_test(values_are_bounded),
		cmocka_unit_test(what_is_no_message_is_an_invalid_request),
		cmocka_unit_test(an_error_has_the_id_of_its_request_if_that_can_be_read),
		cmocka_unit_test(a_batch_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

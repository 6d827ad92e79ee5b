/* SPDX-License-Identifier: Apache-2.0 */
/* Units of mcp/server: both eras of the protocol, and the table of tools. */
#include <stdint.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "http/json.h"
#include "mcp/server.h"
#include "unit.h"

#define MODERN "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}"

static enum mcp_todo take(struct mcp_peer *p, const char *text, json_t **ret)
{
	autojson json_t *j = json_loads(text, 0, NULL);
	json_t *error = NULL;
	struct rpc_msg m;

	assert_non_null(j);
	assert_true(rpc_read(j, &m, &error));
	*ret = NULL;
	enum mcp_todo todo = mcp_take(p, &m, ret);

	if (todo == MCP_CANCEL)
		*ret = json_deep_copy(*ret);
	return todo;
}

static int error_of(const json_t *re)
{
	return (int)json_integer_value(json_object_get(json_object_get(re, "error"), "code"));
}

static void versions_are_agreed_upon(void **state)
{
	static const char *const asked[][2] = { { "2025-11-25", "2025-11-25" }, { "2025-03-26", "2025-03-26" },
		{ "2024-11-05", "2024-11-05" }, { "1999-01-01", MCP_LATEST_LEGACY },
		{ "2026-07-28", MCP_LATEST_LEGACY } };

	(void)state;
	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
		autobuf struct buf b = BUF_INIT(512);
		struct mcp_peer p = { .version = "" };
		autojson json_t *re = NULL;

		buf_fmt(&b,
		    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\"}}",
		    asked[i][0]);
		assert_int_equal(take(&p, buf_cstr(&b), &re), MCP_ANSWER);
		assert_string_equal(p.version, asked[i][1]);
		assert_string_equal(
		    json_string_value(json_object_get(json_object_get(re, "result"), "protocolVersion")), asked[i][1]);
	}
}

static void nothing_is_done_before_initialize(void **state)
{
	struct mcp_peer p = { .version = "" };
	autojson json_t *re = NULL;

	(void)state;
	assert_int_equal(
	    take(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"run_code\"}}",
		&re),
	    MCP_ANSWER);
	assert_int_equal(error_of(re), RPC_INVALID_REQUEST);
}

static void a_modern_request_stands_alone(void **state)
{
	struct mcp_peer p = { .version = "" };
	autojson json_t *re = NULL, *bad = NULL;

	(void)state;
	assert_int_equal(
	    take(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" MODERN "}}", &re),
	    MCP_ANSWER);
	assert_string_equal(json_string_value(json_object_get(json_object_get(re, "result"), "resultType")),
	    "complete");
	assert_int_equal(
	    take(&p,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/"
		"discover\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"1900-01-01\"}}}",
		&bad),
	    MCP_ANSWER);
	assert_int_equal(error_of(bad), RPC_UNSUPPORTED_VERSION);
}

static void notifications_have_no_answer(void **state)
{
	struct mcp_peer p = { .version = "2025-11-25" };
	json_t *re;

	(void)state;
	assert_int_equal(take(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", &re), MCP_NOTHING);
	assert_int_equal(take(&p,
			     "{\"jsonrpc\":\"2.0\",\"method\":\"tools/"
			     "call\",\"params\":{\"name\":\"run_code\",\"arguments\":{\"code\":\"1\"}}}",
			     &re),
	    MCP_NOTHING);
	assert_int_equal(take(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{}}", &re),
	    MCP_NOTHING);
	assert_int_equal(take(&p, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}", &re), MCP_NOTHING);
	assert_int_equal(
	    take(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":5}}", &re),
	    MCP_CANCEL);
	assert_int_equal(json_integer_value(re), 5);
	json_decref(re);
}

static void unknown_methods_tools_and_cursors_are_refused(void **state)
{
	static const struct {
		const char *text;
		int code;
	} bad[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"nonsense\"}", RPC_METHOD_NOT_FOUND },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\"}", RPC_METHOD_NOT_FOUND },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":\"x\"}}",
		    RPC_INVALID_PARAMS },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}", RPC_INVALID_PARAMS },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"nonsense\"}}",
		    RPC_INVALID_PARAMS },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
		  "call\",\"params\":{\"name\":\"run_code\",\"arguments\":[]}}",
		    RPC_INVALID_PARAMS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct mcp_peer p = { .version = "2025-11-25" };
		autojson json_t *re = NULL;

		assert_int_equal(take(&p, bad[i].text, &re), MCP_ANSWER);
		assert_int_equal(error_of(re), bad[i].code);
	}
}

static void every_tool_is_in_every_format(void **state)
{
	static const char *const want[] = { "run_code", "run_command", "start_background_command", "list_processes",
		"send_input", "kill_process", "read_file", "write_file", "list_files", "install_packages",
		"create_sandbox", "list_sandboxes", "sandbox_info", "set_timeout", "kill_sandbox", "get_sandbox_url",
		"get_file_download_url", "sandbox_metrics", "git_clone", "git_status", "git_diff", "git_commit",
		"git_pull", "git_push", "fileOperations", "terminal", "execute_code", "executeCode",
		"executeTerminalCommand" };

	(void)state;
	for (size_t i = 0; i < sizeof want / sizeof *want; i++)
		assert_non_null(tool_find(want[i]));
	size_t n = json_array_size(tools_list("mcp"));

	assert_int_equal(json_array_size(tools_list("openai")), n);
	assert_int_equal(json_array_size(tools_list("anthropic")), n);
	assert_null(tools_list("other"));
}

static void logins_are_taken_out_of_urls(void **state)
{
	static const struct {
		const char *in, *url, *user, *password; /* url NULL: refused */
	} all[] = {
		{ "https://h/r.git", "https://h/r.git", NULL, NULL },
		{ "https://tok@h/r.git", "https://h/r.git", "x-access-token", "tok" },
		{ "https://u:p%40w@h/r@2.git", "https://h/r@2.git", "u", "p@w" },
		/* not https://w@h, with a piece of the password in it */
		{ "https://u:p@w@h/r.git", "https://h/r.git", "u", "p@w" },
		{ "https://h/a@b", "https://h/a@b", NULL, NULL },
		{ "ssh://git@h/r.git", "ssh://git@h/r.git", NULL, NULL },
		{ "git@h:r.git", "git@h:r.git", NULL, NULL },
		{ "https://u:%zz@h/r.git", NULL, NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		char *url, *user, *password;
		int rc = tool_split_url(all[i].in, &url, &user, &password);

		assert_int_equal(rc, all[i].url ? 0 : -EINVAL);
		if (all[i].url)
			assert_string_equal(url, all[i].url);
		if (all[i].user) {
			assert_string_equal(user, all[i].user);
			assert_string_equal(password, all[i].password);
		} else if (rc == 0) {
			assert_null(user);
			assert_null(password);
		}
		free(url);
		free(user);
		free(password);
	}
}

static int open_tools(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	return tools_open(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_are_agreed_upon),
		cmocka_unit_test(nothing_is_done_before_initialize),
		cmocka_unit_test(a_modern_request_stands_alone),
		cmocka_unit_test(notifications_have_no_answer),
		cmocka_unit_test(unknown_methods_tools_and_cursors_are_refused),
		cmocka_unit_test(every_tool_is_in_every_format),
		cmocka_unit_test(logins_are_taken_out_of_urls),
	};

	return cmocka_run_group_tests(tests, open_tools, NULL);
}

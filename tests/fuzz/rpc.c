/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: whatever comes is either a message of one kind or has exactly one answer, which can be written; and a
 * message that no tool has to be called for is answered without harm, in either era of the protocol. */
#include <string.h>

#include "fuzz.h"
#include "http/json.h"
#include "mcp/server.h"

static void check_answer(json_t *j)
{
	autojson json_t *mine = j;
	autobuf struct buf out = BUF_INIT(4 << 20);

	MUST(json_is_object(mine));
	MUST(strcmp(json_string_value(json_object_get(mine, "jsonrpc")), "2.0") == 0);
	json_put(&out, mine);
	MUST(!out.bad && out.n > 0);
}

static void take(json_t *j)
{
	struct mcp_peer peers[] = { { .version = "" }, { .version = "2025-03-26" } };
	struct rpc_msg m;
	json_t *re = NULL;

	if (!rpc_read(j, &m, &re)) {
		check_answer(re);
		return;
	}
	MUST((m.kind == RPC_RESPONSE) == (m.method == NULL));
	MUST(m.kind != RPC_REQUEST || json_is_string(m.id) || json_is_integer(m.id));
	for (size_t i = 0; i < 2; i++) {
		re = NULL;
		enum mcp_todo todo = mcp_take(&peers[i], &m, &re);

		MUST((todo == MCP_NOTHING || todo == MCP_CALL) == (re == NULL));
		if (todo == MCP_ANSWER || todo == MCP_LISTEN)
			check_answer(re);
		MUST(todo != MCP_CALL || tool_find(json_string_value(json_object_get(m.params, "name"))));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;
	json_t *error = NULL, *one;
	size_t i;

	MUST(tools_open(&e) == 0);
	autojson json_t *j = rpc_parse((struct str) { (const char *)data, size }, &error);

	if (!j) {
		check_answer(error);
		return 0;
	}
	MUST(!error);
	if (json_is_object(j))
		take(j);
	json_array_foreach(j, i, one) take(one);
	return 0;
}

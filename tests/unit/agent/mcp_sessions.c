/* SPDX-License-Identifier: Apache-2.0 */
/* Units of agent/mcp_sessions: whose they are, and who makes room. */
#include <stdint.h>

#include <stdio.h>
#include <string.h>

#include "agent/mcp_sessions.h"
#include "agent/request.h"
#include "unit.h"

static struct caller one = { .key = "k1", .team = "t", .key_id = "one" },
		     other = { .key = "k2", .team = "t", .key_id = "other" },
		     stranger = { .key = "k3", .team = "u", .key_id = "one" };

static void begin(const struct caller *who, char ret[MCP_SESSION_ID_SIZE])
{
	struct mcp_session *s = mcp_session_new(who, &(struct mcp_peer) { .version = "" });

	assert_non_null(s);
	(void)snprintf(ret, MCP_SESSION_ID_SIZE, "%s", mcp_session_id(s));
	mcp_session_unref(s);
}

static bool is_there(const struct caller *who, const char *id)
{
	struct mcp_session *s = mcp_session_find(who, id);

	mcp_session_unref(s);
	return s != NULL;
}

/* A3: the key may be rotated meanwhile. */
static void each_is_its_teams(void **state)
{
	char id[MCP_SESSION_ID_SIZE];

	(void)state;
	begin(&one, id);
	assert_true(is_there(&one, id));
	assert_true(is_there(&other, id));
	assert_false(is_there(&stranger, id));
	assert_false(mcp_session_end(&stranger, id));
	assert_true(mcp_session_end(&one, id));
	assert_false(is_there(&one, id));
}

static void who_begins_many_loses_its_own(void **state)
{
	char mine[MCP_SESSION_ID_SIZE], first[MCP_SESSION_ID_SIZE], second[MCP_SESSION_ID_SIZE],
	    last[MCP_SESSION_ID_SIZE];

	(void)state;
	begin(&other, mine);
	begin(&one, first);
	begin(&one, second);
	assert_true(is_there(&one, first)); /* used last: it is not the oldest */
	for (int i = 0; i < 99; i++)
		begin(&one, last);
	assert_true(is_there(&one, last));
	assert_true(is_there(&one, first));
	assert_false(is_there(&one, second));
	for (int i = 0; i < 3000; i++)
		begin(&one, last);
	assert_true(is_there(&other, mine));
	assert_false(is_there(&one, first));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(each_is_its_teams),
		cmocka_unit_test(who_begins_many_loses_its_own) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

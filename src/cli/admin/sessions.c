/* SPDX-License-Identifier: Apache-2.0 */
/* atoll session: agent sessions on a server. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/settings.h"
#include "cli/table.h"
#include "http/json.h"
#include "http/url.h"

static const char *field(const json_t *o, const char *name)
{
	const char *z = json_string_value(json_object_get(o, name));

	return z ? z : "";
}

static char *path_of(const char *id, const char *tail)
{
	autobuf struct buf b = BUF_INIT(4096);

	buf_z(&b, "/agent/sessions/");
	url_encode(&b, str_of(id));
	buf_z(&b, tail);
	return b.bad ? NULL : str_dup(buf_view(&b));
}

static int run_list(const struct verb *v, int argc, char **argv)
{
	static const struct column columns[] = { { "SESSION", false }, { "AGENT", false }, { "SANDBOX", false },
		{ "ENVIRONMENT", false }, { "LAST USED", false } };
	struct settings_opts conn = { NULL };
	bool as_json = false;
	const struct opt opts[] = { SETTINGS_OPTS(&conn), { "json", 0, OPT_FLAG, &as_json } };
	autoatoll struct atoll *a = NULL;
	autofree char *answer = NULL;
	autotable struct table t = TABLE_INIT(columns);
	struct atoll_error e = { 0 };
	int n, rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn, OPERANDS_NONE, argc, argv, &n, &a);

	if (rc >= 0)
		return rc;
	if (atoll_agent_call(a, "GET", "/agent/sessions", NULL, &answer, &e) < 0)
		return fail("%s", e.text);
	if (as_json) {
		(void)puts(answer);
		return 0;
	}
	autojson json_t *list = json_loads(answer, 0, NULL);
	const json_t *o;
	size_t i;

	json_array_foreach(list, i, o)
	{
		static const char *const names[] = { "sessionId", "agentId", "sandboxId", "environment", "lastUsed" };

		for (size_t k = 0; k < ARRAY_LEN(names); k++)
			table_add(&t, field(o, names[k]));
	}
	return table_print(&t);
}

static int run_create(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	const char *agent = NULL, *user = NULL, *environment = NULL;
	bool cache = false, as_json = false;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn),
		{ "agent", 0, OPT_STR, &agent },
		{ "user", 0, OPT_STR, &user },
		{ "template", 't', OPT_STR, &environment },
		{ "cache", 0, OPT_FLAG, &cache },
		{ "json", 0, OPT_FLAG, &as_json },
	};
	autoatoll struct atoll *a = NULL;
	autofree char *answer = NULL;
	struct atoll_error e = { 0 };
	int n, rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn, OPERANDS_NONE, argc, argv, &n, &a);

	if (rc >= 0)
		return rc;
	autojson json_t *body = json_pack("{s:s*,s:s*,s:s*,s:b}", "agentId", agent, "userId", user, "environment",
	    environment, "cache", cache);
	autofree char *request = body ? json_dumps(body, JSON_COMPACT) : NULL;

	if (!request)
		return fail("an option is not valid UTF-8");
	if (atoll_agent_call(a, "POST", "/agent/sessions", request, &answer, &e) < 0)
		return fail("%s", e.text);
	autojson json_t *s = json_loads(answer, 0, NULL);

	(void)puts(as_json ? answer : field(s, "sessionId"));
	return 0;
}

static int run_info(const struct verb *v, int argc, char **argv)
{
	autoatoll struct atoll *a = NULL;
	autofree char *answer = NULL;
	struct atoll_error e = { 0 };
	int rc = verb_plain(v, OPERANDS_ONE("missing operand: a session ID is required"), argc, argv, NULL, NULL, &a);

	if (rc >= 0)
		return rc;
	autofree char *path = path_of(argv[0], "");

	if (!path || atoll_agent_call(a, "GET", path, NULL, &answer, &e) < 0)
		return fail("%s", path ? e.text : "the ID is too long");
	(void)puts(answer);
	return 0;
}

static int run_run(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	const char *language = "python";
	const struct opt opts[] = { SETTINGS_OPTS(&conn), { "lang", 'l', OPT_STR, &language } };
	autoatoll struct atoll *a = NULL;
	autofree char *answer = NULL;
	struct atoll_error e = { 0 };
	int n,
	    rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn,
		(struct operands) { 2, 2, "missing operand: a session ID and code are required" }, argc, argv, &n, &a);

	if (rc >= 0)
		return rc;
	autofree char *path = path_of(argv[0], "/execute");
	autojson json_t *body = json_pack("{s:s,s:s}", "code", argv[1], "language", language);
	autofree char *request = body ? json_dumps(body, JSON_COMPACT) : NULL;

	if (!path || !request)
		return fail("the ID is too long, or the code is not valid UTF-8");
	rc = atoll_agent_call(a, "POST", path, request, &answer, &e);
	autojson json_t *j = answer ? json_loads(answer, 0, NULL) : NULL;

	if (rc < 0 && !json_object_get(j, "success"))
		return fail("%s", e.text);
	(void)puts(answer);
	return json_is_true(json_object_get(j, "success")) ? 0 : EXIT_FAILURE;
}

static int run_rm(const struct verb *v, int argc, char **argv)
{
	autoatoll struct atoll *a = NULL;
	struct atoll_error e = { 0 };
	int rc = verb_plain(v, OPERANDS_ONE("missing operand: a session ID is required"), argc, argv, NULL, NULL, &a);

	if (rc >= 0)
		return rc;
	autofree char *path = path_of(argv[0], "");

	if (!path || atoll_agent_call(a, "DELETE", path, NULL, NULL, &e) < 0)
		return fail("%s", path ? e.text : "the ID is too long");
	(void)puts(argv[0]);
	return 0;
}

static const struct verb session_list = {
	.name = "session list",
	.summary = "List sessions",
	.synopsis = "[--json]",
	.help = "      --json  print a JSON array with all fields\n"
		"\n" SETTINGS_HELP,
	.run = run_list,
};

static const struct verb session_create = {
	.name = "session create",
	.summary = "Create a session and print its ID",
	.synopsis = "[--agent ID] [--user ID] [--template NAME] [--cache] [--json]",
	.help = "      --agent ID       agent that owns the session (default: default)\n"
		"      --user ID        user for whom the agent works\n"
		"  -t, --template NAME  template of the sandbox (default: the server's)\n"
		"      --cache          allow cached results for code without side effects\n"
		"      --json           print all fields as JSON\n"
		"\n" SETTINGS_HELP,
	.run = run_create,
};

static const struct verb session_info = {
	.name = "session info",
	.summary = "Show a session as JSON",
	.synopsis = "SESSION",
	.help = SETTINGS_HELP,
	.run = run_info,
};

static const struct verb session_run = {
	.name = "session run",
	.summary = "Run code in a session and print the result as JSON",
	.synopsis = "[--lang NAME] SESSION CODE",
	.help = "  -l, --lang NAME  python (default), javascript, typescript, bash, r, java\n"
		"\n"
		"The exit status is 1 if the code was refused or raised an error.\n"
		"\n" SETTINGS_HELP,
	.run = run_run,
};

static const struct verb session_rm = {
	.name = "session rm",
	.summary = "End a session and kill its sandbox",
	.synopsis = "SESSION",
	.help = SETTINGS_HELP,
	.run = run_rm,
};

static const struct verb *const subs[] = { &session_list, &session_create, &session_info, &session_run, &session_rm,
	NULL };

const struct verb verb_session = {
	.name = "session",
	.summary = "Create, list, use and end agent sessions",
	.synopsis = "list | create | info | run | rm ...",
	.help = "",
	.run = verb_group,
	.subs = subs,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* atoll say: send a message to the agent layer and print the response. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "cli/cli.h"
#include "cli/settings.h"
#include "http/json.h"

#define TEXT_MAX (1024 * 1024)

/* Reads the text from the operands, or from standard input for "-". */
static int read_text(int n, char **argv, struct buf *out)
{
	if (n == 1 && strcmp(argv[0], "-") == 0) {
		char room[8192];

		for (ssize_t got; (got = read(STDIN_FILENO, room, sizeof room)) > 0;)
			buf_put(out, room, (size_t)got);
	}
	for (int i = 0; i < n && !(n == 1 && strcmp(argv[0], "-") == 0); i++) {
		buf_z(out, i ? " " : "");
		buf_z(out, argv[i]);
	}
	return out->bad ? fail("the message is longer than %d bytes", TEXT_MAX) : 0;
}

static int print_answer(const char *answer, bool as_json)
{
	autojson json_t *j = json_loads(answer, 0, NULL);
	const char *text = json_string_value(json_object_get(j, "text"));

	if (!text)
		return fail("the response is not that of an agent layer");
	(void)puts(as_json ? answer : text);
	bool nothing = json_array_size(json_object_get(j, "actions")) == 0;

	return nothing || json_is_true(json_object_get(json_object_get(j, "values"), "success")) ? 0 : EXIT_FAILURE;
}

static int run(const struct verb *v, int argc, char **argv)
{
	struct settings_opts conn = { NULL };
	const char *agent = NULL, *session = NULL, *dir = NULL;
	bool dry_run = false, as_json = false;
	const struct opt opts[] = {
		SETTINGS_OPTS(&conn),
		{ "agent", 0, OPT_STR, &agent },
		{ "session", 0, OPT_STR, &session },
		{ "directory", 0, OPT_STR, &dir },
		{ "dry-run", 'n', OPT_FLAG, &dry_run },
		{ "json", 0, OPT_FLAG, &as_json },
	};
	autoatoll struct atoll *a = NULL;
	autobuf struct buf text = BUF_INIT(TEXT_MAX);
	autofree char *answer = NULL;
	struct atoll_error e = { 0 };
	int n,
	    rc = verb_connect(v, opts, ARRAY_LEN(opts), &conn,
		OPERANDS_SOME("missing operand: a message, or - for standard input"), argc, argv, &n, &a);

	if (rc >= 0)
		return rc;
	rc = read_text(n, argv, &text);
	if (rc != 0)
		return rc;
	autojson json_t *body = json_pack("{s:s#,s:b,s:s*,s:s*,s:s*}", "text", text.p ? text.p : "", (int)text.n,
	    "dryRun", dry_run, "agentId", agent, "e2bSessionId", session, "workingDirectory", dir);
	autofree char *request = body ? json_dumps(body, JSON_COMPACT) : NULL;

	if (!request)
		return fail("the message is not valid UTF-8");
	if (atoll_agent_call(a, "POST", "/agent/messages", request, &answer, &e) < 0)
		return fail("%s", e.text);
	return print_answer(answer, as_json);
}

const struct verb verb_say = {
	.name = "say",
	.summary = "Send a message to the agent layer: code to run, sandboxes, packages, git",
	.synopsis = "[--agent ID] [--session ID] [--directory DIR] [--dry-run] [--json] TEXT...|-",
	.help = "      --agent ID       agent that owns the session (default: default)\n"
		"      --session ID     session to use\n"
		"      --directory DIR  working directory, for git\n"
		"  -n, --dry-run        only print what would be done\n"
		"      --json           print the whole response as JSON\n"
		"\n"
		"All fenced code blocks of the message are run in order. Sentences such as these are\n"
		"carried out, too: 'Create a new sandbox with 10 minute timeout', 'Show me all active\n"
		"sandboxes', 'Kill sandbox ID', 'Install numpy', 'What is 15 * 23?'. The exit status is 1\n"
		"if any part of the message failed.\n"
		"\n" SETTINGS_HELP,
	.run = run,
};

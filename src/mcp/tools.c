/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/tools: the table of tools, and what surrounds each call. */
#include "mcp/tools.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "client/agent/redact.h"
#include "client/client.h"
#include "http/json.h"
#include "mcp/schema.h"

#define TOOLS_MAX 64
#define HEARTBEAT_MS 5000 /* progress interval without output */

static const struct tool_handler *const groups[] = { tools_code, tools_check, tools_process, tools_files, tools_sandbox,
	tools_session, tools_git };

static struct {
	struct tool v[TOOLS_MAX];
	json_t *input[TOOLS_MAX]; /* borrowed from mcp */
	size_t n;
	json_t *mcp, *openai, *anthropic;
} all;

static _Thread_local struct tool_run *running;

/* --- the table ----------------------------------------------------------------------------------------------- */

static const struct tool_handler *handler_find(const char *name)
{
	for (size_t g = 0; g < ARRAY_LEN(groups); g++) {
		for (const struct tool_handler *h = groups[g]; h->name; h++) {
			if (strcmp(h->name, name) == 0)
				return h;
		}
	}
	return NULL;
}

static size_t handlers_count(void)
{
	size_t n = 0;

	for (size_t g = 0; g < ARRAY_LEN(groups); g++) {
		for (const struct tool_handler *h = groups[g]; h->name; h++)
			n++;
	}
	return n;
}

static unsigned hints_of(const json_t *tool, const struct tool_handler *h)
{
	const json_t *a = json_object_get(tool, "annotations");
	bool reads = json_is_true(json_object_get(a, "readOnlyHint"));

	return (reads ? TOOL_READS : 0) | (json_is_true(json_object_get(a, "destructiveHint")) ? TOOL_DESTROYS : 0) |
	    (!reads && json_is_true(json_object_get(a, "idempotentHint")) ? TOOL_REPEATS : 0) |
	    (h->outside ? TOOL_OUTSIDE : 0);
}

static int tool_add(const json_t *tool, struct err *e)
{
	const char *name = json_text(tool, "name"), *description = json_text(tool, "description");
	const struct tool_handler *h = handler_find(name);
	json_t *in = json_object_get(tool, "inputSchema");

	if (!h)
		return err_set(e, EINVAL, "tool '%s' has no handler", name);
	if (all.n == TOOLS_MAX)
		return err_set(e, E2BIG, "too many tools");
	all.v[all.n] = (struct tool) { .name = h->name, .hints = hints_of(tool, h), .seeks = h->seeks, .run = h->run };
	all.input[all.n++] = in;
	json_array_append_new(all.openai,
	    json_pack("{s:s,s:{s:s,s:s,s:O}}", "type", "function", "function", "name", name, "description", description,
		"parameters", in));
	json_array_append_new(all.anthropic,
	    json_pack("{s:s,s:s,s:O}", "name", name, "description", description, "input_schema", in));
	return 0;
}

int tools_open(struct err *e)
{
	json_error_t je;
	json_t *tool;
	size_t i;

	if (all.n)
		return 0;
	all.mcp = json_loads(tools_json, JSON_REJECT_DUPLICATES, &je);
	if (!all.mcp)
		return err_set(e, EINVAL, "parse the list of tools: %s at %d", je.text, je.position);
	all.openai = json_array();
	all.anthropic = json_array();
	json_array_foreach(all.mcp, i, tool)
	{
		if (tool_add(tool, e) < 0)
			return -e->no;
	}
	return all.n == handlers_count() ? 0 : err_set(e, EINVAL, "a tool handler has no description");
}

static size_t find_index(const char *name)
{
	size_t i = 0;

	while (i < all.n && strcmp(all.v[i].name, name) != 0)
		i++;
	return i;
}

const struct tool *tool_find(const char *name)
{
	/* OpenAI and Anthropic allow no dot in a name, so it is listed with an underscore. */
	size_t i = find_index(strcmp(name, "notebook.execCell") == 0 ? "notebook_execCell" : name);

	return i < all.n ? &all.v[i] : NULL;
}

json_t *tools_list(const char *format)
{
	if (strcmp(format, "mcp") == 0)
		return all.mcp;
	if (strcmp(format, "openai") == 0)
		return all.openai;
	return strcmp(format, "anthropic") == 0 ? all.anthropic : NULL;
}

/* --- a call -------------------------------------------------------------------------------------------------- */

bool tool_stopping(void *user)
{
	struct tool_run *r = running;

	(void)user;
	if (!r)
		return false;
	uint64_t now = clock_mono_ms();

	if (r->progress && now - r->reported_ms >= HEARTBEAT_MS) {
		char text[64];

		r->reported_ms = now;
		(void)snprintf(text, sizeof text, "still running after %llu s",
		    (unsigned long long)((now - r->began_ms) / 1000));
		r->progress(r->user, ++r->steps, text);
	}
	return r->stopped && r->stopped(r->user);
}

static void start_over(struct tool_run *r)
{
	json_decref(r->content);
	json_decref(r->structured);
	r->content = json_array();
	r->structured = NULL;
	r->is_error = false;
	r->unreached = false;
	r->no = r->status = 0;
}

static void run_once(struct tool_run *r)
{
	start_over(r);
	running = r;
	r->tool->run(r);
	running = NULL;
}

static void put_sandbox(struct tool_run *r)
{
	sandbox_cache_put(r->host->cache, take_ptr(&r->sandbox));
	if (r->in_session)
		sandbox_cache_session_left(r->host->cache, r->session);
	r->in_session = false;
}

/* A request without a response may have taken effect. It is repeated only if the tool is idempotent. */
static bool may_repeat(const struct tool_run *r)
{
	bool may_be_done = r->status == 0 && (r->no == ECONNRESET || r->no == EPIPE);

	return !r->shown && !(r->stopped && r->stopped(r->user)) &&
	    (!may_be_done || (r->tool->hints & (TOOL_READS | TOOL_REPEATS)));
}

static int try_once(void *user, bool *ret_begun, struct atoll_error *e)
{
	struct tool_run *r = user;

	put_sandbox(r);
	run_once(r);
	*ret_begun = !may_repeat(r);
	e->no = r->no;
	e->status = r->status;
	return -r->no;
}

/* If the breaker refuses an attempt, its error replaces that of the attempt before. */
static void run_tries(struct tool_run *r)
{
	static const struct atoll_retry once = { sizeof once, 0, 0, 0 };
	struct atoll_breaker *b = r->host->breaks_inside && (r->tool->hints & TOOL_OUTSIDE) ? NULL : r->host->breaker;
	struct atoll_error e = { 0 };

	if (atoll_retry_run(r->host->retry ? r->host->retry : &once, b, try_once, r, NULL, &e) < 0 &&
	    e.no == EHOSTDOWN && r->no != EHOSTDOWN) {
		start_over(r);
		(void)run_failed(r, &e);
	}
}

static void tool_note(struct tool_run *r)
{
	const char *outcome = r->outcome ? r->outcome : r->no == ECANCELED ? "cancelled" : r->is_error ? "error" : "ok";

	if (r->host->audit)
		r->host->audit(r->user, "mcp.tool", r->sandbox ? r->sandbox->id : NULL, r->session,
		    json_pack("{s:s,s:s,s:I}", "tool", r->tool->name, "outcome", outcome, "ms",
			(json_int_t)(clock_mono_ms() - r->began_ms)));
}

json_t *tool_call(struct tool_run *r)
{
	struct err e = ERR_INIT;
	size_t i = find_index(r->tool->name);

	r->began_ms = r->reported_ms = clock_mono_ms();
	if (schema_check(all.input[i], r->args, &e) < 0) {
		start_over(r);
		run_refuse(r, "%s", e.text);
	} else {
		run_tries(r);
		/* The cached sandbox has ended or is paused, and the call had no effect. Reopening it resumes it, or
		 * shows that it is gone. */
		if (r->unreached && r->sandbox && !r->shown && !(r->stopped && r->stopped(r->user))) {
			(void)snprintf(r->lost, sizeof r->lost, "%s", r->sandbox->id);
			sandbox_cache_drop(r->host->cache, r->sandbox->id);
			put_sandbox(r);
			run_once(r);
		}
	}
	if (r->anew && !r->is_error)
		run_say(r,
		    "Note: this session's previous sandbox is gone and a new one was started. Files and variables of "
		    "the "
		    "previous one are lost.");
	if (r->structured && r->sandbox && !json_object_get(r->structured, "sandboxId"))
		run_set(r, "sandboxId", json_string(r->sandbox->id));
	if (r->session[0] && !(r->tool->hints & TOOL_READS))
		sandbox_cache_written(r->host->cache, r->session);
	tool_note(r);
	json_t *result = json_pack("{s:o,s:b}", "content", take_ptr(&r->content), "isError", r->is_error);

	if (r->structured)
		json_object_set_new(result, "structuredContent", take_ptr(&r->structured));
	if (result && r->host->redact) {
		const char *const *secrets = sandbox_cache_secrets(r->host->cache, r->sandbox);

		redact_json(result, secrets);
		sandbox_cache_secrets_put(r->host->cache, secrets);
	}
	put_sandbox(r);
	return result;
}

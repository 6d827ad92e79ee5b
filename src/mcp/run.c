/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/run: what tools have in common: arguments, the sandbox, results, failures, the policy. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "client/agent/redact.h"
#include "http/json.h"
#include "mcp/tools.h"

#define TEXT_MAX (16u * 1024 * 1024)
#define OUTPUT_EVERY_MS 200 /* minimum interval of progress reports */
#define TAIL_MAX 400

const char *run_str(const struct tool_run *r, const char *name)
{
	return json_string_value(json_object_get(r->args, name));
}

const char *run_some(const struct tool_run *r, const char *name)
{
	const char *v = run_str(r, name);

	return v && *v ? v : NULL;
}

int64_t run_int(const struct tool_run *r, const char *name, int64_t otherwise)
{
	const json_t *v = json_object_get(r->args, name);

	return json_is_number(v) ? (int64_t)json_number_value(v) : otherwise;
}

bool run_bool(const struct tool_run *r, const char *name)
{
	return json_is_true(json_object_get(r->args, name));
}

unsigned run_timeout_or(const struct tool_run *r, unsigned otherwise)
{
	return (unsigned)run_int(r, "timeout_ms", run_int(r, "timeout", otherwise));
}

unsigned run_timeout_ms(const struct tool_run *r)
{
	return run_timeout_or(r, r->host->timeout_ms);
}

unsigned run_lifetime_s(const struct tool_run *r, unsigned otherwise)
{
	int64_t ms = run_int(r, "timeout_ms", 0);

	return ms ? (unsigned)((ms + 999) / 1000) : (unsigned)run_int(r, "timeout_s", otherwise);
}

struct atoll_pair *run_pairs(const struct tool_run *r, const char *name, size_t *ret_n)
{
	json_t *o = json_object_get(r->args, name), *v;
	struct atoll_pair *pairs = calloc(json_object_size(o) + RUN_PAIRS_MORE + 1, sizeof *pairs);
	const char *key;
	size_t n = 0;

	json_object_foreach(o, key, v) if (pairs) pairs[n++] = (struct atoll_pair) { key, json_string_value(v) };
	*ret_n = n;
	return pairs;
}

/* --- results ------------------------------------------------------------------------------------------------- */

/* Length of the UTF-8 sequence at p; 0: not valid UTF-8. */
static size_t utf8_len(const unsigned char *p, size_t n)
{
	size_t len = p[0] < 0x80          ? 1
	    : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
	    : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
	    : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
					  : 0;

	if (len == 0 || len > n)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
	    (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

json_t *run_string(const char *text, size_t n)
{
	json_t *j = n <= TEXT_MAX && !memchr(text, '\0', n) ? json_stringn(text, n) : NULL;
	autobuf struct buf b = BUF_INIT(TEXT_MAX * 3 + 64);

	if (j)
		return j;
	for (size_t i = 0; i < n && b.n < TEXT_MAX;) {
		size_t len = utf8_len((const unsigned char *)text + i, n - i);

		if (len == 0 || text[i] == '\0') {
			buf_z(&b, "\xef\xbf\xbd");
			i++;
		} else {
			buf_put(&b, text + i, len);
			i += len;
		}
	}
	return json_stringn(b.p ? b.p : "", b.n);
}

void run_text(struct tool_run *r, const char *text, size_t n)
{
	json_array_append_new(r->content, json_pack("{s:s,s:o}", "type", "text", "text", run_string(text, n)));
}

void run_say(struct tool_run *r, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	run_text(r, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
}

void run_image(struct tool_run *r, const char *mime, const char *base64)
{
	json_array_append_new(r->content,
	    json_pack("{s:s,s:s,s:s}", "type", "image", "data", base64, "mimeType", mime));
}

void run_set(struct tool_run *r, const char *name, json_t *value)
{
	if (!r->structured)
		r->structured = json_object();
	json_object_set_new(r->structured, name, value);
}

void run_fail(struct tool_run *r, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	r->is_error = true;
	run_text(r, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
}

void run_refuse(struct tool_run *r, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	r->outcome = "refused";
	run_fail(r, "INVALID_ARGUMENT: %s. Nothing was done.", text);
}

static const struct {
	int no;
	const char *code, *remedy;
} remedies[] = {
	{ ECANCELED, "CANCELLED", "The client cancelled the call; the operation in the sandbox was interrupted." },
	{ ETIMEDOUT, "TIMEOUT",
	    "Set a larger timeout, split the work into smaller steps, or run it with start_background_command." },
	{ ENOMEM, "MEMORY_LIMIT", "Process less data at a time, or use a sandbox with more memory." },
	{ ESRCH, "SANDBOX_UNAVAILABLE",
	    "The sandbox has ended. Omit sandbox_id, or create a new sandbox with create_sandbox." },
	{ ENOENT, "NOT_FOUND", "Check the name with list_sandboxes, list_files or list_processes." },
	{ EACCES, "NOT_ALLOWED", "The credentials do not permit this." },
	{ EPERM, "NOT_ALLOWED", "The API key does not permit this." },
	{ EDQUOT, "LIMIT_REACHED",
	    "End a session with end_session or kill a sandbox with kill_sandbox. List them with list_sessions and "
	    "list_sandboxes." },
	{ EAGAIN, "LIMIT_REACHED", "Wait a moment, or kill sandboxes that are no longer needed." },
	{ EINVAL, "INVALID_ARGUMENT", "Correct the arguments and try again." },
	{ EFBIG, "TOO_LARGE", "Request less data at a time." },
	{ ENOSPC, "DISK_FULL", "Delete files in the sandbox." },
	{ ECONNREFUSED, "SERVER_UNAVAILABLE",
	    "Nothing was done. Try again in a moment; until then, do work that needs no sandbox." },
	{ EHOSTUNREACH, "SERVER_UNAVAILABLE",
	    "Nothing was done. Try again in a moment; until then, do work that needs no sandbox." },
	{ EHOSTDOWN, "SERVER_UNAVAILABLE",
	    "Nothing was done. Wait for that time; until then, do work that needs no sandbox." },
	{ EBUSY, "SERVER_UNAVAILABLE",
	    "Nothing was done. Try again in a moment; until then, do work that needs no sandbox." },
	{ ECONNRESET, "SERVER_UNAVAILABLE",
	    "The connection was lost. Check whether the operation took effect before repeating it." },
};

/* The server names fields of its requests. The caller of a tool knows the tool's arguments instead. */
static void put_named(const struct tool_run *r, const char *text, struct buf *out)
{
	static const char *const names[][2] = { { "templateID", "template" }, { "envVars", "envs" },
		{ "env_vars", "envs" }, { "process.envs", "envs" }, { "process.cwd", "cwd" },
		{ "timeout", "timeout_s" }, { "memoryMB", "resourceLimits.memory" }, { "cpus", "resourceLimits.cpu" } };
	struct str rest = str_of(text);

	for (size_t i = 0; i < ARRAY_LEN(names) && str_starts(rest, "field '"); i++) {
		size_t n = strlen(names[i][0]), top = strcspn(names[i][1], ".");
		char arg[32];

		(void)snprintf(arg, sizeof arg, "%.*s", (int)top, names[i][1]);
		if (strncmp(text + 7, names[i][0], n) != 0 || text[7 + n] != '\'' || !json_object_get(r->args, arg))
			continue;
		buf_fmt(out, "argument '%s'", names[i][1]);
		str_skip(&rest, 7 + n + 1);
	}
	if (rest.n > 6 && memcmp(rest.p + rest.n - 6, " (400)", 6) == 0) /* INVALID_ARGUMENT says it */
		rest.n -= 6;
	buf_str(out, rest);
}

static const char *either(const struct tool_run *r, const char *a, const char *b)
{
	const char *v = run_str(r, a);

	v = v && *v ? v : run_str(r, b);
	return v && *v ? v : NULL;
}

/* What the sandbox is found by, then what the tool looks for in it. */
static enum tool_seeks sought(const struct tool_run *r)
{
	enum tool_seeks what = r->tool->seeks;

	if (!r->sandbox && either(r, "sandbox_id", "sandboxId"))
		return SEEKS_SANDBOX;
	if (!r->sandbox && either(r, "session_id", "sessionId"))
		return SEEKS_SESSION;
	if (!r->sandbox && what != SEEKS_SESSION && what != SEEKS_TEMPLATE)
		return SEEKS_NAME;
	return what == SEEKS_CONTEXT && !run_some(r, "context_id") ? SEEKS_NAME : what;
}

static const char *remedy_not_found(const struct tool_run *r)
{
	static const char *const missing[] = {
		[SEEKS_NAME] = "Check the name with list_sandboxes, list_files or list_processes.",
		[SEEKS_CONTEXT] = "Omit context_id to use the language's default context.",
		[SEEKS_PATH] = "List the directory with list_files.",
		[SEEKS_PROCESS] = "It may have exited. List the processes with list_processes.",
		[SEEKS_SANDBOX] = "It may have ended. List the sandboxes with list_sandboxes, or omit sandbox_id to "
				  "use the session's sandbox.",
		[SEEKS_SESSION] = "It may have expired. Omit the session ID to use this client's own session.",
		[SEEKS_TEMPLATE] = "Omit template to use the default template.",
	};

	return missing[sought(r)];
}

/* Sandboxes answer an unknown user name with the status of a failed login. Their own credentials came with the
 * sandbox. */
static bool is_no_user(const struct tool_run *r, const struct atoll_error *e)
{
	return r->sandbox && run_some(r, "user") && e->no == EACCES;
}

int run_failed(struct tool_run *r, const struct atoll_error *e)
{
	const char *code = "FAILED", *remedy = "";
	/* 504: the server was slow, not the operation */
	int no = e->no == ETIMEDOUT && e->status == 504 ? EBUSY : e->no;

	for (size_t i = 0; i < ARRAY_LEN(remedies); i++) {
		if (remedies[i].no == no) {
			code = remedies[i].code;
			remedy = remedies[i].remedy;
			break;
		}
	}
	if (no == ENOENT)
		remedy = remedy_not_found(r);
	r->no = e->no;
	r->status = e->status;
	if (is_no_user(r, e)) {
		run_refuse(r,
		    "argument 'user': the sandbox has no user '%s'. Omit it, or use a user listed in the sandbox's "
		    "/etc/passwd, such as user or root",
		    run_str(r, "user"));
		return -1;
	}
	r->unreached = e->no == ESRCH && e->status == 502;
	/* redacted even if redaction is off: a URL may contain a password */
	autofree char *text = atoll_redact(e->text, NULL, 0);

	autobuf struct buf named = BUF_INIT(2048);

	put_named(r, text ? text : "", &named);
	run_fail(r, "%s: %s.%s%s", code, named.bad || !named.n ? "" : buf_cstr(&named), *remedy ? " " : "", remedy);
	return -1;
}

/* --- the sandbox --------------------------------------------------------------------------------------------- */

/* Hides values of the sandbox's environment whose names mark them as secret. */
static void learn_secrets(struct tool_run *r)
{
	const char *const argv[] = { "/usr/bin/env", "-0", NULL };
	struct atoll_command cmd = { .argv = argv, .timeout_ms = 10000 };
	const char *found[64];
	struct atoll_output *out;
	struct atoll_error e;

	if (atoll_command_run(r->sandbox->sb, &cmd, NULL, NULL, &out, &e) < 0)
		return;
	size_t n = redact_env((char *)out->out, out->n_out, found, ARRAY_LEN(found));

	sandbox_cache_hide(r->host->cache, r->sandbox, found, n);
	r->sandbox->scanned = true;
	atoll_output_free(out);
}

/* Hides secret values of this call's envs, which this call or a later one may print. */
static void hide_envs(struct tool_run *r)
{
	size_t n;
	autofree struct atoll_pair *envs = run_pairs(r, "envs", &n);
	struct secrets s = { .n = 0 };

	if (envs)
		secrets_add_envs(&s, envs, n);
	sandbox_cache_hide(r->host->cache, r->sandbox, (const char *const *)s.v, s.n);
	secrets_done(&s);
}

struct cached_sandbox *run_sandbox(struct tool_run *r)
{
	const char *id = either(r, "sandbox_id", "sandboxId"), *session = either(r, "session_id", "sessionId");
	struct atoll_error e = { 0 };
	bool anew = false;
	int rc;

	if (r->sandbox)
		return r->sandbox;
	if (id)
		rc = sandbox_cache_open(r->host->cache, id, &r->sandbox, &e);
	else
		rc = sandbox_cache_session(r->host->cache, r->agent, session, r->lost[0] ? r->lost : NULL,
		    run_timeout_ms(r), r->session, &r->sandbox, &anew, &e);
	if (rc < 0) {
		r->sandbox = NULL;
		(void)run_failed(r, &e);
		r->unreached = false;
		return NULL;
	}
	r->anew = r->anew || anew;
	r->in_session = !id;
	if (!id)
		run_set(r, "sessionId", json_string(r->session));
	if (r->host->redact && !r->sandbox->scanned)
		learn_secrets(r);
	if (r->host->redact)
		hide_envs(r);
	return r->sandbox;
}

/* --- the policy ---------------------------------------------------------------------------------------------- */

static bool run_decide(struct tool_run *r, const struct atoll_verdict *v)
{
	if (v->severity == ATOLL_SEVERITY_NONE)
		return true;
	if (r->host->audit)
		r->host->audit(r->user, v->allowed ? "agent.warned" : "agent.refused", NULL, r->session,
		    json_pack("{s:s,s:s,s:s,s:s}", "tool", r->tool->name, "rule", v->rule, "severity",
			atoll_severity_name(v->severity), "reason", v->reason));
	if (v->allowed)
		return true;
	r->outcome = "refused";
	run_fail(r, "%s: %s (rule %s, severity %s). Nothing was executed.", ATOLL_REFUSED, v->reason, v->rule,
	    atoll_severity_name(v->severity));
	run_set(r, "policy",
	    json_pack("{s:s,s:s,s:s}", "rule", v->rule, "severity", atoll_severity_name(v->severity), "reason",
		v->reason));
	return false;
}

bool run_may_command(struct tool_run *r, const char *command)
{
	struct atoll_verdict v;

	if (!r->host->policy)
		return true;
	atoll_policy_command(r->host->policy, r->host->key, command, &v);
	return run_decide(r, &v);
}

bool run_may_code(struct tool_run *r, const char *language, const char *code)
{
	struct atoll_verdict v;

	if (!r->host->policy)
		return true;
	atoll_policy_code(r->host->policy, r->host->key, language, code, &v);
	return run_decide(r, &v);
}

bool run_may_file(struct tool_run *r, const char *operation, const char *path)
{
	struct atoll_verdict v;

	if (!r->host->policy)
		return true;
	atoll_policy_file(r->host->policy, r->host->key, operation, path, &v);
	return run_decide(r, &v);
}

/* --- progress ------------------------------------------------------------------------------------------------ */

int run_output(struct tool_run *r, const char *text, size_t n)
{
	uint64_t now = clock_mono_ms();

	r->shown = true;
	if (r->progress && now - r->reported_ms >= OUTPUT_EVERY_MS) {
		char tail[TAIL_MAX + 1];
		size_t k = n < TAIL_MAX ? n : TAIL_MAX;
		json_t *clean;

		memcpy(tail, text + n - k, k);
		while (k > 0 && (tail[k - 1] == '\n' || tail[k - 1] == '\r'))
			k--;
		clean = run_string(tail, k);
		if (clean && r->host->redact) {
			const char *const *secrets = sandbox_cache_secrets(r->host->cache, r->sandbox);

			clean = redact_string(clean, secrets);
			sandbox_cache_secrets_put(r->host->cache, secrets);
		}
		r->reported_ms = now;
		r->progress(r->user, ++r->steps, clean ? json_string_value(clean) : "");
		json_decref(clean);
	}
	return r->stopped && r->stopped(r->user) ? 1 : 0;
}

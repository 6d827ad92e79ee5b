/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/tools: the tools of agents: the table, its schemas in three formats, and the call of a tool. */
#pragma once

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "client/atoll.h"
#include "mcp/sandbox_cache.h"

struct tool_run;

enum tool_hint {
	TOOL_READS = 1,
	TOOL_DESTROYS = 2,
	TOOL_REPEATS = 4, /* calling it twice has the effect of calling it once */
	TOOL_OUTSIDE = 8, /* the server answers it without connecting to a sandbox */
};

enum tool_seeks {   /* what is missing if a call fails with ENOENT */
	SEEKS_NAME, /* one of several */
	SEEKS_CONTEXT,
	SEEKS_PATH,
	SEEKS_PROCESS,
	SEEKS_SANDBOX,
	SEEKS_SESSION,
	SEEKS_TEMPLATE,
};

struct tool_handler { /* what a tool does; the texts and schemas are in mcp/tools/ */
	const char *name;
	void (*run)(struct tool_run *r);
	enum tool_seeks seeks; /* in the sandbox, once that is found */
	bool outside;          /* TOOL_OUTSIDE */
};

struct tool {
	const char *name;
	unsigned hints;
	enum tool_seeks seeks;
	void (*run)(struct tool_run *r);
};

struct tool_host { /* what a tool runs with */
	struct sandbox_cache *cache;
	const struct atoll_policy *policy; /* NULL: none */
	const char *key;                   /* selects the policy's mode; NULL: the default mode */
	const char *url;                   /* the server as clients reach it, for links: "http://127.0.0.1:8080" */
	const char *environment;           /* default template */
	unsigned timeout_ms;               /* default of code and commands */
	const struct atoll_retry *retry;   /* for calls that did not reach the server; NULL: no retries */
	struct atoll_breaker *breaker;     /* NULL: none */
	bool breaks_inside;                /* the breaker does not apply to tools with TOOL_OUTSIDE */
	bool redact;
	/* Writes one record to the audit log: kind as in docs/audit.md; takes ownership of fields. NULL: no audit log.
	 */
	void (*audit)(void *user, const char *kind, const char *sandbox, const char *session, json_t *fields);
};

struct tool_run {
	const struct tool_host *host;
	const struct tool *tool;
	const json_t *args;
	const char *agent;                                            /* owner of the default session */
	void (*progress)(void *user, double at, const char *message); /* NULL: progress is not reported */
	bool (*stopped)(void *user);
	void *user; /* argument of these and of the host's audit */

	json_t *content, *structured; /* the result so far */
	bool is_error;
	struct cached_sandbox *sandbox;
	char session[SESSION_ID_SIZE];  /* of the sandbox; "": none */
	bool in_session;                /* the session is held: it does not expire during the call */
	char lost[64];                  /* id of the session's sandbox that is gone; "": none */
	bool anew;                      /* the session's sandbox was replaced */
	bool shown;                     /* the call had an effect, so it must not be repeated */
	int no;                         /* errno value of the failure; 0: none */
	int status;                     /* HTTP status of the failure; 0: no response */
	bool unreached;                 /* the call failed before it had an effect */
	const char *outcome;            /* for the audit log; NULL: "ok" or "error" */
	uint64_t began_ms, reported_ms; /* reported_ms: time of the last progress report */
	unsigned steps;
};

/* Parses the schemas and joins them to their handlers. Called before threads are started. -EINVAL: a tool has no
 * handler, or a handler no tool. */
int tools_open(struct err *e);

const struct tool *tool_find(const char *name); /* NULL: not found */

/* The array of all tools in the format "mcp", "openai" or "anthropic"; borrowed. NULL: unknown format. */
json_t *tools_list(const char *format);

/* Splits "user:token@" off a git URL: everything before the last '@' of the authority. The results are free()d by the
 * caller, also after a failure. -EINVAL: the credentials cannot be decoded; -ENOMEM. */
int tool_split_url(const char *url, char **ret_url, char **ret_user, char **ret_password);

/* Checks the arguments, runs the tool and returns what MCP calls a CallToolResult. NULL: out of memory. */
json_t *tool_call(struct tool_run *r);

/* For atoll_set_stop(): has this thread's call been cancelled? Also reports progress. */
bool tool_stopping(void *user);

/* --- for the tools themselves: mcp/run.c --- */

const char *run_str(const struct tool_run *r, const char *name);  /* NULL: absent */
const char *run_some(const struct tool_run *r, const char *name); /* NULL: absent or empty */
int64_t run_int(const struct tool_run *r, const char *name, int64_t otherwise);
bool run_bool(const struct tool_run *r, const char *name);
unsigned run_timeout_or(const struct tool_run *r, unsigned otherwise); /* timeout_ms, or its deprecated name timeout */
/* lifetime of a sandbox: timeout_ms, or its deprecated form timeout_s */
unsigned run_lifetime_s(const struct tool_run *r, unsigned otherwise);
unsigned run_timeout_ms(const struct tool_run *r); /* timeout_ms, timeout or the host's default */

struct cached_sandbox *run_sandbox(struct tool_run *r); /* the sandbox of the call; NULL: failed, and reported */

/* Appends content. Bytes that are not UTF-8 are replaced. */
void run_text(struct tool_run *r, const char *text, size_t n);
void run_say(struct tool_run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void run_image(struct tool_run *r, const char *mime, const char *base64);
void run_set(struct tool_run *r, const char *name, json_t *value); /* sets a member of structuredContent; takes value */
json_t *run_string(const char *text, size_t n); /* JSON string; bytes that are not UTF-8 are replaced */

void run_fail(struct tool_run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Fails with INVALID_ARGUMENT: nothing was done. */
void run_refuse(struct tool_run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Fails with a code, the reason and a remedy. Returns -1. */
int run_failed(struct tool_run *r, const struct atoll_error *e);

/* Ask the policy. False: refused; the refusal is reported and audited. */
bool run_may_command(struct tool_run *r, const char *command);
bool run_may_code(struct tool_run *r, const char *language, const char *code);
bool run_may_file(struct tool_run *r, const char *operation, const char *path);

/* The members of an object of strings, with room for some more; free() the result. NULL: out of memory. */
#define RUN_PAIRS_MORE 3
struct atoll_pair *run_pairs(const struct tool_run *r, const char *name, size_t *ret_n);

/* Reports the tail of new output as progress. Non-zero: the call was cancelled. */
int run_output(struct tool_run *r, const char *text, size_t n);

/* Handlers; each list ends with a NULL name. */
extern const struct tool_handler tools_code[], tools_check[], tools_process[], tools_files[], tools_sandbox[],
    tools_session[], tools_git[];

/* The tools as tools/list of MCP returns them, a JSON array; generated from mcp/tools/ by embed.py. */
extern const char tools_json[];

/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/tools: what an agent can do here: the table, its schemas in three dialects, and one call of one of them. */
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

struct tool_handler { /* what a tool does; the texts and schemas are in mcp/tools/ */
	const char *name;
	void (*run)(struct tool_run *r);
	bool outside; /* TOOL_OUTSIDE */
};

struct tool {
	const char *name;
	unsigned hints;
	void (*run)(struct tool_run *r);
};

struct tool_host { /* for whom, and with what */
	struct sandbox_cache *cache;
	const struct atoll_policy *policy; /* NULL: none */
	const char *key;                   /* whose mode of the policy counts; NULL: that of all */
	const char *url;                   /* where clients reach the server, for links; "http://127.0.0.1:8080" */
	const char *environment;           /* template of sandboxes for which the call names none */
	unsigned timeout_ms;               /* of code and commands that say none */
	const struct atoll_retry *retry;   /* of calls that did not reach the server; NULL: none */
	struct atoll_breaker *breaker;     /* NULL: none */
	/* it is about what needs a sandbox; the rest (TOOL_OUTSIDE) is asked for whatever it says */
	bool breaks_inside;
	bool redact;
	/* One line for the audit log: kind as in docs/audit.md; takes fields. NULL: there is none. */
	void (*audit)(void *user, const char *kind, const char *sandbox, const char *session, json_t *fields);
};

struct tool_run {
	const struct tool_host *host;
	const struct tool *tool;
	const json_t *args;
	const char *agent; /* whose session is used when the call names none */
	void (*progress)(void *user, double at, const char *message); /* NULL: nobody wants to know */
	bool (*stopped)(void *user);
	void *user; /* of these, and of the host's audit */

	json_t *content, *structured; /* the result so far */
	bool is_error;
	struct cached_sandbox *sandbox;
	char session[SESSION_ID_SIZE]; /* that it is of; "": none */
	bool in_session;               /* which does not expire meanwhile */
	char lost[64];                 /* id of the sandbox that it had and that is gone; "": none */
	bool anew;                     /* the session has lost its sandbox and got a new one */
	bool shown;                    /* something has happened inside that must not happen twice */
	int no;                        /* errno value of the failure; 0: none */
	int status;                    /* of the answer that it is; 0: there was none */
	bool unreached;                /* it failed before anything was done */
	const char *outcome;           /* for the audit log; NULL: "ok" or "error" */
	uint64_t began_ms, told_ms;    /* when progress was last told */
	unsigned steps;
};

/* Parses the schemas and joins them to their handlers. Called before threads are started. -EINVAL: a tool has no
 * handler, or a handler no tool. */
int tools_open(struct err *e);

const struct tool *tool_find(const char *name); /* NULL: no such */

/* All of them: "mcp", "openai" or "anthropic". Borrowed, an array; NULL: no such format. */
json_t *tools_list(const char *format);

/* Takes "user:token@" out of a URL of git, if it is there: all up to the last '@' of where the host stands. All are to
 * be free()d, also after a failure: -EINVAL: it cannot be decoded; -ENOMEM. */
int tool_split_url(const char *url, char **ret_url, char **ret_user, char **ret_password);

/* Checks the arguments, calls it, and gives what MCP calls a CallToolResult. NULL: memory. */
json_t *tool_call(struct tool_run *r);

/* For atoll_set_stop(): has the call of this thread been given up? Tells of progress as well. */
bool tool_stopping(void *user);

/* --- for the tools themselves: mcp/run.c --- */

const char *run_str(const struct tool_run *r, const char *name);  /* NULL: not given */
const char *run_some(const struct tool_run *r, const char *name); /* likewise; "" is as good as not given */
int64_t run_int(const struct tool_run *r, const char *name, int64_t otherwise);
bool run_bool(const struct tool_run *r, const char *name);
unsigned run_timeout_or(const struct tool_run *r, unsigned otherwise); /* timeout_ms, or timeout, its older name */
/* of a sandbox: timeout_ms, or timeout_s, its older name */
unsigned run_lifetime_s(const struct tool_run *r, unsigned otherwise);
unsigned run_timeout_ms(const struct tool_run *r); /* timeout_ms or timeout, or the host's */

struct cached_sandbox *run_sandbox(struct tool_run *r); /* the sandbox that is meant; NULL: told */

/* one more piece of content; what is no UTF-8 is replaced */
void run_text(struct tool_run *r, const char *text, size_t n);
void run_say(struct tool_run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void run_image(struct tool_run *r, const char *mime, const char *base64);
void run_set(struct tool_run *r, const char *name, json_t *value); /* of the structured content; takes value */
json_t *run_string(const char *text, size_t n);                    /* JSON string; what is no UTF-8 is replaced */

void run_fail(struct tool_run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* INVALID_ARGUMENT: an argument cannot be so, and nothing was done */
void run_refuse(struct tool_run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* in words that a model can act on; returns -1 */
int run_failed(struct tool_run *r, const struct atoll_error *e);

/* May it be done? False: it has been refused, told and noted. */
bool run_may_command(struct tool_run *r, const char *command);
bool run_may_code(struct tool_run *r, const char *language, const char *code);
bool run_may_file(struct tool_run *r, const char *operation, const char *path);

/* Pairs of an object of strings, with room for some more; to be free()d. NULL: memory. */
#define RUN_PAIRS_MORE 3
struct atoll_pair *run_pairs(const struct tool_run *r, const char *name, size_t *ret_n);

/* Output came: the tail of it goes to whoever wants to know. Non-zero: the call has been given up. */
int run_output(struct tool_run *r, const char *text, size_t n);

/* Handlers; each list ends with a NULL name. */
extern const struct tool_handler tools_code[], tools_check[], tools_process[], tools_files[], tools_sandbox[],
    tools_session[], tools_git[];

/* The tools as tools/list of MCP returns them, a JSON array; generated from mcp/tools/ by embed.py. */
extern const char tools_json[];

/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/sandbox_cache: open sandboxes of one caller: those that calls name, and those of its sessions.
 *
 * Opening a sandbox costs a request, so handles are cached. Thread-safe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/atoll.h"

struct sandbox_cache;

struct cached_sandbox { /* a reference; release with sandbox_cache_put() */
	struct atoll_sandbox *sb;
	const char *id;
	_Atomic(bool) scanned; /* the secrets in its environment are known */
};

#define SESSION_ID_SIZE 64

/* Takes ownership of a, which must be usable from several threads. sessions is borrowed; the caller's are those of
 * `owner`. Reference counted. Returns NULL if out of memory; a is freed then, too. */
struct sandbox_cache *sandbox_cache_new(struct atoll *a, struct atoll_sessions *sessions, const char *owner);
void sandbox_cache_ref(struct sandbox_cache *b);
void sandbox_cache_unref(struct sandbox_cache *b); /* NULL is fine. Sandboxes are not killed. */
struct atoll *sandbox_cache_client(struct sandbox_cache *b);

int sandbox_cache_open(struct sandbox_cache *b, const char *id, struct cached_sandbox **ret, struct atoll_error *e);

/* Opens the sandbox of session `id`. If id is NULL, it is the agent's session, which is created if it does not exist.
 * The session does not expire before sandbox_cache_session_left(). lost: a sandbox that is known to be gone, or NULL.
 * run_ms: how long the caller needs the sandbox. *ret_anew: the session's sandbox was replaced. -ENOENT: no such
 * session; -EDQUOT: too many sessions. */
int sandbox_cache_session(struct sandbox_cache *b, const char *agent, const char *id, const char *lost, uint64_t run_ms,
    char ret_id[SESSION_ID_SIZE], struct cached_sandbox **ret, bool *ret_anew, struct atoll_error *e);
void sandbox_cache_session_left(struct sandbox_cache *b, const char *id);

/* Ends session `id`, or the agent's session if id is NULL, and kills its sandbox. ret_id: its id. -ENOENT: no such
 * session. */
int sandbox_cache_session_end(struct sandbox_cache *b, const char *agent, const char *id, char ret_id[SESSION_ID_SIZE],
    struct atoll_error *e);
/* All sessions that the caller may use; free() the result. NULL: out of memory. */
struct atoll_session *sandbox_cache_sessions(struct sandbox_cache *b, size_t *ret_n);

void sandbox_cache_written(struct sandbox_cache *b, const char *id); /* invalidates that session's cached results */

/* Sends a JSON record to the audit trail of an atoll server. */
int sandbox_cache_report(struct sandbox_cache *b, const char *record, struct atoll_error *e);

void sandbox_cache_put(struct sandbox_cache *b, struct cached_sandbox *sandbox); /* NULL is fine */

/* Drops a sandbox that does not answer. The next call reopens it, or finds that it is gone. */
void sandbox_cache_drop(struct sandbox_cache *b, const char *id);

/* Adds texts of that sandbox that must be redacted. They are copied. */
void sandbox_cache_hide(struct sandbox_cache *b, struct cached_sandbox *sandbox, const char *const *texts, size_t n);

/* The texts known now, NULL-terminated, until sandbox_cache_secrets_put(). NULL: none, or no sandbox. The list does
 * not change; texts added later are in another one. */
const char *const *sandbox_cache_secrets(struct sandbox_cache *b, struct cached_sandbox *sandbox);
void sandbox_cache_secrets_put(struct sandbox_cache *b, const char *const *list); /* NULL is fine */

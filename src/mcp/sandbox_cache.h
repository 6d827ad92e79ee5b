/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/sandbox_cache: the sandboxes that are in use for one caller: those that were named, and those of its sessions.
 *
 * Opening a sandbox costs a call, so it is done once and kept. Any thread may use it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/atoll.h"

struct sandbox_cache;

struct cached_sandbox { /* lent by the functions below, given back by sandbox_cache_put() */
	struct atoll_sandbox *sb;
	const char *id;
	_Atomic(bool) asked; /* it has told those that it has */
};

#define SESSION_ID_SIZE 64

/* Owns a, which has been set up to be used by threads; sessions is borrowed, and those of `owner` in it are the
 * caller's. Reference counted. NULL: memory; a is freed. */
struct sandbox_cache *sandbox_cache_new(struct atoll *a, struct atoll_sessions *sessions, const char *owner);
void sandbox_cache_ref(struct sandbox_cache *b);
void sandbox_cache_unref(struct sandbox_cache *b); /* NULL is fine. Sandboxes live on */
struct atoll *sandbox_cache_client(struct sandbox_cache *b);

int sandbox_cache_open(struct sandbox_cache *b, const char *id, struct cached_sandbox **ret, struct atoll_error *e);

/* The sandbox of session `id`, which does not expire until sandbox_cache_session_left(), or without one of the session
 * of that agent, which is begun if need be. lost: the sandbox that is known to be gone, or NULL. run_ms: what may take
 * so long is to be done in it. *ret_anew: it is another one than the session had before. -ENOENT: no such session;
 * -EDQUOT: there are too many. */
int sandbox_cache_session(struct sandbox_cache *b, const char *agent, const char *id, const char *lost, uint64_t run_ms,
    char ret_id[SESSION_ID_SIZE], struct cached_sandbox **ret, bool *ret_anew, struct atoll_error *e);
void sandbox_cache_session_left(struct sandbox_cache *b, const char *id);

/* Ends session `id`, or without one that of the agent, and its sandbox; ret_id: which it was. -ENOENT: there is
 * none. */
int sandbox_cache_session_end(struct sandbox_cache *b, const char *agent, const char *id, char ret_id[SESSION_ID_SIZE],
    struct atoll_error *e);
/* all that the caller may use; to be free()d; NULL: memory */
struct atoll_session *sandbox_cache_sessions(struct sandbox_cache *b, size_t *ret_n);

void sandbox_cache_written(struct sandbox_cache *b,
    const char *id); /* results of that session that were kept hold no more */

/* to the audit trail of an atoll server; JSON */
int sandbox_cache_report(struct sandbox_cache *b, const char *record, struct atoll_error *e);

void sandbox_cache_put(struct sandbox_cache *b, struct cached_sandbox *sandbox); /* NULL is fine */

/* It does not answer: not to be lent again. The next one to want it opens it anew, or finds that it is gone. */
void sandbox_cache_drop(struct sandbox_cache *b, const char *id);

/* More texts of that sandbox that are not to be shown: copied. */
void sandbox_cache_hide(struct sandbox_cache *b, struct cached_sandbox *sandbox, const char *const *texts, size_t n);

/* Those that are known now, NULL-terminated, to be given back; NULL: none are, or there is no sandbox. What is hidden
 * meanwhile makes another list. */
const char *const *sandbox_cache_secrets(struct sandbox_cache *b, struct cached_sandbox *sandbox);
void sandbox_cache_secrets_put(struct sandbox_cache *b, const char *const *list); /* NULL is fine */

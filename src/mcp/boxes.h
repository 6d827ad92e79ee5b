/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/boxes: the sandboxes that are in use for one caller: those that were named, and those of its sessions.
 *
 * Opening a sandbox costs a call, so it is done once and kept. Any thread may use it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/atoll.h"

struct boxes;

struct box { /* lent by the functions below, given back by boxes_put() */
	struct atoll_sandbox *sb;
	const char *id;
	_Atomic(bool) asked; /* it has told those that it has */
};

#define BOXES_SESSION_SIZE 64

/* Owns a, which has been set up to be used by threads; sessions is borrowed, and those of `owner` in it are the
 * caller's. Reference counted. NULL: memory; a is freed. */
struct boxes *boxes_new(struct atoll *a, struct atoll_sessions *sessions, const char *owner);
void boxes_ref(struct boxes *b);
void boxes_unref(struct boxes *b); /* NULL is fine. Sandboxes live on */
struct atoll *boxes_client(struct boxes *b);

int boxes_open(struct boxes *b, const char *id, struct box **ret, struct atoll_error *e);

/* The sandbox of session `id`, which does not expire until boxes_session_left(), or without one of the session of that
 * agent, which is begun if need be. lost: the sandbox that is known to be gone, or NULL. run_ms: what may take so long
 * is to be done in it. *ret_anew: it is another one than the session had before. -ENOENT: no such session; -EDQUOT:
 * there are too many. */
int boxes_session(struct boxes *b, const char *agent, const char *id, const char *lost, uint64_t run_ms,
    char ret_id[BOXES_SESSION_SIZE], struct box **ret, bool *ret_anew, struct atoll_error *e);
void boxes_session_left(struct boxes *b, const char *id);

/* Ends session `id`, or without one that of the agent, and its sandbox; ret_id: which it was. -ENOENT: there is
 * none. */
int boxes_session_end(struct boxes *b, const char *agent, const char *id, char ret_id[BOXES_SESSION_SIZE],
    struct atoll_error *e);
/* all that the caller may use; to be free()d; NULL: memory */
struct atoll_session *boxes_sessions(struct boxes *b, size_t *ret_n);

void boxes_written(struct boxes *b, const char *id); /* results of that session that were kept hold no more */

/* to the audit trail of an atoll server; JSON */
int boxes_report(struct boxes *b, const char *record, struct atoll_error *e);

void boxes_put(struct boxes *b, struct box *box); /* NULL is fine */

/* It does not answer: not to be lent again. The next one to want it opens it anew, or finds that it is gone. */
void boxes_forget(struct boxes *b, const char *id);

/* More texts of that sandbox that are not to be shown: copied. */
void box_hide(struct boxes *b, struct box *box, const char *const *texts, size_t n);

/* Those that are known now, NULL-terminated, to be given back; NULL: none are, or there is no box. What is hidden
 * meanwhile makes another list. */
const char *const *box_secrets(struct boxes *b, struct box *box);
void box_secrets_put(struct boxes *b, const char *const *list); /* NULL is fine */

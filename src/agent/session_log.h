/* SPDX-License-Identifier: Apache-2.0 */
/* agent/session_log: records of sessions in a file, so that they outlive the process: a line of JSON for each change,
 * the last one of a session counts. It is written anew, without what is over, at each start, and when it has become
 * long. */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "client/atoll.h"

/* Calls back for each session that is in there. */
int session_log_open(const char *dir, void (*on_session)(void *user, const struct atoll_session *s), void *user,
    struct err *e);

/* From any thread. A failure is logged: the session lives, and is forgotten at the next start. */
void session_log_put(const struct atoll_session *s);
void session_log_remove(const struct atoll_session *s);

/* One line; for tests. */
int session_log_parse(struct str line, struct atoll_session *ret, bool *ret_gone);

/* The variables of a session, a JSON object, in a file of its own that is removed with it. envs: to be wiped and
 * free()d; NULL: there are none. */
int session_log_put_envs(const char *id, const char *json);
char *session_log_envs(const char *id);

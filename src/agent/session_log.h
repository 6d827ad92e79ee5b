/* SPDX-License-Identifier: Apache-2.0 */
/* agent/session_log: records sessions in a file, so that they outlive the process. Each change is a line of JSON; a
 * session's last line counts. The file is rewritten without ended sessions at start and when it grows long. */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "client/atoll.h"

/* Calls back for each recorded session. */
int session_log_open(const char *dir, void (*on_session)(void *user, const struct atoll_session *s), void *user,
    struct err *e);

/* Thread-safe. A failure is logged: the session continues, but is lost at the next start. */
void session_log_put(const struct atoll_session *s);
void session_log_remove(const struct atoll_session *s);

/* Parses one line; for tests. */
int session_log_parse(struct str line, struct atoll_session *ret, bool *ret_gone);

/* A session's variables, a JSON object, in a separate file that is deleted with the session. The caller wipes and
 * free()s the result of session_log_envs(); NULL: none. */
int session_log_put_envs(const char *id, const char *json);
char *session_log_envs(const char *id);

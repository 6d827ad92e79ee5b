/* SPDX-License-Identifier: Apache-2.0 */
/* agent/mcp_sessions: the sessions of MCP over HTTP of the revisions that have them (Mcp-Session-Id): which revision
 * was agreed upon, and which calls are under way. Each is its team's, so that it outlives a key that is rotated: for
 * anybody else it is not there. Any thread. */
#pragma once

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "mcp/server.h"

struct caller;

#define MCP_SESSION_ID_SIZE 33

struct mcp_flight { /* a call under way */
	struct mcp_flight *next;
	json_t *id;
	atomic_bool cancelled;
};

struct mcp_session; /* counted */

/* NULL: memory, or there are too many */
struct mcp_session *mcp_session_new(const struct caller *who, const struct mcp_peer *peer);
struct mcp_session *mcp_session_find(const struct caller *who, const char *id); /* NULL: there is none; a reference */
void mcp_session_unref(struct mcp_session *s);                                  /* NULL is fine */
bool mcp_session_end(const struct caller *who, const char *id);                 /* its calls are given up */
/* those that nobody has used for an hour */
void mcp_sessions_expire(uint64_t now_ms);

const char *mcp_session_id(const struct mcp_session *s);
const struct mcp_peer *mcp_session_peer(const struct mcp_session *s);

/* s NULL: of no session; NULL: memory */
struct mcp_flight *mcp_flight_new(struct mcp_session *s, const json_t *id);
void mcp_flight_free(struct mcp_session *s, struct mcp_flight *f);
void mcp_session_cancel(struct mcp_session *s, const json_t *id);

/* SPDX-License-Identifier: Apache-2.0 */
/* agent/mcp_sessions: sessions of MCP over HTTP (Mcp-Session-Id), in the revisions that have them: the negotiated
 * revision and the calls in progress. A session belongs to its team, so that it survives the rotation of a key, and is
 * invisible to other teams. Thread-safe. */
#pragma once

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "mcp/server.h"

struct caller;

#define MCP_SESSION_ID_SIZE 33

struct mcp_flight { /* a call in progress */
	struct mcp_flight *next;
	json_t *id;
	atomic_bool cancelled;
};

struct mcp_session; /* reference counted */

/* NULL: out of memory, or too many sessions */
struct mcp_session *mcp_session_new(const struct caller *who, const struct mcp_peer *peer);
struct mcp_session *mcp_session_find(const struct caller *who, const char *id); /* a reference; NULL: not found */
void mcp_session_unref(struct mcp_session *s);                                  /* NULL is fine */
bool mcp_session_end(const struct caller *who, const char *id);                 /* cancels its calls */
/* removes sessions that have been idle for an hour */
void mcp_sessions_expire(uint64_t now_ms);

const char *mcp_session_id(const struct mcp_session *s);
const struct mcp_peer *mcp_session_peer(const struct mcp_session *s);

/* s NULL: without a session. Returns NULL if out of memory. */
struct mcp_flight *mcp_flight_new(struct mcp_session *s, const json_t *id);
void mcp_flight_free(struct mcp_session *s, struct mcp_flight *f);
void mcp_session_cancel(struct mcp_session *s, const json_t *id);

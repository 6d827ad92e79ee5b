/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/server: the protocol, independent of the transport.
 *
 * Two generations are served side by side: revision 2026-07-28, in which each request is self-contained, and the
 * earlier revisions, which begin with initialize. A transport reads messages (mcp/rpc.h), passes each to mcp_take() and
 * sends the result. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "mcp/rpc.h"
#include "mcp/tools.h"

#define MCP_VERSION_SIZE 16
#define MCP_LATEST "2026-07-28"
#define MCP_LATEST_LEGACY "2025-11-25"

struct mcp_peer {                       /* the client; kept for the session in earlier revisions */
	char version[MCP_VERSION_SIZE]; /* "": not negotiated yet */
	bool modern;                    /* this request is self-contained */
};

enum mcp_todo {
	MCP_ANSWER,  /* send *ret */
	MCP_NOTHING, /* it was a notification or a response */
	MCP_CALL,    /* call the tool with mcp_call() */
	MCP_CANCEL,  /* cancel the request with the id *ret, which is borrowed */
	/* subscriptions/listen: send the acknowledgement *ret, then leave the response open */
	MCP_LISTEN,
};

/* Handles a message, and says what the transport has to do. *ret is a new reference unless noted. */
enum mcp_todo mcp_take(struct mcp_peer *p, const struct rpc_msg *m, json_t **ret);

bool mcp_batches(const struct mcp_peer *p); /* may the peer send batches? */
bool mcp_knows_version(const char *version);
bool mcp_is_modern(const struct rpc_msg *m); /* is it a self-contained request? */

/* Calls the tool of a tools/call and returns the response. The caller sets host, agent, stopped and user of r. notify:
 * sends a notification; may be NULL. Returns NULL if the call was cancelled: then nothing is sent. */
json_t *mcp_call(const struct mcp_peer *p, const struct rpc_msg *m, struct tool_run *r,
    void (*notify)(void *user, json_t *note));
bool mcp_wants_progress(const struct rpc_msg *m);

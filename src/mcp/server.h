/* SPDX-License-Identifier: Apache-2.0 */
/* mcp/server: the protocol, whatever carries it.
 *
 * Two eras of it are served side by side: revision 2026-07-28, in which each request says all about itself, and those
 * before it, which begin with initialize. A transport reads messages (mcp/rpc.h), gives each to mcp_take() and sends
 * what comes back. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "mcp/rpc.h"
#include "mcp/tools.h"

#define MCP_VERSION_SIZE 16
#define MCP_LATEST "2026-07-28"
#define MCP_LATEST_LEGACY "2025-11-25"

struct mcp_peer {                       /* who talks; of a session of an earlier revision it is kept */
	char version[MCP_VERSION_SIZE]; /* "": not known yet */
	bool modern;                    /* this request is of the newer kind */
};

enum mcp_todo {
	MCP_ANSWER,  /* *ret is the answer */
	MCP_NOTHING, /* it was a notification, or a response */
	MCP_CALL,    /* a tool is to be called: mcp_call() */
	MCP_CANCEL,  /* *ret: id of the request that is to be given up; borrowed */
	/* subscriptions/listen: *ret is the acknowledgement, after which the answer stays open */
	MCP_LISTEN,
};

/* What there is to be done about a message. *ret is new unless that is said. */
enum mcp_todo mcp_take(struct mcp_peer *p, const struct rpc_msg *m, json_t **ret);

/* May an array of messages be sent by such a peer? */
bool mcp_batches(const struct mcp_peer *p);
bool mcp_knows_version(const char *version);
bool mcp_is_modern(const struct rpc_msg *m); /* has it the mark of a request of the newer kind? */

/* Calls the tool of a tools/call; the answer. r: host, agent, stopped and user are set. notify: sends a notification;
 * NULL: none are wanted. NULL: it was cancelled, and nothing more is to be said. */
json_t *mcp_call(const struct mcp_peer *p, const struct rpc_msg *m, struct tool_run *r,
    void (*notify)(void *user, json_t *note));
bool mcp_wants_progress(const struct rpc_msg *m);

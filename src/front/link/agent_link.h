/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/agent_link: the connections between the front and atoll-agent.
 *
 * The warden passes a new socket each time atoll-agent starts. Over that socket the front sends connections for
 * requests of clients; idle ones are held for a while and reused. atoll-agent sends connections for the API calls
 * that it makes for those requests; they are served like those of any other client. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct agent_link;
struct http_server_ops;
struct links;
struct stream;

struct agent_link_ops {
	const struct http_server_ops *serve; /* serves the connections from atoll-agent, with the same user */
	/* One line for the audit log. It must be checked, because atoll-agent reads untrusted input. */
	int (*on_event)(void *user, struct str json, struct err *e);
};

struct agent_link *agent_link_new(struct links *l, const struct agent_link_ops *ops, void *user);
void agent_link_set(struct agent_link *l, int fd); /* owned; called each time atoll-agent has started */
void agent_link_tick(struct agent_link *l);        /* once a second */
void agent_link_free(struct agent_link *l);        /* NULL is fine */

/* Returns a connection to atoll-agent. fresh: do not reuse an idle one. *ret_reused: whether it is a reused one.
 * Returns -ENOTCONN if atoll-agent does not run, -EAGAIN if the socket to it is full. */
int agent_link_connect(struct agent_link *l, bool fresh, bool *ret_reused);
void agent_link_put(struct agent_link *l, struct stream *s); /* returns an idle connection for the next request */

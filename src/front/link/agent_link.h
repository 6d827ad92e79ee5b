/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/agent_link: the way to atoll-agent, and its way back to us.
 *
 * The warden gives us a socket to each life of it. On that socket we send it connections for requests of clients (kept
 * a while for the next one), and it sends us connections for the calls that it makes for them, which are served as
 * those of anybody else. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

struct agent_link;
struct http_server_ops;
struct links;

struct agent_link_ops {
	const struct http_server_ops *serve; /* its connections to us, with the same user */
	/* one line for the audit log; it comes from a process that reads bytes of strangers, so it is to be checked */
	int (*on_event)(void *user, struct str json, struct err *e);
};

struct agent_link *agent_link_new(struct links *l, const struct agent_link_ops *ops, void *user);
void agent_link_set(struct agent_link *l, int fd); /* owned: to a new life of it */
void agent_link_tick(struct agent_link *l);        /* once a second */
void agent_link_free(struct agent_link *l);        /* NULL is fine */

/* A connection to it. fresh: not one that has been used before; *ret_reused tells. -ENOTCONN: it does not run; -EAGAIN:
 * it is behind. */
int agent_link_connect(struct agent_link *l, bool fresh, bool *ret_reused);
void agent_link_put(struct agent_link *l, int fd); /* for the next request */

/* SPDX-License-Identifier: Apache-2.0 */
/* agent/link: the sockets to the warden and to the front (ipc/agent.h). The process has one of each. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct loop;

struct link_ops {
	void (*on_conn)(void *user, int fd); /* a connection that we serve; fd is owned by the callee */
	void (*on_warden_gone)(void *user);
};

int link_open(struct loop *l, int warden_fd, const struct link_ops *ops, void *user, struct err *e);

/* A connection that the front serves, new or reused. -ENOTCONN: there is no front. Thread-safe. */
int link_connect(void);
/* Takes ownership of the connection. clean: no response is pending on it, so it may be reused. */
void link_give_back(int fd, bool clean);

/* Sends one event for the audit log, a JSON object. -EMSGSIZE: too long; -ENOTCONN: there is no front, and the event is
 * lost. Thread-safe. */
int link_event(struct str json);

/* SPDX-License-Identifier: Apache-2.0 */
/* agent/link: the sockets to the warden and to the front (ipc/agent.h). There is one of each in the process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct loop;

struct link_ops {
	void (*on_conn)(void *user, int fd); /* a connection on which we are the server; owned */
	void (*on_warden_gone)(void *user);
};

int link_open(struct loop *l, int warden_fd, const struct link_ops *ops, void *user, struct err *e);

/* From any thread: a connection on which the front is the server, maybe one that was given back, or -ENOTCONN while
 * there is no front. */
int link_connect(void);
/* owned; clean: nothing of a call is left on it, and it may be used again */
void link_give_back(int fd, bool clean);

/* From any thread: one event for the audit log, a JSON object. -EMSGSIZE: too long; -ENOTCONN: there is no front, and
 * it is lost. */
int link_event(struct str json);

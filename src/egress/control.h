/* SPDX-License-Identifier: Apache-2.0 */
/* control: the warden's messages (ipc/egress.h). */
#pragma once

#include <stddef.h>

struct clients;
struct control;
struct front;
struct loop;
struct proxy;

struct control_ops {
	void (*on_ready)(void *user);                 /* all policies are known, start serving; called once */
	void (*on_gone)(void *user, const char *why); /* the warden is gone, or sent a malformed message */
};

struct control *control_new(struct loop *l, int fd, struct clients *cs, struct front *f, const struct control_ops *ops,
    void *user);                                          /* NULL: out of memory */
void control_proxy(struct control *co, struct proxy *px); /* set once the proxy exists: it is notified of changes */

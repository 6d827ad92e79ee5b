/* SPDX-License-Identifier: Apache-2.0 */
/* control: the warden's words (ipc/egress.h). */
#pragma once

#include <stddef.h>

struct clients;
struct control;
struct front;
struct loop;
struct proxy;

struct control_ops {
	void (*on_ready)(void *user);                 /* all policies are known: serve; once */
	void (*on_gone)(void *user, const char *why); /* the warden is gone, or makes no sense */
};

struct control *control_new(struct loop *l, int fd, struct clients *cs, struct front *f, const struct control_ops *ops,
    void *user);                                          /* NULL: no memory */
void control_proxy(struct control *co, struct proxy *px); /* to be told of changes, once there is one */

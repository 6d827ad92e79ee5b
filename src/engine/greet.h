/* SPDX-License-Identifier: Apache-2.0 */
/* greet: connections to init in a sandbox whose kernel is not the host's: TCP to the slot's address, with the preamble
 * of base/preamble.h. */
#pragma once

#include "engine/engine.h"

struct slot;

int greet_begin(const struct slot *s, int *ret_fd, struct err *e); /* connects, without waiting */
/* As greet() of struct engine_ops (engine.h). */
int greet_next(const struct engine_record *r, int fd, uint16_t port, bool *sent, struct err *e);

/* Waits until init accepts connections, or the process of pidfd has exited. */
int greet_await(const struct slot *s, int pidfd, int timeout_ms, struct err *e);

/* SPDX-License-Identifier: Apache-2.0 */
/* gate: the TCP port of atoll-init in a sandbox that has a kernel of its own.
 *
 * Its peers have no credentials that a foreign kernel could show, and programs inside can connect as well. So a
 * connection begins with a preamble that proves the sandbox's token (base/preamble.h). Anything else is closed without
 * an answer. What follows a preamble is a connection of the API, or bytes for a port on the loopback (gate/passage.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/err.h"
#include "base/preamble.h"
#include "init/gate/passage.h"

#define GATE_CALLERS_MAX 64   /* connections whose preamble is incomplete; the oldest is closed for another */
#define GATE_PREAMBLE_MS 5000 /* time for a preamble */

struct http_server;
struct loop;
struct timer;
struct watch;

struct gate { /* embedded in its owner; all zero: not open */
	struct loop *loop;
	struct http_server *server;
	int fd;
	struct watch *watch;
	struct timer *timer;
	bool paused; /* out of descriptors: the timer resumes */
	uint8_t token[PREAMBLE_TOKEN];
	TAILQ_HEAD(callers, caller) callers; /* oldest first */
	size_t n_callers;
	struct passages passages;
};

/* Reads the token from fd, which must hold nothing else, and closes fd. */
int gate_token(int fd, uint8_t ret[PREAMBLE_TOKEN], struct err *e);

/* Takes listen_fd, also on failure; -1: listens on the port of the contract. Connections with a good preamble go to the
 * server. */
int gate_open(struct gate *g, struct loop *l, struct http_server *server, int listen_fd,
    const uint8_t token[PREAMBLE_TOKEN], struct err *e);

void gate_drop(struct gate *g); /* closes every connection that is not the server's; goes on listening */
void gate_done(struct gate *g);

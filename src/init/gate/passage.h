/* SPDX-License-Identifier: Apache-2.0 */
/* passage: a connection from outside that is relayed to a port on the sandbox's loopback, 127.0.0.1 or else ::1.
 *
 * The caller gets one byte, 0, as soon as the port has accepted, and then the bytes of the port. If nothing accepts,
 * the connection is closed without that byte. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#define PASSAGES_MAX 1024
#define PASSAGE_CONNECT_MS 5000

struct loop;
struct passage;

struct passages {
	struct loop *loop;
	TAILQ_HEAD(passage_list, passage) all;
	size_t n;
};

void passages_init(struct passages *ps, struct loop *l);
void passages_drop(struct passages *ps); /* resets all */

/* Takes fd, also if there is no room for it. */
void passage_new(struct passages *ps, int fd, uint16_t port);

/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/upstream: idle connections to a sandbox's init, held for a while for the next request.
 *
 * A connection that has served a request stays registered with the loop: the next request costs no system call for
 * it, and its end is seen at once. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct loop;
struct stream;

#define UPSTREAM_IDLE_MAX 4 /* per sandbox */
#define UPSTREAM_IDLE_MS (30 * 1000)

struct upstream_idle {
	struct {
		struct stream *s; /* NULL: */
		int fd;           /* it has served no request yet */
		uint64_t since_ms;
	} idle[UPSTREAM_IDLE_MAX];
	size_t n;
};

/* A connection that is still open; NULL or -1: none. */
struct stream *upstream_take(struct upstream_idle *p, struct loop *l);
int upstream_take_fd(struct upstream_idle *p);

/* Both take ownership, and close the connection if there are enough idle ones. */
void upstream_put(struct upstream_idle *p, struct stream *s, uint64_t now_ms);
void upstream_put_fd(struct upstream_idle *p, int fd, uint64_t now_ms);
void upstream_expire(struct upstream_idle *p, uint64_t now_ms);
void upstream_close_all(struct upstream_idle *p);

/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/upstream: idle connections to a sandbox's init, held for a while for the next request. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define UPSTREAM_IDLE_MAX 4 /* per sandbox */
#define UPSTREAM_IDLE_MS (30 * 1000)

struct upstream_idle {
	struct {
		int fd;
		uint64_t since_ms;
	} idle[UPSTREAM_IDLE_MAX];
	size_t n;
};

int upstream_take(struct upstream_idle *p); /* a connection that is still open, or -1 */
/* Takes ownership of fd; closes it if there are enough idle connections. */
void upstream_put(struct upstream_idle *p, int fd, uint64_t now_ms);
void upstream_expire(struct upstream_idle *p, uint64_t now_ms);
void upstream_close_all(struct upstream_idle *p);

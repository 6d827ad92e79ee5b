/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds an input to one end of a socketpair whose other end belongs to the code under test. */
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "fuzz.h"
#include "loop/loop.h"

static inline void peer_stop(void *l)
{
	loop_stop(l);
}

static inline void peer_turns(struct loop *l, int n)
{
	while (n-- > 0) {
		loop_defer(l, peer_stop, l);
		loop_run(l);
	}
}

/* Whatever comes back is put into *ret_back. */
static inline void peer_feed(struct loop *l, int fd, struct str in, size_t step, struct buf *ret_back)
{
	while (in.n) {
		size_t n = step < in.n ? step : in.n;

		if (send(fd, in.p, n, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)n)
			break;
		in.p += n;
		in.n -= n;
		peer_turns(l, 2);
	}
	peer_turns(l, 2);
	for (;;) {
		char *p = buf_room(ret_back, 4096);
		ssize_t n = p ? recv(fd, p, 4096, MSG_DONTWAIT) : -1;

		if (n <= 0)
			break;
		ret_back->n += (size_t)n;
	}
}

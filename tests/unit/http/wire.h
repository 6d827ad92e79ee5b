/* SPDX-License-Identifier: Apache-2.0 */
/* Raw bytes to and from the HTTP code under test, over a socketpair, in one thread and one loop. */
#pragma once

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "loop/loop.h"

static inline void wire_stop(void *l)
{
	loop_stop(l);
}

/* One round of the loop, without waiting. */
static inline void wire_turn(struct loop *l)
{
	loop_defer(l, wire_stop, l);
	loop_run(l);
}

static inline void wire_turns(struct loop *l, int n)
{
	while (n-- > 0)
		wire_turn(l);
}

static inline void wire_wait(struct loop *l, uint64_t ms)
{
	struct timer *t = timer_new(l, wire_stop, l);

	timer_arm(t, ms);
	loop_run(l);
	timer_free(t);
}

static inline void wire_pair(int sv[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sv), 0);
}

static inline void wire_send(int fd, struct str bytes)
{
	if (bytes.n)
		assert_int_equal(send(fd, bytes.p, bytes.n, MSG_NOSIGNAL), (ssize_t)bytes.n);
}

/* Takes what has arrived. True: and the peer has closed. */
static inline bool wire_recv(int fd, struct buf *to)
{
	for (;;) {
		char *p = buf_room(to, 65536);
		assert_non_null(p);
		ssize_t n = read(fd, p, 65536);

		if (n <= 0)
			return n == 0 || errno != EAGAIN;
		to->n += (size_t)n;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/* join: a list of sockets that are connecting. */
#include "warden/unit/join.h"

#include <stdlib.h>

#include "base/fd.h"
#include "loop/loop.h"
#include "warden/front_send.h"
#include "warden/unit_state.h"
#include "warden/warden.h"

#define JOINS_MAX 256 /* per sandbox */
#define JOIN_MS 5000  /* the kernel repeats the first packet after 1 and 3 seconds */

struct join {
	struct unit *sb;
	struct join *next, **at;
	uint32_t seq;
	uint64_t life;
	uint16_t port;
	bool sent;
	int fd;
	struct watch *watch;
	struct timer *timer;
};

static void join_free(struct join *j)
{
	if (j->next)
		j->next->at = j->at;
	*j->at = j->next;
	j->sb->n_joins--;
	watch_free(j->watch);
	timer_free(j->timer);
	fd_close(j->fd);
	free(j);
}

static void join_failed(struct join *j, int no, const char *text)
{
	front_error(j->sb->w, j->life, j->seq, no, text);
	join_free(j);
}

static void on_late(void *user)
{
	join_failed(user, ETIMEDOUT, "the sandbox does not accept a connection");
}

static void on_ready(void *user, int events)
{
	struct join *j = user;
	struct warden *w = j->sb->w;
	struct err e = ERR_INIT;

	(void)events;
	int r = w->ops->greet(w->engine, &j->sb->er, j->fd, j->port, &j->sent, &e);

	if (r == -EAGAIN) {
		watch_set(j->watch, WATCH_IN);
		return;
	}
	if (r < 0) {
		join_failed(j, e.no, e.text);
		return;
	}
	watch_free(take_ptr(&j->watch));
	front_fd(w, j->life, j->seq, take_fd(&j->fd));
	join_free(j);
}

int unit_join(struct unit *sb, uint32_t seq, int fd, uint16_t port, struct err *e)
{
	struct join *j = sb->n_joins < JOINS_MAX ? calloc(1, sizeof *j) : NULL;

	if (!j) {
		fd_close(fd);
		return sb->n_joins < JOINS_MAX
		    ? err_set(e, ENOMEM, "out of memory")
		    : err_set(e, EAGAIN, "%d connections to the sandbox are being made", JOINS_MAX);
	}
	*j = (struct join) { .sb = sb, .next = sb->joins, .at = &sb->joins, .seq = seq, .port = port, .fd = fd };
	j->life = sb->w->life;
	if (j->next)
		j->next->at = &j->next;
	sb->joins = j;
	sb->n_joins++;
	j->watch = watch_new(sb->w->loop, fd, WATCH_OUT, on_ready, j);
	j->timer = timer_new(sb->w->loop, on_late, j);
	if (!j->watch || !j->timer) {
		join_free(j);
		return err_set(e, ENOMEM, "out of memory");
	}
	timer_arm(j->timer, JOIN_MS);
	return 0;
}

void unit_join_end(struct unit *sb)
{
	while (sb->joins)
		join_failed(sb->joins, ENOENT, "the sandbox has ended");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* interp_seed: the connection to the seed, a copy of the template's warm Python. */
#include "init/interp/seed.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "init/init.h"
#include "init/interp/kernel.h"
#include "init/users.h"
#include "loop/loop.h"

enum { HEAD_WORDS = 4 };

void seed_close(struct init *in)
{
	struct seed *s = &in->interp.seed;

	watch_free(take_ptr(&s->watch));
	timer_free(take_ptr(&s->timer));
	fd_close(take_fd(&s->fd));
	kernels_unseeded(in);
}

static void on_answer(void *user, int events)
{
	struct init *in = user;
	struct {
		uint32_t id;
		int32_t pid;
	} a;
	ssize_t n = recv(in->interp.seed.fd, &a, sizeof(a), MSG_DONTWAIT);

	(void)events;
	if (n != (ssize_t)sizeof(a)) {
		if (n >= 0 || (errno != EAGAIN && errno != EINTR))
			seed_close(in);
		return;
	}
	if (a.id == in->interp.seed.last_id)
		timer_disarm(in->interp.seed.timer);
	else
		timer_arm(in->interp.seed.timer, SEED_ANSWER_MS);
	kernel_seeded(in, a.id, a.pid);
}

/* The seed hangs, was stopped, or never started. In the last case its socket may still be queued at a zygote that
 * hangs, and is then still open. */
static void on_late(void *user)
{
	struct init *in = user;

	log_warn("the warm interpreter does not answer: starting new interpreters instead", "ms=%d", SEED_ANSWER_MS);
	seed_close(in);
}

void seed_open(struct init *in, int fd)
{
	struct seed *s = &in->interp.seed;

	*s = (struct seed) { .fd = fd };
	if (fd < 0)
		return;
	s->watch = fd_nonblock(fd, true) < 0 ? NULL : watch_new(in->loop, fd, WATCH_IN, on_answer, in);
	s->timer = timer_new(in->loop, on_late, in);
	if (!s->watch || !s->timer)
		seed_close(in);
}

int seed_ask(struct init *in, const struct seed_request *rq, uint32_t *ret_id)
{
	struct seed *s = &in->interp.seed;
	uint32_t msg[HEAD_WORDS + USER_GROUPS_MAX] = { s->last_id + 1, rq->uid, rq->gid, (uint32_t)rq->n_groups };

	if (s->fd < 0 || rq->n_groups > USER_GROUPS_MAX)
		return -ENOTCONN;
	for (size_t i = 0; i < rq->n_groups; i++)
		msg[HEAD_WORDS + i] = rq->groups[i];
	ssize_t n = fd_send(s->fd, msg, (HEAD_WORDS + rq->n_groups) * sizeof(*msg), rq->fds, ARRAY_LEN(rq->fds));

	if (n < 0) /* full: the seed does not keep up, or is stopped */
		return (int)n;
	*ret_id = ++s->last_id;
	timer_arm(s->timer, SEED_ANSWER_MS);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* interp_seed: connections to copies of the template's warm Python. */
#include "init/interp/seed.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/fd.h"
#include "base/log.h"
#include "init/users.h"
#include "loop/loop.h"

enum { HEAD_WORDS = 4 };

void seed_close(struct seed *s)
{
	watch_free(take_ptr(&s->watch));
	timer_free(take_ptr(&s->timer));
	fd_close(take_fd(&s->fd));
	s->ops->on_end(s->user, s);
}

static void on_answer(void *user, int events)
{
	struct seed *s = user;
	struct {
		uint32_t id;
		int32_t pid;
	} a;
	ssize_t n = recv(s->fd, &a, sizeof(a), MSG_DONTWAIT);

	(void)events;
	if (n != (ssize_t)sizeof(a)) {
		if (n >= 0 || (errno != EAGAIN && errno != EINTR))
			seed_close(s);
		return;
	}
	if (a.id == s->last_id)
		timer_disarm(s->timer);
	else
		timer_arm(s->timer, SEED_ANSWER_MS);
	s->ops->on_forked(s->user, s, a.id, a.pid);
}

/* The seed hangs, was stopped, or never started. In the last case its socket may still be queued at a zygote that
 * hangs, and is then still open. */
static void on_late(void *user)
{
	struct seed *s = user;

	log_warn("the warm interpreter does not answer: starting new interpreters instead", "ms=%d", SEED_ANSWER_MS);
	s->late = true;
	seed_close(s);
}

void seed_open(struct seed *s, struct loop *loop, int fd, bool once, const struct seed_ops *ops, void *user)
{
	*s = (struct seed) { .fd = fd, .once = once, .ops = ops, .user = user };
	if (fd < 0)
		return;
	s->watch = fd_nonblock(fd, true) < 0 ? NULL : watch_new(loop, fd, WATCH_IN, on_answer, s);
	s->timer = timer_new(loop, on_late, s);
	if (!s->watch || !s->timer)
		seed_close(s);
}

/* A process of the sandbox may have taken the name while the warden was away. What listens must be outside of our pid
 * namespace: it gets the descriptors of a runtime. */
static int connect_bell(int fd)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX, .sun_path = "\0" SEED_BELL };
	struct ucred cred = { .pid = -1 };
	socklen_t n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof SEED_BELL), len = sizeof cred;

	if (connect(fd, (struct sockaddr *)&to, n) < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
		return -errno;
	return cred.pid == 0 ? 0 : -EPERM;
}

int seed_ring(struct seed *s, struct loop *loop, const struct seed_ops *ops, void *user)
{
	autoclose int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r = fd < 0 ? -errno : connect_bell(fd);

	if (r == 0)
		seed_open(s, loop, take_fd(&fd), false, ops, user);
	return r < 0 ? r : s->fd < 0 ? -ENOMEM : 0;
}

int seed_ask(struct seed *s, const struct seed_request *rq, uint32_t *ret_id)
{
	uint32_t msg[HEAD_WORDS + USER_GROUPS_MAX + 1] = { s->last_id + 1, rq->uid, rq->gid, (uint32_t)rq->n_groups };

	if (s->fd < 0 || (s->once && s->last_id > 0) || rq->n_groups > USER_GROUPS_MAX)
		return -ENOTCONN;
	for (size_t i = 0; i < rq->n_groups; i++)
		msg[HEAD_WORDS + i] = rq->groups[i];
	msg[HEAD_WORDS + rq->n_groups] = s->once ? SEED_BECOME : 0;
	ssize_t n = fd_send(s->fd, msg, (HEAD_WORDS + rq->n_groups + 1) * sizeof(*msg), rq->fds, ARRAY_LEN(rq->fds));

	if (n < 0) /* full: the seed does not keep up, or is stopped */
		return (int)n;
	*ret_id = ++s->last_id;
	timer_arm(s->timer, SEED_ANSWER_MS);
	return 0;
}

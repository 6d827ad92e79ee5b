/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to a seed: their bytes and fds, and what its end means. */
#include "init/interp/seed.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "loop/loop.h"
#include "unit.h"

static const struct seed_request plain = { .uid = 1000,
	.gid = 100,
	.groups = (gid_t[]) { 7, 8 },
	.n_groups = 2,
	.fds = { 0, 0, 0, 0 } };

struct seen {
	struct loop *loop;
	int forked, ended;
	uint32_t id;
	pid_t pid;
};

static void on_forked(void *user, struct seed *s, uint32_t id, pid_t pid)
{
	(void)s;
	struct seen *n = user;

	n->forked++;
	n->id = id;
	n->pid = pid;
	loop_stop(n->loop);
}

static void on_end(void *user, struct seed *s)
{
	(void)s;
	struct seen *n = user;

	n->ended++;
	loop_stop(n->loop);
}

static const struct seed_ops ops = { .on_forked = on_forked, .on_end = on_end };

static void without(void **state)
{
	struct seen n = { 0 };
	struct seed s;
	uint32_t id;

	(void)state;
	seed_open(&s, NULL, -1, false, &ops, &n);
	assert_int_equal(seed_ask(&s, &plain, &id), -ENOTCONN);
}

static void request(void **state)
{
	struct loop *loop = loop_new();
	struct seen n = { .loop = loop };
	struct seed s;
	int pair[2], fds[4];
	uint32_t id = 0, msg[16];
	size_t n_fds;
	struct stat a, b;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	seed_open(&s, loop, pair[0], false, &ops, &n);
	assert_int_equal(seed_ask(&s, &plain, &id), 0);
	assert_int_equal(id, 1);
	assert_int_equal(fd_recv(pair[1], msg, sizeof(msg), fds, 4, &n_fds), 7 * sizeof(*msg));
	assert_memory_equal(msg, ((uint32_t[]) { 1, 1000, 100, 2, 7, 8, 0 }), 7 * sizeof(*msg));
	assert_int_equal(n_fds, 4);
	assert_int_equal(fstat(0, &a), 0);
	assert_int_equal(fstat(fds[3], &b), 0);
	assert_int_equal(a.st_ino, b.st_ino);
	for (size_t i = 0; i < n_fds; i++)
		close(fds[i]);
	assert_int_equal(seed_ask(&s, &plain, &id), 0);
	assert_int_equal(id, 2);

	/* It takes no more: the caller starts a process itself, and pid 1 is not held up. */
	int r = 0;

	for (int i = 0; i < 100000 && r == 0; i++)
		r = seed_ask(&s, &plain, &id);
	assert_int_equal(r, -EAGAIN);
	close(pair[1]);
	assert_true(seed_ask(&s, &plain, &id) < 0);
	seed_close(&s);
	assert_int_equal(n.ended, 1);
	loop_free(loop);
}

/* Answers reach the owner; the end of the seed is reported once, and nothing can be requested after it. */
static void answers(void **state)
{
	const struct {
		uint32_t id;
		int32_t pid;
	} a = { 1, 4711 };
	struct loop *loop = loop_new();
	struct seen n = { .loop = loop };
	struct seed s;
	uint32_t id = 0;
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	seed_open(&s, loop, pair[0], false, &ops, &n);
	assert_int_equal(seed_ask(&s, &plain, &id), 0);
	assert_int_equal(send(pair[1], &a, sizeof a, 0), sizeof a);
	loop_run(loop);
	assert_int_equal(n.forked, 1);
	assert_int_equal(n.id, id);
	assert_int_equal(n.pid, 4711);
	assert_int_equal(n.ended, 0);
	close(pair[1]);
	loop_run(loop);
	assert_int_equal(n.ended, 1);
	assert_int_equal(seed_ask(&s, &plain, &id), -ENOTCONN);
	loop_free(loop);
}

/* It becomes the process of the first request, so it cannot take another. */
static void once(void **state)
{
	struct loop *loop = loop_new();
	struct seen n = { .loop = loop };
	struct seed s;
	uint32_t id = 0, msg[16];
	int pair[2], fds[4];
	size_t n_fds;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	seed_open(&s, loop, pair[0], true, &ops, &n);
	assert_int_equal(seed_ask(&s, &plain, &id), 0);
	assert_int_equal(fd_recv(pair[1], msg, sizeof(msg), fds, 4, &n_fds), 7 * sizeof(*msg));
	assert_int_equal(msg[6], SEED_BECOME);
	for (size_t i = 0; i < n_fds; i++)
		close(fds[i]);
	assert_int_equal(seed_ask(&s, &plain, &id), -ENOTCONN);
	seed_close(&s);
	close(pair[1]);
	loop_free(loop);
}

/* A process of the sandbox that has taken the name of the bell gets nothing. */
static void false_bell(void **state)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX, .sun_path = "\0" SEED_BELL };
	struct loop *loop = loop_new();
	struct seen n = { .loop = loop };
	struct seed s = { .fd = -1 };

	(void)state;
	assert_int_equal(unshare(CLONE_NEWUSER | CLONE_NEWNET), 0); /* where the name is free */
	assert_true(seed_ring(&s, loop, &ops, &n) < 0);
	autoclose int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, offsetof(struct sockaddr_un, sun_path) + sizeof SEED_BELL),
	    0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(seed_ring(&s, loop, &ops, &n), -EPERM);
	assert_int_equal(s.fd, -1);
	loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(without), cmocka_unit_test(request),
		cmocka_unit_test(answers), cmocka_unit_test(once), cmocka_unit_test(false_bell) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

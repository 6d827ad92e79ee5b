/* SPDX-License-Identifier: Apache-2.0 */
/* target: stands in a sandbox with everything open that a neighbour might reach, and says who came. "ready" first, then
 * "touched HOW" for each, until it is killed. */
#include "target.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "attempt.h"

#define OPEN_EVERY_MS 100

static int listen_tcp(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(TARGET_TCP) };
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return s >= 0 && bind(s, (struct sockaddr *)&a, sizeof a) == 0 && listen(s, 16) == 0 ? s : -1;
}

static int listen_udp(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(TARGET_UDP) };
	int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return s >= 0 && bind(s, (struct sockaddr *)&a, sizeof a) == 0 ? s : -1;
}

static int listen_unix(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(a.sun_path + 1, TARGET_NAME, sizeof TARGET_NAME - 1);
	socklen_t n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof TARGET_NAME);

	return s >= 0 && bind(s, (struct sockaddr *)&a, n) == 0 && listen(s, 16) == 0 ? s : -1;
}

static int open_ipc(void)
{
	struct mq_attr attr = { .mq_maxmsg = 4, .mq_msgsize = 64 };
	int fd = open("/dev/shm/" TARGET_NAME, O_CREAT | O_RDWR | O_CLOEXEC, 0666);

	if (fd < 0 || shmget(TARGET_KEY, 4096, IPC_CREAT | 0666) < 0 || semget(TARGET_KEY, 1, IPC_CREAT | 0666) < 0 ||
	    msgget(TARGET_KEY, IPC_CREAT | 0666) < 0)
		return -1;
	return mq_open("/" TARGET_NAME, O_CREAT | O_RDWR, 0666, &attr) < 0 ? -1 : 0;
}

/* Kept for as long as we live. */
static int take_locks(void)
{
	struct flock l = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = TARGET_RANGE, .l_len = 1 };
	int fd = open(TARGET_FILE, O_RDONLY | O_CLOEXEC);

	return fd >= 0 && flock(fd, LOCK_EX) == 0 && fcntl(fd, F_OFD_SETLK, &l) == 0 ? 0 : -1;
}

static void serve(int *s, struct pollfd *p)
{
	struct sockaddr_storage from;
	socklen_t n = sizeof from;
	char b[64];

	for (int i = 0; i < 3; i++) {
		if (!p[i].revents)
			continue;
		if (i == 1) {
			ssize_t got = recvfrom(s[i], b, sizeof b, 0, (struct sockaddr *)&from, &n);

			if (got > 0)
				(void)sendto(s[i], b, (size_t)got, 0, (struct sockaddr *)&from, n);
			(void)printf("touched\tudp\n");
		} else {
			int c = accept(s[i], NULL, NULL);

			if (c >= 0)
				close(c);
			(void)printf("touched\t%s\n", i ? "unix" : "tcp");
		}
	}
}

int target_run(void)
{
	int s[] = { listen_tcp(), listen_udp(), listen_unix() };
	struct pollfd p[] = { { s[0], POLLIN, 0 }, { s[1], POLLIN, 0 }, { s[2], POLLIN, 0 } };

	if (s[0] < 0 || s[1] < 0 || s[2] < 0 || open_ipc() < 0 || take_locks() < 0) {
		(void)printf("failed\t%s\n", errno_name(errno));
		return 1;
	}
	(void)printf("ready\n");
	for (;;) {
		int fd, n = poll(p, 3, OPEN_EVERY_MS);

		if (n > 0)
			serve(s, p);
		fd = open(TARGET_FILE, O_RDONLY | O_CLOEXEC); /* for whoever watches it */
		if (fd >= 0)
			close(fd);
	}
}

int target_touch(const char *address)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(a.sun_path + 1, TARGET_NAME, sizeof TARGET_NAME - 1);
	if (connect(s, (struct sockaddr *)&a,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof TARGET_NAME)) < 0)
		return 1;
	return reach_tcp(address, TARGET_TCP, 3000) == 0 && reach_udp(address, TARGET_UDP) == 0 ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* neighbour: from one sandbox to another. The runner starts target.c in one and tells its address (ESCAPE_NEIGHBOUR);
 * what comes of it is looked at there too. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "attempt.h"
#include "target.h"

#define PIDS 65536

static int nobody(void)
{
	return skip("no neighbour");
}

static int tcp(void)
{
	const char *to = setting("ESCAPE_NEIGHBOUR");
	int r = to ? reach_tcp(to, TARGET_TCP, 3000) : 0;

	return !to ? nobody() : r ? refused(-r, "%s", to) : broken("connected to %s", to);
}

static int udp(void)
{
	const char *to = setting("ESCAPE_NEIGHBOUR");
	int r = to ? reach_udp(to, TARGET_UDP) : 0;

	return !to ? nobody() : r ? refused(-r, "%s", to) : broken("%s answered", to);
}

static int scan(void)
{
	const char *to = setting("ESCAPE_NEIGHBOUR");
	int last = 0;

	for (unsigned port = 1; to && port <= 1024; port++) {
		last = reach_tcp(to, port, 300);
		if (last == 0)
			return broken("port %u", port);
	}
	return to ? refused(-last, "1024 ports") : nobody();
}

/* Its address as our own source: what is answered would go to it. */
static int own_address(void)
{
	const char *to = setting("ESCAPE_NEIGHBOUR");
	struct sockaddr_in a = { .sin_family = AF_INET };
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (!to)
		return nobody();
	(void)inet_pton(AF_INET, to, &a.sin_addr);
	return bind(s, (struct sockaddr *)&a, sizeof a) < 0 ? -errno : 0;
}

static int unix_name(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(a.sun_path + 1, TARGET_NAME, sizeof TARGET_NAME - 1);
	return connect(s, (struct sockaddr *)&a,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof TARGET_NAME)) < 0
	    ? -errno
	    : 0;
}

static int shm(void)
{
	return shmget(TARGET_KEY, 0, 0) < 0 ? -errno : 0;
}
static int sem(void)
{
	return semget(TARGET_KEY, 0, 0) < 0 ? -errno : 0;
}
static int msg(void)
{
	return msgget(TARGET_KEY, 0) < 0 ? -errno : 0;
}
static int queue(void)
{
	return mq_open("/" TARGET_NAME, O_RDWR) < 0 ? -errno : 0;
}
static int shm_file(void)
{
	return try_open("/dev/shm/" TARGET_NAME, O_RDWR);
}

/* Every id that there may be: what can be signalled is what /proc shows. */
static int signals(void)
{
	char path[64];
	int hits = 0, hidden = 0;

	for (int pid = 1; pid < PIDS; pid++) {
		if (pid == getpid() || (kill(pid, 0) < 0 && errno == ESRCH))
			continue;
		hits++;
		(void)snprintf(path, sizeof path, "/proc/%d", pid);
		hidden += access(path, F_OK) < 0 && kill(pid, 0) == 0;
	}
	return hidden ? broken("%d processes that are not ours", hidden)
	    : hits    ? held("%d processes, all its own", hits)
		      : unclear("none at all");
}

static int listed(const char *file, const char *word)
{
	static char text[1 << 20];
	int n = slurp(file, text, sizeof text);

	if (!setting("ESCAPE_NEIGHBOUR"))
		return nobody();
	if (n < 0)
		return refused(-n, "read %s", file);
	return strstr(text, word) ? broken("%s shows %s", file, word) : held("%d bytes without it", n);
}

static int listed_unix(void)
{
	return listed("/proc/net/unix", TARGET_NAME);
}
static int listed_tcp(void)
{
	return listed("/proc/net/tcp", ":1E79 ");
} /* 7801 */

/* Locks of open files belong to no process, so a list of them would show everybody's, with whatever numbers one likes
 * in it. */
static int listed_locks(void)
{
	return listed("/proc/locks", "987654321");
}

static int listed_arp(void)
{
	const char *to = setting("ESCAPE_NEIGHBOUR");

	return to ? listed("/proc/net/arp", to) : nobody();
}

/* The same file of the template in two sandboxes is two files. */
static int lock(void)
{
	int fd = open(TARGET_FILE, O_RDONLY | O_CLOEXEC);

	if (!setting("ESCAPE_NEIGHBOUR"))
		return nobody();
	if (fd < 0)
		return unclear("open: %s", errno_name(errno));
	return flock(fd, LOCK_EX | LOCK_NB) == 0 ? held("ours, though the neighbour has it too")
						 : broken("the neighbour's lock is felt: %s", errno_name(errno));
}

static int watch(void)
{
	int fd = inotify_init1(IN_CLOEXEC);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (!setting("ESCAPE_NEIGHBOUR"))
		return nobody();
	if (fd < 0 || inotify_add_watch(fd, TARGET_FILE, IN_ALL_EVENTS) < 0)
		return unclear("inotify: %s", errno_name(errno));
	return poll(&p, 1, 600) == 0 ? held("it opens the file ten times a second, and nothing is seen")
				     : broken("its opens are seen");
}

static const char reach[] = "no sandbox reaches another";
static const char see[] = "no sandbox sees another";

#define NO { ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EACCES, EPERM }

static const struct attempt attempts[] = {
	{ "neighbour/tcp", reach, tcp, .expect = NO },
	{ "neighbour/udp", reach, udp,
	    .expect = { ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, EACCES, EPERM, ETIMEDOUT } },
	{ "neighbour/port-scan", reach, scan, .expect = NO },
	{ "neighbour/bind-its-address", reach, own_address, .expect = { EADDRNOTAVAIL } },
	{ "neighbour/abstract-socket", reach, unix_name, .expect = { ECONNREFUSED } },
	{ "neighbour/shared-memory", reach, shm, .expect = { ENOENT } },
	{ "neighbour/semaphores", reach, sem, .expect = { ENOENT } },
	{ "neighbour/message-queue", reach, msg, .expect = { ENOENT } },
	{ "neighbour/posix-queue", reach, queue, .expect = { ENOENT } },
	{ "neighbour/dev-shm", reach, shm_file, .expect = { ENOENT } },
	{ "neighbour/signals", reach, signals },
	{ "neighbour/listed-sockets", see, listed_unix, .expect = { EACCES, EPERM } },
	{ "neighbour/listed-ports", see, listed_tcp, .expect = { EACCES, EPERM } },
	{ "neighbour/listed-locks", see, listed_locks, .expect = { EACCES, EPERM } },
	{ "neighbour/listed-addresses", see, listed_arp, .expect = { EACCES, EPERM } },
	{ "neighbour/lock-of-a-shared-file", see, lock },
	{ "neighbour/watch-a-shared-file", see, watch },
};
GROUP(neighbour, "neighbour");

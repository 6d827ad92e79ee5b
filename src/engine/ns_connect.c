/* SPDX-License-Identifier: Apache-2.0 */
/* ns_connect: sockets in the network namespace of a running sandbox. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/fd.h"
#include "base/log.h"
#include "engine/ns.h"

#define INIT_SOCKET "atoll-init"
#define BELL_SOCKET "atoll-seed" /* init/interp/seed.h */
#define BELL_BACKLOG 4
#define LOOPBACK "lo"
/* Send buffer towards init. With the usual 100 KiB both ends constantly wait for each other. */
#define INIT_QUEUE (512 * 1024)
/* Receive buffer of a connection to a port: data that the front has not read yet. The kernel doubles it. */
#define QUEUE_INSIDE (1024 * 1024)

/* A socket belongs to the network namespace that it was made in, so it uses the sandbox's abstract names and
 * loopback. */
static int socket_inside(struct engine *en, int pidfd, int family, int type, struct err *e)
{
	if (setns(pidfd, CLONE_NEWNET) < 0)
		return err_sys(e, "join its network");
	autoclose int fd = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int no = errno;

	if (setns(en->netns_fd, CLONE_NEWNET) < 0) {
		/* Everything we did from now on would happen in the sandbox's network. */
		log_error("could not leave a sandbox's network namespace, exiting", "errno=%d", errno);
		abort();
	}
	errno = no;
	return fd < 0 ? err_sys(e, "make a socket") : take_fd(&fd);
}

int ns_connect(struct engine *en, const struct engine_record *r, int pidfd, int *ret_fd, struct err *e)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX, .sun_path = "\0" INIT_SOCKET };
	socklen_t n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof INIT_SOCKET);
	const int queue = INIT_QUEUE;
	autoclose int fd = socket_inside(en, pidfd, AF_UNIX, SOCK_STREAM, e);

	if (fd < 0)
		return err_wrap(e, "connect to sandbox '%s'", r->spec.id);
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &queue, sizeof queue);
	if (connect(fd, (struct sockaddr *)&to, n) < 0) /* -EAGAIN: its listen queue is full */
		return err_sys(e, "connect to init of sandbox '%s'", r->spec.id);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* It is not among the sandbox's descriptors, so a checkpoint does not meet it. */
int ns_bell(struct engine *en, const struct engine_record *r, int pidfd, int *ret_fd, struct err *e)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX, .sun_path = "\0" BELL_SOCKET };
	socklen_t n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof BELL_SOCKET);
	autoclose int fd = socket_inside(en, pidfd, AF_UNIX, SOCK_SEQPACKET, e);

	if (fd < 0)
		return err_wrap(e, "make the bell of sandbox '%s'", r->spec.id);
	if (bind(fd, (struct sockaddr *)&at, n) < 0 || listen(fd, BELL_BACKLOG) < 0)
		return err_sys(e, "make the bell of sandbox '%s'", r->spec.id);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* The socket is ours, and no process inside ever shares it: a process that did could make it block, and with it
 * every process that moves bytes through it. It is bound to the loopback device before it is passed on, and only a
 * process with power over the sandbox's network could undo that. Whoever takes over the front may reconnect it
 * (not only with connect(2): MSG_FASTOPEN does it too), but never to anything beyond the sandbox. */
int ns_dial(struct engine *en, const struct engine_record *r, int pidfd, uint16_t port, bool v6, int *ret_fd,
    struct err *e)
{
	struct sockaddr_in to4 = { .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 to6 = { .sin6_family = AF_INET6,
		.sin6_port = htons(port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT };
	const struct sockaddr *to = v6 ? (struct sockaddr *)&to6 : (struct sockaddr *)&to4;
	autoclose int fd = socket_inside(en, pidfd, to->sa_family, SOCK_STREAM, e);
	const int on = 1, queue = QUEUE_INSIDE;

	if (fd < 0)
		return err_wrap(e, "connect to a port of sandbox '%s'", r->spec.id);
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, LOOPBACK, sizeof LOOPBACK) < 0)
		return err_sys(e, "tie a socket to the loopback of sandbox '%s'", r->spec.id);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	/* There is no network latency to hide, so data that queues beyond the size of the caches is only slower:
	 * the kernel would grow the buffer to 6 MB and more. */
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &queue, sizeof queue);
	/* There is no network path to measure: see http/server.c. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
	if (connect(fd, to, v6 ? sizeof to6 : sizeof to4) < 0 && errno != EINPROGRESS)
		return err_sys(e, "connect to port %u of sandbox '%s'", port, r->spec.id);
	*ret_fd = take_fd(&fd);
	return 0;
}

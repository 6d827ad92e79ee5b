/* SPDX-License-Identifier: Apache-2.0 */
/* greet: TCP to the sandbox's address. Nothing that comes from the sandbox is read but one byte. */
#include "engine/greet.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/preamble.h"
#include "engine/slot.h"

_Static_assert(ENGINE_TOKEN_SIZE == PREAMBLE_TOKEN, "the record holds a token");

/* A packet that comes before the sandbox's network is up is lost, and the kernel repeats it a second later: so a
 * connection that takes longer is tried anew. */
#define TRY_MS 20
#define REST_MS 2

int greet_begin(const struct slot *s, int *ret_fd, struct err *e)
{
	const int on = 1;
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(PREAMBLE_PORT),
		.sin_addr.s_addr = htonl(s->ip) };
	autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return err_sys(e, "make a socket");
	/* The front gets it: it may reconnect it, but to nothing beyond the sandbox. */
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, s->veth, (socklen_t)strlen(s->veth) + 1) < 0)
		return err_sys(e, "tie a socket to '%s'", s->veth);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (connect(fd, (struct sockaddr *)&to, sizeof to) < 0 && errno != EINPROGRESS)
		return err_sys(e, "connect");
	*ret_fd = take_fd(&fd);
	return 0;
}

static int send_preamble(const struct engine_record *r, int fd, uint16_t port, struct err *e)
{
	struct preamble p = { .kind = port ? PREAMBLE_RELAY : PREAMBLE_API, .port = port };
	uint8_t bytes[PREAMBLE_SIZE];
	socklen_t n = sizeof(int);
	int no = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &no, &n) < 0)
		no = errno;
	if (no)
		return err_set(e, no, "connect: %s", strerror(no));
	preamble_write(&p, r->token, bytes);
	ssize_t sent = send(fd, bytes, sizeof bytes, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (sent < 0)
		return err_sys(e, "send to init");
	return sent == (ssize_t)sizeof bytes ? 0 : err_set(e, EIO, "send to init: %zd bytes only", sent);
}

int greet_next(const struct engine_record *r, int fd, uint16_t port, bool *sent, struct err *e)
{
	char c = 1;

	if (!*sent) {
		if (send_preamble(r, fd, port, e) < 0)
			return err_wrap(e, "sandbox '%s'", r->spec.id);
		*sent = true;
		return port ? -EAGAIN : 0;
	}
	ssize_t n = recv(fd, &c, 1, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	return n == 1 && c == 0 ? 0 : err_set(e, ECONNREFUSED, "port %u of sandbox '%s'", port, r->spec.id);
}

/* 1: connected; 0: not yet. */
static int try_once(const struct slot *s, int pidfd, struct err *e)
{
	autoclose int fd = -1;
	socklen_t n = sizeof(int);
	int no = 0;

	if (greet_begin(s, &fd, e) < 0)
		return -e->no;
	struct pollfd p[] = { { .fd = fd, .events = POLLOUT }, { .fd = pidfd, .events = POLLIN } };

	(void)poll(p, ARRAY_LEN(p), TRY_MS);
	if (p[1].revents)
		return err_set(e, EPIPE, "it ended before it was ready");
	if (!(p[0].revents & POLLOUT) || getsockopt(fd, SOL_SOCKET, SO_ERROR, &no, &n) < 0)
		return 0;
	return no == 0;
}

int greet_await(const struct slot *s, int pidfd, int timeout_ms, struct err *e)
{
	uint64_t end = clock_mono_ms() + (uint64_t)timeout_ms;
	int r;

	while ((r = try_once(s, pidfd, e)) == 0) {
		if (clock_mono_ms() >= end)
			return err_set(e, ETIMEDOUT, "init is not ready after %d ms", timeout_ms);
		(void)poll(NULL, 0, REST_MS);
	}
	return r < 0 ? r : 0;
}

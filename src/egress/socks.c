/* SPDX-License-Identifier: Apache-2.0 */
/* socks: up to three requests and answers. Answers are read exactly, so that no byte after them is consumed. */
#include "egress/socks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/fd.h"
#include "loop/loop.h"

#define VERSION 5
#define METHOD_NONE 0
#define METHOD_PASSWORD 2
#define CONNECT 1
#define BY_IPV4 1
#define BY_NAME 3
#define BY_IPV6 4
#define ANSWER_MAX 262 /* head, a name of 255 bytes with its length, port */

enum step { STEP_METHOD, STEP_PASSWORD, STEP_CONNECT };

struct socks {
	struct loop *loop;
	int fd;
	struct watch *watch;
	struct timer *timer;
	enum step step;
	struct buf login, request; /* messages still to be sent */
	struct buf out;
	size_t off;
	uint8_t in[ANSWER_MAX];
	size_t n, want;
	socks_fn *fn;
	void *user;
};

void socks_cancel(struct socks *s)
{
	if (!s)
		return;
	watch_free(s->watch);
	timer_free(s->timer);
	fd_close(s->fd);
	if (s->login.p)
		explicit_bzero(s->login.p, s->login.n);
	if (s->out.p)
		explicit_bzero(s->out.p, s->out.n);
	buf_done(&s->login);
	buf_done(&s->request);
	buf_done(&s->out);
	free(s);
}

static void finish(struct socks *s, int no)
{
	socks_fn *fn = s->fn;
	void *user = s->user;

	watch_free(take_ptr(&s->watch));
	int fd = no ? no : take_fd(&s->fd);

	socks_cancel(s);
	fn(user, fd);
}

/* Sends the next request and waits for an answer of at least `want` bytes. */
static void ask(struct socks *s, enum step step, const struct buf *what, size_t want)
{
	s->step = step;
	s->off = 0;
	s->n = 0;
	s->want = want;
	buf_clear(&s->out);
	buf_str(&s->out, buf_view(what));
	watch_set(s->watch, WATCH_OUT);
}

/* The full length of the last answer, which depends on its address type; 0: unknown type. */
static size_t more_of_connect(const struct socks *s)
{
	size_t address = s->in[3] == BY_IPV4 ? 4
	    : s->in[3] == BY_IPV6            ? 16
	    : s->in[3] == BY_NAME            ? (size_t)s->in[4] + 1
					     : 0;

	return address ? 4 + address + 2 : 0;
}

static int answered(struct socks *s)
{
	const uint8_t *in = s->in;

	switch (s->step) {
	case STEP_METHOD:
		if (in[0] != VERSION || (in[1] != METHOD_NONE && !(in[1] == METHOD_PASSWORD && s->login.n)))
			return -EACCES;
		if (in[1] == METHOD_PASSWORD)
			ask(s, STEP_PASSWORD, &s->login, 2);
		else
			ask(s, STEP_CONNECT, &s->request, 5);
		return 0;
	case STEP_PASSWORD:
		if (in[1] != 0)
			return -EACCES;
		ask(s, STEP_CONNECT, &s->request, 5);
		return 0;
	case STEP_CONNECT:
		if (in[0] != VERSION || in[1] != 0)
			return -ECONNREFUSED;
		size_t all = more_of_connect(s);

		if (all == 0 || all > sizeof s->in)
			return -EBADMSG;
		s->want = all;
		return s->n == all ? 1 : 0;
	}
	return -EBADMSG;
}

static void on_ready(void *user, int events)
{
	struct socks *s = user;

	(void)events;
	if (s->off < s->out.n) {
		ssize_t n = send(s->fd, s->out.p + s->off, s->out.n - s->off, MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN && errno != EINTR) {
			finish(s, -errno);
			return;
		}
		s->off += n > 0 ? (size_t)n : 0;
		if (s->off == s->out.n)
			watch_set(s->watch, WATCH_IN);
		return;
	}
	ssize_t n = recv(s->fd, s->in + s->n, s->want - s->n, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		finish(s, n < 0 ? -errno : -ECONNRESET);
		return;
	}
	s->n += (size_t)n;
	if (s->n < s->want)
		return;
	int r = answered(s);

	if (r)
		finish(s, r < 0 ? r : 0);
}

static void on_late(void *user)
{
	finish(user, -ETIMEDOUT);
}

static void put_text(struct buf *b, const char *z)
{
	buf_ch(b, (char)strlen(z));
	buf_z(b, z);
}

static void compose(struct socks *s, const struct rules_socks *how, const char *name, uint32_t ip, uint16_t port)
{
	uint8_t address[4] = { (uint8_t)(ip >> 24), (uint8_t)(ip >> 16), (uint8_t)(ip >> 8), (uint8_t)ip };

	if (how->user[0]) {
		buf_ch(&s->login, 1);
		put_text(&s->login, how->user);
		put_text(&s->login, how->password);
	}
	buf_ch(&s->request, VERSION);
	buf_ch(&s->request, CONNECT);
	buf_ch(&s->request, 0);
	buf_ch(&s->request, name[0] ? BY_NAME : BY_IPV4);
	if (name[0])
		put_text(&s->request, name);
	else
		buf_put(&s->request, address, sizeof address);
	buf_ch(&s->request, (char)(port >> 8));
	buf_ch(&s->request, (char)port);
}

struct socks *socks_new(struct loop *l, int fd, const struct rules_socks *how, const char *name, uint32_t ip,
    uint16_t port, socks_fn *fn, void *user)
{
	autobuf struct buf hello = BUF_INIT(8);
	struct socks *s = calloc(1, sizeof *s);

	if (!s) {
		fd_close(fd);
		return NULL;
	}
	*s = (struct socks) { .loop = l,
		.fd = fd,
		.fn = fn,
		.user = user,
		.login = BUF_INIT(1024),
		.request = BUF_INIT(512),
		.out = BUF_INIT(1024) };
	compose(s, how, name, ip, port);
	buf_ch(&hello, VERSION);
	buf_ch(&hello, how->user[0] ? 2 : 1);
	buf_ch(&hello, METHOD_NONE);
	if (how->user[0])
		buf_ch(&hello, METHOD_PASSWORD);
	s->watch = watch_new(l, fd, 0, on_ready, s);
	s->timer = timer_new(l, on_late, s);
	if (!s->watch || !s->timer || s->login.bad || s->request.bad || hello.bad) {
		socks_cancel(s);
		return NULL;
	}
	timer_arm(s->timer, SOCKS_MS);
	ask(s, STEP_METHOD, &hello, 2);
	return s;
}

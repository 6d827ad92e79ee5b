/* SPDX-License-Identifier: Apache-2.0 */
/* gate: accepts, waits for preambles, and passes connections on. */
#include "init/gate/gate.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "http/server.h"
#include "loop/loop.h"

#define BACKLOG 512
#define ACCEPT_BATCH 32
#define ACCEPT_RETRY_MS 100 /* after running out of descriptors */

struct caller { /* a connection whose preamble is incomplete */
	struct gate *g;
	TAILQ_ENTRY(caller) link;
	int fd;
	struct watch *watch;
	uint64_t since_ms;
	uint8_t head[PREAMBLE_SIZE + PREAMBLE_TOKEN];
	size_t n, want; /* bytes that have come, and that are to come before something happens */
};

int gate_token(int fd, uint8_t ret[PREAMBLE_TOKEN], struct err *e)
{
	int r = fd_read_all(fd, ret, PREAMBLE_TOKEN);

	fd_close(fd);
	return r < 0 ? err_set(e, -r, "read the token of this sandbox") : 0;
}

static void caller_free(struct caller *c)
{
	TAILQ_REMOVE(&c->g->callers, c, link);
	c->g->n_callers--;
	watch_free(c->watch);
	fd_close(c->fd);
	explicit_bzero(c, sizeof *c);
	free(c);
}

/* The token that follows a preamble is complete. */
static void renew(struct caller *c)
{
	memcpy(c->g->token, c->head + PREAMBLE_SIZE, PREAMBLE_TOKEN);
	(void)!send(c->fd, "", 1, MSG_NOSIGNAL);
	caller_free(c);
}

/* The preamble is complete. */
static void admit(struct caller *c)
{
	struct gate *g = c->g;
	struct preamble p;

	if (preamble_check(c->head, g->token, &p) < 0) {
		caller_free(c);
		return;
	}
	if (p.kind == PREAMBLE_RENEW) {
		c->want = sizeof c->head;
		return;
	}
	int fd = take_fd(&c->fd);

	caller_free(c);
	if (p.kind == PREAMBLE_RELAY)
		passage_new(&g->passages, fd, p.port);
	else
		(void)http_server_adopt(g->server, fd);
}

/* Never reads a byte beyond the preamble: those are for whom the connection is passed to. */
static void on_bytes(void *user, int events)
{
	struct caller *c = user;
	ssize_t n = recv(c->fd, c->head + c->n, c->want - c->n, MSG_DONTWAIT);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		caller_free(c);
		return;
	}
	c->n += (size_t)n;
	if (c->n == sizeof c->head)
		renew(c);
	else if (c->n == PREAMBLE_SIZE)
		admit(c);
}

/* For the oldest caller, or for the end of a pause. */
static void arm(struct gate *g)
{
	struct caller *c = TAILQ_FIRST(&g->callers);
	uint64_t age = c ? loop_now_ms(g->loop) - c->since_ms : 0;

	if (g->paused)
		timer_arm(g->timer, ACCEPT_RETRY_MS);
	else if (c)
		timer_arm(g->timer, age < GATE_PREAMBLE_MS ? GATE_PREAMBLE_MS - age : 0);
	else
		timer_disarm(g->timer);
}

static void on_timer(void *user)
{
	struct gate *g = user;
	struct caller *c;

	g->paused = false;
	watch_set(g->watch, WATCH_IN);
	while ((c = TAILQ_FIRST(&g->callers)) && loop_now_ms(g->loop) - c->since_ms >= GATE_PREAMBLE_MS)
		caller_free(c);
	arm(g);
}

static void caller_new(struct gate *g, int fd)
{
	struct caller *c = calloc(1, sizeof *c);

	if (c && g->n_callers == GATE_CALLERS_MAX)
		caller_free(TAILQ_FIRST(&g->callers));
	if (!c) {
		fd_close(fd);
		return;
	}
	*c = (struct caller) { .g = g, .fd = fd, .since_ms = loop_now_ms(g->loop), .want = PREAMBLE_SIZE };
	TAILQ_INSERT_TAIL(&g->callers, c, link);
	g->n_callers++;
	c->watch = watch_new(g->loop, fd, WATCH_IN, on_bytes, c);
	if (!c->watch) {
		caller_free(c);
		return;
	}
	/* The warden's preamble is here already: callers that send none must not be able to push it out. */
	on_bytes(c, 0);
}

static void on_acceptable(void *user, int events)
{
	struct gate *g = user;

	(void)events;
	for (size_t i = 0; i < ACCEPT_BATCH; i++) {
		int fd = accept4(g->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0) {
			g->paused = errno != EAGAIN;
			break;
		}
		caller_new(g, fd);
	}
	watch_set(g->watch, g->paused ? 0 : WATCH_IN);
	arm(g);
}

/* On all addresses: a restored copy has another one than the sandbox that it was saved from. */
static int listen_tcp(struct err *e)
{
	const struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(PREAMBLE_PORT) };
	autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof at) < 0 || listen(fd, BACKLOG) < 0)
		return err_sys(e, "listen on TCP port %d", PREAMBLE_PORT);
	return take_fd(&fd);
}

int gate_open(struct gate *g, struct loop *l, struct http_server *server, int listen_fd,
    const uint8_t token[PREAMBLE_TOKEN], struct err *e)
{
	*g = (struct gate) { .loop = l, .server = server, .fd = listen_fd };
	memcpy(g->token, token, sizeof g->token);
	TAILQ_INIT(&g->callers);
	passages_init(&g->passages, l);
	if (g->fd < 0)
		g->fd = listen_tcp(e);
	if (g->fd < 0)
		return -e->no;
	g->timer = timer_new(l, on_timer, g);
	g->watch = watch_new(l, g->fd, WATCH_IN, on_acceptable, g);
	if (g->timer && g->watch)
		return 0;
	gate_done(g);
	return err_set(e, ENOMEM, "out of memory");
}

void gate_drop(struct gate *g)
{
	struct caller *c;

	if (!g->loop)
		return;
	while ((c = TAILQ_FIRST(&g->callers)))
		caller_free(c);
	passages_drop(&g->passages);
}

void gate_done(struct gate *g)
{
	gate_drop(g);
	watch_free(g->watch);
	timer_free(g->timer);
	fd_close(g->fd);
	explicit_bzero(g, sizeof *g);
}

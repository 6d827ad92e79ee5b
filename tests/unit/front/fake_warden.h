/* SPDX-License-Identifier: Apache-2.0 */
/* A warden and the inits of its sandboxes, in the process and on the loop of the test: the warden speaks ipc/msg.h over
 * a socketpair, an init speaks HTTP/1.1 over the connection that OP_CONNECT returns.
 *
 * Everything works unless the test says otherwise. `seen` lists what was asked, in order: "start connect /init". */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "front/link/links.h"
#include "front/link/warden_link.h"
#include "ipc/msg.h"
#include "loop/loop.h"
#include "unit.h"

#define FAKE_SILENT (-1) /* the question is not answered, until fake_answer() */
#define FAKE_CLOSES (-2) /* init closes the connection */
#define FAKE_PATIENCE_MS 20000

struct fake_conn { /* to an init */
	LIST_ENTRY(fake_conn) link;
	struct fake *fk;
	int fd;
	struct watch *watch;
	size_t n;
	char in[8192];
};

struct fake {
	struct loop *loop;
	struct links link;
	int fd;
	struct watch *watch;
	struct timer *patience;
	LIST_HEAD(, fake_conn) conns;
	void (*on_exited)(void *user, const struct msg_exited *m); /* of the test; NULL: none */
	void *user;
	bool runs, gave_up;

	/* what goes wrong */
	int refuse[OP_COUNT];    /* an errno value or FAKE_SILENT; 0: it works */
	const char *bad_path;    /* of a request to init, */
	int bad_how;             /* ... which is answered with this status, FAKE_SILENT or FAKE_CLOSES */
	bool releases;           /* RE_RELEASED comes before the answer to OP_CHECKPOINT */
	const char *build_fails; /* what /atoll/build says; NULL: it works */
	bool brief;              /* `seen` has no "connect" */

	/* what was asked */
	char seen[4096];
	uint32_t seq[OP_COUNT]; /* of the last one */
	union {
		struct msg_start start;
		char raw[MSG_MAX];
	} last_start;
	struct msg_keep last_save;
	struct msg_id last_id;
	char body[8192]; /* of the last request to init with one */
};

static inline const char *fake_op_name(unsigned op)
{
	static const char *const names[OP_COUNT] = {
		[OP_START] = "start",
		[OP_KILL] = "kill",
		[OP_FREEZE] = "freeze",
		[OP_THAW] = "thaw",
		[OP_CONNECT] = "connect",
		[OP_USAGE] = "usage",
		[OP_SNAPSHOT] = "snapshot",
		[OP_CHECKPOINT] = "checkpoint",
		[OP_FORGET] = "forget",
	};

	return op < OP_COUNT && names[op] ? names[op] : "other";
}

static inline void fake_saw(struct fake *fk, const char *what)
{
	size_t n = strlen(fk->seen);

	(void)snprintf(fk->seen + n, sizeof fk->seen - n, "%s%s", n ? " " : "", what);
}

static inline void fake_send(struct fake *fk, void *msg, size_t n, unsigned type, uint32_t seq, int fd)
{
	*(struct msg_head *)msg = (struct msg_head) { .version = MSG_VERSION, .type = (uint16_t)type, .seq = seq };
	assert_int_equal(fd_send(fk->fd, msg, n, &fd, fd >= 0), n);
}

static inline void fake_error(struct fake *fk, uint32_t seq, int no)
{
	struct msg_error m = { .no = no, .text = "the fake refuses" };

	fake_send(fk, &m, sizeof m, RE_ERROR, seq, -1);
}

/* --- init --- */

static inline void fake_conn_free(struct fake_conn *c)
{
	LIST_REMOVE(c, link);
	watch_free(c->watch);
	fd_close(c->fd);
	free(c);
}

static inline void fake_reply(struct fake_conn *c, const char *path, int status)
{
	struct fake *fk = c->fk;
	char text[512], body[256] = "";

	if (strcmp(path, "/atoll/build") == 0 && status == 204) {
		status = 200;
		(void)snprintf(body, sizeof body, "{\"ok\":%s,\"text\":\"%s\"}", fk->build_fails ? "false" : "true",
		    fk->build_fails ? fk->build_fails : "");
	}
	int n = snprintf(text, sizeof text, "HTTP/1.1 %d x\r\n", status);

	if (status != 204)
		n += snprintf(text + n, sizeof text - (size_t)n, "Content-Length: %zu\r\n", strlen(body));
	n += snprintf(text + n, sizeof text - (size_t)n, "\r\n%s", body);
	assert_int_equal(write(c->fd, text, (size_t)n), n);
}

/* One whole request, or nothing yet. */
static inline void fake_request(struct fake_conn *c)
{
	struct fake *fk = c->fk;
	char *end = memmem(c->in, c->n, "\r\n\r\n", 4), path[128];

	if (!end)
		return;
	*end = '\0';
	const char *length = strcasestr(c->in, "content-length:");
	size_t head = (size_t)(end + 4 - c->in), n = length ? strtoul(length + 15, NULL, 10) : 0;

	if (c->n < head + n) {
		*end = '\r';
		return;
	}
	assert_int_equal(sscanf(c->in, "%*s %127s", path), 1);
	if (strcmp(path, "/atoll/events") == 0) {
		c->n = 0; /* goes on for as long as somebody listens */
		return;
	}
	fake_saw(fk, path);
	if (n)
		(void)snprintf(fk->body, sizeof fk->body, "%.*s", (int)n, end + 4);
	c->n = 0;
	int how = fk->bad_path && strcmp(fk->bad_path, path) == 0 ? fk->bad_how : 204;

	if (how == FAKE_CLOSES)
		fake_conn_free(c);
	else if (how != FAKE_SILENT)
		fake_reply(c, path, how);
}

static inline void fake_on_conn(void *user, int events)
{
	struct fake_conn *c = user;
	ssize_t n = read(c->fd, c->in + c->n, sizeof c->in - 1 - c->n);

	(void)events;
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		fake_conn_free(c);
		return;
	}
	c->n += (size_t)n;
	fake_request(c);
}

/* A connection to an init; the end of the front. */
static inline int fake_connect(struct fake *fk)
{
	struct fake_conn *c = calloc(1, sizeof *c);
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	c->fk = fk;
	c->fd = pair[0];
	c->watch = watch_new(fk->loop, c->fd, WATCH_IN, fake_on_conn, c);
	LIST_INSERT_HEAD(&fk->conns, c, link);
	return pair[1];
}

/* --- the warden --- */

static inline void fake_answer(struct fake *fk, unsigned op, int no)
{
	uint32_t seq = fk->seq[op];

	if (no) {
		fake_error(fk, seq, no);
	} else if (op == OP_CONNECT) {
		struct msg_ok m;
		int fd = fake_connect(fk);

		fake_send(fk, &m, sizeof m, RE_OK, seq, fd);
		fd_close(fd);
	} else if (op == OP_CHECKPOINT) {
		struct msg_image m = { .bytes = 4096, .dump_us = 1000 };

		fake_send(fk, &m, sizeof m, RE_IMAGE, seq, -1);
	} else if (op == OP_USAGE) {
		struct msg_usage m = { .cpu_ns = 77, .mem_bytes = 4711, .disk_bytes = 8192 };

		memcpy(m.id, fk->last_id.id, sizeof m.id);
		fake_send(fk, &m, sizeof m, RE_USAGE, seq, -1);
	} else {
		struct msg_ok m;

		fake_send(fk, &m, sizeof m, RE_OK, seq, -1);
	}
}

static inline void fake_release(struct fake *fk)
{
	struct msg_ok m;

	fake_send(fk, &m, sizeof m, RE_RELEASED, fk->seq[OP_CHECKPOINT], -1);
}

static inline void fake_exit(struct fake *fk, const char *id, enum exit_reason why)
{
	struct msg_exited m = { .reason = why };

	(void)snprintf(m.id, sizeof m.id, "%s", id);
	fake_send(fk, &m, sizeof m, EV_EXITED, 0, -1);
}

static inline void fake_on_question(void *user, int events)
{
	struct fake *fk = user;
	union {
		struct msg_head head;
		struct msg_keep save;
		struct msg_id id;
		char raw[MSG_MAX];
	} m;
	size_t n_fds;
	ssize_t n = fd_recv(fk->fd, &m, sizeof m, NULL, 0, &n_fds);

	(void)events;
	if (n <= 0)
		return;
	unsigned op = m.head.type;

	assert_in_range(op, 1, OP_COUNT - 1);
	fk->seq[op] = m.head.seq;
	if (op != OP_LIST && (op != OP_CONNECT || !fk->brief)) /* that is fake_settle() */
		fake_saw(fk, fake_op_name(op));
	if (op == OP_START)
		memcpy(&fk->last_start, &m, (size_t)n);
	else if (op == OP_SNAPSHOT || op == OP_CHECKPOINT)
		fk->last_save = m.save;
	else if (n == sizeof m.id)
		fk->last_id = m.id;
	if (fk->refuse[op] == FAKE_SILENT)
		return;
	if (op == OP_CHECKPOINT && fk->releases && !fk->refuse[op])
		fake_release(fk);
	fake_answer(fk, op, fk->refuse[op]);
}

/* --- all of it --- */

static inline void fake_exited(void *user, const struct msg_exited *m)
{
	struct fake *fk = user;

	if (fk->on_exited)
		fk->on_exited(fk->user, m);
}

static inline void fake_answered(void *user, enum msg_type op, uint64_t us)
{
	(void)user;
	(void)op;
	(void)us;
}

static inline void fake_lost(void *user, const char *why)
{
	(void)user;
	(void)why;
}

static inline void fake_give_up(void *user)
{
	struct fake *fk = user;

	fk->gave_up = true;
	loop_stop(fk->loop);
}

static inline void fake_init(struct fake *fk)
{
	static const struct warden_ops ops = { .on_exited = fake_exited,
		.on_answered = fake_answered,
		.on_lost = fake_lost };
	int pair[2];

	memset(fk, 0, sizeof *fk);
	LIST_INIT(&fk->conns);
	fk->loop = fk->link.loop = loop_new();
	assert_non_null(fk->loop);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	fk->fd = pair[0];
	fk->watch = watch_new(fk->loop, fk->fd, WATCH_IN, fake_on_question, fk);
	fk->patience = timer_new(fk->loop, fake_give_up, fk);
	fk->link.warden = warden_link_new(fk->loop, pair[1], &ops, fk);
	assert_non_null(fk->link.warden);
}

/* All but the loop and the front's end of the socket. */
static inline void fake_leave(struct fake *fk)
{
	while (LIST_FIRST(&fk->conns))
		fake_conn_free(LIST_FIRST(&fk->conns));
	watch_free(fk->watch);
	timer_free(fk->patience);
	fd_close(fk->fd);
}

static inline void fake_done(struct fake *fk)
{
	fake_leave(fk);
	warden_link_free(fk->link.warden);
	loop_free(fk->loop);
}

/* The round ends; outside of fake_run() there is none. */
static inline void fake_stop(struct fake *fk)
{
	if (fk->runs)
		loop_stop(fk->loop);
}

/* Until somebody calls fake_stop(). */
static inline void fake_run(struct fake *fk)
{
	timer_arm(fk->patience, FAKE_PATIENCE_MS);
	fk->runs = true;
	loop_run(fk->loop);
	fk->runs = false;
	timer_disarm(fk->patience);
	assert_false(fk->gave_up);
}

static inline void fake_on_settled(void *user, const struct warden_reply *re)
{
	struct fake *fk = user;

	(void)re;
	fake_stop(fk);
}

/* Until all that was asked so far has arrived at the warden, and what it has sent has arrived here. */
static inline void fake_settle(struct fake *fk)
{
	struct msg_list m = { 0 };

	(void)warden_ask(fk->link.warden, OP_LIST, &m, sizeof m, fake_on_settled, fk);
	fake_run(fk);
}

/* Forgets what it compares. */
#define assert_seen(fk, want) \
	do { \
		assert_string_equal((fk)->seen, want); \
		(fk)->seen[0] = '\0'; \
	} while (0)

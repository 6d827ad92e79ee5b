/* SPDX-License-Identifier: Apache-2.0 */
/* client/mock/mock: threads and HTTP of the mock. One thread per connection; requests are read completely. */
#include "client/mock/mock.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/rand.h"
#include "client/mock/state.h"
#include "http/connect.h"
#include "http/json.h"

#define HEAD_MAX (64u * 1024)
#define BODY_MAX (64u * 1024 * 1024)
#define MOCK_ANSWER_MAX (128u * 1024 * 1024)

int mock_thread(struct mock *m, void *(*fn)(void *), void *arg)
{
	pthread_attr_t attr;
	pthread_t t;

	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	m->threads++;
	int no = pthread_create(&t, &attr, fn, arg);

	(void)pthread_attr_destroy(&attr);
	if (no != 0)
		m->threads--;
	return -no;
}

void mock_thread_end(struct mock *m)
{
	m->threads--;
	(void)pthread_cond_broadcast(&m->changed);
	(void)pthread_mutex_unlock(&m->lock);
}

/* --- responses --- */

void mock_json(struct mock_call *c, int status, json_t *j)
{
	c->status = status;
	c->type = "application/json";
	json_put(&c->answer, j);
	json_decref(j);
}

void mock_refuse(struct mock_call *c, int status, const char *fmt, ...)
{
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	mock_json(c, status, json_pack("{s:i,s:s}", "code", status, "message", text));
}

void mock_rpc_refuse(struct mock_call *c, int status, const char *code, const char *fmt, ...)
{
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	mock_json(c, status, json_pack("{s:s,s:s}", "code", code, "message", text));
}

static void send_all(struct mock_call *c, const void *p, size_t n)
{
	const char *at = p;

	while (n > 0 && !c->broken) {
		ssize_t r = send(c->fd, at, n, MSG_NOSIGNAL);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			c->broken = true;
		else
			at += r, n -= (size_t)r;
	}
}

/* Releases the lock while sending: the client may be waiting for another call before it reads. */
static void send_unlocked(struct mock_call *c, struct str bytes)
{
	(void)pthread_mutex_unlock(&c->m->lock);
	send_all(c, bytes.p, bytes.n);
	(void)pthread_mutex_lock(&c->m->lock);
}

void mock_stream_begin(struct mock_call *c, const char *type)
{
	autobuf struct buf b = BUF_INIT(1024);

	c->status = 0;
	buf_fmt(&b, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n", type);
	send_unlocked(c, buf_view(&b));
}

void mock_stream_send(struct mock_call *c, const void *p, size_t n)
{
	autobuf struct buf b = BUF_INIT(MOCK_ANSWER_MAX);

	buf_fmt(&b, "%zx\r\n", n);
	buf_put(&b, p, n);
	buf_z(&b, "\r\n");
	send_unlocked(c, buf_view(&b));
}

static void send_envelope(struct mock_call *c, uint8_t flags, const json_t *j)
{
	autobuf struct buf text = BUF_INIT(ENVELOPE_MAX), b = BUF_INIT(ENVELOPE_MAX + ENVELOPE_HEAD);

	json_put(&text, j);
	envelope_put(&b, flags, buf_view(&text));
	mock_stream_send(c, b.p, b.n);
}

void mock_stream_message(struct mock_call *c, const json_t *j)
{
	send_envelope(c, 0, j);
}

void mock_stream_end(struct mock_call *c, const char *code, const char *message)
{
	if (code) {
		autojson json_t *end = *code ? json_pack("{s:{s:s,s:s}}", "error", "code", code, "message", message)
					     : json_object();

		send_envelope(c, ENVELOPE_END, end);
	}
	send_unlocked(c, STR_LIT("0\r\n\r\n"));
}

bool mock_stream_wait(struct mock_call *c, uint64_t until_ms)
{
	uint64_t now = clock_mono_ms(), to = now + MOCK_TICK_MS < until_ms ? now + MOCK_TICK_MS : until_ms;
	struct timespec at = { .tv_sec = (time_t)(to / 1000), .tv_nsec = (long)(to % 1000) * 1000000 };
	struct pollfd p = { .fd = c->fd, .events = POLLIN | POLLRDHUP };
	char byte;

	if (c->broken || c->m->closing || now >= until_ms)
		return false;
	(void)pthread_cond_timedwait(&c->m->changed, &c->m->lock, &at);
	if (poll(&p, 1, 0) == 1 && recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
		c->broken = true;
	return !c->broken && !c->m->closing;
}

/* --- requests --- */

static const char *status_text(int status)
{
	return status < 300 ? "OK" : status < 500 ? "Refused" : "Failed";
}

static void answer(struct mock_call *c)
{
	autobuf struct buf b = BUF_INIT(MOCK_ANSWER_MAX);

	if (c->status == 0 || c->broken)
		return;
	buf_fmt(&b, "HTTP/1.1 %d %s\r\n", c->status, status_text(c->status));
	if (c->type)
		buf_fmt(&b, "Content-Type: %s\r\n", c->type);
	if (c->status != 204)
		buf_fmt(&b, "Content-Length: %zu\r\n", c->answer.n);
	buf_z(&b, "\r\n");
	buf_str(&b, buf_view(&c->answer));
	if (b.bad)
		c->broken = true;
	send_all(c, b.p, b.n);
}

static void dispatch(struct mock_call *c)
{
	struct mock_sandbox *sb;

	(void)pthread_mutex_lock(&c->m->lock);
	sb = *c->sandbox ? mock_sandbox_find(c->m, c->sandbox) : NULL;
	if (!*c->sandbox)
		mock_api(c);
	else if (!sb || !sb->running)
		mock_json(c, 502,
		    json_pack("{s:s,s:s,s:i}", "sandboxId", c->sandbox, "message", "The sandbox was not found", "code",
			502));
	else if (strcmp(c->path, "/health") == 0)
		c->status = 204;
	else if (!mock_files(c, sb) && !mock_watch(c, sb) && !mock_processes(c, sb) && !mock_code(c, sb))
		mock_refuse(c, 501, "the mock does not implement %s %s", c->method, c->path);
	(void)pthread_mutex_unlock(&c->m->lock);
	answer(c);
}

static ssize_t read_some(int fd, struct buf *in)
{
	char *room = buf_room(in, 16384);
	ssize_t n;

	do {
		n = room ? recv(fd, room, 16384, 0) : -1;
	} while (n < 0 && errno == EINTR);
	if (n > 0)
		in->n += (size_t)n;
	return n;
}

struct head {
	size_t n; /* bytes of it */
	size_t length;
	bool chunked;
};

static void header(struct mock_call *c, struct head *h, struct str name, struct str value)
{
	uint64_t n = 0;

	if (str_ieq(name, STR_LIT("content-length")) && str_to_u64(value, BODY_MAX, &n) == 0)
		h->length = n;
	else if (str_ieq(name, STR_LIT("transfer-encoding")))
		h->chunked = str_ieq(value, STR_LIT("chunked"));
	else if (str_ieq(name, STR_LIT("e2b-sandbox-id")))
		(void)str_copy(c->sandbox, sizeof(c->sandbox), value);
	else if (str_ieq(name, STR_LIT("e2b-sandbox-port")) && str_to_u64(value, 65535, &n) == 0)
		c->port = (unsigned)n;
	else if (str_ieq(name, STR_LIT("connect-timeout-ms")) && str_to_u64(value, UINT32_MAX, &n) == 0)
		c->timeout_ms = (unsigned)n;
}

/* Parses the head of a request. It comes from libcurl in this process, so it is trusted. */
static int read_head(struct mock_call *c, struct buf *in, struct head *h)
{
	char *end;

	while (!(end = in->n ? memmem(in->p, in->n, "\r\n\r\n", 4) : NULL)) {
		if (in->n > HEAD_MAX || read_some(c->fd, in) <= 0)
			return -EPIPE;
	}
	*h = (struct head) { .n = (size_t)(end - in->p) + 4 };
	struct str rest = { in->p, h->n - 2 }, line = str_cut(&rest, '\n');
	(void)str_copy(c->method, sizeof(c->method), str_cut(&line, ' '));
	struct str target = str_cut(&line, ' '), path = str_cut(&target, '?');

	c->path = str_dup(path);
	c->query = target.p ? str_dup(target) : strdup("");
	while (rest.n > 0) {
		struct str value = str_cut(&rest, '\n'), name = str_cut(&value, ':');

		if (value.n > 0 && value.p[value.n - 1] == '\r')
			value.n--;
		if (value.p)
			header(c, h, name, str_trim(value));
	}
	return c->path && c->query ? 0 : -ENOMEM;
}

static int read_chunks(struct mock_call *c, struct buf *in, size_t at, struct buf *body)
{
	for (;;) {
		char *end;

		while (!(end = in->n > at ? memmem(in->p + at, in->n - at, "\r\n", 2) : NULL)) {
			if (read_some(c->fd, in) <= 0)
				return -EPIPE;
		}
		size_t n = strtoul(in->p + at, NULL, 16), head = (size_t)(end - (in->p + at)) + 2;
		while (in->n < at + head + n + 2) {
			if (read_some(c->fd, in) <= 0)
				return -EPIPE;
		}
		buf_put(body, in->p + at + head, n);
		at += head + n + 2;
		if (n == 0) {
			buf_consume(in, at);
			return body->bad ? -ENOMEM : 0;
		}
	}
}

static int read_body(struct mock_call *c, struct buf *in, const struct head *h, struct buf *body)
{
	if (h->chunked)
		return read_chunks(c, in, h->n, body);
	while (in->n < h->n + h->length) {
		if (read_some(c->fd, in) <= 0)
			return -EPIPE;
	}
	buf_put(body, in->p + h->n, h->length);
	buf_consume(in, h->n + h->length);
	return body->bad ? -ENOMEM : 0;
}

/* Parses a message in an envelope, or the plain body. */
static json_t *body_json(struct str body)
{
	struct str in = body;
	struct envelope env;

	if (body.n > ENVELOPE_HEAD && body.p[0] == 0 && envelope_parse(&in, &env) == 1)
		body = env.body;
	return body.n > 0 ? json_loadb(body.p, body.n, JSON_ALLOW_NUL, NULL) : NULL;
}

static bool serve_one(struct mock *m, int fd, struct buf *in)
{
	autobuf struct buf body = BUF_INIT(BODY_MAX);
	struct mock_call c = { .m = m, .fd = fd, .answer = BUF_INIT(MOCK_ANSWER_MAX) };
	struct head h;
	bool ok = read_head(&c, in, &h) == 0 && read_body(&c, in, &h, &body) == 0;

	if (ok) {
		c.body = buf_view(&body);
		c.json = body_json(c.body);
		dispatch(&c);
	}
	json_decref(c.json);
	free(c.path);
	free(c.query);
	buf_done(&c.answer);
	return ok && !c.broken;
}

struct connection {
	struct mock *m;
	int fd;
};

static void *serve(void *arg)
{
	struct connection *conn = arg;
	autobuf struct buf in = BUF_INIT(BODY_MAX + HEAD_MAX);

	while (serve_one(conn->m, conn->fd, &in))
		;
	fd_close(conn->fd);
	(void)pthread_mutex_lock(&conn->m->lock);
	struct mock *m = conn->m;

	free(conn);
	mock_thread_end(m);
	return NULL;
}

/* Accepts only this process: others can find the name of the socket. */
static bool is_us(int fd)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 && peer.pid == getpid();
}

static void *accept_all(void *arg)
{
	struct mock *m = arg;
	int fd;

	while ((fd = accept4(m->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0 || errno == EINTR || errno == ECONNABORTED) {
		struct connection *conn = fd >= 0 && is_us(fd) ? malloc(sizeof(*conn)) : NULL;

		(void)pthread_mutex_lock(&m->lock);
		if (conn)
			*conn = (struct connection) { m, fd };
		if (!conn || mock_thread(m, serve, conn) < 0) {
			free(conn);
			fd_close(fd);
		}
		(void)pthread_mutex_unlock(&m->lock);
	}
	(void)pthread_mutex_lock(&m->lock);
	mock_thread_end(m);
	return NULL;
}

static int listen_here(struct mock *m)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	uint64_t random;

	rand_bytes(&random, sizeof(random));
	(void)snprintf(m->name, sizeof(m->name), "atoll-mock-%d-%016llx", (int)getpid(), (unsigned long long)random);
	memcpy(at.sun_path + 1, m->name, strlen(m->name));
	m->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (m->listener < 0 ||
	    bind(m->listener, (struct sockaddr *)&at,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(m->name))) < 0 ||
	    listen(m->listener, 64) < 0)
		return -errno;
	return mock_thread(m, accept_all, m);
}

static void mock_setup_handle(struct mock *m, CURL *h)
{
	curl_easy_setopt(h, CURLOPT_ABSTRACT_UNIX_SOCKET, m->name);
}

static void mock_free(struct mock *m)
{
	if (!m)
		return;
	(void)pthread_mutex_lock(&m->lock);
	m->closing = true;
	if (m->listener >= 0)
		(void)shutdown(m->listener, SHUT_RDWR); /* wakes the listener thread */
	(void)pthread_cond_broadcast(&m->changed);
	while (m->threads > 0)
		(void)pthread_cond_wait(&m->changed, &m->lock);
	(void)pthread_mutex_unlock(&m->lock);
	fd_close(m->listener);
	for (struct mock_sandbox *sb = m->sandboxes, *next; sb; sb = next) {
		next = sb->next;
		mock_sandbox_free(sb);
	}
	(void)pthread_mutex_destroy(&m->lock);
	(void)pthread_cond_destroy(&m->changed);
	free(m);
}

static struct mock *mock_new(void)
{
	struct mock *m = calloc(1, sizeof(*m));
	pthread_condattr_t attr;

	if (!m)
		return NULL;
	(void)pthread_mutex_init(&m->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&m->changed, &attr);
	(void)pthread_condattr_destroy(&attr);
	if (listen_here(m) == 0)
		return m;
	mock_free(m);
	return NULL;
}

const struct mock_ops atoll_mock = {
	.size = sizeof(struct mock_ops),
	.new = mock_new,
	.free = mock_free,
	.setup_handle = mock_setup_handle,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* build_call: POST /atoll/build {"args":[...]}: runs atoll-build as a child and answers {"ok":true,"text":"..."}
 * when it ends.
 *
 * The child is forked without an exec: programs inside cannot open init's executable, and a fork of init stays
 * non-dumpable, so nothing inside can attach to it. The last byte of its output tells whether it succeeded. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "http/json.h"
#include "http/server.h"
#include "init/build/build.h"
#include "init/init.h"
#include "init/reply.h"
#include "init/text.h"
#include "loop/loop.h"

#define BODY_MAX (1024 * 1024)
#define OUT_MAX (2 * 1024 * 1024)
#define ARGS_MAX 16

struct build_call {
	struct init *in;
	struct http_req *rq;
	struct buf body, out;
	struct watch *watch;
	int fd;
};

static _Noreturn void child_main(const struct init *in, int out, char **argv, int argc)
{
	char mark;

	for (int i = 1; i < NSIG; i++)
		(void)signal(i, SIG_DFL);
	if (dup2(out, 1) < 0 || dup2(out, 2) < 0)
		_exit(1);
	mark = build_main(in, argc, argv) == 0 ? 0 : 1;
	(void)fd_write_all(1, &mark, 1);
	_exit(0);
}

static void answer(struct build_call *c)
{
	bool ok = c->out.n > 0 && !c->out.bad && c->out.p[c->out.n - 1] == 0;
	struct str text = { c->out.p, c->out.n ? c->out.n - 1 : 0 };
	autojson json_t *j = json_object();

	(void)json_object_set_new(j, "ok", json_boolean(ok));
	(void)json_object_set_new(j, "text",
	    c->out.n ? text_json(text) : json_string("it was killed, perhaps for lack of memory"));
	init_reply_json(c->rq, 200, NULL, j);
}

static void on_output(void *user, int events)
{
	struct build_call *c = user;
	char room[16384];
	ssize_t n = read(c->fd, room, sizeof room);

	(void)events;
	if (n > 0) {
		buf_put(&c->out, room, (size_t)n);
		return;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	watch_free(take_ptr(&c->watch));
	answer(c);
}

static int run(struct build_call *c, json_t *args, struct err *e)
{
	char *argv[ARGS_MAX + 1] = { NULL };
	size_t n = json_array_size(args);
	int pair[2];

	if (n == 0 || n > ARGS_MAX)
		return err_set(e, EINVAL, "field 'args' must have 1 to %d strings", ARGS_MAX);
	for (size_t i = 0; i < n; i++) {
		argv[i] = (char *)json_string_value(json_array_get(args, i));
		if (!argv[i])
			return err_set(e, EINVAL, "field 'args' must be an array of strings");
	}
	if (pipe2(pair, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	pid_t pid = fork();

	if (pid == 0)
		child_main(c->in, pair[1], argv, (int)n);
	close(pair[1]);
	c->fd = pair[0];
	if (pid < 0)
		return err_sys(e, "fork");
	c->watch = fd_nonblock(c->fd, true) < 0 ? NULL : watch_new(c->in->loop, c->fd, WATCH_IN, on_output, c);
	return c->watch ? 0 : err_set(e, ENOMEM, "out of memory");
}

static void on_body(struct http_req *rq, struct str data)
{
	struct build_call *c = rq->user;

	buf_str(&c->body, data);
}

static void on_body_end(struct http_req *rq)
{
	struct build_call *c = rq->user;
	autojson json_t *body = NULL;
	json_t *args = NULL;
	struct err e = ERR_INIT;

	if (c->body.bad)
		init_reply_error(rq, 413, "request body is larger than %d bytes", BODY_MAX);
	else if (json_read_object(buf_view(&c->body), false, &body, &e) < 0 ||
	    json_get_arr(body, "args", &args, &e) < 0 || run(c, args, &e) < 0)
		init_reply_error(rq, e.no == EINVAL ? 400 : 500, "%s", e.text);
}

static void on_close(struct http_req *rq, bool lost)
{
	struct build_call *c = rq->user;

	(void)lost;
	watch_free(c->watch);
	fd_close(c->fd);
	buf_done(&c->body);
	buf_done(&c->out);
	free(c);
}

static const struct http_req_ops ops = { .on_body = on_body, .on_body_end = on_body_end, .on_close = on_close };

void build_serve(struct init *in, struct http_req *rq)
{
	struct build_call *c = calloc(1, sizeof(*c));

	if (!c) {
		init_reply_error(rq, 503, "out of memory");
		return;
	}
	*c = (struct build_call) { .in = in, .rq = rq, .body = BUF_INIT(BODY_MAX), .out = BUF_INIT(OUT_MAX), .fd = -1 };
	rq->user = c;
	rq->ops = &ops;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* interp_rest: the interpreter's requests: /health, /contexts and below; dispatches /execute. */
#include "init/interp/rest.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "http/json.h"
#include "http/server.h"
#include "init/init.h"
#include "init/interp/context.h"
#include "init/interp/execute.h"
#include "init/interp/interp.h"
#include "init/interp/kernel.h"
#include "init/reply.h"
#include "init/sysfile.h"

#define PORT 49999
#define BACKLOG 64
#define CONNS_INSIDE 64
#define BODY_MAX (64 * 1024)
#define WARM_FILE "/etc/atoll/warm" /* languages whose default context starts with the sandbox */
#define WARM_MAX 4096

void interp_reply_text(struct http_req *rq, int status, const char *fmt, ...)
{
	autofree char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	http_respond(rq, status, "text/plain; charset=utf-8", "X-Content-Type-Options: nosniff\r\n",
	    text ? str_of(text) : STR_LIT("out of memory"));
}

int rest_status(const struct err *e)
{
	switch (e->no) {
	case EINVAL:
	case ENOTDIR: /* the working directory is not a directory */
		return 400;
	case ENOENT: /* the official clients show the text of this status only */
		return 404;
	case EFBIG:
		return 413;
	case EUSERS: /* too many contexts */
		return 429;
	default:
		return 500;
	}
}

static void health(struct http_req *rq)
{
	http_respond(rq, 200, "application/json", "Cache-Control: no-store\r\n", STR_LIT("\"OK\""));
}

static void answer_null(struct http_req *rq)
{
	http_respond(rq, 200, "application/json", NULL, STR_LIT("null"));
}

/* POST /contexts. */

struct creation {
	struct init *in;
	struct buf body;
};

static void on_body(struct http_req *rq, struct str data)
{
	struct creation *cr = rq->user;

	buf_str(&cr->body, data);
}

static void on_body_end(struct http_req *rq)
{
	struct creation *cr = rq->user;
	autojson json_t *msg = NULL;
	const char *language = NULL, *cwd = NULL;
	struct context *c = NULL;
	struct err e = ERR_INIT;

	if (cr->body.bad) {
		interp_reply_text(rq, 413, "the request is larger than %d bytes", BODY_MAX);
		return;
	}
	contexts_ensure_defaults(cr->in);
	if (json_read_object(buf_view(&cr->body), true, &msg, &e) < 0 ||
	    json_get_str(msg, "language", &language, &e) < 0 || json_get_str(msg, "cwd", &cwd, &e) < 0 ||
	    context_new(cr->in, language && *language ? language : "python", cwd && *cwd ? cwd : CONTEXT_CWD, false, &c,
		&e) < 0) {
		interp_reply_text(rq, rest_status(&e), "%s", e.text);
		return;
	}
	if (context_warm(c, &e) < 0) {
		context_remove(c);
		interp_reply_text(rq, 500, "%s", e.text);
		return;
	}
	autojson json_t *body = context_json(c);

	init_reply_json(rq, 200, NULL, body);
}

static void on_close(struct http_req *rq, bool lost)
{
	struct creation *cr = rq->user;

	(void)lost;
	buf_done(&cr->body);
	free(cr);
}

static const struct http_req_ops create_ops = { .on_body = on_body, .on_body_end = on_body_end, .on_close = on_close };

static void create(struct init *in, struct http_req *rq)
{
	struct creation *cr = calloc(1, sizeof(*cr));

	if (!cr) {
		interp_reply_text(rq, 503, "out of memory");
		return;
	}
	*cr = (struct creation) { .in = in, .body = BUF_INIT(BODY_MAX) };
	rq->user = cr;
	rq->ops = &create_ops;
}

static void list(struct init *in, struct http_req *rq)
{
	contexts_ensure_defaults(in);
	autojson json_t *all = contexts_list(in);

	init_reply_json(rq, 200, NULL, all);
}

/* /contexts/{id} and /contexts/{id}/restart. */
static void serve_one(struct init *in, struct http_req *rq, struct str rest)
{
	struct str id = str_cut(&rest, '/');
	autofree char *z = str_dup(id);
	struct context *c = z ? context_find(in, z) : NULL;
	bool restart = str_is(rest, "restart") && str_is(rq->method, "POST");

	if (!restart && (rest.p || !str_is(rq->method, "DELETE"))) {
		interp_reply_text(rq, 405, "Method Not Allowed");
	} else if (!c) {
		interp_reply_text(rq, 404, "Context %.*s not found", (int)(id.n < 100 ? id.n : 100), id.p);
	} else {
		if (restart)
			context_restart(c);
		else
			context_remove(c);
		answer_null(rq);
	}
}

void interp_serve(struct init *in, struct http_req *rq)
{
	bool get = str_is(rq->method, "GET") || str_is(rq->method, "HEAD"), post = str_is(rq->method, "POST");
	struct str path = rq->path;

	if (str_is(path, "/health") && get) {
		health(rq);
	} else if (str_is(path, "/execute") && post) {
		execute_post(in, rq);
	} else if (str_is(path, "/contexts") && post) {
		create(in, rq);
	} else if (str_is(path, "/contexts") && get) {
		list(in, rq);
	} else if (str_starts(path, "/contexts/")) {
		str_skip(&path, strlen("/contexts/"));
		serve_one(in, rq, path);
	} else if (str_is(path, "/health") || str_is(path, "/execute") || str_is(path, "/contexts")) {
		interp_reply_text(rq, 405, "Method Not Allowed");
	} else {
		interp_reply_text(rq, 404, "Not Found");
	}
}

/* Programs inside may check whether the interpreter runs, but may not use its contexts. */
static void on_inside(void *user, struct http_req *rq)
{
	(void)user;
	if (str_is(rq->path, "/health") && (str_is(rq->method, "GET") || str_is(rq->method, "HEAD")))
		health(rq);
	else
		interp_reply_text(rq, 404, "Not Found");
}

static const struct http_server_ops inside_ops = { .on_request = on_inside };

static void listen_inside(struct init *in)
{
	struct sockaddr_in any = { .sin_family = AF_INET,
		.sin_port = htons(PORT),
		.sin_addr.s_addr = htonl(INADDR_ANY) };
	const int on = 1;
	autoclose int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof(any)) < 0 || listen(fd, BACKLOG) < 0) {
		log_warn("cannot listen on the interpreter's port", "errno=%d", errno);
		return;
	}
	in->interp.inside = http_server_new(in->loop, take_fd(&fd), &inside_ops, in);
	if (in->interp.inside)
		http_server_limit(in->interp.inside, CONNS_INSIDE);
}

/* Calls fn for each language that the template wants warm. */
static void each_warm(struct init *in, void (*fn)(struct init *in, const char *language))
{
	size_t n = 0;
	autofree char *text = sysfile_read(WARM_FILE, WARM_MAX, &n);
	struct str rest = { text, n };

	while (rest.p) {
		struct str line = str_trim(str_cut(&rest, '\n'));
		autofree char *language = line.n && line.p[0] != '#' ? str_dup(line) : NULL;

		if (language)
			fn(in, language);
	}
}

static void warm_one(struct init *in, const char *language)
{
	struct context *c;
	struct err e = ERR_INIT;

	if (context_default(in, language, &c, &e) < 0 || context_warm(c, &e) < 0)
		log_warn("cannot warm up a context", "language=%s err=%s", language, e.text);
}

static void spare_one(struct init *in, const char *language)
{
	struct runtime rt = RUNTIME_INIT;
	struct err ignored = ERR_INIT;

	if (!in->interp.spare && runtime_find(language, &rt, &ignored) == 0)
		kernel_spare(in, &rt);
	runtime_done(&rt);
}

void interp_open(struct init *in, int seed_fd)
{
	seed_open(&in->interp.first, in->loop, seed_fd, true, &kernel_seed_ops, in);
	seed_open(&in->interp.seed, in->loop, -1, false, &kernel_seed_ops, in);
	if (seed_fd >= 0)
		each_warm(in, spare_one);
}

void interp_quiet(struct init *in)
{
	if (in->interp.seed.fd >= 0)
		seed_close(&in->interp.seed);
}

void interp_wake(struct init *in)
{
	if (in->interp.awake || in->any_peer)
		return;
	in->interp.awake = true;
	listen_inside(in);
	each_warm(in, warm_one);
}

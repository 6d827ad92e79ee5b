/* SPDX-License-Identifier: Apache-2.0 */
/* interp_execute: one POST /execute: passes code to a context and streams its events back. */
#include "init/interp/execute.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "http/json.h"
#include "http/server.h"
#include "init/init.h"
#include "init/interp/context.h"
#include "init/interp/event.h"
#include "init/interp/rest.h"
#include "loop/loop.h"
#include "loop/stream.h"

#define BODY_MAX (3 * EXECUTE_CODE_MAX)
#define KEEPALIVE_MS 5000
/* A runtime that cannot start fails within this time; the answer can then still be a 500. */
#define BEGIN_MS 300
/* The head of the answer and the count wait this long for the first output: most cells are over by then, and their
 * answer is one piece for all who pass it on. */
#define HEAD_MS 2
#define GATHER_MS 200              /* output is joined for this long */
#define HELD_MAX (4 * 1024 * 1024) /* or until it has this many bytes */
#define TEXT_MAX HELD_MAX          /* longer output is not used as text: a part would be worse than none */
#define TEXT_VARIABLE "ATOLL_TEXT_FROM_STDOUT"
#define LINE_MAX_BYTES (6 * KERNEL_LINE_MAX)
#define OUTPUT_MAX_TEXT "32 MiB"

struct held { /* buffered output */
	struct buf b;
	bool late; /* the rest of a line that has already waited once */
};

struct execution {
	struct execution *next;
	struct init *in;
	struct http_req *rq; /* NULL: the client has disconnected */
	struct context *ctx; /* NULL: not submitted, or finished */
	struct buf body;
	json_t *msg; /* the parsed body */
	uint64_t id;
	struct timer *keepalive, *gather;
	struct held out[2];
	struct buf text; /* standard output so far, if it may become the result */
	size_t n_output;
	uint64_t count; /* to be sent before anything else; 0: sent, or not known yet */
	bool begun, announced, failed, cut, full, wants_text;
};

static const char *const stream_names[] = { [KERNEL_STDOUT] = "stdout", [KERNEL_STDERR] = "stderr" };

/* Events. */

static void write_event(struct execution *x, json_t *ev)
{
	autobuf struct buf line = BUF_INIT(LINE_MAX_BYTES);
	autojson json_t *owned = ev;

	json_put(&line, owned);
	buf_ch(&line, '\n');
	if (!line.bad && owned)
		http_write(x->rq, buf_view(&line));
}

/* Sends what waits for the first output: the head of the answer, the count. */
static void announce(struct execution *x)
{
	uint64_t count = x->count;

	if (!x->announced)
		http_begin(x->rq, 200, "application/x-ndjson",
		    "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n", -1);
	x->announced = true;
	x->count = 0;
	if (count)
		write_event(x, event_count(count));
	timer_arm(x->keepalive, KEEPALIVE_MS);
}

static void send_event(struct execution *x, json_t *ev)
{
	if (!x->rq || !x->begun) {
		json_decref(ev);
		return;
	}
	announce(x);
	write_event(x, ev);
	if (x->ctx && !x->full && http_queued(x->rq) > STREAM_HIGH) {
		x->full = true;
		context_flow(x->ctx, false);
	}
}

enum flush { FLUSH_LINES, FLUSH_CHARACTERS, FLUSH_ALL };

static void flush(struct execution *x, enum kernel_stream which, enum flush how)
{
	struct held *h = &x->out[which];
	size_t n = how == FLUSH_ALL ? h->b.n : output_ready(buf_view(&h->b), how == FLUSH_LINES && !h->late);

	if (n)
		send_event(x, event_output(stream_names[which], (struct str) { h->b.p, n }, clock_wall_ms()));
	buf_consume(&h->b, n);
	h->late = h->b.n > 0;
	if (h->b.n == 0 && h->b.cap > STREAM_HIGH) {
		buf_done(&h->b);
		h->b = BUF_INIT(2 * HELD_MAX);
	}
}

static void flush_both(struct execution *x, enum flush how)
{
	flush(x, KERNEL_STDOUT, how);
	flush(x, KERNEL_STDERR, how);
}

static void on_gather(void *user)
{
	struct execution *x = user;

	flush_both(x, FLUSH_LINES);
	if (x->out[0].b.n || x->out[1].b.n)
		timer_arm(x->gather, GATHER_MS);
}

static void on_keepalive(void *user)
{
	struct execution *x = user;

	if (!x->rq)
		return;
	if (!x->begun || !x->announced || x->count) {
		x->begun = true;
		announce(x);
	} else {
		send_event(x, event_plain("keepalive"));
	}
}

/* E2B's Java sends each write separately, and println() is two of them: programs compare the first piece with the
 * text that they printed. The pipe splits a write at PIPE_BUF, so a piece of that length is buffered until the
 * rest arrives. */
static bool is_whole_write(const struct execution *x, struct str bytes)
{
	return x->ctx && context_runtime(x->ctx)->writes_apart && bytes.n < PIPE_BUF;
}

void execution_output(struct execution *x, enum kernel_stream which, struct str bytes)
{
	bool idle = x->out[0].b.n == 0 && x->out[1].b.n == 0;

	if (x->cut || !x->rq)
		return;
	if (x->n_output + bytes.n > EXECUTE_OUTPUT_MAX) {
		x->cut = true;
		bytes.n = EXECUTE_OUTPUT_MAX - x->n_output;
	}
	x->n_output += bytes.n;
	buf_put(&x->out[which].b, bytes.p, bytes.n);
	if (x->wants_text && which == KERNEL_STDOUT)
		buf_put(&x->text, bytes.p, bytes.n);
	if (x->cut) {
		buf_z(&x->out[which].b, "\n[output is cut here: it is longer than " OUTPUT_MAX_TEXT "]\n");
		flush_both(x, FLUSH_CHARACTERS);
	} else if (is_whole_write(x, bytes)) {
		flush(x, which, FLUSH_CHARACTERS);
	} else if (x->out[which].b.n > HELD_MAX) {
		flush(x, which, FLUSH_LINES);
	} else if (idle) {
		timer_arm(x->gather, GATHER_MS);
	}
}

void execution_note(struct execution *x, const char *text)
{
	execution_output(x, KERNEL_STDERR, str_of(text));
}

void execution_result(struct execution *x, const json_t *bundle, bool is_main)
{
	flush_both(x, FLUSH_CHARACTERS);
	if (is_main)
		x->wants_text = false;
	if (json_is_object(bundle))
		send_event(x, event_result(bundle, is_main));
}

void interp_execution_error(struct execution *x, const char *name, const char *value, const char *traceback)
{
	if (x->failed)
		return;
	x->failed = true;
	flush_both(x, FLUSH_CHARACTERS);
	send_event(x, event_error(name, value, traceback));
}

/* The text does not include the last line's newline, as in a result. */
static void send_text(struct execution *x)
{
	struct str text = buf_view(&x->text);

	if (!x->wants_text || x->failed || x->text.bad || text.n == 0)
		return;
	text.n -= text.p[text.n - 1] == '\n';
	send_event(x, event_text(text));
}

void interp_execution_count(struct execution *x, uint64_t n)
{
	x->count = n;
	timer_arm(x->keepalive, HEAD_MS);
}

/* States. */

struct execution *execution_next(const struct execution *x)
{
	return x->next;
}

void execution_link(struct execution *x, struct execution *next)
{
	x->next = next;
}

void execution_cell(const struct execution *x, struct kernel_cell *ret)
{
	*ret = (struct kernel_cell) { .id = x->id, .code = json_object_get(x->msg, "code") };
	if (json_is_object(json_object_get(x->msg, "env_vars")))
		ret->env = json_object_get(x->msg, "env_vars");
}

void execution_begin(struct execution *x)
{
	if (x->begun || !x->rq)
		return;
	x->begun = true;
	timer_arm(x->keepalive, HEAD_MS);
}

static void execution_free(void *p)
{
	struct execution *x = p;

	timer_free(x->keepalive);
	timer_free(x->gather);
	json_decref(x->msg);
	buf_done(&x->body);
	buf_done(&x->text);
	buf_done(&x->out[0].b);
	buf_done(&x->out[1].b);
	free(x);
}

/* Removes x from the context's queue. If a client is connected, x is freed at the end of its request. */
static void leave(struct execution *x)
{
	x->ctx = NULL;
	x->next = NULL;
	timer_disarm(x->keepalive);
	timer_disarm(x->gather);
	if (!x->rq)
		loop_defer(x->in->loop, execution_free, x);
}

void execution_end(struct execution *x)
{
	flush_both(x, FLUSH_ALL);
	send_text(x);
	send_event(x, event_plain("end_of_execution"));
	if (x->rq)
		http_end(x->rq);
	leave(x);
}

void execution_refuse(struct execution *x, const char *why)
{
	if (x->begun) {
		interp_execution_error(x, "UnexpectedEndOfExecution", why, "");
		execution_end(x);
		return;
	}
	if (x->rq)
		interp_reply_text(x->rq, 500, "%s", why);
	leave(x);
}

/* The request. */

static int check_request(struct execution *x, const char **ret_context, const char **ret_language, struct err *e)
{
	const char *code = NULL;
	json_t *vars = NULL;

	if (json_read_object(buf_view(&x->body), false, &x->msg, e) < 0 ||
	    json_need_str(x->msg, "code", &code, e) < 0 || json_get_str(x->msg, "context_id", ret_context, e) < 0 ||
	    json_get_str(x->msg, "language", ret_language, e) < 0 || json_get_obj(x->msg, "env_vars", &vars, e) < 0 ||
	    (vars && env_check(vars, "env_vars", e) < 0))
		return -EINVAL;
	if (*ret_context && **ret_context && *ret_language && **ret_language)
		return err_set(e, EINVAL, "Only one of context_id or language can be provided");
	if (strlen(code) > EXECUTE_CODE_MAX)
		return err_set(e, EFBIG, "the code is longer than %d bytes", EXECUTE_CODE_MAX);
	return 0;
}

static int choose_context(struct execution *x, const char *id, const char *language, struct context **ret,
    struct err *e)
{
	if (!id || !*id)
		return context_default(x->in, language && *language ? language : NULL, ret, e);
	*ret = context_find(x->in, id);
	return *ret ? 0 : err_set(e, ENOENT, "Context %.100s not found", id);
}

static bool wants_text(const struct init *in)
{
	const char *own = env_find(&in->env, TEXT_VARIABLE);

	return own ? strcmp(own, "1") == 0 || strcmp(own, "true") == 0 : in->interp.text_from_stdout;
}

static void on_body(struct http_req *rq, struct str data)
{
	struct execution *x = rq->user;

	buf_str(&x->body, data);
}

static void on_body_end(struct http_req *rq)
{
	static uint64_t last_id;
	struct execution *x = rq->user;
	const char *id = NULL, *language = NULL;
	struct context *c;
	struct err e = ERR_INIT;

	if (x->body.bad) {
		interp_reply_text(rq, 413, "the request is larger than %d bytes", BODY_MAX);
		return;
	}
	if (check_request(x, &id, &language, &e) < 0 || choose_context(x, id, language, &c, &e) < 0) {
		interp_reply_text(rq, rest_status(&e), "%s", e.text);
		return;
	}
	buf_done(&x->body);
	x->id = ++last_id;
	x->ctx = c;
	timer_arm(x->keepalive, BEGIN_MS);
	context_submit(c, x);
}

static void on_drain(struct http_req *rq)
{
	struct execution *x = rq->user;

	if (x->full && x->ctx)
		context_flow(x->ctx, true);
	x->full = false;
}

static void on_close(struct http_req *rq, bool lost)
{
	struct execution *x = rq->user;

	(void)lost;
	x->rq = NULL;
	if (x->ctx)
		context_withdraw(x->ctx, x); /* ends it, at once or when its code has stopped */
	else
		loop_defer(x->in->loop, execution_free, x);
}

static const struct http_req_ops execute_ops = {
	.on_body = on_body,
	.on_body_end = on_body_end,
	.on_drain = on_drain,
	.on_close = on_close,
};

void execute_post(struct init *in, struct http_req *rq)
{
	struct execution *x = calloc(1, sizeof(*x));

	if (x) {
		*x = (struct execution) { .in = in, .rq = rq, .body = BUF_INIT(BODY_MAX), .text = BUF_INIT(TEXT_MAX) };
		x->wants_text = wants_text(in);
		x->out[0].b = x->out[1].b = BUF_INIT(2 * HELD_MAX);
		x->keepalive = timer_new(in->loop, on_keepalive, x);
		x->gather = timer_new(in->loop, on_gather, x);
	}
	if (!x || !x->keepalive || !x->gather) {
		if (x)
			execution_free(x);
		interp_reply_text(rq, 503, "out of memory");
		return;
	}
	rq->user = x;
	rq->ops = &execute_ops;
}

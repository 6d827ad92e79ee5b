/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox_start: from STARTING to RUNNING: the warden makes it, its init is told who it is. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "front/front.h"
#include "front/mem.h"
#include "front/sandbox.h"
#include "front/warden_link.h"
#include "http/call.h"
#include "http/json.h"
#include "loop/loop.h"

#define INIT_BODY_MAX (2 * 1024 * 1024)
#define INIT_WAIT_MS 10000
#define DEFAULT_USER "user"

struct starter {
	struct sandbox *sb;
	struct http_call *call;
	struct timer *timer;
	int status;
};

static void starter_free(struct starter *st)
{
	http_call_free(st->call);
	timer_free(st->timer);
	sandbox_unref(st->sb);
	free(st);
}

/* The sandbox exists (the warden said so), but is of no use. */
static void give_up(struct starter *st, int no, const char *what)
{
	struct sandbox *sb = st->sb;

	if (sb->state == SANDBOX_STARTING) {
		(void)err_set(&sb->fail, no, "start sandbox: %s", what);
		sandbox_kill(sb, END_FAILED, "start failed");
	}
	starter_free(st);
}

static void on_init_answer(void *user, const struct http_answer *a)
{
	struct starter *st = user;

	st->status = a->status;
}

static void on_init_data(void *user, struct str data)
{
	(void)user;
	(void)data;
}

static void on_init_end(void *user)
{
	struct starter *st = user;
	struct sandbox *sb = st->sb;
	bool reusable = false;

	if (st->status != 200 && st->status != 204) {
		log_warn("init refused its settings", "id=%s status=%d", sb->id, st->status);
		give_up(st, EPROTO, "it refused its settings");
		return;
	}

	int fd = http_call_done(take_ptr(&st->call), &reusable);

	if (sb->state == SANDBOX_STARTING) {
		sandbox_started(sb);
		if (reusable)
			sandbox_idle_put(sb, take_fd(&fd));
	}
	fd_close(fd);
	starter_free(st);
}

static void on_init_error(void *user, int no)
{
	give_up(user, no, strerror(no));
}

static void on_init_slow(void *user)
{
	give_up(user, ETIMEDOUT, "it does not answer");
}

static const struct http_call_ops init_ops = {
	.on_answer = on_init_answer,
	.on_data = on_init_data,
	.on_end = on_init_end,
	.on_error = on_init_error,
};

static void put_init_body(const struct sandbox *sb, struct buf *out)
{
	autojson json_t *j = json_pack(
		"{s:s,s:s,s:s,s:b}", "sandboxId", sb->id, "templateId", sb->spec.tpl.id, "defaultUser", DEFAULT_USER,
		"textFromStdout", (int)sb->front->opt.text_from_stdout);

	(void)json_object_set_new(j, "envVars", sb->spec.env_vars ? json_incref(sb->spec.env_vars) : json_object());
	json_put(out, j);
}

static void on_connected(void *user, const struct warden_reply *re)
{
	struct starter *st = user;
	struct front *f = st->sb->front;
	autobuf struct buf body = BUF_INIT(INIT_BODY_MAX);
	autobuf struct buf head = BUF_INIT(1024);

	if (re->no || st->sb->state != SANDBOX_STARTING) {
		fd_close(re->fd);
		give_up(st, re->no, re->no ? re->text : "it ended");
		return;
	}
	put_init_body(st->sb, &body);
	buf_fmt(&head, "POST /init HTTP/1.1\r\nHost: init\r\nX-Request-Id: %s\r\n", st->sb->request);
	buf_fmt(&head, "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n", body.n);
	st->timer = timer_new(f->loop, on_init_slow, st);
	st->call = http_call_new(f->loop, re->fd, &init_ops, st);
	if (!st->timer || !st->call || body.bad) {
		give_up(st, ENOMEM, "out of memory");
		return;
	}
	timer_arm(st->timer, INIT_WAIT_MS);
	http_call_head(st->call, buf_view(&head), false, false);
	http_call_write(st->call, buf_view(&body));
}

static void on_made(void *user, const struct warden_reply *re)
{
	struct starter *st = user;
	struct sandbox *sb = st->sb;

	if (re->no && sb->state == SANDBOX_STARTING) {
		(void)err_set(&sb->fail, re->no, "start sandbox: %s", re->text);
		sandbox_exited(sb, END_FAILED, "start failed");
	}
	if (sandbox_gone(sb)) {
		starter_free(st);
		return;
	}
	(void)warden_ask_id(sb->front->warden, OP_CONNECT, sb->id, sb->request, on_connected, st);
}

void sandbox_start(struct sandbox *sb)
{
	struct starter *st = must_alloc(sizeof *st);
	struct msg_start m = { .limits = sb->spec.limits };

	st->sb = sandbox_ref(sb);
	memcpy(m.id, sb->id, sizeof m.id);
	(void)str_copy(m.template_key, sizeof m.template_key, str_of(sb->spec.tpl.key));
	memcpy(m.request, sb->request, sizeof m.request);
	if (sb->spec.flags & SPEC_NO_INTERNET)
		m.flags |= START_NO_INTERNET;
	(void)warden_ask(sb->front->warden, OP_START, &m, sizeof m, on_made, st);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* front/sandbox/warm_member: the warden makes it, its init is told the defaults, its interpreters get up. */
#include "front/sandbox/warm_member.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "front/front.h"
#include "front/link/init_call.h"
#include "front/link/warden_link.h"
#include "front/sandbox/sandbox.h"
#include "front/sandbox/start_cmd.h"
#include "front/sandbox/template.h"
#include "front/util/mem.h"
#include "loop/loop.h"

#define SETTINGS_WAIT_MS 10000
#define READY_WAIT_MS 70000 /* init itself gives up on an interpreter after a minute */
#define BODY_MAX 4096

static void member_failed(struct member *m, int no, const char *what, const char *why)
{
	struct err e = ERR_INIT;

	(void)err_set(&e, no, "%s: %s", what, why);
	m->fn(m, &e);
}

static bool bad(struct member *m, const struct init_result *re, const char *what)
{
	m->call = NULL;
	if (re->no) {
		member_failed(m, re->no, what, re->text);
		return true;
	}
	if (re->status != 204) {
		fd_close(re->fd);
		member_failed(m, EPROTO, what, "init refuses");
		return true;
	}
	return false;
}

static void on_usage(void *user, const struct warden_reply *re)
{
	struct member *m = user;

	m->asked = NULL;
	if (re->no == 0 && re->msg->type == RE_USAGE) {
		const struct msg_usage *us = (const struct msg_usage *)re->msg;

		m->mem_bytes = us->mem_bytes;
		m->cpu_ns = us->cpu_ns;
	}
	m->ready = true;
	m->fn(m, NULL);
}

static void on_ready(void *user, const struct init_result *re)
{
	struct member *m = user;

	if (bad(m, re, "wait for its interpreters"))
		return;
	if (re->fd >= 0)
		upstream_put(&m->conn, re->fd, loop_now_ms(m->front->link.loop));
	m->asked = warden_ask_id(m->front->link.warden, OP_USAGE, m->id, "", on_usage, m);
}

static void ask_ready(struct member *m, int fd)
{
	struct init_request rq = {
		.id = m->id,
		.request = "",
		.method = "GET",
		.path = "/atoll/ready",
		.fd = fd,
		.wait_ms = READY_WAIT_MS,
	};

	m->call = init_call_new(&m->front->link, &rq, on_ready, m);
}

static void on_start_cmd(void *user, int no, const char *text)
{
	struct member *m = user;

	m->start_cmd = NULL;
	if (no)
		member_failed(m, no, "run its start command", text);
	else
		ask_ready(m, -1);
}

static void on_settled(void *user, const struct init_result *re)
{
	struct member *m = user;

	if (bad(m, re, "hand over its settings"))
		return;
	if (m->run_start) {
		fd_close(re->fd);
		m->start_cmd = start_cmd_run(m->front, m->id, on_start_cmd, m);
	} else {
		ask_ready(m, re->fd);
	}
}

static void on_made(void *user, const struct warden_reply *re)
{
	struct member *m = user;
	autobuf struct buf body = BUF_INIT(BODY_MAX);

	m->asked = NULL;
	if (re->no) {
		member_failed(m, re->no, "start", re->text);
		return;
	}
	m->made = true;
	sandbox_put_settings(m->front, m->id, m->tpl, NULL, NULL, &body);
	struct init_request rq = {
		.id = m->id,
		.request = "",
		.method = "POST",
		.path = "/init",
		.body = buf_view(&body),
		.fd = -1,
		.wait_ms = SETTINGS_WAIT_MS,
	};

	m->call = init_call_new(&m->front->link, &rq, on_settled, m);
}

struct member *member_new(struct front *f, const struct template *tpl, const struct member_start *start, member_fn *fn,
    void *owner)
{
	struct member *m = must_alloc(sizeof *m);
	struct msg_start msg = { .flags = START_PATIENT, .limits = start->limits };

	m->front = f;
	m->tpl = tpl;
	m->fn = fn;
	m->run_start = start->run_start;
	m->owner = owner;
	sandbox_make_id(f, m->id);
	memcpy(msg.id, m->id, sizeof msg.id);
	if (start->from[0])
		msg.flags |= start->restore ? START_RESTORE : START_KEPT;
	memcpy(msg.from, start->from, sizeof msg.from);
	(void)str_copy(msg.template_key, sizeof msg.template_key, str_of(tpl->key));
	m->asked = warden_ask(f->link.warden, OP_START, &msg, sizeof msg, on_made, m);
	return m;
}

void member_free(struct member *m)
{
	warden_cancel(m->asked);
	init_call_free(m->call);
	init_build_free(m->start_cmd);
	upstream_close_all(&m->conn);
	free(m);
}

static void on_ended(void *user, const struct warden_reply *re)
{
	struct front *f = user;

	(void)re;
	if (f)
		front_request_over(f);
}

void member_end(struct member *m, bool wait)
{
	struct front *f = m->front;

	if (m->made || m->asked) { /* a start under way is called off by it */
		f->link.requests += wait;
		(void)warden_ask_id(f->link.warden, OP_KILL, m->id, "", on_ended, wait ? f : NULL);
	}
	member_free(m);
}

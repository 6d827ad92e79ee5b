/* SPDX-License-Identifier: Apache-2.0 */
/* oom: notices from the front, and the processes that wait for them. */
#include "init/oom.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"
#include "http/json.h"
#include "http/server.h"
#include "init/reply.h"
#include "init/text.h"
#include "loop/loop.h"

#define WAIT_MS 500   /* for a notice; it arrives within a few ms unless the machine is very busy */
#define CLAIM_MS 1000 /* a kill that matches no reaped child by then was a grandchild's */
#define VMSTAT_MAX (16 * 1024)
#define SHELL_KILLED (128 + SIGKILL) /* exit code of a shell whose command was killed */
#define BODY_MAX 512

/* UINT64_MAX: unknown. */
static uint64_t kills_on_machine(void)
{
	static const char name[] = "\noom_kill ";
	char text[VMSTAT_MAX];
	uint64_t n = UINT64_MAX;

	if (file_read(AT_FDCWD, "/proc/vmstat", text, sizeof text) <= 0)
		return n;
	const char *at = strstr(text, name);

	if (at) {
		struct str v = str_of(at + strlen(name));

		(void)str_to_u64(str_cut(&v, '\n'), UINT64_MAX - 1, &n);
	}
	return n;
}

void oom_open(struct oom *o, struct loop *loop, void (*judge)(void *user, bool last), void *user)
{
	*o = (struct oom) { .loop = loop, .judge = judge, .user = user, .on_machine = kills_on_machine() };
}

void oom_ending(struct oom *o, uint64_t limit_bytes)
{
	o->told++;
	o->told_ms = loop_now_ms(o->loop);
	o->limit_mb = limit_bytes >> 20;
}

static void on_timer(void *user)
{
	struct oom *o = user;

	o->on_machine = kills_on_machine(); /* those kills were outside this sandbox */
	o->judge(o->user, true);
}

static bool may_be_oom(int status)
{
	return WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == SHELL_KILLED;
}

enum oom_verdict oom_judge(struct oom *o, int status, bool last)
{
	if (!may_be_oom(status))
		return OOM_NO;
	if (loop_now_ms(o->loop) - o->told_ms > CLAIM_MS)
		o->claimed = o->told;
	if (o->told > o->claimed) {
		o->claimed++;
		o->on_machine = kills_on_machine();
		return OOM_YES;
	}
	if (last || o->is_ours)
		return OOM_NO;
	uint64_t now = kills_on_machine();

	if (now != UINT64_MAX && now == o->on_machine)
		return OOM_NO;
	if (!o->timer)
		o->timer = timer_new(o->loop, on_timer, o);
	if (!o->timer)
		return OOM_NO;
	timer_arm(o->timer, WAIT_MS);
	return OOM_WAIT;
}

void oom_text(const struct oom *o, int status, char out[OOM_TEXT_SIZE])
{
	char how[TEXT_STATUS_SIZE], limit[48] = "";

	text_status(status, how);
	if (o->limit_mb)
		(void)snprintf(limit, sizeof limit, " of %llu MiB", (unsigned long long)o->limit_mb);
	(void)snprintf(out, OOM_TEXT_SIZE,
	    OOM_NAME ": a process was killed because the sandbox is at its memory limit%s (%s)", limit, how);
}

struct word {
	struct oom *o;
	struct buf body;
};

static void on_body(struct http_req *rq, struct str data)
{
	struct word *w = rq->user;

	buf_str(&w->body, data);
}

static void on_body_end(struct http_req *rq)
{
	struct word *w = rq->user;
	struct oom *o = w->o;
	autojson json_t *body = NULL;
	struct err e = ERR_INIT;
	int64_t kills = 0, limit = 0;

	if (json_read_object(buf_view(&w->body), false, &body, &e) < 0 ||
	    json_get_int(body, "kills", 0, UINT32_MAX, &kills, &e) < 0 ||
	    json_get_int(body, "limitMB", 0, INT64_MAX, &limit, &e) < 0) {
		init_reply_error(rq, 400, "%s", e.text);
		return;
	}
	if ((uint32_t)kills < o->told) /* the counter restarted: the sandbox was restored into another cgroup */
		o->claimed = o->told = 0;
	o->told = (uint32_t)kills;
	o->limit_mb = (uint64_t)limit;
	o->told_ms = loop_now_ms(o->loop);
	http_respond(rq, 204, NULL, NULL, STR_NULL);
	o->judge(o->user, false);
}

static void on_close(struct http_req *rq, bool lost)
{
	struct word *w = rq->user;

	(void)lost;
	buf_done(&w->body);
	free(w);
}

static const struct http_req_ops ops = { .on_body = on_body, .on_body_end = on_body_end, .on_close = on_close };

void oom_post(struct oom *o, struct http_req *rq)
{
	struct word *w = malloc(sizeof *w);

	if (!w) {
		init_reply_error(rq, 503, "out of memory");
		return;
	}
	*w = (struct word) { o, BUF_INIT(BODY_MAX) };
	rq->user = w;
	rq->ops = &ops;
}

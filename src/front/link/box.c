/* SPDX-License-Identifier: Apache-2.0 */
/* front/link/box: steps, each one request to the warden or a few requests to init. */
#include "front/link/box.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fd.h"
#include "front/link/init_build.h"
#include "front/link/init_call.h"
#include "front/link/links.h"
#include "front/link/start_queue.h"
#include "front/util/mem.h"
#include "http/json.h"

#define SETTINGS_MAX (2 * 1024 * 1024)
#define DEFAULT_USER "user"
#define START_CMD_SPARE_MS 5000 /* atoll-build has its own, shorter time limit for the start command */

#define BIT(s) (1u << (s))
#define ANY (~0u)
#define PRESENT (~BIT(BOX_ABSENT))
#define RUNS (BIT(BOX_READY) | BIT(BOX_FROZEN)) /* FROZEN included: the owner may not know that a thaw has failed */

enum step_kind {
	STEP_START,
	STEP_SETTLE,
	STEP_QUIET,
	STEP_FREEZE,
	STEP_SNAPSHOT,
	STEP_CHECKPOINT,
	STEP_THAW,
	STEP_KILL,
	STEP_USAGE,
};

/* For each step: the states in which it may begin, the state during it, and the state after success and failure.
 * Exceptions are in step_new() and state_after(). */
static const struct {
	unsigned from;
	enum box_state during, good, bad;
} rules[] = {
	[STEP_START] = { BIT(BOX_ABSENT), BOX_STARTING, BOX_STARTED, BOX_ABSENT },
	[STEP_SETTLE] = { BIT(BOX_STARTED) | BIT(BOX_READY), BOX_SETTLING, BOX_READY, BOX_STARTED },
	[STEP_QUIET] = { RUNS, BOX_QUIETING, BOX_READY, BOX_READY },
	[STEP_FREEZE] = { RUNS, BOX_FREEZING, BOX_FROZEN, BOX_FROZEN },
	[STEP_SNAPSHOT] = { BIT(BOX_FROZEN), BOX_SNAPSHOTTING, BOX_FROZEN, BOX_FROZEN },
	[STEP_CHECKPOINT] = { BIT(BOX_FROZEN), BOX_CHECKPOINTING, BOX_FROZEN, BOX_FROZEN },
	[STEP_THAW] = { RUNS | BIT(BOX_CHECKPOINTING), BOX_THAWING, BOX_READY, BOX_FROZEN },
	[STEP_KILL] = { ANY, BOX_KILLING, BOX_KILLING, BOX_KILLING },
	[STEP_USAGE] = { PRESENT, BOX_READY, BOX_READY, BOX_READY },
};

static const char *const state_name[] = {
	[BOX_ABSENT] = "absent",
	[BOX_STARTING] = "starting",
	[BOX_STARTED] = "started",
	[BOX_SETTLING] = "settling",
	[BOX_READY] = "ready",
	[BOX_QUIETING] = "quieting",
	[BOX_FREEZING] = "freezing",
	[BOX_FROZEN] = "frozen",
	[BOX_SNAPSHOTTING] = "snapshotting",
	[BOX_CHECKPOINTING] = "checkpointing",
	[BOX_RELEASED] = "released",
	[BOX_THAWING] = "thawing",
	[BOX_KILLING] = "killing",
};

/* The state of a box after a failed kill, by its state before the kill. An overtaken step no longer sets the
 * state. */
static const enum box_state settled_as[] = {
	[BOX_ABSENT] = BOX_ABSENT,
	[BOX_STARTING] = BOX_STARTED,
	[BOX_STARTED] = BOX_STARTED,
	[BOX_SETTLING] = BOX_STARTED,
	[BOX_READY] = BOX_READY,
	[BOX_QUIETING] = BOX_READY,
	[BOX_FREEZING] = BOX_FROZEN,
	[BOX_FROZEN] = BOX_FROZEN,
	[BOX_SNAPSHOTTING] = BOX_FROZEN,
	[BOX_CHECKPOINTING] = BOX_FROZEN,
	[BOX_RELEASED] = BOX_READY,
	[BOX_THAWING] = BOX_FROZEN,
	[BOX_KILLING] = BOX_KILLING,
};

struct box_step {
	LIST_ENTRY(box_step) link;
	struct box *box;
	enum step_kind kind;
	enum box_state before;
	box_fn *fn;
	void *user;
	struct warden_call *asked; /* at most one of these three is set */
	struct init_call *call;
	struct init_build *start_cmd;
	char request[REQUEST_ID_SIZE];
	uint32_t start_wait_s; /* settle: what remains to be waited for */
	uint64_t interps_ms;
	struct start_ticket ticket; /* start: its place in the queue, */
	void *msg;                  /* ... and the message, until it is sent */
	size_t n_msg;
};

const char *box_state_name(enum box_state s)
{
	return state_name[s];
}

/* --- the box ------------------------------------------------------------------------------------------------- */

void box_init(struct box *b, struct links *l, const char *id)
{
	*b = (struct box) { .link = l, .state = BOX_ABSENT };
	(void)str_copy(b->id, sizeof b->id, str_of(id));
	LIST_INIT(&b->steps);
}

void box_adopt(struct box *b, bool frozen)
{
	assert(b->state == BOX_ABSENT && !b->step);
	b->state = frozen ? BOX_FROZEN : BOX_READY;
}

static void step_free(struct box_step *st)
{
	warden_cancel(st->asked);
	start_queue_leave(st->box->link->starts, &st->ticket);
	free(st->msg);
	init_call_free(st->call);
	init_build_free(st->start_cmd);
	LIST_REMOVE(st, link);
	if (st->box->step == st)
		st->box->step = NULL;
	free(st);
}

void box_done(struct box *b)
{
	struct box_step *st;

	while ((st = LIST_FIRST(&b->steps)))
		step_free(st);
}

static struct box_step *step_new(struct box *b, enum step_kind kind, const char *request, box_fn *fn, void *user)
{
	struct box_step *st = must_alloc(sizeof *st);

	assert(rules[kind].from & BIT(b->state));
	assert(!b->step || kind == STEP_KILL || (kind == STEP_THAW && b->step->kind == STEP_CHECKPOINT));
	*st = (struct box_step) { .box = b, .kind = kind, .before = b->state, .fn = fn, .user = user };
	(void)str_copy(st->request, sizeof st->request, str_of(request));
	LIST_INSERT_HEAD(&b->steps, st, link);
	b->step = st;
	if (kind != STEP_USAGE && !(kind == STEP_KILL && !box_present(b)))
		b->state = rules[kind].during;
	return st;
}

static enum box_state state_after(const struct box_step *st, int no)
{
	if (st->kind == STEP_USAGE || st->kind == STEP_QUIET)
		return st->before;
	if (st->kind == STEP_KILL && no)
		return no == ENOENT ? BOX_ABSENT : settled_as[st->before];
	if (st->box->state == BOX_RELEASED)
		return BOX_READY;
	return no ? rules[st->kind].bad : rules[st->kind].good;
}

/* The step is freed before fn is called, and fn may free the box. */
static void step_end(struct box_step *st, struct box_result *re)
{
	struct box *b = st->box;
	box_fn *fn = st->fn;
	void *user = st->user;

	if (b->step == st)
		b->state = state_after(st, re->no);
	step_free(st);
	if (fn)
		fn(user, re);
	else
		fd_close(re->fd);
}

static void step_fail(struct box_step *st, enum box_part part, int no, const char *text, int status)
{
	struct box_result re = { .no = no, .text = text, .part = part, .status = status, .fd = -1 };

	step_end(st, &re);
}

void box_exited(struct box *b)
{
	struct box_step *st;

	b->state = BOX_ABSENT;
	b->step = NULL; /* no step determines the state now */
	while ((st = LIST_FIRST(&b->steps))) {
		struct box_result re = { .no = st->kind == STEP_KILL ? 0 : ECHILD,
			.text = "it has exited",
			.exited = true,
			.fd = -1 };

		step_end(st, &re);
	}
}

/* --- requests to the warden ---------------------------------------------------------------------------------- */

static void on_answer(void *user, const struct warden_reply *wr)
{
	struct box_step *st = user;
	struct box_result re = { .no = wr->no, .text = wr->text, .more = wr->more, .fd = -1 };

	fd_close(wr->fd);
	if (!wr->no && wr->msg->type == RE_IMAGE)
		re.image = (const struct msg_image *)wr->msg;
	if (!wr->no && wr->msg->type == RE_USAGE)
		re.usage = (const struct msg_usage *)wr->msg;
	if (!wr->more) {
		st->asked = NULL;
		step_end(st, &re);
		return;
	}
	if (st->box->step == st)
		st->box->state = BOX_RELEASED;
	if (st->fn)
		st->fn(st->user, &re);
}

static void ask_id(struct box_step *st, enum msg_type op)
{
	st->asked = warden_ask_id(st->box->link->warden, op, st->box->id, st->request, on_answer, st);
}

static void ask_save(struct box_step *st, enum msg_type op, const char *name, uint32_t flags)
{
	struct msg_keep m = { .flags = flags };

	memcpy(m.id, st->box->id, sizeof m.id);
	(void)str_copy(m.name, sizeof m.name, str_of(name));
	memcpy(m.request, st->request, sizeof m.request);
	st->asked = warden_ask(st->box->link->warden, op, &m, sizeof m, on_answer, st);
}

static void send_start(struct start_ticket *t)
{
	struct box_step *st = container_of(t, struct box_step, ticket);

	st->asked = warden_ask(st->box->link->warden, OP_START, st->msg, st->n_msg, on_answer, st);
	free(take_ptr(&st->msg));
}

static void on_start_over(struct start_ticket *t, int no, const char *text)
{
	step_fail(container_of(t, struct box_step, ticket), BOX_PART_NONE, no, text, 0);
}

void box_start(struct box *b, const struct box_start *s, const char *request, box_fn *fn, void *user)
{
	struct box_step *st = step_new(b, STEP_START, request, fn, user);
	struct msg_start m = {
		.flags = s->flags,
		.limits = s->limits,
		.n_mounts = s->n_mounts,
		.engine = s->engine,
	};
	autobuf struct buf msg = BUF_INIT(MSG_MAX);

	memcpy(m.id, b->id, sizeof m.id);
	(void)str_copy(m.template_key, sizeof m.template_key, str_of(s->template_key));
	(void)str_copy(m.from, sizeof m.from, str_of(s->from));
	memcpy(m.request, st->request, sizeof m.request);
	warden_compose(&msg, &m, sizeof m, offsetof(struct msg_start, n_policy), s->policy);
	buf_str(&msg, s->mounts);
	if (msg.bad)
		abort(); /* out of memory, as in warden_compose() */
	st->msg = take_ptr(&msg.p);
	st->n_msg = msg.n;
	st->ticket.send = send_start;
	st->ticket.over = on_start_over;
	start_queue_enter(b->link->starts, &st->ticket, s->team, s->key ? s->key : "");
}

void box_freeze(struct box *b, const char *request, box_fn *fn, void *user)
{
	ask_id(step_new(b, STEP_FREEZE, request, fn, user), OP_FREEZE);
}

void box_snapshot(struct box *b, const char *name, const char *request, box_fn *fn, void *user)
{
	ask_save(step_new(b, STEP_SNAPSHOT, request, fn, user), OP_SNAPSHOT, name, 0);
}

void box_checkpoint(struct box *b, const char *name, uint32_t flags, const char *request, box_fn *fn, void *user)
{
	ask_save(step_new(b, STEP_CHECKPOINT, request, fn, user), OP_CHECKPOINT, name, flags);
}

void box_thaw(struct box *b, const char *request, box_fn *fn, void *user)
{
	ask_id(step_new(b, STEP_THAW, request, fn, user), OP_THAW);
}

void box_kill(struct box *b, const char *request, box_fn *fn, void *user)
{
	struct box_step *started;

	LIST_FOREACH(started, &b->steps, link)
	start_queue_withdraw(b->link->starts, &started->ticket);
	ask_id(step_new(b, STEP_KILL, request, fn, user), OP_KILL);
}

void box_usage(struct box *b, box_fn *fn, void *user)
{
	ask_id(step_new(b, STEP_USAGE, "", fn, user), OP_USAGE);
}

struct warden_call *box_connect(const struct box *b, const char *request, warden_fn *fn, void *user)
{
	return warden_ask_id(b->link->warden, OP_CONNECT, b->id, request, fn, user);
}

/* --- requests to init ---------------------------------------------------------------------------------------- */

/* Takes ownership of fd. */
static void call_init(struct box_step *st, const char *method, const char *path, struct str body, int fd,
    uint64_t wait_ms, init_call_fn *fn)
{
	struct init_request rq = {
		.id = st->box->id,
		.request = st->request,
		.method = method,
		.path = path,
		.body = body,
		.fd = fd,
		.wait_ms = wait_ms,
	};

	st->call = init_call_new(st->box->link, &rq, fn, st);
}

static void on_quiet(void *user, const struct init_result *ir)
{
	struct box_step *st = user;
	struct box_result re = { .no = ir->no, .text = ir->text, .status = ir->status, .fd = -1 };

	st->call = NULL;
	fd_close(ir->fd);
	step_end(st, &re);
}

void box_quiet(struct box *b, uint64_t wait_ms, const char *request, box_fn *fn, void *user)
{
	struct box_step *st = step_new(b, STEP_QUIET, request, fn, user);

	call_init(st, "POST", "/atoll/quiet", STR_NULL, -1, wait_ms, on_quiet);
}

static bool is_good(const struct init_result *ir)
{
	return !ir->no && (ir->status == 200 || ir->status == 204);
}

static void settle_failed(struct box_step *st, enum box_part part, const struct init_result *ir, const char *refused)
{
	fd_close(ir->fd);
	if (ir->no)
		step_fail(st, part, ir->no, ir->text, 0);
	else
		step_fail(st, part, EPROTO, refused, ir->status);
}

/* fd: idle, owned; -1: none. */
static void settle_end(struct box_step *st, int fd)
{
	struct box_result re = { .fd = fd };

	step_end(st, &re);
}

static void on_interpreters(void *user, const struct init_result *ir)
{
	struct box_step *st = user;

	st->call = NULL;
	if (is_good(ir))
		settle_end(st, ir->fd);
	else
		settle_failed(st, BOX_PART_INTERPRETERS, ir, "init refuses");
}

static void wait_interpreters(struct box_step *st, int fd)
{
	if (st->interps_ms)
		call_init(st, "GET", "/atoll/ready", STR_NULL, fd, st->interps_ms, on_interpreters);
	else
		settle_end(st, fd);
}

static void on_start_cmd(void *user, int no, const char *text)
{
	struct box_step *st = user;

	st->start_cmd = NULL;
	if (no)
		step_fail(st, BOX_PART_START_CMD, no, text, 0);
	else
		wait_interpreters(st, -1);
}

static void run_start_cmd(struct box_step *st)
{
	json_t *args = json_pack("[s,o]", "start", json_sprintf("%u", st->start_wait_s));

	st->start_cmd = init_build_new(st->box->link, st->box->id, args,
	    st->start_wait_s * 1000ull + START_CMD_SPARE_MS, on_start_cmd, st);
}

static void on_settings(void *user, const struct init_result *ir)
{
	struct box_step *st = user;

	st->call = NULL;
	if (!is_good(ir)) {
		settle_failed(st, BOX_PART_SETTINGS, ir, "it refused its settings");
	} else if (st->start_wait_s) {
		fd_close(ir->fd);
		run_start_cmd(st);
	} else {
		wait_interpreters(st, ir->fd);
	}
}

static void put_settings(const struct box *b, const struct box_settings *s, struct buf *out)
{
	autojson json_t *j = json_pack("{s:s,s:s,s:s,s:b}", "sandboxId", b->id, "templateId", s->template_id,
	    "defaultUser", DEFAULT_USER, "textFromStdout", (int)s->text_from_stdout);

	(void)json_object_set_new(j, "envVars", s->env_vars ? json_incref(s->env_vars) : json_object());
	if (s->ca && *s->ca)
		(void)json_object_set_new(j, "caBundle", json_string(s->ca));
	json_put(out, j);
}

void box_settle(struct box *b, const struct box_settings *s, const char *request, box_fn *fn, void *user)
{
	struct box_step *st = step_new(b, STEP_SETTLE, request, fn, user);
	autobuf struct buf body = BUF_INIT(SETTINGS_MAX);

	st->start_wait_s = s->start_wait_s;
	st->interps_ms = s->interps_ms;
	put_settings(b, s, &body);
	call_init(st, "POST", "/init", buf_view(&body), s->fd, s->wait_ms, on_settings);
}

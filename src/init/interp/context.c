/* SPDX-License-Identifier: Apache-2.0 */
/* interp_context: contexts, their processes and their queues. */
#include "init/interp/context.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/rand.h"
#include "init/init.h"
#include "init/interp/execute.h"
#include "init/interp/interp.h"
#include "init/text.h"
#include "loop/loop.h"

#define START_MS 60000  /* a runtime that is not ready by then is killed, */
#define FORK_MS 15000   /* a process forked by the seed is replaced by a fresh one */
#define LOST_MAX 2      /* seeds that are tried; the next time it is a fresh process */
#define INSIST_MS 1000  /* between two interrupts of code whose client has disconnected, */
#define INSIST_TIMES 10 /* this many; then it is killed as soon as another execution waits */
#define LAST_WORDS 2000 /* output of a runtime that fails to start, kept for the error */

struct context {
	struct context *next;
	struct init *in;
	char id[CONTEXT_ID_SIZE];
	char *cwd;
	struct runtime runtime;
	bool is_default;
	enum context_state state;
	struct kernel *kernel;
	uint64_t count;          /* executions of this process */
	struct execution *queue; /* BUSY: its head is running */
	bool orphan;             /* the running one's client has disconnected; it stays in the queue */
	unsigned insisted;
	bool rehearsed;      /* its process has rehearsed, or is doing so */
	bool lost_state;     /* killed because it did not react: the next execution is notified */
	bool no_fork;        /* a process forked by the seed failed to start */
	unsigned lost;       /* processes that no seed made, one after the other */
	struct timer *timer; /* STARTING: limit; BUSY with an orphan: next interrupt */
	struct buf words;
};

static void advance(struct context *c);

/* The queue. */

static struct execution *queue_take(struct context *c)
{
	struct execution *x = c->queue;

	if (x)
		c->queue = execution_next(x);
	return x;
}

static void set_state(struct context *c, enum context_state to)
{
	bool was_starting = c->state == CONTEXT_STARTING;

	c->state = to;
	timer_disarm(c->timer);
	c->orphan = false;
	c->insisted = 0;
	if (to == CONTEXT_STARTING)
		timer_arm(c->timer, START_MS);
	if (to == CONTEXT_COLD) {
		kernel_kill(take_ptr(&c->kernel));
		c->count = 0;
	}
	if (was_starting)
		interp_settled(c->in);
}

/* Refuses all queued executions. */
static void refuse_all(struct context *c, const char *why)
{
	for (struct execution *x; (x = queue_take(c));)
		execution_refuse(x, why);
}

static void end_all(struct context *c, const char *name, const char *value)
{
	for (struct execution *x; (x = queue_take(c));) {
		execution_begin(x);
		interp_execution_error(x, name, value, "");
		execution_end(x);
	}
}

/* Callbacks of the process. */

static struct execution *running(const struct context *c)
{
	return c->state == CONTEXT_BUSY ? c->queue : NULL;
}

static void on_output(void *user, enum kernel_stream which, struct str bytes)
{
	struct context *c = user;
	struct execution *x = running(c);

	if (x)
		execution_output(x, which, bytes);
	else if (c->state == CONTEXT_STARTING)
		buf_put(&c->words, bytes.p, bytes.n < LAST_WORDS - c->words.n ? bytes.n : LAST_WORDS - c->words.n);
	/* else: output of threads and processes that earlier code left behind is dropped */
}

static void on_done(struct context *c)
{
	struct execution *x = queue_take(c);

	set_state(c, CONTEXT_IDLE);
	execution_end(x);
	kernel_read(c->kernel, true); /* the client's full queue may have paused it */
	advance(c);
}

static const char *field(const json_t *msg, const char *name)
{
	const char *z = json_string_value(json_object_get(msg, name));

	return z ? z : "";
}

/* A client of /atoll/ready prepares the sandbox before it is used: the process does in advance what a first cell
 * costs. */
static bool rehearse(struct context *c)
{
	if (!c->in->interp.askers || !c->runtime.rehearses || c->rehearsed || c->count > 0 || c->queue)
		return false;
	c->rehearsed = true;
	kernel_rehearse(c->kernel); /* it sends "ready" again */
	return true;
}

void contexts_rehearse(struct init *in)
{
	for (struct context *c = in->interp.contexts; c; c = c->next) {
		if (c->state == CONTEXT_IDLE && rehearse(c))
			set_state(c, CONTEXT_STARTING);
	}
}

static void on_message(void *user, const char *type, const json_t *msg)
{
	struct context *c = user;
	struct execution *x = running(c);
	struct kernel_cell cell;

	if (c->state == CONTEXT_STARTING && strcmp(type, "ready") == 0) {
		c->lost = 0;
		if (rehearse(c))
			return;
		set_state(c, CONTEXT_IDLE);
		advance(c);
		return;
	}
	if (!x)
		return;
	execution_cell(x, &cell);
	if (json_integer_value(json_object_get(msg, "id")) != (json_int_t)cell.id)
		return;
	if (strcmp(type, "result") == 0)
		execution_result(x, json_object_get(msg, "data"), json_is_true(json_object_get(msg, "main")));
	else if (strcmp(type, "error") == 0)
		interp_execution_error(x, field(msg, "name"), field(msg, "value"), field(msg, "traceback"));
	else if (strcmp(type, "done") == 0)
		on_done(c);
}

static void on_too_long(void *user)
{
	struct context *c = user;

	if (running(c))
		execution_note(running(c), "[a result is left out: it is larger than 32 MiB]\n");
}

static void start_failed(struct context *c, const char *why)
{
	autofree char *text = str_fmt("The %s runtime did not start: %s%s%.*s", c->runtime.language, why,
	    c->words.n ? ": " : "", STR_ARG(str_trim(buf_view(&c->words))));

	set_state(c, CONTEXT_COLD);
	refuse_all(c, text ? text : "out of memory");
}

/* Nothing has run in it yet, so nothing is lost. The context stays STARTING for the requests that wait for it. */
static void start_again(struct context *c)
{
	struct err e = ERR_INIT;

	kernel_kill(take_ptr(&c->kernel));
	c->state = CONTEXT_COLD;
	if (context_warm(c, &e) < 0) {
		c->state = CONTEXT_STARTING;
		start_failed(c, e.text);
	}
}

static void on_end(void *user, int status)
{
	struct context *c = user;
	struct execution *x = NULL;
	char how[TEXT_STATUS_SIZE];
	autofree char *text = NULL;
	bool fork = kernel_is_fork(c->kernel);

	c->kernel = NULL; /* it frees itself */
	text_status(status, how);
	if (c->state == CONTEXT_STARTING && fork) {
		if (status == KERNEL_LOST || status == KERNEL_LATE) {
			c->lost = status == KERNEL_LATE ? LOST_MAX : c->lost + 1;
		} else {
			log_warn("a copy of the warm interpreter exited: starting a new interpreter", "how=%s", how);
			c->no_fork = true;
		}
		start_again(c);
		return;
	}
	if (c->state == CONTEXT_STARTING) {
		start_failed(c, how);
		return;
	}
	if (c->state == CONTEXT_BUSY)
		x = queue_take(c);
	set_state(c, CONTEXT_COLD);
	if (x && status >= 0 && (status & STATUS_OOM)) {
		char why[OOM_TEXT_SIZE];

		oom_text(&c->in->oom, status, why);
		text = str_fmt("%s; variables are lost", why + strlen(OOM_NAME ": "));
		interp_execution_error(x, OOM_NAME, text ? text : why, "");
		execution_end(x);
	} else if (x) {
		text = str_fmt("The %s process ended before the execution was finished (%s); variables are lost",
		    c->runtime.language, how);
		interp_execution_error(x, "UnexpectedEndOfExecution", text ? text : how, "");
		execution_end(x);
	}
	advance(c);
}

static const struct kernel_ops kernel_ops = {
	.on_output = on_output,
	.on_message = on_message,
	.on_too_long = on_too_long,
	.on_end = on_end,
};

/* Transitions. */

int context_warm(struct context *c, struct err *e)
{
	if (c->state != CONTEXT_COLD)
		return 0;
	buf_clear(&c->words);
	c->rehearsed = false;
	if (kernel_start(c->in, &c->runtime, c->cwd, !c->no_fork && c->lost < LOST_MAX, &kernel_ops, c, &c->kernel, e) <
	    0)
		return -e->no;
	set_state(c, CONTEXT_STARTING);
	if (kernel_is_fork(c->kernel))
		timer_arm(c->timer, FORK_MS);
	return 0;
}

static void run_next(struct context *c)
{
	struct execution *x = c->queue;
	struct kernel_cell cell;

	set_state(c, CONTEXT_BUSY);
	execution_begin(x);
	interp_execution_count(x, ++c->count);
	if (c->lost_state)
		execution_note(x, "[a new interpreter: the one before did not react to its interrupt and was ended]\n");
	c->lost_state = false;
	execution_cell(x, &cell);
	cell.count = c->count;
	kernel_execute(c->kernel, &cell);
}

static void advance(struct context *c)
{
	struct err e = ERR_INIT;

	if (!c->queue)
		return;
	if (c->state == CONTEXT_COLD && context_warm(c, &e) < 0)
		start_failed(c, e.text);
	else if (c->state == CONTEXT_IDLE)
		run_next(c);
}

/* The client of the running code has disconnected: interrupts the code until it stops. If it does not, it is
 * killed once another execution waits. */
static void insist(struct context *c)
{
	if (c->insisted < INSIST_TIMES) {
		c->insisted++;
		kernel_interrupt(c->kernel);
	} else if (execution_next(c->queue)) {
		struct execution *x = queue_take(c);

		set_state(c, CONTEXT_COLD);
		c->lost_state = true;
		execution_end(x);
		advance(c);
		return;
	}
	timer_arm(c->timer, INSIST_MS);
}

static void on_timer(void *user)
{
	struct context *c = user;

	if (c->state == CONTEXT_STARTING && kernel_is_fork(c->kernel)) {
		log_warn("a copy of the warm interpreter is not ready: starting a new interpreter", "ms=%d", FORK_MS);
		c->no_fork = true;
		start_again(c);
	} else if (c->state == CONTEXT_STARTING) {
		start_failed(c, "it is not ready after a minute");
	} else if (c->orphan) {
		insist(c);
	}
}

bool context_started(const struct context *c)
{
	return c->state == CONTEXT_IDLE || c->state == CONTEXT_BUSY;
}

void context_submit(struct context *c, struct execution *x)
{
	if (!c->queue) {
		c->queue = x;
		advance(c);
		return;
	}
	struct execution *last = c->queue;

	while (execution_next(last))
		last = execution_next(last);
	execution_link(last, x);
	if (context_started(c))
		execution_begin(x); /* keepalives show that it is queued */
}

void context_withdraw(struct context *c, struct execution *x)
{
	if (running(c) == x) {
		c->orphan = true;
		kernel_read(c->kernel, true);
		insist(c);
		return;
	}
	if (c->queue == x) {
		c->queue = execution_next(x);
	} else {
		struct execution *at = c->queue;

		while (execution_next(at) != x)
			at = execution_next(at);
		execution_link(at, execution_next(x));
	}
	execution_end(x);
}

void context_flow(struct context *c, bool on)
{
	if (c->kernel)
		kernel_read(c->kernel, on);
}

/* A process that has run nothing yet must be equal to one that starts now. */
static void renew_env(struct context *c)
{
	struct err e = ERR_INIT;

	if (c->state == CONTEXT_COLD || c->count > 0 || c->queue)
		return;
	if (c->runtime.takes_env && !env_read_at_start(&c->in->env) && kernel_env(c->kernel, &c->runtime, &e) == 0)
		return;
	set_state(c, CONTEXT_COLD);
	(void)context_warm(c, &e); /* the next execution reports the error */
}

void interp_env_changed(struct init *in)
{
	for (struct context *c = in->interp.contexts; c; c = c->next)
		renew_env(c);
}

void interp_copied(struct init *in)
{
	for (struct context *c = in->interp.contexts; c; c = c->next) {
		if (c->kernel && c->runtime.takes_reseed)
			kernel_reseed(c->kernel);
	}
}

void context_restart(struct context *c)
{
	set_state(c, CONTEXT_COLD);
	end_all(c, "ContextRestarting", "The context was restarted");
	struct err e = ERR_INIT;

	(void)context_warm(c, &e); /* the next execution reports the error */
}

/* The table. */

static void context_free(void *p)
{
	struct context *c = p;

	timer_free(c->timer);
	runtime_done(&c->runtime);
	buf_done(&c->words);
	free(c->cwd);
	free(c);
}

void context_remove(struct context *c)
{
	struct context **at = &c->in->interp.contexts;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	c->in->interp.n_contexts--;
	set_state(c, CONTEXT_COLD);
	end_all(c, "UnexpectedEndOfExecution", "The context was removed");
	loop_defer(c->in->loop, context_free, c);
}

static void make_id(char id[CONTEXT_ID_SIZE])
{
	char hex[33];

	rand_hex(hex, 32);
	(void)snprintf(id, CONTEXT_ID_SIZE, "%.8s-%.4s-4%.3s-a%.3s-%.12s", hex, hex + 8, hex + 13, hex + 17, hex + 20);
}

static int check_cwd(const char *cwd, struct err *e)
{
	struct stat st;

	if (cwd[0] != '/')
		return err_set(e, ENOTDIR, "Failed to set working directory: '%.100s' is not an absolute path", cwd);
	if (stat(cwd, &st) < 0)
		return err_set(e, ENOTDIR, "Failed to set working directory: '%.100s': %s", cwd, text_errno(errno));
	if (!S_ISDIR(st.st_mode))
		return err_set(e, ENOTDIR, "Failed to set working directory: '%.100s' is not a directory", cwd);
	return 0;
}

int context_new(struct init *in, const char *language, const char *cwd, bool is_default, struct context **ret,
    struct err *e)
{
	struct context *c, **at = &in->interp.contexts;

	if (in->interp.n_contexts >= CONTEXTS_MAX)
		return err_set(e, EUSERS, "Too many contexts: a sandbox has at most %d at a time; remove one first",
		    CONTEXTS_MAX);
	if (check_cwd(cwd, e) < 0)
		return -e->no;
	c = calloc(1, sizeof(*c));
	if (!c)
		return err_set(e, ENOMEM, "out of memory");
	*c = (struct context) { .in = in, .is_default = is_default, .words = BUF_INIT(LAST_WORDS) };
	c->cwd = strdup(cwd);
	c->timer = timer_new(in->loop, on_timer, c);
	if (!c->cwd || !c->timer || runtime_find(language, &c->runtime, e) < 0) {
		context_free(c);
		return e->no ? -e->no : err_set(e, ENOMEM, "out of memory");
	}
	make_id(c->id);
	while (*at)
		at = &(*at)->next;
	*at = c;
	in->interp.n_contexts++;
	*ret = c;
	return 0;
}

struct context *context_find(struct init *in, const char *id)
{
	struct context *c = in->interp.contexts;

	while (c && strcmp(c->id, id) != 0)
		c = c->next;
	return c;
}

static struct context *find_default(const struct init *in, const char *language)
{
	struct context *c = in->interp.contexts;

	while (c && !(c->is_default && strcmp(c->runtime.language, language) == 0))
		c = c->next;
	return c;
}

int context_default(struct init *in, const char *language, struct context **ret, struct err *e)
{
	struct runtime rt = RUNTIME_INIT;
	struct stat st;

	/* The runtimes on disk are read only if the name may be another one of its language. */
	*ret = find_default(in, language ? language : "python");
	if (*ret)
		return 0;
	if (runtime_find(language ? language : "python", &rt, e) < 0)
		return -e->no;
	*ret = find_default(in, rt.language);
	if (*ret) {
		runtime_done(&rt);
		return 0;
	}
	int rc = context_new(in, rt.language, stat(CONTEXT_CWD, &st) == 0 ? CONTEXT_CWD : "/", true, ret, e);

	runtime_done(&rt);
	return rc;
}

const struct runtime *context_runtime(const struct context *c)
{
	return &c->runtime;
}

json_t *context_json(const struct context *c)
{
	return json_pack("{s:s,s:s,s:o}", "id", c->id, "language", c->runtime.language, "cwd",
	    text_json(str_of(c->cwd)));
}

void contexts_ensure_defaults(struct init *in)
{
	static const char *const always[] = { "python", "javascript" };

	for (size_t i = 0; i < ARRAY_LEN(always); i++) {
		struct err ignored = ERR_INIT;
		struct context *c;

		(void)context_default(in, always[i], &c, &ignored); /* the runtime may be missing: no context then */
	}
}

bool contexts_starting(const struct init *in)
{
	const struct context *c = in->interp.contexts;

	while (c && c->state != CONTEXT_STARTING)
		c = c->next;
	return c != NULL;
}

json_t *contexts_list(struct init *in)
{
	json_t *list = json_array();

	for (struct context *c = in->interp.contexts; c; c = c->next)
		(void)json_array_append_new(list, context_json(c));
	return list;
}

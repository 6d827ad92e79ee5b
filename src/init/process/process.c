/* SPDX-License-Identifier: Apache-2.0 */
/* process: the programs that clients started: their states, their output, their end. */
#include "init/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "http/json.h"
#include "init/init.h"
#include "init/interp/interp.h"
#include "init/process/impl.h"
#include "init/process/pty.h"
#include "init/process/spawn.h"
#include "init/process/untrace.h"
#include "init/text.h"
#include "init/users.h"
#include "loop/loop.h"

#define ENDED_KEEP_MS 30000
#define LAST_READS 64 /* of the data that a killed process left in its pipes, */
#define LAST_BYTES (2 * 1024 * 1024)

static void proc_set_state(struct proc *p, enum proc_state to);
static void proc_check_end(struct proc *p);

/* Output. */

static void on_output(struct proc *p, struct output *o)
{
	ssize_t n = output_read(p, o);

	if (n == 0)
		output_close(o);
	else if (n > 0)
		proc_flow(p);
	proc_check_end(p);
}

static void on_out(void *user, int events)
{
	struct proc *p = user;

	(void)events;
	on_output(p, &p->out[0]);
}

static void on_err(void *user, int events)
{
	struct proc *p = user;

	(void)events;
	on_output(p, &p->out[1]);
}

/* The end. */

static json_t *end_event(const struct init *in, int status)
{
	char text[TEXT_STATUS_SIZE], why[OOM_TEXT_SIZE];
	bool exited = WIFEXITED(status);
	json_t *end = json_object();

	text_status(status, text);
	(void)json_object_set_new(end, "exitCode", json_integer(exited ? WEXITSTATUS(status) : -1));
	(void)json_object_set_new(end, "exited", json_boolean(exited));
	(void)json_object_set_new(end, "status", json_string(text));
	if (status & STATUS_OOM) {
		oom_text(&in->oom, status, why);
		(void)json_object_set_new(end, "error", json_string(why));
	} else if (status != 0) {
		(void)json_object_set_new(end, "error", json_string(text));
	}
	return json_pack("{s:{s:o}}", "event", "end", end);
}

static void proc_free(struct proc *p)
{
	struct procs *ps = &p->in->procs;

	*(p->prev ? &p->prev->next : &ps->head) = p->next;
	if (p->next)
		p->next->prev = p->prev;
	if (p->state == PROC_ENDED)
		ps->n_ended--;
	else
		ps->n_live--;
	input_close(&p->input);
	output_close(&p->out[0]);
	output_close(&p->out[1]);
	timer_free(p->timer);
	json_decref(p->config);
	json_decref(p->end);
	free(p->tag);
	free(p);
}

static void forget_oldest(struct procs *ps)
{
	struct proc *oldest = NULL;

	for (struct proc *p = ps->head; p; p = p->next)
		if (p->state == PROC_ENDED && (!oldest || p->ended_ms < oldest->ended_ms))
			oldest = p;
	if (oldest)
		proc_free(oldest);
}

static void on_timer(void *user)
{
	struct proc *p = user;

	if (p->state == PROC_ENDED) {
		proc_free(p);
		return;
	}
	/* The deadline of Start: only the client that started the process gets the error. */
	p->signalled = true;
	if (p->state == PROC_RUNNING)
		(void)kill(p->pid, SIGKILL);
	clients_fail_starter(p);
	proc_check_end(p);
}

static void proc_set_state(struct proc *p, enum proc_state to)
{
	struct procs *ps = &p->in->procs;

	p->state = to;
	if (to == PROC_EXITED) {
		waits_wake(p, WAIT_EXIT, 0);
		return;
	}
	input_close(&p->input);
	output_close(&p->out[0]);
	output_close(&p->out[1]);
	p->end = end_event(p->in, p->status);
	p->ended_ms = loop_now_ms(p->in->loop);
	json_decref(p->config);
	p->config = NULL;
	ps->n_live--;
	ps->n_ended++;
	waits_wake(p, WAIT_INPUT, -EPIPE);
	clients_end(p);
	timer_arm(p->timer, ENDED_KEEP_MS);
	if (ps->n_ended > PROCS_ENDED_MAX)
		forget_oldest(ps);
}

static void drain(struct proc *p, struct output *o)
{
	ssize_t n = o->fd >= 0, all = 0;

	for (int i = 0; n > 0 && i < LAST_READS && all < LAST_BYTES; i++) {
		n = output_pump(p, o);
		all += n;
	}
}

static void proc_check_end(struct proc *p)
{
	if (p->state != PROC_EXITED || p->judging)
		return;
	if (p->signalled) { /* output that its children still write is not waited for */
		drain(p, &p->out[0]);
		drain(p, &p->out[1]);
	} else if (p->out[0].fd >= 0 || p->out[1].fd >= 0) {
		return;
	}
	proc_set_state(p, PROC_ENDED);
}

static void judge(struct proc *p, bool last)
{
	enum oom_verdict v = p->signalled ? OOM_NO : oom_judge(&p->in->oom, p->status, last);

	p->judging = v == OOM_WAIT;
	if (p->judging)
		return;
	if (v == OOM_YES)
		p->status |= STATUS_OOM;
	events_ended(&p->in->events, p->pid, p->status);
	proc_check_end(p);
}

void procs_judge(struct init *in, bool last)
{
	for (struct proc *p = in->procs.head, *next; p; p = next) {
		next = p->next; /* p may be gone */
		if (p->judging)
			judge(p, last);
	}
}

void procs_reap(struct init *in)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (untrace(pid, status) || interp_reaped(in, pid, status))
			continue;
		for (struct proc *p = in->procs.head; p; p = p->next) {
			if (p->pid != pid || p->state != PROC_RUNNING)
				continue;
			p->status = status;
			proc_set_state(p, PROC_EXITED);
			judge(p, false);
			break; /* p may be gone */
		}
	}
}

int proc_signal(struct proc *p, int signo, struct call *c, void (*done)(struct call *c, int rc))
{
	p->signalled = true;
	if (p->state == PROC_RUNNING) {
		if (kill(p->pid, signo) < 0)
			return -errno;
		/* Answered when it has ended: a client that killed it may check its pid at once. */
		if (signo == SIGKILL)
			return wait_add(p, WAIT_EXIT, c, done);
	}
	proc_check_end(p);
	done(c, 0);
	return 0;
}

/* Start. */

struct ends {                   /* both ends of a new process's streams */
	int in, out, err;       /* the child's */
	int wr, rd_out, rd_err; /* ours; -1: none */
};

static void ends_cleanup(struct ends *x)
{
	fd_close(x->in);
	if (x->out != x->in)
		fd_close(x->out);
	if (x->err != x->in && x->err != x->out)
		fd_close(x->err);
	fd_close(x->wr);
	fd_close(x->rd_out);
	fd_close(x->rd_err);
}

static int open_pipe(int *ret_rd, int *ret_wr, int *ours)
{
	int fd[2];

	if (pipe2(fd, O_CLOEXEC) < 0)
		return -errno;
	*ret_rd = fd[0];
	*ret_wr = fd[1];
	return fd_nonblock(*ours, true);
}

static int ends_open(const struct proc_spec *spec, struct ends *x, struct err *e)
{
	if (spec->tty) {
		if (pty_open(spec->user->uid, spec->cols, spec->rows, &x->rd_out, &x->in, e) < 0)
			return -e->no;
		x->out = x->err = x->in;
		x->wr = fcntl(x->rd_out, F_DUPFD_CLOEXEC, 3);
		return x->wr < 0 ? err_sys(e, "open the terminal twice") : 0;
	}
	if (spec->want_stdin) {
		if (open_pipe(&x->in, &x->wr, &x->wr) < 0)
			return err_sys(e, "error creating stdin pipe");
	} else {
		x->in = open("/dev/null", O_RDWR | O_CLOEXEC | O_NOCTTY);
		if (x->in < 0)
			return err_sys(e, "open /dev/null");
	}
	if (open_pipe(&x->rd_out, &x->out, &x->rd_out) < 0 || open_pipe(&x->rd_err, &x->err, &x->rd_err) < 0)
		return err_sys(e, "error creating output pipe");
	return 0;
}

static int run(struct init *in, const struct proc_spec *spec, const struct ends *x, pid_t *ret_pid, struct err *e)
{
	gid_t groups[USER_GROUPS_MAX];
	autofree char **envp = env_build(&in->env, spec->user, in->path, spec->envs);
	struct spawn sp = {
		.argv = spec->argv,
		.envp = envp,
		.cwd = spec->cwd,
		.uid = spec->user->uid,
		.gid = spec->user->gid,
		.groups = groups,
		.n_groups = userdb_groups(spec->users, spec->user, groups, USER_GROUPS_MAX),
		.in = x->in,
		.out = x->out,
		.err = x->err,
		.tty = spec->tty,
		.leader = spec->tty,
	};

	return envp ? spawn(&sp, ret_pid, e) : err_set(e, ENOMEM, "out of memory");
}

/* Frees older entries with the same pid or tag, so that they cannot be found in place of the new one. */
static void forget_namesakes(struct init *in, const struct proc *like)
{
	for (struct proc *p = in->procs.head, *next; p; p = next) {
		next = p->next;
		if (p->state == PROC_ENDED &&
		    (p->pid == like->pid || (like->tag && p->tag && strcmp(p->tag, like->tag) == 0)))
			proc_free(p);
	}
}

static void proc_add(struct init *in, struct proc *p)
{
	forget_namesakes(in, p);
	p->next = in->procs.head;
	if (p->next)
		p->next->prev = p;
	in->procs.head = p;
	in->procs.n_live++;
}

int proc_start(struct init *in, const struct proc_spec *spec, struct proc **ret, struct err *e)
{
	__attribute__((cleanup(ends_cleanup))) struct ends x = { -1, -1, -1, -1, -1, -1 };
	struct proc *p;
	pid_t pid;

	if (in->procs.n_live >= PROCS_MAX)
		return err_set(e, EUSERS, "too many processes: at most %d are tracked", PROCS_MAX);
	if (ends_open(spec, &x, e) < 0)
		return -e->no;
	p = calloc(1, sizeof(*p));
	if (!p)
		return err_set(e, ENOMEM, "out of memory");
	*p = (struct proc) { .in = in, .out = { { .fd = -1 }, { .fd = -1 } }, .input = { .fd = -1 }, .tty = spec->tty };
	p->timer = timer_new(in->loop, on_timer, p);
	p->tag = spec->tag ? strdup(spec->tag) : NULL;
	if (!p->timer || (spec->tag && !p->tag) || run(in, spec, &x, &pid, e) < 0) {
		timer_free(p->timer);
		free(p->tag);
		free(p);
		return e->no ? -e->no : err_set(e, ENOMEM, "out of memory");
	}
	p->pid = pid;
	p->config = json_incref(spec->config);
	proc_add(in, p);
	input_init(&p->input, p, take_fd(&x.wr));
	output_open(p, &p->out[0], take_fd(&x.rd_out), spec->tty ? "pty" : "stdout", on_out);
	if (x.rd_err >= 0)
		output_open(p, &p->out[1], take_fd(&x.rd_err), "stderr", on_err);
	if (spec->timeout_ms)
		timer_arm(p->timer, spec->timeout_ms);
	*ret = p;
	return 0;
}

/* Lookup. */

static bool selected(const struct proc *p, const struct proc_sel *sel)
{
	return sel->tag ? p->tag && strcmp(p->tag, sel->tag) == 0 : p->pid == sel->pid;
}

struct proc *procs_find(struct init *in, const struct proc_sel *sel, bool ended)
{
	struct proc *last = NULL;

	for (struct proc *p = in->procs.head; p; p = p->next) {
		if (!selected(p, sel))
			continue;
		if (p->state != PROC_ENDED)
			return p;
		if (!last)
			last = p;
	}
	return ended ? last : NULL;
}

json_t *procs_list(struct init *in)
{
	json_t *list = json_array();

	for (struct proc *p = in->procs.head; p; p = p->next) {
		json_t *o;

		if (p->state == PROC_ENDED)
			continue;
		o = json_pack("{s:O,s:i}", "config", p->config, "pid", (int)p->pid);
		if (p->tag)
			(void)json_object_set_new(o, "tag", json_string(p->tag));
		(void)json_array_append_new(list, o);
	}
	return list;
}

pid_t proc_pid(const struct proc *p)
{
	return p->pid;
}

int proc_resize(struct proc *p, uint16_t cols, uint16_t rows)
{
	return p->tty && p->out[0].fd >= 0 ? pty_resize(p->out[0].fd, cols, rows) : -ENOTTY;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/session: runs one command in a sandbox, connected to our standard streams. */
#include "cli/sandbox/session.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/sandbox/terminal.h"
#include "cli/settings.h"
#include "cli/signals.h"

#define KILL_AFTER_MS 3000   /* from SIGTERM to SIGKILL */
#define KEYS_MAX (64 * 1024) /* keyboard input not yet sent */

int session_exit_status(const struct atoll_exit *x)
{
	struct str name = str_of(x->status);

	if (x->exited || x->code > 0)
		return x->code & 0xff;
	if (str_starts(name, "signal: ")) {
		str_skip(&name, strlen("signal: "));
		for (int sig = 1; sig < 65; sig++) {
			if (str_ieq(name, str_of(sigdescr_np(sig))))
				return 128 + sig;
		}
	}
	return x->code == 0 ? 0 : 255;
}

/* --- streams --- */

struct run {
	const struct session *s;
	struct atoll_process *p;
	bool input_open;
	int output_no;       /* errno if writing our output failed */
	unsigned n_signals;  /* signals handled so far */
	uint64_t kill_at_ms; /* 0: no kill scheduled */
	bool asked;          /* SIGTERM was sent */
	struct buf in;       /* input read but not yet sent */
	struct terminal terminal;
	struct escape escape;
	bool left;   /* by the escape keys, or the terminal is closed */
	bool resize; /* the new size must be sent */
};

/* Another process that shares the terminal or pipe may have made it non-blocking. */
static int write_out(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t r = write(fd, p, n);

		if (r < 0 && errno == EAGAIN) {
			struct pollfd pfd = { .fd = fd, .events = POLLOUT };
			(void)poll(&pfd, 1, 1000);
			continue;
		}
		if (r < 0 && errno != EINTR)
			return errno;
		if (r > 0) {
			p += r;
			n -= (size_t)r;
		}
	}
	return 0;
}

static int on_output(void *user, enum atoll_stream which, const void *p, size_t n)
{
	struct run *r = user;

	r->output_no = write_out(which == ATOLL_STDOUT ? STDOUT_FILENO : STDERR_FILENO, p, n);
	return r->output_no;
}

/* --- input --- */

/* A pipe is read only when its bytes can be sent. Keys are always read: the escape keys must work even if the
 * connection hangs. */
static bool wants_input(const struct run *r)
{
	if (!r->input_open)
		return false;
	return r->s->tty ? r->in.n < KEYS_MAX / 2 : r->in.n == 0 && atoll_process_can_send(r->p);
}

static void read_pipe(struct run *r)
{
	char *room = buf_room(&r->in, ATOLL_INPUT_MAX);
	ssize_t n = room ? read(STDIN_FILENO, room, ATOLL_INPUT_MAX) : 0;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0) {
		r->in.n += (size_t)n;
		return;
	}
	(void)atoll_process_close_stdin(r->p);
	r->input_open = false;
}

static void read_keys(struct run *r)
{
	char keys[4096];
	ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));
	char *room = buf_room(&r->in, sizeof(keys) + 1);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0 || !room)
		r->left = true;
	else
		r->in.n += escape_filter(&r->escape, keys, (size_t)n, room, &r->left);
}

static void send_input(struct run *r)
{
	size_t n = r->in.n < ATOLL_INPUT_MAX ? r->in.n : ATOLL_INPUT_MAX;
	int rc = n > 0 ? atoll_process_send(r->p, r->in.p, n) : -EAGAIN;

	if (rc == -EAGAIN)
		return;
	buf_consume(&r->in, rc == 0 ? n : r->in.n); /* on an error the rest is lost, as with a local pipe */
	if (rc < 0)
		r->input_open = r->s->tty;
}

/* --- signals --- */

static void tell_size(struct run *r)
{
	struct atoll_error e;
	unsigned cols, rows;

	if (signals_take_resize()) {
		r->resize = true;
		(void)terminal_raw(&r->terminal); /* the process that stopped us may have changed the mode */
	}
	if (!r->resize || atoll_process_pid(r->p) == 0)
		return;
	r->resize = false;
	terminal_size(STDIN_FILENO, &cols, &rows);
	(void)atoll_process_resize(r->p, cols, rows, &e);
}

/* Kills the command once its pid is known; before that it cannot be signalled and would be left running. Returns true
 * if the session must end. */
static bool interrupted(struct run *r)
{
	uint64_t now = clock_mono_ms();
	bool again = signals_count() > r->n_signals, first = r->kill_at_ms == 0;
	struct atoll_error e;

	r->n_signals = signals_count();
	if (again && r->s->on_interrupt == STOP_NOW)
		return true;
	if (first && (again || r->left))
		r->kill_at_ms = now + KILL_AFTER_MS;
	if (r->kill_at_ms == 0)
		return false;
	bool hurry = now >= r->kill_at_ms || (again && !first);
	if (atoll_process_pid(r->p) == 0)
		return hurry;
	/* An interactive shell ignores SIGTERM. When it dies, its children get SIGHUP. */
	if (hurry || r->s->tty) {
		(void)atoll_process_signal(r->p, SIGKILL, &e);
		return true;
	}
	if (r->asked)
		return false;
	r->asked = true;
	return atoll_process_signal(r->p, SIGTERM, &e) < 0;
}

static int pump(struct run *r, struct atoll_error *e)
{
	for (;;) {
		struct pollfd fds[2] = { { .fd = signals_fd(), .events = POLLIN },
			{ .fd = STDIN_FILENO, .events = POLLIN } };
		bool ask_input = wants_input(r);
		int rc = atoll_process_poll(r->p, fds, ask_input ? 2 : 1, r->kill_at_ms ? 200 : -1, e);

		if (rc != 0)
			return rc;
		if (r->s->tty)
			tell_size(r);
		if (ask_input && fds[1].revents)
			r->s->tty ? read_keys(r) : read_pipe(r);
		if (interrupted(r))
			return -ECANCELED;
		send_input(r);
	}
}

/* --- running a session --- */

static int take_terminal(struct run *r, struct atoll_command *cmd)
{
	if (!r->s->tty)
		return 0;
	terminal_size(STDIN_FILENO, &cmd->tty_cols, &cmd->tty_rows);
	int rc = terminal_raw(&r->terminal);
	return rc < 0 ? fail("set up the terminal: %s", strerrordesc_np(-rc)) : 0;
}

static void give_terminal_back(struct run *r, bool ended)
{
	if (!r->terminal.is_raw)
		return;
	if (!ended && isatty(STDOUT_FILENO))
		(void)write_out(STDOUT_FILENO, TERMINAL_CALM "\r\n", sizeof(TERMINAL_CALM "\r\n") - 1);
	terminal_restore(&r->terminal);
}

static int outcome(const struct run *r, int rc, const struct atoll_error *e)
{
	if (rc == 1) {
		const struct atoll_exit *x = atoll_process_exit(r->p);
		int status = session_exit_status(x);

		if (!x->exited && status > 128 && signals_first() == 0)
			say("the command was killed (%s)", x->status);
		return status;
	}
	if (r->output_no == EPIPE)
		return 128 + SIGPIPE;
	if (r->output_no != 0)
		return fail("write the command's output: %s", strerrordesc_np(r->output_no));
	if (r->left || signals_first() != 0)
		return EXIT_FAILURE;
	return fail("%s", e->text);
}

int session_run(const struct session *s)
{
	struct run r = {
		.s = s,
		.input_open = s->cmd.with_stdin || s->tty,
		.in = BUF_INIT(s->tty ? KEYS_MAX : ATOLL_INPUT_MAX),
		.terminal = TERMINAL_INIT(STDIN_FILENO),
	};
	struct atoll_command cmd = s->cmd;
	struct atoll_error e = { .no = 0 };

	if (take_terminal(&r, &cmd) != 0)
		return EXIT_FAILURE;
	int rc = atoll_process_start(s->sb, &cmd, on_output, &r, &r.p, &e);
	if (rc < 0) {
		give_terminal_back(&r, true);
		return fail("start the command: %s", e.text);
	}
	rc = pump(&r, &e);
	give_terminal_back(&r, rc == 1);
	int status = outcome(&r, rc, &e);
	/* SIGPIPE would have killed a local program. */
	if (r.output_no != 0 && s->on_interrupt == STOP_COMMAND)
		(void)atoll_process_signal(r.p, s->tty ? SIGKILL : SIGTERM, &e);
	atoll_process_free(r.p);
	buf_done(&r.in);
	return status;
}

/* Adds the variables that programs on a terminal need, before those of the caller. */
static int tty_envs(const struct atoll_command *cmd, struct atoll_pair **ret, size_t *ret_n)
{
	const char *term = getenv("TERM");
	const struct atoll_pair first[] = {
		{ "TERM", term && *term ? term : "xterm-256color" },
		{ "LANG", "C.UTF-8" },
		{ "LC_ALL", "C.UTF-8" },
	};
	struct atoll_pair *v = calloc(ARRAY_LEN(first) + cmd->n_envs, sizeof(*v));

	if (!v)
		return fail("out of memory");
	memcpy(v, first, sizeof(first));
	if (cmd->n_envs > 0)
		memcpy(v + ARRAY_LEN(first), cmd->envs, cmd->n_envs * sizeof(*v));
	*ret = v;
	*ret_n = ARRAY_LEN(first) + cmd->n_envs;
	return 0;
}

int session_in(const struct settings_opts *conn, const char *id, const struct atoll_command *cmd, bool tty)
{
	struct session s = { .cmd = *cmd, .on_interrupt = STOP_COMMAND, .tty = tty };
	autofree struct atoll_pair *envs = NULL;
	struct atoll *a = NULL;
	struct atoll_error e;

	if (tty && !isatty(STDIN_FILENO))
		return fail("--tty requires standard input to be a terminal");
	if (tty && tty_envs(cmd, &envs, &s.cmd.n_envs) != 0)
		return EXIT_FAILURE;
	if (tty)
		s.cmd.envs = envs;
	int rc = settings_connect(conn, &a);
	if (rc != 0)
		return rc;
	if (atoll_sandbox_open(a, id, &s.sb, &e) < 0)
		rc = fail("%s", e.text);
	else if ((rc = signals_hold()) == 0)
		rc = session_run(&s);
	atoll_sandbox_free(s.sb);
	atoll_free(a);
	return signals_leave(rc);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cli/session: one command in a sandbox, with our own streams. */
#include "cli/session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/cli.h"

#define KILL_AFTER_MS 3000		/* SIGTERM, then this, then SIGKILL */
#define WAIT_FOR_CALL_MS 5000		/* a call under way may finish for so long after an interrupt */

static struct {				/* signals are the process's, so there is one of this */
	int fd;
	int first;			/* the one to die of */
	unsigned count;			/* how many have come */
	uint64_t since_ms;
	sigset_t set;
} held = { .fd = -1 };

int session_signals_hold(void)
{
	(void)sigemptyset(&held.set);
	(void)sigaddset(&held.set, SIGINT);
	(void)sigaddset(&held.set, SIGTERM);
	(void)sigaddset(&held.set, SIGHUP);
	(void)signal(SIGPIPE, SIG_IGN);
	held.fd = signalfd(-1, &held.set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (held.fd < 0 || sigprocmask(SIG_BLOCK, &held.set, NULL) < 0)
		return fail("hold signals: %s", strerrordesc_np(errno));
	return 0;
}

static void take_signals(void)
{
	struct signalfd_siginfo si;

	while (held.fd >= 0 && read(held.fd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		if (held.first == 0) {
			held.first = (int)si.ssi_signo;
			held.since_ms = clock_mono_ms();
		}
		held.count++;
	}
}

int session_signal(void)
{
	take_signals();
	return held.first;
}

bool session_stop_waiting(void *user)
{
	(void)user;
	return session_signal() != 0 && clock_mono_ms() - held.since_ms > WAIT_FOR_CALL_MS;
}

int session_leave(int status)
{
	int sig = session_signal();

	if (sig == 0)
		return status;
	(void)signal(sig, SIG_DFL);
	(void)sigprocmask(SIG_UNBLOCK, &held.set, NULL);
	(void)raise(sig);
	return 128 + sig;
}

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
	int output_no;			/* errno of our own output: nobody reads it any more */
	unsigned n_signals;		/* that have been acted on */
	uint64_t kill_at_ms;		/* 0: not asked to end yet */
};

/* The terminal or pipe may have been made non-blocking by whoever shares it. */
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

static void pass_input(struct run *r)
{
	char data[ATOLL_INPUT_MAX];
	ssize_t n = read(STDIN_FILENO, data, sizeof(data));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0 && atoll_process_send(r->p, data, (size_t)n) == 0)
		return;
	(void)atoll_process_close_stdin(r->p);
	r->input_open = false;
}

/* True: leave the session. */
static bool interrupted(struct run *r)
{
	uint64_t now = clock_mono_ms();
	struct atoll_error e;

	take_signals();
	bool again = held.count > r->n_signals;
	r->n_signals = held.count;
	if (again && r->s->on_interrupt == STOP_NOW)
		return true;
	if (again && r->kill_at_ms == 0) {
		r->kill_at_ms = now + KILL_AFTER_MS;
		return atoll_process_signal(r->p, SIGTERM, &e) < 0;
	}
	if (again || (r->kill_at_ms > 0 && now >= r->kill_at_ms)) {
		(void)atoll_process_signal(r->p, SIGKILL, &e);
		return true;
	}
	return false;
}

static int pump(struct run *r, struct atoll_error *e)
{
	for (;;) {
		struct pollfd fds[2] = { { .fd = held.fd, .events = POLLIN }, { .fd = STDIN_FILENO, .events = POLLIN } };
		bool ask_input = r->input_open && atoll_process_can_send(r->p);
		int rc = atoll_process_poll(r->p, fds, ask_input ? 2 : 1, r->kill_at_ms ? 200 : -1, e);

		if (rc != 0)
			return rc;
		if (interrupted(r))
			return -ECANCELED;
		if (ask_input && fds[1].revents)
			pass_input(r);
	}
}

int session_run(const struct session *s)
{
	struct run r = { .s = s, .input_open = s->cmd.with_stdin };
	struct atoll_error e = { .no = 0 };

	if (atoll_process_start(s->sb, &s->cmd, on_output, &r, &r.p, &e) < 0)
		return fail("start the command: %s", e.text);
	int rc = pump(&r, &e), status = EXIT_FAILURE;
	if (rc == 1) {
		const struct atoll_exit *x = atoll_process_exit(r.p);

		status = session_exit_status(x);
		if (!x->exited && status > 128 && held.first == 0)
			say("the command was ended (%s)", x->status);
	} else if (r.output_no == EPIPE) {
		status = 128 + SIGPIPE;
	} else if (r.output_no != 0) {
		status = fail("write the command's output: %s", strerrordesc_np(r.output_no));
	} else if (held.first == 0) {
		status = fail("%s", e.text);
	}
	/* A local program would have been ended by its broken pipe. */
	if (r.output_no != 0 && s->on_interrupt == STOP_COMMAND)
		(void)atoll_process_signal(r.p, SIGTERM, &e);
	atoll_process_free(r.p);
	return status;
}

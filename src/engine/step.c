/* SPDX-License-Identifier: Apache-2.0 */
/* step: the messages between the processes of a start. */
#include "engine/step.h"

#include <assert.h>
#include <poll.h>
#include <string.h>

#include "base/fd.h"

struct step_msg {
	uint32_t what;
	struct err err;
};

int step_send(int sock, enum step what, const int *fds, size_t n_fds, struct err *e)
{
	struct step_msg m = { .what = what };
	ssize_t n = fd_send(sock, &m, sizeof m, fds, n_fds);

	return n < 0 ? err_set(e, (int)-n, "send step %d: %s", what, strerror((int)-n)) : 0;
}

void step_send_error(int sock, const struct err *why)
{
	struct step_msg m = { .what = STEP_FAILED, .err = *why };

	(void)fd_send(sock, &m, sizeof m, NULL, 0);
}

static int receive(int sock, enum step want, int *fds, size_t n_fds, size_t *got, struct err *e)
{
	struct step_msg m;
	ssize_t n = fd_recv(sock, &m, sizeof m, fds, n_fds, got);

	if (n < 0)
		return err_set(e, (int)-n, "receive step %d: %s", want, strerror((int)-n));
	if (n != (ssize_t)sizeof m)
		return err_set(e, EPIPE, "the other side ended before step %d", want);
	if (m.what == STEP_FAILED) {
		m.err.text[sizeof m.err.text - 1] = '\0';
		*e = m.err;
		return e->no > 0 ? -e->no : err_set(e, EIO, "a step failed without saying why");
	}
	if (m.what != want || *got != n_fds)
		return err_set(e, EBADMSG, "step %u with %zu fds instead of step %d with %zu", m.what, *got, want,
		    n_fds);
	return 0;
}

int step_recv(int sock, enum step want, int *ret_fds, size_t n_fds, int timeout_ms, struct err *e)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };
	int fds[STEP_FDS_MAX];
	size_t got = 0;
	int r;

	assert(n_fds <= STEP_FDS_MAX);
	do
		r = timeout_ms < 0 ? 1 : poll(&p, 1, timeout_ms);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return err_sys(e, "wait for step %d", want);
	if (r == 0)
		return err_set(e, ETIMEDOUT, "step %d took more than %d ms", want, timeout_ms);
	r = receive(sock, want, fds, n_fds, &got, e);
	if (r < 0) {
		while (got > 0)
			fd_close(fds[--got]);
		return r;
	}
	if (n_fds > 0)
		memcpy(ret_fds, fds, n_fds * sizeof *fds);
	return 0;
}

bool step_last_words(int sock, struct err *e)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };
	int fds[STEP_FDS_MAX];
	struct step_msg m;

	while (sock >= 0 && poll(&p, 1, 0) > 0 && p.revents & POLLIN) {
		size_t got = 0;
		ssize_t n = fd_recv(sock, &m, sizeof m, fds, STEP_FDS_MAX, &got);

		while (got > 0)
			fd_close(fds[--got]);
		if (n != (ssize_t)sizeof m)
			return false;
		if (m.what == STEP_FAILED && m.err.no > 0) {
			m.err.text[sizeof m.err.text - 1] = '\0';
			*e = m.err;
			return true;
		}
	}
	return false;
}

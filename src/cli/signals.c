/* SPDX-License-Identifier: Apache-2.0 */
/* cli/signals: signals are blocked and read from a signalfd when the program checks for them. */
#include "cli/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"

#define WAIT_FOR_CALL_MS 5000 /* how long a call may go on after a signal */

static struct { /* one per process, like signals */
	int fd;
	int first;      /* the signal that signals_leave() raises */
	unsigned count; /* signals received */
	bool resized;
	uint64_t since_ms;
	sigset_t set;
} held = { .fd = -1 };

int signals_hold(void)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGCONT };

	(void)sigemptyset(&held.set);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		(void)sigaddset(&held.set, numbers[i]);
	(void)signal(SIGPIPE, SIG_IGN);
	held.fd = signalfd(-1, &held.set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (held.fd < 0 || sigprocmask(SIG_BLOCK, &held.set, NULL) < 0)
		return fail("block signals: %s", strerrordesc_np(errno));
	return 0;
}

int signals_fd(void)
{
	return held.fd;
}

static void take(void)
{
	struct signalfd_siginfo si;

	while (held.fd >= 0 && read(held.fd, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		if (si.ssi_signo == SIGWINCH || si.ssi_signo == SIGCONT) {
			held.resized = true;
			continue;
		}
		if (held.first == 0) {
			held.first = (int)si.ssi_signo;
			held.since_ms = clock_mono_ms();
		}
		held.count++;
	}
}

int signals_first(void)
{
	take();
	return held.first;
}

unsigned signals_count(void)
{
	take();
	return held.count;
}

bool signals_take_resize(void)
{
	take();
	bool was = held.resized;
	held.resized = false;
	return was;
}

bool signals_stop_waiting(void *user)
{
	(void)user;
	return signals_first() != 0 && clock_mono_ms() - held.since_ms > WAIT_FOR_CALL_MS;
}

bool signals_stop_now(void *user)
{
	(void)user;
	return signals_first() != 0;
}

int signals_leave(int status)
{
	int sig = signals_first();

	if (sig == 0)
		return status;
	(void)signal(sig, SIG_DFL);
	(void)sigprocmask(SIG_UNBLOCK, &held.set, NULL);
	(void)raise(sig);
	return 128 + sig;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* atoll-holder: keeps the namespaces above the sandboxes of one template. It reaps children and does nothing else.
 * Statically linked, and embedded in atolld (holder_image.c).
 *
 * With an argument it is the parent of one restored sandbox, which is not below such namespaces, and exits with
 * it. */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	sigset_t all;
	int sig;

	(void)argv;
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)prctl(PR_SET_NAME, argc > 1 ? "atoll-reaper" : "atoll-holder", 0, 0, 0);
	for (;;) {
		/* Blocks until a child exits; without any child, until a signal reports that there was one. */
		if (waitpid(-1, NULL, __WALL) >= 0)
			continue;
		if (argc > 1 && errno == ECHILD)
			return 0;
		(void)sigwait(&all, &sig);
	}
}

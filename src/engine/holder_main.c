/* SPDX-License-Identifier: Apache-2.0 */
/* atoll-holder: pid 1 of the pid namespace that sandboxes of one template share as their parent. It reaps and does nothing
 * else: if it could fail, every sandbox below would fail with it. Static, and carried inside atolld (holder_image.c). */
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	sigset_t all;
	int sig;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)prctl(PR_SET_NAME, "atoll-holder", 0, 0, 0);
	for (;;) {
		/* Blocks until there is a child that ended; without any child, until a signal says that there was one. */
		if (waitpid(-1, NULL, __WALL) < 0)
			(void)sigwait(&all, &sig);
	}
}

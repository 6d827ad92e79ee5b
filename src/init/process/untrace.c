/* SPDX-License-Identifier: Apache-2.0 */
/* untrace: detaches children that asked to be traced. */
#include "init/process/untrace.h"

#include <signal.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

/* The kernel sends SIGTRAP to a traced process that executes a program, with the process itself as the sender.
 * Without a tracer it would not be sent, so it is not delivered. */
static bool is_exec(pid_t pid, int signo)
{
	siginfo_t si;

	return signo == SIGTRAP && ptrace(PTRACE_GETSIGINFO, pid, NULL, &si) == 0 && si.si_code == SI_USER &&
	    si.si_pid == pid;
}

bool untrace(pid_t pid, int status)
{
	if (!WIFSTOPPED(status))
		return false;
	int signo = WSTOPSIG(status);

	(void)ptrace(PTRACE_DETACH, pid, NULL, (void *)(intptr_t)(is_exec(pid, signo) ? 0 : signo));
	return true;
}

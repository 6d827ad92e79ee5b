/* SPDX-License-Identifier: Apache-2.0 */
/* side: a function that runs in a child process. */
#include "engine/ckpt/side.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

int side_run(side_fn *fn, const void *arg, int number, struct err *e)
{
	int pipes[2];
	struct err why = ERR_INIT;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	pid_t pid = fork();

	if (pid == 0) {
		(void)fn(arg, number, &why);
		_exit(fd_write_all(pipes[1], &why, sizeof why) < 0);
	}
	close(pipes[1]);
	if (pid < 0)
		(void)err_sys(e, "fork");
	else if (fd_read_all(pipes[0], &why, sizeof why) < 0)
		(void)err_set(e, EPIPE, "a child ended early");
	else
		*e = why;
	close(pipes[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return -e->no;
}

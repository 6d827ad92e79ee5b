/* SPDX-License-Identifier: Apache-2.0 */
/* side: a function that runs in a child process. */
#include "engine/ckpt/side.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

int side_begin(struct side *sd, side_fn *fn, const void *arg, int number, struct err *e)
{
	int pipes[2];
	struct err why = ERR_INIT;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	sd->pid = fork();
	if (sd->pid == 0) {
		(void)fn(arg, number, &why);
		_exit(fd_write_all(pipes[1], &why, sizeof why) < 0);
	}
	close(pipes[1]);
	sd->result = pipes[0];
	return sd->pid < 0 ? err_sys(e, "fork") : 0;
}

int side_end(struct side *sd, struct err *e)
{
	struct err why = ERR_INIT;

	if (fd_read_all(sd->result, &why, sizeof why) < 0)
		(void)err_set(e, EPIPE, "a child ended early");
	else
		*e = why;
	fd_close(sd->result);
	while (sd->pid > 0 && waitpid(sd->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*sd = SIDE_NONE;
	return -e->no;
}

int side_run(side_fn *fn, const void *arg, int number, struct err *e)
{
	struct side sd = SIDE_NONE;

	return side_begin(&sd, fn, arg, number, e) < 0 ? -e->no : side_end(&sd, e);
}

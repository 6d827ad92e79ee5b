/* SPDX-License-Identifier: Apache-2.0 */
/* pty: a pseudo-terminal of the sandbox's own devpts. */
#include "init/process/pty.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/fd.h"

int pty_resize(int master, uint16_t cols, uint16_t rows)
{
	struct winsize ws = { .ws_col = cols, .ws_row = rows };

	return ioctl(master, TIOCSWINSZ, &ws) < 0 ? -errno : 0;
}

int pty_open(uid_t uid, uint16_t cols, uint16_t rows, int *ret_master, int *ret_slave, struct err *e)
{
	autoclose int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	autoclose int slave = -1;
	int locked = 0;

	if (master < 0)
		return err_sys(e, "open a terminal");
	if (ioctl(master, TIOCSPTLCK, &locked) < 0)
		return err_sys(e, "unlock the terminal");
	/* Opened through the master, not by path, so the contents of /dev/pts inside do not matter. */
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return err_sys(e, "open the terminal's other end");
	if (pty_resize(master, cols, rows) < 0)
		return err_sys(e, "set the terminal's size");
	/* So that programs of the user can reopen it by name. */
	(void)!fchown(slave, uid, (gid_t)-1);
	(void)fchmod(slave, 0620);
	*ret_master = take_fd(&master);
	*ret_slave = take_fd(&slave);
	return 0;
}

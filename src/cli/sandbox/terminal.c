/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/terminal: controls the local terminal. */
#include "cli/sandbox/terminal.h"

#include <errno.h>
#include <sys/ioctl.h>

int terminal_raw(struct terminal *t)
{
	struct termios raw;

	if (!t->is_raw && tcgetattr(t->fd, &t->before) < 0)
		return -errno;
	raw = t->before;
	cfmakeraw(&raw);
	if (tcsetattr(t->fd, TCSADRAIN, &raw) < 0)
		return -errno;
	t->is_raw = true;
	return 0;
}

void terminal_restore(struct terminal *t)
{
	if (t->is_raw)
		(void)tcsetattr(t->fd, TCSADRAIN, &t->before);
	t->is_raw = false;
}

void terminal_size(int fd, unsigned *ret_cols, unsigned *ret_rows)
{
	struct winsize ws;
	bool known = ioctl(fd, TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0 && ws.ws_row > 0;

	*ret_cols = known ? ws.ws_col : 80;
	*ret_rows = known ? ws.ws_row : 24;
}

size_t escape_filter(struct escape *x, const char *in, size_t n, char *out, bool *ret_leave)
{
	size_t o = 0;

	*ret_leave = false;
	for (size_t i = 0; i < n; i++) {
		if (x->at == ESCAPE_LINE_START && in[i] == '~') {
			x->at = ESCAPE_TILDE;
			continue;
		}
		if (x->at == ESCAPE_TILDE && in[i] == '.') {
			*ret_leave = true;
			return o;
		}
		if (x->at == ESCAPE_TILDE && in[i] != '~')
			out[o++] = '~'; /* not an escape: send the "~" as well */
		out[o++] = in[i];
		x->at = in[i] == '\r' || in[i] == '\n' ? ESCAPE_LINE_START : ESCAPE_IN_LINE;
	}
	return o;
}

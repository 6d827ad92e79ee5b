/* SPDX-License-Identifier: Apache-2.0 */
/* The link of the front under torture to the warden, and its notes. */
#include "torture.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

#define LINK 3
#define STEP_MS 20000 /* for hangs alone */

char notes[256];
struct msg_welcome welcome;
static uint32_t next_seq = 1;

void note(const char *text)
{
	char path[300], line[300];
	int n = snprintf(line, sizeof line, "%s\n", text);

	(void)snprintf(path, sizeof path, "%s/notes", notes);
	autoclose int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0 || write(fd, line, (size_t)n) != n)
		_exit(9);
}

__attribute__((noreturn)) void wrong(const char *what)
{
	char text[200];

	(void)snprintf(text, sizeof text, "WRONG %s", what);
	note(text);
	(void)pause();
	_exit(8);
}

struct msg_head head(unsigned type)
{
	return (struct msg_head) { MSG_VERSION, (uint16_t)type, next_seq++ };
}

void out(const void *p, size_t n, size_t n_fds)
{
	int fds[FD_PASS_MAX] = { 0 };

	if (fd_send(LINK, p, n, fds, n_fds) != (ssize_t)n)
		wrong("could not send");
}

int in(void *msg, int *fd)
{
	struct pollfd pf = { .fd = LINK, .events = POLLIN };
	size_t n_fds = 0;

	if (poll(&pf, 1, STEP_MS) <= 0)
		return 0;
	memset(msg, 0, MSG_MAX);
	ssize_t n = fd_recv(LINK, msg, MSG_MAX, fd, 1, &n_fds);
	if (n_fds == 0)
		*fd = -1;
	uint16_t type = n > 0 ? ((struct msg_head *)msg)->type : 0;

	if (type == EV_EGRESS || type == EV_AGENT || type == EV_WEBHOOKS) {
		if (n_fds != 1)
			wrong("no socket to a helper");
		fd_close(*fd);
		return in(msg, fd);
	}
	return n <= 0 ? -1 : ((struct msg_head *)msg)->type;
}

void hello(void)
{
	struct msg_hello m = { head(OP_HELLO) };
	char msg[MSG_MAX];
	int fd;

	out(&m, sizeof m, 0);
	if (in(msg, &fd) != RE_HELLO)
		wrong("no welcome");
	memcpy(&welcome, msg, sizeof welcome);
	m.head = head(OP_SERVES); /* otherwise the warden ends after a few fronts that never served */
	out(&m, sizeof m, 0);
	if (in(msg, &fd) != RE_OK)
		wrong("serves is answered");
}

struct msg_start sound_start(const char *id)
{
	struct msg_start m;

	memset(&m, 0, sizeof m);
	m.head = head(OP_START);
	(void)snprintf(m.id, sizeof m.id, "%s", id);
	memcpy(m.template_key, welcome.templates[0].key, sizeof m.template_key);
	m.limits = welcome.defaults;
	return m;
}

struct msg_id about(unsigned type, const char *id)
{
	struct msg_id m;

	memset(&m, 0, sizeof m);
	m.head = head(type);
	(void)snprintf(m.id, sizeof m.id, "%s", id);
	return m;
}

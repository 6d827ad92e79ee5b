/* SPDX-License-Identifier: Apache-2.0 */
/* notify: one datagram per report. */
#include "warden/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/fd.h"
#include "base/log.h"

/* A path, or a name in the abstract namespace, with '@' in front of it. -1: neither. */
static int address_of(const char *name, struct sockaddr_un *ret, socklen_t *ret_size)
{
	size_t n = strlen(name);

	if ((name[0] != '/' && name[0] != '@') || n < 2 || n >= sizeof ret->sun_path)
		return -1;
	*ret = (struct sockaddr_un) { .sun_family = AF_UNIX };
	memcpy(ret->sun_path, name, n);
	if (name[0] == '@')
		ret->sun_path[0] = '\0';
	*ret_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + (name[0] == '/'));
	return 0;
}

static int connect_to(const char *name)
{
	struct sockaddr_un to;
	socklen_t size;

	if (address_of(name, &to, &size) < 0) {
		errno = EINVAL;
		return -1;
	}
	autoclose int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return fd < 0 || connect(fd, (struct sockaddr *)&to, size) < 0 ? -1 : take_fd(&fd);
}

int notify_open(void)
{
	const char *name = getenv("NOTIFY_SOCKET");
	int fd = name && name[0] ? connect_to(name) : -1;

	if (name && name[0] && fd < 0)
		log_warn("cannot report to the service manager", "socket=%s err=%s", name, strerror(errno));
	(void)unsetenv("NOTIFY_SOCKET");
	return fd;
}

static void report(int fd, const char *text)
{
	ssize_t r = fd < 0 ? 0 : fd_send(fd, text, strlen(text), NULL, 0);

	if (r < 0)
		log_warn("cannot report to the service manager", "state=%s err=%s", text, strerror((int)-r));
}

void notify_ready(int fd)
{
	report(fd, "READY=1");
}

void notify_stopping(int fd)
{
	report(fd, "STOPPING=1");
}

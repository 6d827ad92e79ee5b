/* SPDX-License-Identifier: Apache-2.0 */
/* etc: written without following a link of the template. */
#include "engine/etc.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/inet.h"
#include "base/rand.h"
#include "engine/mounts.h"
#include "engine/slot.h"

/* -1 with errno; ELOOP for what is there and is no ordinary file. Never waits: the disk may be one that a sandbox has
 * had, and an open FIFO would wait for its other end. */
static int open_file(int etc, const char *name)
{
	struct open_how how = {
		.flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
		.mode = 0644,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	int fd = (int)syscall(SYS_openat2, etc, name, &how, sizeof how);
	struct stat st;

	if (fd < 0 && errno == ENXIO)
		errno = ELOOP;
	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
		return fd;
	fd_close(fd);
	errno = ELOOP;
	return -1;
}

/* The template may have a symbolic link there (resolv.conf often is one): it is removed, not followed. */
static int write_file(int etc, const char *name, const char *text, struct err *e)
{
	autoclose int fd = open_file(etc, name);

	if (fd < 0 && errno == ELOOP && unlinkat(etc, name, 0) == 0)
		fd = open_file(etc, name);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return err_sys(e, "write '/etc/%s'", name);
	return 0;
}

/* Without internet, DNS fails too. Over TCP that is known at once; over UDP the host's ICMP rate limit makes a
 * program wait 5 seconds for it. */
int etc_write(int root, const struct slot *s, bool no_internet, struct err *e)
{
	char resolv[64], gateway[INET_TEXT_SIZE], machine_id[34];
	autoclose int etc = -1;

	if (mount_target(root, "etc", &etc, e) < 0)
		return -e->no;
	(void)snprintf(resolv, sizeof resolv, "nameserver %s\noptions edns0%s\n", inet_text(s->gateway, gateway),
	    no_internet ? " use-vc" : "");
	rand_hex(machine_id, 32);
	memcpy(machine_id + 32, "\n", 2);
	if (write_file(etc, "resolv.conf", resolv, e) < 0 || write_file(etc, "machine-id", machine_id, e) < 0)
		return -e->no;
	return write_file(etc, "hostname", ETC_HOSTNAME "\n", e);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* dev: device nodes and terminals. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>

#include "attempt.h"

#define OPENER(fn, path) \
	static int fn(void) \
	{ \
		return try_open(path, O_RDWR); \
	}

OPENER(mem, "/dev/mem")
OPENER(kmem, "/dev/kmem")
OPENER(port, "/dev/port")
OPENER(kvm, "/dev/kvm")
OPENER(fuse, "/dev/fuse")
OPENER(tun, "/dev/net/tun")
OPENER(loop, "/dev/loop-control")
OPENER(mapper, "/dev/mapper/control")
OPENER(console, "/dev/console")
OPENER(vhost, "/dev/vhost-net")
OPENER(uring, "/dev/uinput")
OPENER(msr, "/dev/cpu/0/msr")
OPENER(kmsg_rw, "/dev/kmsg")

static int node(const char *at, mode_t type, dev_t dev)
{
	(void)unlink(at);
	return mknod(at, type | 0600, dev) < 0 ? -errno : 0;
}

static int node_mem(void)
{
	return node("/tmp/escape-mem", S_IFCHR, makedev(1, 1));
}
static int node_loop(void)
{
	return node("/tmp/escape-loop", S_IFBLK, makedev(7, 0));
}
static int node_whiteout(void)
{
	return node("/tmp/escape-wh", S_IFCHR, makedev(0, 0));
}
static int node_dev(void)
{
	return node("/dev/escape-mem", S_IFCHR, makedev(1, 1));
}
static int node_shm(void)
{
	return node("/dev/shm/escape-mem", S_IFCHR, makedev(1, 1));
}

/* All nodes are of the short list, whatever they are called. */
static bool harmless(dev_t d)
{
	static const unsigned minors[] = { 3, 5, 7, 8, 9 };

	for (size_t i = 0; major(d) == 1 && i < COUNT(minors); i++) {
		if (minor(d) == minors[i])
			return true;
	}
	return (major(d) == 5 && (minor(d) == 0 || minor(d) == 2)) || (major(d) >= 136 && major(d) <= 143);
}

static int set_of_nodes(void)
{
	static const char *const dirs[] = { "/dev", "/dev/pts", "/dev/shm", "/dev/mqueue", "/dev/.atoll" };
	char path[600];
	struct stat st;
	int n = 0;

	for (size_t i = 0; i < COUNT(dirs); i++) {
		DIR *d = opendir(dirs[i]);
		struct dirent *de;

		while (d && (de = readdir(d)) != NULL) {
			(void)snprintf(path, sizeof path, "%s/%s", dirs[i], de->d_name);
			if (lstat(path, &st) < 0 || !(S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)))
				continue;
			n++;
			if (S_ISBLK(st.st_mode) || !harmless(st.st_rdev)) {
				closedir(d);
				return broken("%s is %u:%u", path, major(st.st_rdev), minor(st.st_rdev));
			}
		}
		if (d)
			closedir(d);
	}
	return n >= 6 ? held("%d nodes, all harmless", n) : unclear("only %d nodes", n);
}

/* A terminal of our own, as our controlling one, so that only the filter stands in the way. */
static int own_terminal(void)
{
	int m = posix_openpt(O_RDWR | O_NOCTTY), s = -1;

	if (m < 0 || grantpt(m) < 0 || unlockpt(m) < 0)
		return -1;
	s = ioctl(m, TIOCGPTPEER, O_RDWR | O_NOCTTY);
	if (s >= 0 && ioctl(s, TIOCSCTTY, 0) < 0)
		return -1;
	return s;
}

static int type_in(unsigned long request)
{
	int s = own_terminal();

	return s < 0 ? unclear("no terminal: %s", errno_name(errno)) : SYS(SYS_ioctl, s, request, "x");
}

static int sti(void)
{
	return type_in(TIOCSTI);
}
static int sti_high(void)
{
	return type_in(TIOCSTI | 1ul << 32);
}
static int linux_console(void)
{
	return type_in(TIOCLINUX);
}
/* W9: one that no kernel has built in, so that it would be looked for; and the usual one, by a number that is too
 * long. */
static int discipline(unsigned long request, int which)
{
	int s = own_terminal();

	return s < 0 ? unclear("no terminal: %s", errno_name(errno)) : SYS(SYS_ioctl, s, request, &which);
}

static int line_discipline(void)
{
	return discipline(TIOCSETD, 1);
}
static int line_discipline_high(void)
{
	return discipline(TIOCSETD | 1ul << 32, 0);
}
static int take_console(void)
{
	return type_in(TIOCCONS);
}

/* Terminals are numbered per sandbox: a first one is 0 or little more, and those of the host are not there. */
static int terminals(void)
{
	char name[64];
	int m = posix_openpt(O_RDWR | O_NOCTTY);

	if (m < 0 || ptsname_r(m, name, sizeof name) != 0)
		return unclear("no terminal: %s", errno_name(errno));
	return atoi(name + strlen("/dev/pts/")) < 128 ? held("%s", name)
						      : broken("%s: numbered with those of others", name);
}

static int no_tty(void)
{
	return try_open("/dev/tty", O_RDWR);
}

static const char devices[] = "no device but the seven that everybody may have";
static const char loading[] = "no module is loaded into the host's kernel";
static const char typing[] = "nothing is typed into a terminal of somebody else";

#define D(word, fn) \
	{ \
		"dev/open-" word, devices, fn, .expect = { ENOENT } \
	}

static const struct attempt attempts[] = {
	D("mem", mem),
	D("kmem", kmem),
	D("port", port),
	D("kvm", kvm),
	D("fuse", fuse),
	D("tun", tun),
	D("loop-control", loop),
	D("mapper", mapper),
	D("console", console),
	D("vhost", vhost),
	D("uinput", uring),
	D("msr", msr),
	D("kmsg", kmsg_rw),
	{ "dev/mknod-mem", devices, node_mem, .expect = { EPERM }, .flags = OUTSIDE },
	{ "dev/mknod-loop", devices, node_loop, .expect = { EPERM }, .flags = OUTSIDE },
	{ "dev/mknod-whiteout", "no trace of the overlay can be forged", node_whiteout, .expect = { EPERM } },
	{ "dev/mknod-in-dev", devices, node_dev, .expect = { EPERM, EACCES } },
	{ "dev/mknod-in-shm", devices, node_shm, .expect = { EPERM } },
	{ "dev/set-of-nodes", devices, set_of_nodes },
	{ "dev/tiocsti", typing, sti, .expect = { EPERM } },
	{ "dev/tiocsti-high-bits", typing, sti_high, .expect = { EPERM } },
	{ "dev/tioclinux", typing, linux_console, .expect = { EPERM } },
	{ "dev/tiocsetd", loading, line_discipline, .expect = { EPERM } },
	{ "dev/tiocsetd-high-bits", loading, line_discipline_high, .expect = { EPERM } },
	{ "dev/tioccons", typing, take_console, .expect = { EPERM } },
	{ "dev/numbers-of-terminals", "terminals are the sandbox's own", terminals },
	{ "dev/no-terminal-of-the-host", "terminals are the sandbox's own", no_tty, .expect = { ENXIO } },
};
GROUP(dev, "dev");

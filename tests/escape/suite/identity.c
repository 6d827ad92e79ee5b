/* SPDX-License-Identifier: Apache-2.0 */
/* identity: uids, capabilities, setuid programs, extended attributes. */
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "attempt.h"

/* chown dac_override fowner fsetid kill setgid setuid setpcap net_bind_service sys_chroot audit_write setfcap */
#define ALLOWED 0xa00405fbull

static int parse_caps(int pid, const char *which, uint64_t *ret)
{
	char path[64], text[4096], *at;

	(void)snprintf(path, sizeof path, "/proc/%d/status", pid);
	int n = slurp(path, text, sizeof text);

	if (n <= 0 || !(at = strstr(text, which)))
		return -1;
	*ret = strtoull(at + strlen(which) + 1, NULL, 16);
	return 0;
}

struct power {
	int looked;
	char bad[160];
};

static int check_caps(int pid, void *user)
{
	static const char *const sets[] = { "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb" };
	struct power *p = user;
	uint64_t v;

	for (size_t i = 0; i < COUNT(sets); i++) {
		if (parse_caps(pid, sets[i], &v) < 0)
			return 0;
		p->looked++;
		if (v & ~ALLOWED) {
			(void)snprintf(p->bad, sizeof p->bad, "process %d has %s %llx", pid, sets[i],
			    (unsigned long long)v);
			return 1;
		}
	}
	return 0;
}

/* A copy of a warm interpreter that is on its way in has them all over this sandbox for some milliseconds; nobody can
 * look into it or trace it then. None may stay so. */
static int bounds(void)
{
	struct power p = { 0 };

	for (int i = 0; i < 30; i++) {
		p = (struct power) { 0 };
		(void)each_process(check_caps, &p);
		if (!p.bad[0])
			break;
		(void)usleep(100000);
	}
	if (p.bad[0])
		return broken("%s", p.bad);
	return p.looked >= 10 ? held("%d sets, none above the twelve", p.looked)
			      : unclear("only %d sets seen", p.looked);
}

static int raise_caps(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = { { 0 } };

	if (syscall(SYS_capget, &h, d) < 0)
		return unclear("capget: %s", errno_name(errno));
	d[0].permitted |= 1u << CAP_SYS_ADMIN;
	d[0].effective |= 1u << CAP_SYS_ADMIN;
	return SYS(SYS_capset, &h, d);
}

static int ambient(void)
{
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0) < 0 ? -errno : 0;
}

/* A file that gives all there is; running it gives no more than the bounding set. */
static int file_caps(void)
{
	struct {
		uint32_t magic, permitted0, inheritable0, permitted1, inheritable1;
	} v2 = { 0x02000001, ~0u, 0, ~0u, 0 };
	static const char path[] = "/tmp/escape-caps";
	char text[8192], *at;
	int status = 0;

	(void)unlink(path);
	int in = open("/bin/cat", O_RDONLY), out = open(path, O_CREAT | O_WRONLY, 0755), p[2];
	ssize_t n;

	while (in >= 0 && out >= 0 && (n = read(in, text, sizeof text)) > 0)
		(void)!write(out, text, (size_t)n);
	(void)close(out);
	if (setxattr(path, "security.capability", &v2, sizeof v2, 0) < 0)
		return unclear("setxattr: %s", errno_name(errno));
	if (pipe(p) < 0)
		return unclear("pipe");
	pid_t pid = fork();

	if (pid == 0) {
		(void)dup2(p[1], 1);
		(void)!setuid(1000);
		(void)execl(path, path, "/proc/self/status", NULL);
		_exit(errno == EPERM ? 77 : 78);
	}
	(void)close(p[1]);
	size_t used = 0;

	while ((n = read(p[0], text + used, sizeof text - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = '\0';
	(void)waitpid(pid, &status, 0);
	(void)unlink(path);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		return -EPERM; /* more than may be had: not run at all */
	at = strstr(text, "CapEff:");
	if (!at)
		return unclear("no status");
	return strtoull(at + 8, NULL, 16) & ~ALLOWED ? broken("%.24s", at) : held("%.24s", at);
}

static int unmapped_uid(void)
{
	return setresuid(70000, 70000, 70000) < 0 ? -errno : 0;
}
static int unmapped_gid(void)
{
	return setresgid(70000, 70000, 70000) < 0 ? -errno : 0;
}

static int unmapped_groups(void)
{
	gid_t g = 70000;

	return setgroups(1, &g) < 0 ? -errno : 0;
}

static int unmapped_owner(void)
{
	int fd = open("/tmp/escape-owner", O_CREAT | O_WRONLY, 0600);

	if (fd < 0)
		return unclear("make a file: %s", errno_name(errno));
	return fchown(fd, 70000, 70000) < 0 ? -errno : 0;
}

static int xattr(const char *name)
{
	static const char path[] = "/tmp/escape-xattr";

	(void)mkdir(path, 0700);
	return setxattr(path, name, "/../../etc", 10, 0) < 0 ? -errno : 0;
}

static int trusted_redirect(void)
{
	return xattr("trusted.overlay.redirect");
}
static int trusted_opaque(void)
{
	return xattr("trusted.overlay.opaque");
}
static int trusted_origin(void)
{
	return xattr("trusted.overlay.origin");
}
static int trusted_metacopy(void)
{
	return xattr("trusted.overlay.metacopy");
}
static int security_any(void)
{
	return xattr("security.escape");
}

static int immutable(void)
{
	int fd = open("/tmp/escape-flags", O_CREAT | O_RDWR, 0600), flags = 0x10;

	if (fd < 0)
		return unclear("make a file: %s", errno_name(errno));
	return SYS(SYS_ioctl, fd, 0x40086602, &flags);
}

static int securebits(void)
{
	return prctl(PR_SET_SECUREBITS, 1, 0, 0, 0) < 0 ? -errno : broken("set");
}

static int exe_file(void)
{
	int fd = open("/bin/sh", O_RDONLY);

	return fd < 0                                           ? unclear("open: %s", errno_name(errno))
	    : prctl(PR_SET_MM, 13, (unsigned long)fd, 0, 0) < 0 ? -errno
								: 0;
}

static const char stay[] = "root inside is root of the sandbox and nothing more";
static const char caps[] = "twelve capabilities at most, whatever is run";
static const char ids[] = "ids inside stay the sandbox's own range outside";
static const char forge[] = "no trace of the overlay can be forged";

static const struct attempt attempts[] = {
	{ "identity/bounding-set-of-all", caps, bounds },
	{ "identity/capset", caps, raise_caps, .expect = { EPERM } },
	{ "identity/ambient", caps, ambient, .expect = { EPERM } },
	{ "identity/file-capabilities", caps, file_caps, .expect = { EPERM }, .flags = BY_ROOT },
	{ "identity/setuid-unmapped", ids, unmapped_uid, .expect = { EINVAL } },
	{ "identity/setgid-unmapped", ids, unmapped_gid, .expect = { EINVAL } },
	{ "identity/setgroups-unmapped", ids, unmapped_groups, .expect = { EINVAL, EPERM } },
	{ "identity/chown-unmapped", ids, unmapped_owner, .expect = { EINVAL, EOVERFLOW } },
	{ "identity/trusted-redirect", forge, trusted_redirect, .expect = { EPERM } },
	{ "identity/trusted-opaque", forge, trusted_opaque, .expect = { EPERM } },
	{ "identity/trusted-origin", forge, trusted_origin, .expect = { EPERM } },
	{ "identity/trusted-metacopy", forge, trusted_metacopy, .expect = { EPERM } },
	{ "identity/security-xattr", stay, security_any, .expect = { EPERM, EOPNOTSUPP } },
	{ "identity/immutable-flag", "no file that its owner on the host cannot remove", immutable,
	    .expect = { EPERM, EOPNOTSUPP, ENOTTY } },
	{ "identity/securebits", caps, securebits, .expect = { EPERM }, .flags = BY_USER },
	{ "identity/forge-exe-link", stay, exe_file, .expect = { EPERM } },
};
GROUP(identity, "identity");

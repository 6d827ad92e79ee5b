/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/check_walls: optional kernel features that add isolation, known vulnerabilities, and limits of the host
 * that sandboxes share. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/defaults.h"
#include "base/fd.h"
#include "base/landlock.h"
#include "base/str.h"
#include "cli/child.h"
#include "cli/host/check.h"
#include "cli/host/conffile.h"
#include "cli/host/kernel_bugs.h"

#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE 62
#define PR_SCHED_CORE_GET 0
#endif

static void put(char *to, size_t size, const char *text)
{
	size_t n = strlen(to);

	(void)snprintf(to + n, size - n, "%s%s", n ? ", " : "", text);
}

/* --- known vulnerabilities --------------------------------------------------------------------------------------- */

void check_kernel_bugs(const struct check_host *h, struct check_result *r)
{
	char open[160] = "", closed[160] = "";
	const struct kernel_bug *worst = NULL;
	struct kernel_version v;
	struct utsname u;

	(void)h;
	if (uname(&u) < 0 || !kernel_version_parse(u.release, u.version, &v)) {
		check_found(r, CHECK_WARN, "not checked: the kernel version is unknown");
		return;
	}
	for (size_t i = 0; i < n_kernel_bugs; i++) {
		const struct kernel_bug *b = &kernel_bugs[i];

		if (!kernel_has_bug(&v, b))
			continue;
		if (b->reachable && !worst)
			worst = b;
		put(b->reachable ? open : closed, sizeof(open), b->cve);
	}
	if (worst) {
		check_found(r, v.exact ? CHECK_FAIL : CHECK_WARN, "a sandbox can reach %s%s%s%s", open,
		    v.exact ? "" : " unless your distribution has patched it", closed[0] ? "; not reachable: " : "",
		    closed);
		check_remedy(r, "update the kernel and restart the machine (%s: %s; %s)", worst->cve, worst->what,
		    worst->why);
	} else if (closed[0]) {
		check_found(r, CHECK_WARN, "known, but not reachable from a sandbox: %s%s", closed,
		    v.exact ? "" : " (unless your distribution has patched them)");
		check_remedy(r, "update the kernel and restart the machine");
	} else {
		check_found(r, CHECK_OK, "none of the %zu on atoll's list; keep the kernel up to date anyway",
		    n_kernel_bugs);
	}
}

/* Reports the processor vulnerabilities that the kernel knows of. */
void check_processor(const struct check_host *h, struct check_result *r)
{
	static const char dir_path[] = "/sys/devices/system/cpu/vulnerabilities";
	char open[200] = "", text[256];
	DIR *d = opendir(dir_path);
	unsigned n = 0;

	(void)h;
	for (struct dirent *e; d && (e = readdir(d));) {
		if (e->d_name[0] == '.' || file_read(dirfd(d), e->d_name, text, sizeof(text)) <= 0)
			continue;
		n++;
		if (str_starts(str_of(text), "Vulnerable"))
			put(open, sizeof(open), e->d_name);
	}
	if (d)
		(void)closedir(d);
	if (!n) {
		check_found(r, CHECK_WARN, "not checked: %s does not exist", dir_path);
	} else if (open[0]) {
		check_found(r, CHECK_WARN, "the kernel reports vulnerable: %s", open);
		check_remedy(r,
		    "install the processor's microcode (for a virtual machine, on its host) and do not boot with "
		    "mitigations=off");
	} else {
		check_found(r, CHECK_OK, "the kernel mitigates all %u processor vulnerabilities it knows", n);
	}
}

/* --- optional isolation features --------------------------------------------------------------------------------- */

void check_landlock(const struct check_host *h, struct check_result *r)
{
	int abi = landlock_abi();

	(void)h;
	if (abi > 0) {
		check_found(r, CHECK_OK, "version %d: front, resolver and audit reader are confined by it", abi);
		return;
	}
	check_found(r, CHECK_WARN, "not available: unprivileged daemons are confined only by their system call filter");
	check_remedy(r,
	    "boot with lsm=landlock,... (the current list is in /sys/kernel/security/lsm), or boot a distribution "
	    "kernel");
}

void check_core_scheduling(const struct check_host *h, struct check_result *r)
{
	unsigned long long cookie = 0;
	char smt[16] = "";
	bool threads = file_read(AT_FDCWD, "/sys/devices/system/cpu/smt/active", smt, sizeof(smt)) > 0 && smt[0] == '1';
	bool there = prctl(PR_SCHED_CORE, PR_SCHED_CORE_GET, 0, 0, &cookie) == 0;

	(void)h;
	if (!threads) {
		check_found(r, CHECK_OK, "not needed: this machine reports one thread per core");
	} else if (there) {
		check_found(r, CHECK_OK, "supported by the kernel: two sandboxes never share a core");
	} else {
		check_found(r, CHECK_WARN,
		    "the kernel lacks it and cores run two threads: sandboxes may spy on each other through the "
		    "processor");
		check_remedy(r, "boot a kernel with CONFIG_SCHED_CORE, or with nosmt");
	}
}

/* Returns -ENONET outside of the initial network namespace, because the kernel sends its audit log only there. */
static int probe_audit(void *arg)
{
	struct stat ours, its;
	struct sockaddr_nl at = { .nl_family = AF_NETLINK, .nl_groups = 1 };
	autoclose int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_AUDIT);

	(void)arg;
	if (stat("/proc/self/ns/net", &ours) == 0 && stat("/proc/2/ns/net", &its) == 0 && ours.st_ino != its.st_ino)
		return -ENONET;
	return fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ? -errno : 0;
}

void check_audit(const struct check_host *h, struct check_result *r)
{
	char text[256] = "";

	(void)h;
	if (!check_is_root(r))
		return;
	int rc = child_probe(probe_audit, NULL);
	if (rc == 0 && file_read(AT_FDCWD, "/proc/sys/kernel/seccomp/actions_logged", text, sizeof(text)) > 0 &&
	    strstr(text, "errno")) {
		check_found(r, CHECK_OK, "available: 'atoll explain' shows refused system calls");
		return;
	}
	check_found(r, CHECK_WARN, "refused system calls cannot be explained: %s",
	    rc == 0             ? "kernel.seccomp.actions_logged lacks errno"
		: rc == -ENONET ? "this is not the host's network namespace"
				: strerrordesc_np(-rc));
	if (rc == -EPERM || rc == -ENONET)
		check_remedy(r,
		    "run atoll on the host, not in a container: it requires CAP_AUDIT_READ and the host's network "
		    "namespace");
	else
		check_remedy(r,
		    rc == 0 ? "sysctl -w kernel.seccomp.actions_logged=\"kill_process kill_thread trap "
			      "errno user_notif trace log\""
			    : "boot a kernel with CONFIG_AUDIT, without audit=0");
}

void check_quota(const struct check_host *h, struct check_result *r)
{
	(void)h;
	if (access("/sys/fs/btrfs/features/simple_quota", F_OK) == 0)
		check_found(r, CHECK_OK, "btrfs has simple quotas");
	else if (access("/sys/fs/btrfs/features", F_OK) == 0)
		check_found(r, CHECK_OK, "btrfs has quota groups, but not simple quotas (Linux 6.7): writes cost more");
	else
		check_found(r, CHECK_WARN, "btrfs is not loaded: its quotas cannot be checked");
}

/* --- limits ------------------------------------------------------------------------------------------------------- */

static const struct {
	const char *path, *name;
	unsigned long long want;
	bool raised; /* the server raises it on start */
} limits[] = {
	{ "/proc/sys/kernel/pid_max", "kernel.pid_max", 65536, true },
	{ "/proc/sys/kernel/threads-max", "kernel.threads-max", 32768, true },
	{ "/proc/sys/fs/file-max", "fs.file-max", 200000, true },
	{ "/proc/sys/fs/inotify/max_user_instances", "fs.inotify.max_user_instances", 8192, true },
	{ "/proc/sys/fs/inotify/max_user_watches", "fs.inotify.max_user_watches", 524288, true },
	{ "/proc/sys/user/max_user_namespaces", "user.max_user_namespaces", 4096, true },
	{ "/proc/sys/user/max_net_namespaces", "user.max_net_namespaces", 4096, true },
	{ "/proc/sys/kernel/pty/max", "kernel.pty.max", 1024, true },
	{ "/proc/sys/net/netfilter/nf_conntrack_max", "net.netfilter.nf_conntrack_max", 65536, true },
};

#define FILES_WANTED 65536ull /* per process: a connection uses two files */
#define FILES_EACH 3ull       /* of a sandbox, with those of the spare places */

void check_limits(const struct check_host *h, struct check_result *r)
{
	char low[200] = "", text[64], item[96];
	unsigned long long n = conffile_number(h->config, "max_sandboxes", DEFAULT_MAX_SANDBOXES);
	unsigned long long want = FILES_EACH * n > FILES_WANTED / 2 ? FILES_EACH * n + FILES_WANTED / 2 : FILES_WANTED;
	struct rlimit files;

	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		if (file_read(AT_FDCWD, limits[i].path, text, sizeof(text)) <= 0)
			continue;
		unsigned long long now = strtoull(text, NULL, 10);

		if (now >= limits[i].want || limits[i].raised)
			continue;
		(void)snprintf(item, sizeof(item), "%s=%llu (%llu)", limits[i].name, now, limits[i].want);
		put(low, sizeof(low), item);
	}
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max < want) {
		(void)snprintf(item, sizeof(item), "ulimit -Hn=%llu (%llu)", (unsigned long long)files.rlim_max, want);
		put(low, sizeof(low), item);
	}
	if (!low[0]) {
		check_found(r, CHECK_OK,
		    "processes, open files, namespaces, terminals and tracked connections suffice for %llu sandboxes, "
		    "or the server raises them",
		    n);
		return;
	}
	check_found(r, CHECK_WARN, "low for %llu sandboxes (recommended values in brackets): %s", n, low);
	check_remedy(r, "raise them in /etc/sysctl.d; raise open files with LimitNOFILE= in the service unit");
}

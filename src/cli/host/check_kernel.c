/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/check_kernel: version, capabilities, user namespaces, seccomp, control groups. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "base/swaps.h"
#include "cli/child.h"
#include "cli/host/check.h"
#include "cli/host/conffile.h"

#define KERNEL_MAJOR 6
#define KERNEL_MINOR 1
#define NOBODY 65534

void check_kernel(const struct check_host *h, struct check_result *r)
{
	unsigned major = 0, minor = 0;
	struct utsname u;

	(void)h;
	if (uname(&u) < 0 || sscanf(u.release, "%u.%u", &major, &minor) != 2) {
		check_found(r, CHECK_WARN, "the version is unknown");
		return;
	}
	if (major < KERNEL_MAJOR || (major == KERNEL_MAJOR && minor < KERNEL_MINOR)) {
		check_found(r, CHECK_FAIL, "Linux %s is older than %d.%d", u.release, KERNEL_MAJOR, KERNEL_MINOR);
		check_remedy(r,
		    "boot a newer kernel: Debian 12 or later, or Ubuntu 22.04 with linux-generic-hwe-22.04");
	} else if (strcmp(u.machine, "x86_64") != 0) {
		check_found(r, CHECK_FAIL, "Linux %s on %s: only x86_64 is supported", u.release, u.machine);
	} else {
		check_found(r, CHECK_OK, "Linux %s on %s", u.release, u.machine);
	}
}

/* --- capabilities --- */

static const struct cap {
	unsigned bit;
	const char *name;
	bool needed;
} caps[] = {
	{ CAP_CHOWN, "CHOWN", true },
	{ CAP_DAC_OVERRIDE, "DAC_OVERRIDE", true },
	{ CAP_FOWNER, "FOWNER", true },
	{ CAP_FSETID, "FSETID", true },
	{ CAP_KILL, "KILL", true },
	{ CAP_SETGID, "SETGID", true },
	{ CAP_SETUID, "SETUID", true },
	{ CAP_SETPCAP, "SETPCAP", true },
	{ CAP_NET_ADMIN, "NET_ADMIN", true },
	{ CAP_SYS_CHROOT, "SYS_CHROOT", true },
	{ CAP_SYS_PTRACE, "SYS_PTRACE", true },
	{ CAP_SYS_ADMIN, "SYS_ADMIN", true },
	{ CAP_MKNOD, "MKNOD", true },
	{ CAP_SETFCAP, "SETFCAP", true },
	{ CAP_SYS_RESOURCE, "SYS_RESOURCE", false },
};

static int effective_caps(uint64_t *ret)
{
	char text[8192];

	if (file_read(AT_FDCWD, "/proc/self/status", text, sizeof(text)) < 0)
		return -EIO;
	const char *at = strstr(text, "\nCapEff:");
	if (!at)
		return -EIO;
	*ret = strtoull(at + strlen("\nCapEff:"), NULL, 16);
	return 0;
}

void check_capabilities(const struct check_host *h, struct check_result *r)
{
	char lacks[160] = "", may_lack[64] = "";
	uint64_t have;

	(void)h;
	if (!check_is_root(r))
		return;
	if (effective_caps(&have) < 0) {
		check_found(r, CHECK_WARN, "/proc/self/status cannot be read");
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(caps); i++) {
		char *to = caps[i].needed ? lacks : may_lack;
		size_t size = caps[i].needed ? sizeof(lacks) : sizeof(may_lack), n = strlen(to);

		if (!(have >> caps[i].bit & 1))
			(void)snprintf(to + n, size - n, " CAP_%s", caps[i].name);
	}
	if (lacks[0]) {
		check_found(r, CHECK_FAIL, "root lacks%s", lacks);
		check_remedy(r,
		    "this looks like a container with reduced capabilities: run atoll on the host, or add these");
	} else if (may_lack[0]) {
		check_found(r, CHECK_OK, "all required ones (without%s: limits cannot be raised)", may_lack);
	} else {
		check_found(r, CHECK_OK, "all required ones");
	}
}

/* --- user namespaces --- */

/* An unprivileged process creates a sandbox's user namespace. Inside, it must have all capabilities. */
static int probe_userns(void *arg)
{
	(void)arg;
	if (geteuid() == 0 &&
	    (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0))
		return -errno;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
		CLONE_NEWCGROUP) < 0)
		return -errno;
	return sethostname("probe", 5) < 0 ? -errno : 0;
}

static bool sysctl_is(const char *path, const char *value)
{
	char text[64];

	return file_read(AT_FDCWD, path, text, sizeof(text)) > 0 && str_is(str_of(strtok(text, "\n")), value);
}

void check_userns(const struct check_host *h, struct check_result *r)
{
	int rc = child_probe(probe_userns, NULL);

	(void)h;
	if (rc == 0) {
		check_found(r, CHECK_OK, "user, mount, pid, net, ipc, uts and cgroup namespaces can be created");
		return;
	}
	check_found(r, CHECK_FAIL, "a user namespace with its own capabilities cannot be created: %s",
	    strerrordesc_np(-rc));
	if (sysctl_is("/proc/sys/user/max_user_namespaces", "0"))
		check_remedy(r, "sysctl -w user.max_user_namespaces=10000, and persist it in /etc/sysctl.d");
	else if (sysctl_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"))
		check_remedy(r,
		    "AppArmor restricts them (Ubuntu): sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, and "
		    "persist it in /etc/sysctl.d");
	else if (sysctl_is("/proc/sys/kernel/unprivileged_userns_clone", "0"))
		check_remedy(r, "sysctl -w kernel.unprivileged_userns_clone=1, and persist it in /etc/sysctl.d");
	else
		check_remedy(r, "the kernel may lack CONFIG_USER_NS, or a container or security module forbids them");
}

void check_seccomp(const struct check_host *h, struct check_result *r)
{
	char text[256];

	(void)h;
	if (file_read(AT_FDCWD, "/proc/sys/kernel/seccomp/actions_avail", text, sizeof(text)) < 0) {
		check_found(r, CHECK_FAIL, "the kernel lacks seccomp filters");
		check_remedy(r, "boot a kernel with CONFIG_SECCOMP_FILTER, such as a distribution kernel");
	} else if (!strstr(text, "errno") || !strstr(text, "kill_process")) {
		check_found(r, CHECK_FAIL, "seccomp lacks required actions (available: %.*s)", (int)strcspn(text, "\n"),
		    text);
	} else {
		check_found(r, CHECK_OK, "filters are available");
	}
}

/* --- control groups --- */

static void missing_controllers(const char *has, const char *const *needed, char *lacks, size_t size)
{
	lacks[0] = '\0';
	for (size_t i = 0; needed[i]; i++) {
		struct str rest = str_of(has);
		bool found = false;

		while (rest.p && !found)
			found = str_is(str_cut(&rest, ' '), needed[i]);
		if (!found)
			(void)snprintf(lacks + strlen(lacks), size - strlen(lacks), " %s", needed[i]);
	}
}

/* Lists the controllers with a v1 hierarchy, each followed by a space, from the super options in mountinfo. */
static void v1_controllers(char *out, size_t size, bool *ret_writable)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[4096], where[1024];

	out[0] = '\0';
	*ret_writable = true;
	while (f && fgets(line, sizeof(line), f)) {
		char *options = strstr(line, " - cgroup ");

		if (!options || sscanf(line, "%*s %*s %*s %*s %1023s", where) != 1)
			continue;
		options = strrchr(options, ' ') + 1;
		for (char *word = strtok(options, ",\n"); word; word = strtok(NULL, ",\n")) {
			if (strcmp(word, "memory") == 0 && access(where, W_OK) < 0)
				*ret_writable = false;
			(void)snprintf(out + strlen(out), size - strlen(out), "%s ", word);
		}
	}
	if (f)
		(void)fclose(f);
}

static void check_cgroup_v2(struct check_result *r)
{
	static const char *const needed[] = { "cpu", "memory", "pids", NULL };
	char text[256], lacks[64];

	if (file_read(AT_FDCWD, "/sys/fs/cgroup/cgroup.controllers", text, sizeof(text)) < 0)
		text[0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	missing_controllers(text, needed, lacks, sizeof(lacks));
	if (lacks[0]) {
		check_found(r, CHECK_FAIL, "version 2, but without the controllers%s", lacks);
		check_remedy(r,
		    "remove 'cgroup_disable=' from the kernel command line; in a container, delegate the controllers");
	} else if (access("/sys/fs/cgroup", W_OK) < 0 && geteuid() == 0) {
		check_found(r, CHECK_FAIL, "version 2, but /sys/fs/cgroup is read-only");
		check_remedy(r, "mount -o remount,rw /sys/fs/cgroup (a container needs permission for that)");
	} else {
		check_found(r, CHECK_OK, "version 2 (%s)", text);
	}
}

/* Checks whether a sandbox can be shown its own memory and processors: see engine/view/view.h. */
void check_view(const struct check_host *h, struct check_result *r)
{
	static const char *const needed[] = { "cpuset", NULL };
	char has[512] = "", lacks[64];
	struct statfs fs;
	bool writable, fuse = access("/dev/fuse", F_OK) == 0;

	(void)h;
	if (statfs("/sys/fs/cgroup", &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
		(void)file_read(AT_FDCWD, "/sys/fs/cgroup/cgroup.controllers", has, sizeof(has));
	else
		v1_controllers(has, sizeof(has), &writable);
	has[strcspn(has, "\n")] = '\0';
	missing_controllers(has, needed, lacks, sizeof(lacks));
	if (!fuse) {
		check_found(r, CHECK_WARN,
		    "/dev/fuse is missing: programs in a sandbox see the host's memory and processors");
		check_remedy(r, "modprobe fuse (in a container, pass /dev/fuse to it)");
	} else if (lacks[0]) {
		check_found(r, CHECK_WARN,
		    "the cpuset controller is missing: nproc in a sandbox counts the host's processors");
		check_remedy(r,
		    "boot without 'cgroup_disable=cpuset'; on version 1, mount it; in a container, delegate it");
	} else {
		check_found(r, CHECK_OK, "sandboxes see their own memory and processor limits");
	}
}

void check_cgroup(const struct check_host *h, struct check_result *r)
{
	static const char *const needed[] = { "cpu", "memory", "pids", "freezer", NULL };
	char has[512], lacks[64];
	struct statfs fs;
	bool writable;

	(void)h;
	if (statfs("/sys/fs/cgroup", &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC) {
		check_cgroup_v2(r);
		return;
	}
	v1_controllers(has, sizeof(has), &writable);
	missing_controllers(has, needed, lacks, sizeof(lacks));
	if (has[0] == '\0') {
		check_found(r, CHECK_FAIL, "no control groups are mounted under /sys/fs/cgroup");
		check_remedy(r, "mount -t cgroup2 none /sys/fs/cgroup");
	} else if (lacks[0]) {
		check_found(r, CHECK_FAIL, "version 1, but without the controllers%s", lacks);
		check_remedy(r,
		    "boot with systemd.unified_cgroup_hierarchy=1 to use version 2, or mount the missing controllers");
	} else if (!writable && geteuid() == 0) {
		check_found(r, CHECK_FAIL, "version 1, but mounted read-only");
		check_remedy(r, "remount them read-write (a container needs permission for that)");
	} else {
		check_found(r, CHECK_OK, "version 1, with all required controllers (version 2 is recommended)");
	}
}

/* Where the memory of idle sandboxes can go (idle_memory). None of it is a fault: without swap they keep it. */
void check_swap(const struct check_host *h, struct check_result *r)
{
	autofree char *where = h->config ? conffile_get(h->config, "idle_memory") : NULL;
	uint64_t own = conffile_number(h->config, "idle_zram_mb", 0), bytes, left;
	enum swaps_kind kind = swaps_now(&bytes, &left);
	unsigned long long mib = bytes >> 20;
	bool may_disk = where && strcmp(where, "swap") == 0;

	if (where && strcmp(where, "keep") == 0) {
		check_found(r, CHECK_OK, "idle sandboxes keep it (idle_memory = keep)");
	} else if (kind == SWAPS_DISK && may_disk) {
		check_found(r, CHECK_OK, "idle sandboxes give it to %llu MB of swap, where it can be read later", mib);
	} else if (kind == SWAPS_DISK) {
		check_found(r, own ? CHECK_WARN : CHECK_OK,
		    "idle sandboxes keep it: the host has swap on a disk, where contents of memory could be read "
		    "later");
		check_remedy(r, "to allow that, set idle_memory = swap; or replace that swap by zram");
	} else if (own && access("/sys/class/zram-control", F_OK) < 0) {
		check_found(r, CHECK_WARN, "idle_zram_mb is set, and the kernel makes no zram device");
		check_remedy(r, "modprobe zram, and a file in /etc/modules-load.d for later starts");
	} else if (own || kind == SWAPS_MEMORY) {
		check_found(r, CHECK_OK, "idle sandboxes give it to compressed swap of %llu MB",
		    kind == SWAPS_MEMORY ? mib : (unsigned long long)own);
	} else {
		check_found(r, CHECK_OK, "idle sandboxes keep it: the host has no swap, and idle_zram_mb is not set");
	}
}

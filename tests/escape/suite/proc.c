/* SPDX-License-Identifier: Apache-2.0 */
/* proc: what /proc tells and takes. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "attempt.h"

#define WRITER(fn, path, text) \
	static int fn(void) \
	{ \
		return try_write(path, text); \
	}
#define READER(fn, path) \
	static int fn(void) \
	{ \
		return try_read(path); \
	}
#define OPENER(fn, path, flags) \
	static int fn(void) \
	{ \
		return try_open(path, flags); \
	}

WRITER(core_pattern, "/proc/sys/kernel/core_pattern", "|/bin/false")
WRITER(modprobe, "/proc/sys/kernel/modprobe", "/bin/false")
WRITER(hotplug, "/proc/sys/kernel/hotplug", "/bin/false")
WRITER(aslr, "/proc/sys/kernel/randomize_va_space", "0")
WRITER(host_name, "/proc/sys/kernel/hostname", "x")
WRITER(last_pid, "/proc/sys/kernel/ns_last_pid", "1")
WRITER(shmmax, "/proc/sys/kernel/shmmax", "1")
WRITER(drop_caches, "/proc/sys/vm/drop_caches", "1")
WRITER(overcommit, "/proc/sys/vm/overcommit_memory", "1")
WRITER(file_max, "/proc/sys/fs/file-max", "1000")
WRITER(binfmt, "/proc/sys/fs/binfmt_misc/register", ":x:E::x::/bin/sh:")
WRITER(userns_max, "/proc/sys/user/max_user_namespaces", "1000")
WRITER(inotify_max, "/proc/sys/user/max_inotify_instances", "100000")
WRITER(forward, "/proc/sys/net/ipv4/ip_forward", "1")
WRITER(rp_filter, "/proc/sys/net/ipv4/conf/all/rp_filter", "0")
WRITER(sysrq, "/proc/sysrq-trigger", "h")
WRITER(irq, "/proc/irq/default_smp_affinity", "1")
WRITER(mtrr, "/proc/mtrr", "disable=9")
WRITER(oom_pid1, "/proc/1/oom_score_adj", "1000")
WRITER(timens, "/proc/self/timens_offsets", "1 1 0")

READER(kcore, "/proc/kcore")
READER(keys, "/proc/keys")
READER(key_users, "/proc/key-users")
READER(timer_list, "/proc/timer_list")
READER(latency, "/proc/latency_stats")
READER(cmdline, "/proc/cmdline")
READER(config, "/proc/config.gz")
READER(sched_debug, "/proc/sched_debug")
READER(kpage, "/proc/kpagecount")
READER(slabinfo, "/proc/slabinfo")
READER(vmalloc, "/proc/vmallocinfo")
READER(pid1_environ, "/proc/1/environ")
READER(pid1_maps, "/proc/1/maps")
READER(pid1_stack, "/proc/1/stack")
READER(pid1_syscall, "/proc/1/syscall")
READER(pid1_auxv, "/proc/1/auxv")

OPENER(pid1_mem, "/proc/1/mem", O_RDWR)
OPENER(pid1_fd0, "/proc/1/fd/0", O_RDWR)
OPENER(pid1_exe, "/proc/1/exe", O_RDONLY)
OPENER(pid1_cwd, "/proc/1/cwd/etc/passwd", O_RDONLY)

/* Root of the sandbox owns pid 1 in name, but it is not to be looked into. */
static int pid1_root(void)
{
	return try_open("/proc/1/root/etc/passwd", O_RDONLY);
}

/* The directory opens; what counts is whether it tells anything. */
static int pid1_map_files(void)
{
	DIR *d = opendir("/proc/1/map_files");
	struct dirent *de;

	if (!d)
		return refused(errno, "open");
	errno = 0;
	while ((de = readdir(d)) != NULL) {
		if (de->d_name[0] != '.')
			return broken("%s", de->d_name);
	}
	return errno ? refused(errno, "list") : held("it tells nothing");
}

static int kallsyms(void)
{
	char text[4096];
	int n = slurp("/proc/kallsyms", text, sizeof text);

	if (n < 0)
		return n;
	for (int i = 0; i < n; i++) {
		if ((i == 0 || text[i - 1] == '\n') && n - i > 16 && strncmp(text + i, "0000000000000000", 16) != 0)
			return broken("an address: %.16s", text + i);
	}
	return held("%d bytes, no address", n);
}

/* A frame number tells where in memory a page lies: what rowhammer needs. */
static int pagemap(void)
{
	static char page[8192] = { 1 };
	uint64_t entry = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY);

	page[4096] = 1;
	if (fd < 0)
		return refused(errno, "pagemap");
	if (pread(fd, &entry, sizeof entry, (off_t)((uintptr_t)&page[4096] / 4096 * sizeof entry)) != sizeof entry)
		return unclear("pread: %s", errno_name(errno));
	if (!(entry >> 63))
		return unclear("the page is not present");
	return entry & ((1ull << 55) - 1) ? broken("frame %llx", (unsigned long long)(entry & ((1ull << 55) - 1)))
					  : held("present, frame 0");
}

/* Addresses of the kernel in anything that everybody can read here. */
static bool has_pointer(const char *text)
{
	for (const char *p = text; (p = strstr(p, "ffff")) != NULL; p++) {
		size_t n = strspn(p, "0123456789abcdefABCDEF");

		if (n == 16 && strspn(p, "f") < 16 && (p == text || !isxdigit((unsigned char)p[-1])))
			return true;
		p += n ? n - 1 : 0;
	}
	return false;
}

static int pointers(void)
{
	static const char *const files[] = {
		"/proc/net/tcp",
		"/proc/net/udp",
		"/proc/net/unix",
		"/proc/net/netlink",
		"/proc/net/packet",
		"/proc/net/raw",
		"/proc/net/ptype",
		"/proc/modules",
		"/proc/interrupts",
		"/proc/iomem",
		"/proc/self/stat",
		"/proc/self/wchan",
		"/proc/self/stack",
		"/proc/self/syscall",
		"/proc/locks",
		"/proc/vmallocinfo",
		"/proc/timer_list",
		"/proc/sched_debug",
		"/sys/kernel/vmcoreinfo",
		"/sys/kernel/notes",
		"/proc/net/protocols",
		"/proc/net/igmp",
	};
	static char text[1 << 20];
	int seen = 0;

	for (size_t i = 0; i < COUNT(files); i++) {
		int n = slurp(files[i], text, sizeof text);

		seen += n > 0;
		if (n > 0 && has_pointer(text))
			return broken("%s shows an address of the kernel", files[i]);
	}
	return seen > 8 ? held("none in %d files", seen) : unclear("only %d files could be read", seen);
}

static int cgroup_path(void)
{
	char text[4096];
	int n = slurp("/proc/self/cgroup", text, sizeof text);

	if (n <= 0)
		return unclear("cgroup: %s", errno_name(-n));
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		char *path = strrchr(line, ':');

		if (path && strcmp(path, ":/") != 0)
			return broken("%s", line);
	}
	return held("all are /");
}

/* 1, its children, and nobody of the host. */
static int count_one(int pid, void *user)
{
	int *n = user;

	(void)pid;
	(*n)++;
	return 0;
}

static int processes(void)
{
	char text[4096], stat[64];
	int n = 0;

	(void)each_process(count_one, &n);
	if (slurp("/proc/1/comm", text, sizeof text) <= 0 || strcmp(text, "init\n") != 0)
		return broken("pid 1 is not ours: %s", text);
	(void)snprintf(stat, sizeof stat, "/proc/%d/status", getpid());
	if (slurp(stat, text, sizeof text) <= 0)
		return unclear("no status");
	char *ns = strstr(text, "NSpid:");

	if (ns && strchr(ns + 7, '\t') && strchr(ns + 7, '\t') < strchr(ns, '\n'))
		return broken("pids of another namespace: %.40s", ns);
	return n < 200 ? held("%d processes", n) : broken("%d processes", n);
}

static int variables(void)
{
	static const char *const words[] = { "E2B_API_KEY=", "HOST_CANARY=", "ATOLL_STATE=", "SUDO_USER=",
		"SSH_CONNECTION=", "INVOCATION_ID=" };
	static char text[1 << 16];
	char path[32];

	for (int pid = 1; pid < 400; pid++) {
		(void)snprintf(path, sizeof path, "/proc/%d/environ", pid);
		int n = slurp(path, text, sizeof text);

		for (int i = 0; i < n; i++)
			text[i] = text[i] ? text[i] : '\n';
		for (size_t k = 0; n > 0 && k < COUNT(words); k++) {
			if (strstr(text, words[k]))
				return broken("%s in process %d", words[k], pid);
		}
	}
	return held("none of the server's in any process that can be read");
}

static const char no_write[] = "/proc configures nothing from inside";
static const char no_tell[] = "/proc tells nothing of the host's secrets";
static const char pid1[] = "pid 1, which is the server's, cannot be looked into or changed";

#define REFUSE { EROFS, EACCES, EPERM, ENOENT }
#define W(word, fn) { "proc/write-" word, no_write, fn, .expect = REFUSE }
#define R(word, fn) \
	{ \
		"proc/read-" word, no_tell, fn, .expect = { EACCES, EPERM, ENOENT } \
	}
#define P(word, fn) \
	{ \
		"proc/pid1-" word, pid1, fn, .expect = { EACCES, EPERM } \
	}

static const struct attempt attempts[] = {
	W("core-pattern", core_pattern),
	W("modprobe", modprobe),
	W("hotplug", hotplug),
	W("aslr", aslr),
	W("hostname", host_name),
	W("last-pid", last_pid),
	W("shmmax", shmmax),
	W("drop-caches", drop_caches),
	W("overcommit", overcommit),
	W("file-max", file_max),
	W("binfmt", binfmt),
	W("max-user-namespaces", userns_max),
	W("max-inotify", inotify_max),
	W("ip-forward", forward),
	W("rp-filter", rp_filter),
	W("sysrq", sysrq),
	W("irq", irq),
	W("mtrr", mtrr),
	W("timens", timens),
	{ "proc/write-oom-of-pid1", pid1, oom_pid1, .expect = { EACCES, EPERM }, .flags = BY_USER },
	R("kcore", kcore),
	R("keys", keys),
	R("key-users", key_users),
	R("timer-list", timer_list),
	R("latency-stats", latency),
	R("cmdline", cmdline),
	R("config", config),
	R("sched-debug", sched_debug),
	R("kpagecount", kpage),
	R("slabinfo", slabinfo),
	R("vmallocinfo", vmalloc),
	R("kallsyms", kallsyms),
	R("pagemap", pagemap),
	R("kernel-pointers", pointers),
	R("cgroup-path", cgroup_path),
	R("processes-of-the-host", processes),
	R("variables-of-the-server", variables),
	P("mem", pid1_mem),
	P("environ", pid1_environ),
	P("maps", pid1_maps),
	P("stack", pid1_stack),
	P("syscall", pid1_syscall),
	P("auxv", pid1_auxv),
	P("fd", pid1_fd0),
	P("exe", pid1_exe),
	P("cwd", pid1_cwd),
	P("root", pid1_root),
	P("map-files", pid1_map_files),
};
GROUP(proc, "proc");

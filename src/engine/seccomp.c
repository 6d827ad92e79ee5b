/* SPDX-License-Identifier: Apache-2.0 */
/* seccomp: which system calls a sandbox has, with the reason per group. */
#include "engine/seccomp.h"

#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/fd.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

/* Names that this libseccomp does not know, or that this machine does not have, are skipped: they answer ENOSYS. */

static const char *const files[] = {
	"access", "chdir", "chmod", "chown", "close", "close_range", "copy_file_range", "creat", "dup", "dup2", "dup3",
	"faccessat", "faccessat2", "fadvise64", "fallocate", "fchdir", "fchmod", "fchmodat", "fchmodat2", "fchown",
	"fchownat", "fcntl", "fdatasync", "fgetxattr", "flistxattr", "flock", "fremovexattr", "fsetxattr", "fstat",
	"fstatfs", "fsync", "ftruncate", "futimesat", "getcwd", "getdents", "getdents64", "getxattr", "getxattrat",
	"lchown", "lgetxattr", "link", "linkat", "listxattr", "listxattrat", "llistxattr", "lremovexattr", "lseek",
	"lsetxattr", "lstat", "mkdir", "mkdirat", "mknod", "mknodat", "name_to_handle_at", "newfstatat", "open", "openat",
	"openat2", "pread64", "preadv", "preadv2", "pwrite64", "pwritev", "pwritev2", "read", "readahead", "readlink",
	"readlinkat", "readv", "removexattr", "removexattrat", "rename", "renameat", "renameat2", "rmdir", "sendfile",
	"setxattr", "setxattrat", "splice", "stat", "statfs", "statx", "symlink", "symlinkat", "sync", "sync_file_range",
	"syncfs", "tee", "truncate", "umask", "unlink", "unlinkat", "utime", "utimensat", "utimes", "vmsplice", "write",
	"writev", "chroot", "inotify_add_watch", "inotify_init", "inotify_init1", "inotify_rm_watch", "ioctl", "cachestat",
};

static const char *const memory[] = {
	"brk", "madvise", "map_shadow_stack", "membarrier", "memfd_create", "mincore", "mlock", "mlock2", "mlockall", "mmap",
	"mprotect", "mremap", "mseal", "msync", "munlock", "munlockall", "munmap", "pkey_alloc", "pkey_free",
	"pkey_mprotect", "process_madvise", "process_mrelease", "remap_file_pages",
	/* numeric libraries ask where their memory lies and print warnings when refused */
	"get_mempolicy", "mbind", "set_mempolicy", "set_mempolicy_home_node",
};

static const char *const processes[] = {
	"arch_prctl", "capget", "capset", "clone", "execve", "execveat", "exit", "exit_group", "fork", "futex",
	"futex_requeue", "futex_wait", "futex_waitv", "futex_wake", "get_robust_list", "get_thread_area", "getcpu",
	"getegid", "geteuid", "getgid", "getgroups", "getpgid", "getpgrp", "getpid", "getppid", "getpriority", "getresgid",
	"getresuid", "getrlimit", "getrusage", "getsid", "gettid", "getuid", "ioprio_get", "ioprio_set", "kill",
	"personality", "pidfd_getfd", "pidfd_open", "pidfd_send_signal", "prctl", "prlimit64", "restart_syscall", "rseq",
	"rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn", "rt_sigsuspend",
	"rt_sigtimedwait", "rt_tgsigqueueinfo", "sched_get_priority_max", "sched_get_priority_min", "sched_getaffinity",
	"sched_getattr", "sched_getparam", "sched_getscheduler", "sched_rr_get_interval", "sched_setaffinity",
	"sched_setattr", "sched_setparam", "sched_setscheduler", "sched_yield", "set_robust_list", "set_thread_area",
	"set_tid_address", "setfsgid", "setfsuid", "setgid", "setgroups", "setpgid", "setpriority", "setregid", "setresgid",
	"setresuid", "setreuid", "setrlimit", "setsid", "setuid", "sigaltstack", "sysinfo", "tgkill", "time", "times",
	"tkill", "uname", "unshare", "vfork", "wait4", "waitid", "waitpid",
	/* debuggers: within the sandbox's own pid namespace and user ids only */
	"process_vm_readv", "process_vm_writev", "ptrace",
	/* a program may confine itself further */
	"landlock_add_rule", "landlock_create_ruleset", "landlock_restrict_self", "seccomp",
};

static const char *const waiting[] = {
	"alarm", "clock_getres", "clock_gettime", "clock_nanosleep", "epoll_create", "epoll_create1", "epoll_ctl",
	"epoll_ctl_old", "epoll_pwait", "epoll_pwait2", "epoll_wait", "epoll_wait_old", "eventfd", "eventfd2", "getitimer",
	"gettimeofday", "nanosleep", "pause", "pipe", "pipe2", "poll", "ppoll", "pselect6", "select", "setitimer", "signalfd",
	"signalfd4", "timer_create", "timer_delete", "timer_getoverrun", "timer_gettime", "timer_settime",
	"timerfd_create", "timerfd_gettime", "timerfd_settime", "getrandom",
};

static const char *const talking[] = {
	"accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt", "listen", "recv", "recvfrom",
	"recvmmsg", "recvmsg", "send", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shutdown", "socket", "socketpair",
	/* System V and POSIX IPC: in an ipc namespace of their own */
	"mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive", "mq_timedsend", "mq_unlink", "msgctl", "msgget", "msgrcv",
	"msgsnd", "semctl", "semget", "semop", "semtimedop", "shmat", "shmctl", "shmdt", "shmget",
};

/* Known and refused: programs try these, and expect to hear that they may not rather than that there is no such call. */
static const char *const refused[] = {
	/* namespaces and mounts: the way of most escapes */
	"mount", "umount2", "umount", "pivot_root", "fsopen", "fsconfig", "fsmount", "fspick", "move_mount", "open_tree",
	"mount_setattr", "open_tree_attr", "statmount", "listmount", "quotactl", "quotactl_fd", "swapon", "swapoff",
	/* past every path check */
	"open_by_handle_at",
	/* large and often broken kernel interfaces without use for data work */
	"bpf", "perf_event_open", "userfaultfd", "fanotify_init", "fanotify_mark", "add_key", "keyctl", "request_key", "kcmp",
	"move_pages", "migrate_pages", "lookup_dcookie",
	/* the host's own business */
	"acct", "adjtimex", "clock_adjtime", "clock_settime", "settimeofday", "stime", "syslog", "vhangup", "reboot",
	"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "iopl", "ioperm", "sethostname",
	"setdomainname", "nfsservctl", "uselib", "modify_ldt",
};

/* All else is ENOSYS, among it on purpose: clone3 (its flags are in memory, where a filter cannot look; libraries fall back to
 * clone), io_uring (large, and programs fall back), io_setup and friends (one table for the whole host that a single user
 * can fill), memfd_secret. */

static int add_names(scmp_filter_ctx ctx, uint32_t action, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int nr = seccomp_syscall_resolve_name(names[i]);

		if (nr < 0)
			continue;
		int r = seccomp_rule_add(ctx, action, nr, 0);

		if (r < 0)
			return r;
	}
	return 0;
}

static int fill_most(scmp_filter_ctx ctx)
{
	int r = add_names(ctx, SCMP_ACT_ALLOW, files, ARRAY_LEN(files));

	if (r == 0)
		r = add_names(ctx, SCMP_ACT_ALLOW, memory, ARRAY_LEN(memory));
	if (r == 0)
		r = add_names(ctx, SCMP_ACT_ALLOW, processes, ARRAY_LEN(processes));
	if (r == 0)
		r = add_names(ctx, SCMP_ACT_ALLOW, waiting, ARRAY_LEN(waiting));
	if (r == 0)
		r = add_names(ctx, SCMP_ACT_ALLOW, talking, ARRAY_LEN(talking));
	if (r == 0)
		r = add_names(ctx, SCMP_ACT_ERRNO(EPERM), refused, ARRAY_LEN(refused));
	return r;
}

static int fill_calls(scmp_filter_ctx ctx)
{
	int r = fill_most(ctx);

	return r == 0 ? seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(setns), 0) : r;
}

static int fill_calls_zygote(scmp_filter_ctx ctx)
{
	int r = fill_most(ctx);

	return r == 0 ? seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(setns), 0) : r;
}

static int fill_namespaces(scmp_filter_ctx ctx)
{
	static const uint64_t flags[] = {
		CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP,
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(flags); i++) {
		r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, flags[i], flags[i]));
		if (r == 0)
			r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(unshare), 1,
				SCMP_A0(SCMP_CMP_MASKED_EQ, flags[i], flags[i]));
	}
	/* In clone() this bit is part of the exit signal, so only unshare() can mean it. */
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(unshare), 1,
			SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_NEWTIME, CLONE_NEWTIME));
	return r;
}

/* UNIX, INET, INET6 and the routing part of NETLINK. EAFNOSUPPORT, because su and useradd take that from the audit
 * family as "not here" and give up on any other. */
static int fill_sockets(scmp_filter_ctx ctx)
{
	uint32_t no = SCMP_ACT_ERRNO(EAFNOSUPPORT);
	int r = 0;

	for (uint64_t f = 0; r == 0 && f < AF_NETLINK; f++) {
		if (f != AF_UNIX && f != AF_INET && f != AF_INET6)
			r = seccomp_rule_add(ctx, no, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_EQ, f));
	}
	if (r == 0)
		r = seccomp_rule_add(ctx, no, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_GT, AF_NETLINK));
	if (r == 0)
		r = seccomp_rule_add(ctx, no, SCMP_SYS(socket), 2, SCMP_A0(SCMP_CMP_EQ, AF_NETLINK), SCMP_A2(SCMP_CMP_NE, 0));
	return r;
}

/* TCP, UDP and ping. Others (DCCP, L2TP, SCTP, UDP-Lite, MPTCP) are large, rarely used and often broken, and asking for one
 * makes the host load its module. Who tries them expects this answer and goes on with TCP. */
static int fill_protocols(scmp_filter_ctx ctx)
{
	static const uint64_t families[] = { AF_INET, AF_INET6 };
	uint32_t no = SCMP_ACT_ERRNO(EPROTONOSUPPORT);
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(families); i++) {
		r = seccomp_rule_add(ctx, no, SCMP_SYS(socket), 2, SCMP_A0(SCMP_CMP_EQ, families[i]),
			SCMP_A2(SCMP_CMP_GT, IPPROTO_ICMPV6));
		if (r == 0)
			r = seccomp_rule_add(ctx, no, SCMP_SYS(socket), 2, SCMP_A0(SCMP_CMP_EQ, families[i]),
				SCMP_A2(SCMP_CMP_EQ, IPPROTO_DCCP));
	}
	return r;
}

/* Typing into somebody else's terminal. The kernel looks at the low 32 bits only, so we do too. */
static int fill_ioctls(scmp_filter_ctx ctx)
{
	static const uint64_t commands[] = { TIOCSTI, TIOCLINUX };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(commands); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
			SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, commands[i]));
	return r;
}

/* Memory that is on no account of the sandbox: the host's reserved huge pages, one pool for all, and keys of TCP's signatures, which
 * routers use. */
static int fill_uncounted(scmp_filter_ctx ctx)
{
	static const uint64_t keys[] = { TCP_MD5SIG, TCP_MD5SIG_EXT, 38, 39, 40 };	/* TCP_AO_ADD_KEY, _DEL_KEY, _INFO */
	int r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOMEM), SCMP_SYS(mmap), 1, SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_HUGETLB, MAP_HUGETLB));

	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(memfd_create), 1,
			SCMP_A1(SCMP_CMP_MASKED_EQ, MFD_HUGETLB, MFD_HUGETLB));
	if (r == 0)
		r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(shmget), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, SHM_HUGETLB, SHM_HUGETLB));
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(keys); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOPROTOOPT), SCMP_SYS(setsockopt), 2,
			SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, IPPROTO_TCP), SCMP_A2(SCMP_CMP_MASKED_EQ, 0xffffffffu, keys[i]));
	return r;
}

/* Answered with success, and nothing done.
 *
 * sync() would write out every file system of the host, as often as a sandbox likes; its own root is volatile anyway.
 * The limit of core dumps is 1, none at all (child.c): any other, also 0, would let the host's handler see one. */
static int fill_pretended(scmp_filter_ctx ctx)
{
	uint32_t done = SCMP_ACT_ERRNO(0);
	int r = seccomp_rule_add(ctx, done, SCMP_SYS(sync), 0);

	if (r == 0)
		r = seccomp_rule_add(ctx, done, SCMP_SYS(setrlimit), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffffu, RLIMIT_CORE));
	if (r == 0)
		r = seccomp_rule_add(ctx, done, SCMP_SYS(prlimit64), 2, SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffu, RLIMIT_CORE),
			SCMP_A2(SCMP_CMP_NE, 0));
	return r;
}

static int fill_args(scmp_filter_ctx ctx)
{
	int r = fill_namespaces(ctx);

	if (r == 0)
		r = fill_sockets(ctx);
	if (r == 0)
		r = fill_protocols(ctx);
	if (r == 0)
		r = fill_pretended(ctx);
	if (r == 0)
		r = fill_uncounted(ctx);
	return r == 0 ? fill_ioctls(ctx) : r;
}

static int export(scmp_filter_ctx ctx, struct sock_filter **ret, unsigned short *ret_n)
{
	struct stat st;
	autoclose int fd = memfd_create("filter", MFD_CLOEXEC);
	int r = fd < 0 ? -errno : seccomp_export_bpf(ctx, fd);

	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	autofree void *p = malloc((size_t)st.st_size);

	if (!p)
		return -ENOMEM;
	r = fd_read_all(fd, p, (size_t)st.st_size);
	if (r < 0)
		return r;
	*ret_n = (unsigned short)((size_t)st.st_size / sizeof(struct sock_filter));
	*ret = take_ptr(&p);
	return 0;
}

static int build(uint32_t otherwise, int (*fill)(scmp_filter_ctx), struct sock_filter **ret, unsigned short *ret_n)
{
	scmp_filter_ctx ctx = seccomp_init(otherwise);

	if (!ctx)
		return -ENOMEM;
	/* 32-bit and x32 programs: another set of calls, which nobody has looked through. */
	(void)seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	(void)seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);	/* a tree, not a list of 300 comparisons */
	int r = fill(ctx);

	if (r == 0)
		r = export(ctx, ret, ret_n);
	seccomp_release(ctx);
	return r;
}

int seccomp_filter_build(struct seccomp_filter *ret, bool zygote, struct err *e)
{
	*ret = (struct seccomp_filter) { 0 };
	int r = build(SCMP_ACT_ERRNO(ENOSYS), zygote ? fill_calls_zygote : fill_calls, &ret->calls, &ret->n_calls);

	if (r == 0)
		r = build(SCMP_ACT_ALLOW, fill_args, &ret->args, &ret->n_args);
	if (r < 0) {
		seccomp_filter_done(ret);
		return err_set(e, -r, "build the system call filter: %s", strerror(-r));
	}
	return 0;
}

void seccomp_filter_done(struct seccomp_filter *f)
{
	free(f->calls);
	free(f->args);
	*f = (struct seccomp_filter) { 0 };
}

int seccomp_filter_install(const struct seccomp_filter *f, struct err *e)
{
	struct sock_fprog args = { f->n_args, f->args }, calls = { f->n_calls, f->calls };

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &args) < 0 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &calls) < 0)
		return err_sys(e, "install the system call filter");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* seccomp_table: the system calls of a sandbox, with the reason per group.
 *
 * A call in no group returns ENOSYS, as on a kernel that is older than the call. The reasons for calls that are
 * not allowed are shown to users ("atoll explain"), so they name an alternative where there is one. */
#include "engine/seccomp/table.h"

#include <errno.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>

#include "base/fd.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif
#define TCP_AO_ADD_KEY_ 38 /* newer than some C libraries */
#define TCP_AO_DEL_KEY_ 39
#define TCP_AO_INFO_ 40
#define SOCK_TYPE_MASK_ 0xf /* the kernel's: the bits above are flags */
#define SOCK_DCCP_ 6

const struct seccomp_group seccomp_groups[] = {
	{ SECCOMP_GIVEN, false, "files and directories, by the rights of the sandbox's own users",
	    "access cachestat chdir chmod chown chroot close close_range copy_file_range creat dup dup2 dup3 "
	    "faccessat faccessat2 fadvise64 fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl "
	    "fdatasync fgetxattr flistxattr flock fremovexattr fsetxattr fstat fstatfs fsync ftruncate futimesat "
	    "getcwd getdents getdents64 getxattr getxattrat inotify_add_watch inotify_init inotify_init1 "
	    "inotify_rm_watch ioctl lchown lgetxattr link linkat listxattr listxattrat llistxattr lremovexattr "
	    "lseek lsetxattr lstat mkdir mkdirat mknod mknodat name_to_handle_at newfstatat open openat openat2 "
	    "pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv "
	    "removexattr removexattrat rename renameat renameat2 rmdir sendfile setxattr setxattrat splice stat "
	    "statfs statx symlink symlinkat sync sync_file_range syncfs tee truncate umask unlink unlinkat utime "
	    "utimensat utimes vmsplice write writev" },
	{ SECCOMP_GIVEN, false, "memory of the process itself",
	    "brk madvise map_shadow_stack membarrier memfd_create mincore mlock mlock2 mlockall mmap mprotect "
	    "mremap mseal msync munlock munlockall munmap pkey_alloc pkey_free pkey_mprotect process_madvise "
	    "process_mrelease remap_file_pages" },
	{ SECCOMP_GIVEN, false, "numeric libraries ask where their memory lies, and print warnings when refused",
	    "get_mempolicy mbind set_mempolicy set_mempolicy_home_node" },
	{ SECCOMP_GIVEN, false,
	    "processes, threads, signals and who one is: within the sandbox's own pid and user namespace",
	    "arch_prctl capget capset clone execve execveat exit exit_group fork futex futex_requeue futex_wait "
	    "futex_waitv futex_wake get_robust_list get_thread_area getcpu getegid geteuid getgid getgroups "
	    "getpgid getpgrp getpid getppid getpriority getresgid getresuid getrlimit getrusage getsid gettid "
	    "getuid ioprio_get ioprio_set kill personality pidfd_getfd pidfd_open pidfd_send_signal prctl "
	    "prlimit64 restart_syscall rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo "
	    "rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max "
	    "sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler "
	    "sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield "
	    "set_robust_list set_thread_area set_tid_address setfsgid setfsuid setgid setgroups setpgid "
	    "setpriority setregid setresgid setresuid setreuid setrlimit setsid setuid sigaltstack sysinfo tgkill"
	    " time times tkill uname unshare vfork wait4 waitid waitpid" },
	{ SECCOMP_GIVEN, false, "debuggers: gdb of one's own processes", "process_vm_readv process_vm_writev ptrace" },
	{ SECCOMP_GIVEN, false, "a program may confine itself further",
	    "landlock_add_rule landlock_create_ruleset landlock_restrict_self seccomp" },
	{ SECCOMP_GIVEN, false, "time, timers, and waiting for fds",
	    "alarm clock_getres clock_gettime clock_nanosleep epoll_create epoll_create1 epoll_ctl epoll_ctl_old "
	    "epoll_pwait epoll_pwait2 epoll_wait epoll_wait_old eventfd eventfd2 getitimer getrandom gettimeofday"
	    " nanosleep pause pipe pipe2 poll ppoll pselect6 select setitimer signalfd signalfd4 timer_create "
	    "timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime "
	    "timerfd_settime" },
	{ SECCOMP_GIVEN, false, "sockets: in a network namespace of their own, of few families (see below)",
	    "accept accept4 bind connect getpeername getsockname getsockopt listen recv recvfrom recvmmsg recvmsg"
	    " send sendmmsg sendmsg sendto setsockopt shutdown socket socketpair" },
	{ SECCOMP_GIVEN, false,
	    "System V and POSIX queues, semaphores and memory: in an ipc namespace of their own (PostgreSQL uses "
	    "them)",
	    "mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv msgsnd "
	    "semctl semget semop semtimedop shmat shmctl shmdt shmget" },

	{ SECCOMP_REFUSED, false,
	    "mounts and namespaces are made for a sandbox from outside: most escapes went this way",
	    "fsconfig fsmount fsopen fspick listmount mount mount_setattr move_mount open_tree open_tree_attr "
	    "pivot_root statmount umount umount2" },
	{ SECCOMP_REFUSED, false, "disk quotas and swap are the host's", "quotactl quotactl_fd swapoff swapon" },
	{ SECCOMP_REFUSED, false, "opens files past every check of their path", "open_by_handle_at" },
	{ SECCOMP_REFUSED, false, "looks into the kernel, and has often been a way into it",
	    "bpf fanotify_init fanotify_mark kcmp lookup_dcookie perf_event_open userfaultfd" },
	{ SECCOMP_REFUSED, false, "the kernel's keys are not separate per sandbox: keep secrets in files or memory",
	    "add_key keyctl request_key" },
	{ SECCOMP_REFUSED, false, "moving memory between the host's nodes is the host's business",
	    "migrate_pages move_pages" },
	{ SECCOMP_REFUSED, false, "the clock, the name, the log and the power of the machine are the host's",
	    "acct adjtimex clock_adjtime clock_settime reboot setdomainname sethostname settimeofday stime syslog"
	    " vhangup" },
	{ SECCOMP_REFUSED, false, "changes the kernel itself",
	    "delete_module finit_module init_module kexec_file_load kexec_load" },
	{ SECCOMP_REFUSED, false, "old interfaces to the processor or of long ago, with a history of bugs",
	    "ioperm iopl modify_ldt nfsservctl uselib" },

	{ SECCOMP_ABSENT, true, "its flags are in memory, where no filter can look: libraries fall back to clone",
	    "clone3" },
	{ SECCOMP_ABSENT, true,
	    "io_uring is large and often broken, its work passes by every filter, and a sandbox with it could not"
	    " be kept on disk: programs fall back to epoll",
	    "io_uring_setup" },
	{ SECCOMP_ABSENT, false,
	    "one table for the whole host, which a single user can fill: use threads or plain writes",
	    "io_cancel io_destroy io_getevents io_pgetevents io_setup io_submit" },
	{ SECCOMP_ABSENT, false, "memory that cannot be kept on disk with the rest of a sandbox", "memfd_secret" },
};
const size_t n_seccomp_groups = ARRAY_LEN(seccomp_groups);

/* --- arguments --------------------------------------------------------------------------------------------------- */

#define LOW(n, v) SCMP_CMP(n, SCMP_CMP_MASKED_EQ, 0xffffffffu, v) /* the kernel uses only the low half */
#define BIT_OF(n, v) SCMP_CMP(n, SCMP_CMP_MASKED_EQ, v, v)
#define TYPE(v) SCMP_CMP(1, SCMP_CMP_MASKED_EQ, SOCK_TYPE_MASK_, v)
#define IS(n, v) SCMP_CMP(n, SCMP_CMP_EQ, v)
#define ABOVE(n, v) SCMP_CMP(n, SCMP_CMP_GT, v)
#define NOT(n, v) SCMP_CMP(n, SCMP_CMP_NE, v)

#define NAMESPACES "a namespace of one's own would bring powers over it: the sandbox already is one"
#define NAMESPACE(call, flag) \
	{ \
		call, EPERM, false, NAMESPACES, 1, \
		{ \
			BIT_OF(0, flag) \
		} \
	}

/* EAFNOSUPPORT, because su and useradd take that to mean that there is no audit system; any other error makes them
 * fail. */
#define FAMILIES "sockets are of the families UNIX, INET, INET6 and the routing part of NETLINK"
#define NO_FAMILY(f) \
	{ \
		"socket", EAFNOSUPPORT, true, FAMILIES, 1, \
		{ \
			IS(0, f) \
		} \
	}

/* Other protocols (DCCP, L2TP, SCTP, UDP-Lite, MPTCP) are large, rarely used and often vulnerable, and a request
 * for one makes the host load its module. Programs that try them expect this error and continue with TCP. */
#define PROTOCOLS "internet sockets speak TCP, UDP and ping"
#define NO_PROTOCOLS(f) \
	{ "socket", EPROTONOSUPPORT, true, PROTOCOLS, 2, { IS(0, f), ABOVE(2, IPPROTO_ICMPV6) } }, \
	{ \
		"socket", EPROTONOSUPPORT, true, PROTOCOLS, 2, \
		{ \
			IS(0, f), IS(2, IPPROTO_DCCP) \
		} \
	}

/* The sandbox's root lacks CAP_NET_RAW for them anyway. AF_INET with SOCK_PACKET means AF_PACKET, for historical
 * reasons. */
#define RAW "raw sockets could send what is not the sandbox's own"
#define NO_TYPES(f) \
	{ "socket", EPERM, false, RAW, 2, { IS(0, f), TYPE(SOCK_RAW) } }, \
	    { "socket", EAFNOSUPPORT, true, RAW, 2, { IS(0, f), TYPE(SOCK_PACKET) } }, \
	    { "socket", ESOCKTNOSUPPORT, true, PROTOCOLS, 2, { IS(0, f), TYPE(SOCK_RDM) } }, \
	    { "socket", ESOCKTNOSUPPORT, true, PROTOCOLS, 2, { IS(0, f), TYPE(SOCK_SEQPACKET) } }, \
	{ \
		"socket", ESOCKTNOSUPPORT, true, PROTOCOLS, 2, \
		{ \
			IS(0, f), TYPE(SOCK_DCCP_) \
		} \
	}

#define KEYS "keys of TCP's signatures are for routers, and their memory is on no account of the sandbox"
#define NO_TCP_KEY(option) \
	{ \
		"setsockopt", ENOPROTOOPT, false, KEYS, 2, \
		{ \
			LOW(1, IPPROTO_TCP), LOW(2, option) \
		} \
	}

/* Kernel code that a host may have loaded for its own use, and that a sandbox would otherwise reach: TLS, IPsec
 * and L2TP below a socket. Libraries try the first one opportunistically and work without it. */
#define BELOW "protocols of the kernel below a connection are the host's business; TLS works as ever, in the program"
#define SOL_UDP_ 17
#define UDP_ENCAP_ 100

/* A compiled filter takes up to a hundred kilobytes. The host has room for some thousand, including the seccomp
 * filters of all programs, and without room no sandbox can start. */
#define SOCKET_FILTERS \
	"filters of sockets take memory that is on no account of the sandbox, of a store that is one for the host"
#define NO_FILTER(option) \
	{ \
		"setsockopt", ENOPROTOOPT, false, SOCKET_FILTERS, 2, \
		{ \
			LOW(1, SOL_SOCKET), LOW(2, option) \
		} \
	}

/* The returned fd keeps the filter after all its tasks have exited, where no count of filters finds it
 * (engine/guard/filters.c). EINVAL, as on a kernel that is older than the flag: libraries try it
 * opportunistically. */
#define LISTENERS \
	"a filter that asks another program keeps memory of a store that is one for the host; filters that decide by " \
	"themselves are fine"

/* EINVAL, as on a kernel without page merging. */
#define MERGING "pages that are merged with equal ones of other sandboxes tell what those have"
#define PR_SET_MEMORY_MERGE_ 67 /* newer than the headers of some systems */

#define HUGE_PAGES "the host's reserved huge pages are one pool for all: transparent ones are given"
/* Volumes are btrfs within reach of the sandbox, and btrfs offers too much to unprivileged callers. Programs try
 * these calls and continue without them. */
#define OWN_BTRFS \
	"a subvolume of one's own is outside of a volume's quota, and a sync writes out the disks of all sandboxes"
#define BTRFS(mask, bits) \
	{ \
		"ioctl", ENOTTY, true, OWN_BTRFS, 1, \
		{ \
			SCMP_A1(SCMP_CMP_MASKED_EQ, 0xff00u | (mask), 0x9400u | (bits)) \
		} \
	}

#define TERMINALS "types into a terminal in the name of who sits at it"

/* Serial lines, SLIP, PPP, Bluetooth, GSM: modules with a history of bugs, none of which a pseudoterminal needs. */
#define LINE_DISCIPLINES "another line discipline of a terminal is a module of the kernel that the host would load"

const struct seccomp_arg_rule seccomp_arg_rules[] = {
	NAMESPACE("clone", CLONE_NEWUSER),
	NAMESPACE("clone", CLONE_NEWNS),
	NAMESPACE("clone", CLONE_NEWPID),
	NAMESPACE("clone", CLONE_NEWNET),
	NAMESPACE("clone", CLONE_NEWIPC),
	NAMESPACE("clone", CLONE_NEWUTS),
	NAMESPACE("clone", CLONE_NEWCGROUP),
	NAMESPACE("unshare", CLONE_NEWUSER),
	NAMESPACE("unshare", CLONE_NEWNS),
	NAMESPACE("unshare", CLONE_NEWPID),
	NAMESPACE("unshare", CLONE_NEWNET),
	NAMESPACE("unshare", CLONE_NEWIPC),
	NAMESPACE("unshare", CLONE_NEWUTS),
	NAMESPACE("unshare", CLONE_NEWCGROUP),
	/* In clone() this bit is part of the exit signal, so only unshare() can mean the namespace. */
	NAMESPACE("unshare", CLONE_NEWTIME),

	NO_FAMILY(AF_UNSPEC),
	NO_FAMILY(AF_AX25),
	NO_FAMILY(AF_IPX),
	NO_FAMILY(AF_APPLETALK),
	NO_FAMILY(AF_NETROM),
	NO_FAMILY(AF_BRIDGE),
	NO_FAMILY(AF_ATMPVC),
	NO_FAMILY(AF_X25),
	NO_FAMILY(AF_ROSE),
	NO_FAMILY(AF_DECnet),
	NO_FAMILY(AF_NETBEUI),
	NO_FAMILY(AF_SECURITY),
	NO_FAMILY(AF_KEY),
	{ "socket", EAFNOSUPPORT, true, FAMILIES, 1, { ABOVE(0, AF_NETLINK) } },
	{ "socket", EAFNOSUPPORT, true, FAMILIES, 2, { IS(0, AF_NETLINK), NOT(2, 0) } },
	{ "socketpair", EAFNOSUPPORT, true, FAMILIES, 1, { NOT(0, AF_UNIX) } },
	NO_PROTOCOLS(AF_INET),
	NO_PROTOCOLS(AF_INET6),
	NO_TYPES(AF_INET),
	NO_TYPES(AF_INET6),
	NO_TCP_KEY(TCP_MD5SIG),
	NO_TCP_KEY(TCP_MD5SIG_EXT),
	NO_TCP_KEY(TCP_AO_ADD_KEY_),
	NO_TCP_KEY(TCP_AO_DEL_KEY_),
	NO_TCP_KEY(TCP_AO_INFO_),
	{ "setsockopt", ENOPROTOOPT, true, BELOW, 2, { LOW(1, IPPROTO_TCP), LOW(2, TCP_ULP) } },
	{ "setsockopt", ENOPROTOOPT, false, BELOW, 2, { LOW(1, SOL_UDP_), LOW(2, UDP_ENCAP_) } },
	NO_FILTER(SO_ATTACH_FILTER),
	NO_FILTER(SO_ATTACH_BPF),
	NO_FILTER(SO_ATTACH_REUSEPORT_CBPF),
	NO_FILTER(SO_ATTACH_REUSEPORT_EBPF),
	{ "seccomp", EINVAL, true, LISTENERS, 2,
	    { LOW(0, SECCOMP_SET_MODE_FILTER), BIT_OF(1, SECCOMP_FILTER_FLAG_NEW_LISTENER) } },

	{ "madvise", EINVAL, true, MERGING, 1, { LOW(2, MADV_MERGEABLE) } },
	{ "prctl", EINVAL, true, MERGING, 1, { LOW(0, PR_SET_MEMORY_MERGE_) } },
	{ "mmap", ENOMEM, false, HUGE_PAGES, 1, { BIT_OF(3, MAP_HUGETLB) } },
	{ "memfd_create", EINVAL, false, HUGE_PAGES, 1, { BIT_OF(1, MFD_HUGETLB) } },
	{ "shmget", EPERM, false, HUGE_PAGES, 1, { BIT_OF(2, SHM_HUGETLB) } },

	{ "ioctl", EPERM, false, TERMINALS, 1, { LOW(1, TIOCSTI) } },
	{ "ioctl", EPERM, false, TERMINALS, 1, { LOW(1, TIOCLINUX) } },
	{ "ioctl", EPERM, false, LINE_DISCIPLINES, 1, { LOW(1, TIOCSETD) } },

	/* All numbers except 9, 13 and 54, by their common bits: FICLONE, FICLONERANGE and FIDEDUPERANGE share
	 * blocks between files, and stay allowed. */
	BTRFS(0xf8, 0x00),
	BTRFS(0xff, 0x08),
	BTRFS(0xfe, 0x0a),
	BTRFS(0xff, 0x0c),
	BTRFS(0xfe, 0x0e),
	BTRFS(0xf0, 0x10),
	BTRFS(0xf0, 0x20),
	BTRFS(0xfc, 0x30),
	BTRFS(0xfe, 0x34),
	BTRFS(0xff, 0x37),
	BTRFS(0xf8, 0x38),
	BTRFS(0xc0, 0x40),
	BTRFS(0x80, 0x80),

	/* It would write out every file system of the host, as often as a sandbox likes; the sandbox's own root is
	 * volatile anyway. */
	{ "sync", 0, true, "writes out the host's disks", 0, { { 0 } } },
	/* The limit of core dumps is 1, which means none (child.c). Any other value, even 0, would pass a core
	 * dump to the host's handler. */
	{ "setrlimit", 0, true, "core dumps are off", 1, { LOW(0, RLIMIT_CORE) } },
	{ "prlimit64", 0, true, "core dumps are off", 2, { LOW(1, RLIMIT_CORE), NOT(2, 0) } },
};
const size_t n_seccomp_arg_rules = ARRAY_LEN(seccomp_arg_rules);

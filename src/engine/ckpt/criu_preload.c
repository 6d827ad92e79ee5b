/* SPDX-License-Identifier: Apache-2.0 */
/* criu_preload: a library for CRIU alone, embedded in atolld (criu_preload_image.c). It changes system calls of
 * CRIU that do not fit our sandboxes:
 *
 * - Two system calls need the effective uid that owns, or will own, the sandbox's user namespace ($ATOLL_OWNER; see
 *   criu.h): creating the namespace, and reading rlimits of a process in it, for which the kernel requires
 *   CAP_SYS_RESOURCE over it, which we may not have. The rest of CRIU needs root. The caller has arranged that a
 *   change of uid drops no capability.
 * - To check that all namespaces belong to the user namespace, CRIU joins that one and opens the others from there.
 *   Pid 1 is not dumpable, and once it has been restored the kernel denies access even to the root of the user
 *   namespace. So the library opens the namespaces beforehand, and returns those fds when CRIU asks for them.
 * - CRIU forks and runs a script at each of its stages. Here that fork makes no process: at the stages that matter the
 *   process that runs CRIU is asked, and the answer is what CRIU finds as the exit status. A process would take half a
 *   millisecond for each stage, a shell two more.
 * - A file that a process had open is reopened by its path ($ATOLL_GUARD: during a restore). The path is the one that
 *   the kernel reported at the dump, without any symbolic link; if it contains one now, another process has put it
 *   there, and it is not followed. Nor does the open block on a FIFO that has replaced a file. CRIU also sets the
 *   flags of each mount again, and must not clear nosymfollow thereby. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/ckpt/criu_ask.h"

typedef long call(long number, ...);

int setns(int fd, int type);

static void *next(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

/* --- questions ---------------------------------------------------------------------------------------------- */

/* The paths lie in CRIU's own /tmp. The first open fails if nobody can read the question. */
static int ask(const char *what, const char *pid)
{
	char line[64], answer[4] = "";
	int n = snprintf(line, sizeof line, "%s %s\n", what, pid ? pid : "0");
	int to = open("/tmp/" CRIU_ASK, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	int from = to >= 0 && write(to, line, (size_t)n) == n ? open("/tmp/" CRIU_ANSWER, O_RDONLY | O_CLOEXEC) : -1;
	int ok = from >= 0 && read(from, answer, 3) == 3 && strcmp(answer, "ok\n") == 0;

	if (to >= 0)
		close(to);
	if (from >= 0)
		close(from);
	return ok ? 0 : -1;
}

#define STAGE_PID 0x7fffffff  /* of no process */
#define STAGE_FAILED (1 << 8) /* a status of waitpid(): exited with 1 */

static int stage_status;

/* CRIU has set that variable only while it runs its script. */
pid_t fork(void)
{
	static pid_t (*real)(void);
	const char *stage = getenv("CRTOOLS_SCRIPT_ACTION");

	if (stage) {
		int asks = strcmp(stage, CRIU_NETWORK) == 0 || strcmp(stage, CRIU_SOCKETS) == 0 ||
		    strcmp(stage, CRIU_LOOK) == 0;

		stage_status = asks && ask(stage, getenv("CRTOOLS_INIT_PID")) < 0 ? STAGE_FAILED : 0;
		return STAGE_PID;
	}
	if (!real)
		real = (pid_t(*)(void))(uintptr_t)next("fork");
	return real();
}

pid_t waitpid(pid_t pid, int *status, int options)
{
	static pid_t (*real)(pid_t, int *, int);

	if (pid == STAGE_PID) {
		*status = stage_status;
		return pid;
	}
	if (!real)
		real = (pid_t(*)(pid_t, int *, int))(uintptr_t)next("waitpid");
	return real(pid, status, options);
}

/* --- the owner ---------------------------------------------------------------------------------------------- */

static void become(call *real, long uid)
{
	(void)real(SYS_setresuid, -1L, uid, -1L);
	/* Otherwise our own files in /proc are closed to our children. */
	(void)real(SYS_prctl, (long)PR_SET_DUMPABLE, 1L, 0L, 0L, 0L);
}

static long as_owner(call *real, long number, const long a[6])
{
	const char *owner = getenv("ATOLL_OWNER");

	if (!owner)
		return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	become(real, strtol(owner, NULL, 10));
	long r = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	int no = errno;

	if (!(number == SYS_clone3 && r == 0)) /* in the new namespace, CRIU becomes root next */
		become(real, 0);
	errno = no;
	return r;
}

long syscall(long number, ...)
{
	static call *real;
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (!real)
		real = (call *)(uintptr_t)next("syscall");
	if (number == SYS_clone3 && ((const struct clone_args *)a[0])->flags & CLONE_NEWUSER)
		return as_owner(real, number, a);
	long r = real(number, a[0], a[1], a[2], a[3], a[4], a[5]);

	return number == SYS_prlimit64 && r < 0 && errno == EPERM ? as_owner(real, number, a) : r;
}

/* --- paths of a sandbox ------------------------------------------------------------------------------------- */

#define LARGEFILE 0100000 /* 0 in the headers of a 64-bit system, but the kernel reports it for each file */
#define FLAGS_OF_PATH (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define FLAGS_OF_FILE \
	(O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND | O_NONBLOCK | O_SYNC | O_ASYNC | O_DIRECT | \
	    LARGEFILE | O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC | __O_TMPFILE)
#define KEEPS_LINKS 256        /* MS_NOSYMFOLLOW */
#define HAS_NOSYMFOLLOW 0x2000 /* ST_NOSYMFOLLOW */
#define IS_PROC 0x9fa0

/* Paths below /proc, where links are expected, and absolute paths in CRIU's own root do not belong to the sandbox. */
static int is_guarded(int dir, const char *path)
{
	struct statfs fs;

	return dir >= 0 && path[0] != '/' && getenv("ATOLL_GUARD") && fstatfs(dir, &fs) == 0 && fs.f_type != IS_PROC;
}

static int open_guarded(int dir, const char *path, int flags, int mode)
{
	struct open_how how = { .resolve = RESOLVE_NO_SYMLINKS };

	how.flags = (unsigned)(flags & O_PATH ? flags & FLAGS_OF_PATH : (flags & FLAGS_OF_FILE) | O_NONBLOCK);
	how.mode = (unsigned)mode & 07777;
	int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof how);

	if (fd >= 0 && !(flags & (O_PATH | O_NONBLOCK)))
		(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fd;
}

int mount(const char *source, const char *target, const char *type, unsigned long flags, const void *data)
{
	static int (*real)(const char *, const char *, const char *, unsigned long, const void *);
	struct statfs fs;

	if (!real)
		real = (int (*)(const char *, const char *, const char *, unsigned long, const void *))(uintptr_t)next(
		    "mount");
	if (flags & MS_REMOUNT && flags & MS_BIND && statfs(target, &fs) == 0 && fs.f_flags & HAS_NOSYMFOLLOW)
		flags |= KEEPS_LINKS;
	return real(source, target, type, flags, data);
}

/* --- namespaces --------------------------------------------------------------------------------------------- */

typedef int open_call(int dir, const char *path, int flags, ...);

static const char *const names[] = { "ns/net", "ns/uts", "ns/time", "ns/ipc", "ns/mnt", "ns/cgroup" };
#define N_NAMES (sizeof names / sizeof *names)

static int process = -1;  /* the /proc directory of the process whose user namespace was opened last */
static int held[N_NAMES]; /* 0: not open */

static open_call *real_open(void)
{
	static open_call *real;

	if (!real)
		real = (open_call *)(uintptr_t)next("openat64");
	return real;
}

int openat64(int dir, const char *path, int flags, ...)
{
	va_list ap;

	va_start(ap, flags);
	int mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, int) : 0;
	va_end(ap);
	int fd = is_guarded(dir, path) ? open_guarded(dir, path, flags, mode) : real_open()(dir, path, flags, mode);

	if (strcmp(path, "ns/user") == 0)
		process = dir;
	for (size_t i = 0; fd < 0 && errno == EACCES && dir == process && i < N_NAMES; i++) {
		if (held[i] > 0 && strcmp(path, names[i]) == 0)
			return fcntl(held[i], F_DUPFD_CLOEXEC, 3);
	}
	return fd;
}

int setns(int fd, int type)
{
	static int (*real)(int fd, int type);

	if (!real)
		real = (int (*)(int, int))(uintptr_t)next("setns");
	for (size_t i = 0; type == CLONE_NEWUSER && process >= 0 && i < N_NAMES; i++)
		held[i] = real_open()(process, names[i], O_RDONLY | O_CLOEXEC);
	return real(fd, type);
}

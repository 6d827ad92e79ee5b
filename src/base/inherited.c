/* SPDX-License-Identifier: Apache-2.0 */
/* inherited: one function per property, and the list of them at the end. */
#include "base/inherited.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/ioprio.h>
#include <linux/keyctl.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

#define STACK_BYTES (8u << 20) /* the kernel's default; "unlimited" changes the memory layout */
#define CORE_PATTERN "/proc/sys/kernel/core_pattern"

extern char **environ;

/* --- files -------------------------------------------------------------------------------------------------- */

/* Otherwise a file opened later could get number 1 or 2, and every message would be written to it. */
static void reset_files(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	fd_close(fd);
	(void)syscall(SYS_close_range, STDERR_FILENO + 1u, ~0u, 0);
	(void)umask(022);
}

/* --- signals ------------------------------------------------------------------------------------------------ */

/* A SIGCHLD that is ignored, which exec() preserves, discards the exit status of every child. Signals that nohup
 * and a shell's `&` ignore stay ignored while a template is built; atolld handles SIGHUP and SIGINT itself. */
static void reset_signals(void)
{
	sigset_t none;

	for (int i = 1; i < NSIG; i++) {
		bool chosen = i == SIGHUP || i == SIGINT || i == SIGQUIT;
		struct sigaction is;

		if (!chosen || (sigaction(i, NULL, &is) == 0 && is.sa_handler != SIG_IGN))
			(void)signal(i, SIG_DFL);
	}
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* --- limits ------------------------------------------------------------------------------------------------- */

/* The limits of the process that creates the outer user namespace bound all sandboxes of a template together, so
 * they are raised here. Each sandbox gets its own limits in engine/limits.c and by cgroups. */
static const struct {
	int what;
	rlim_t soft, hard;
} wanted[] = {
	{ RLIMIT_CORE, 0, 1 }, /* sandboxes get 1, and cannot raise it */
	{ RLIMIT_STACK, STACK_BYTES, RLIM_INFINITY },
	{ RLIMIT_CPU, RLIM_INFINITY, RLIM_INFINITY },
	{ RLIMIT_FSIZE, RLIM_INFINITY, RLIM_INFINITY },
	{ RLIMIT_DATA, RLIM_INFINITY, RLIM_INFINITY },
	{ RLIMIT_AS, RLIM_INFINITY, RLIM_INFINITY },
	{ RLIMIT_RSS, RLIM_INFINITY, RLIM_INFINITY },
	{ RLIMIT_NPROC, RLIM_INFINITY, RLIM_INFINITY },
	{ RLIMIT_LOCKS, RLIM_INFINITY, RLIM_INFINITY },
	{ RLIMIT_RTTIME, RLIM_INFINITY, RLIM_INFINITY },
	{ RLIMIT_MEMLOCK, RLIM_INFINITY, RLIM_INFINITY },
	{ RLIMIT_SIGPENDING, RLIM_INFINITY, RLIM_INFINITY },
	{ RLIMIT_MSGQUEUE, RLIM_INFINITY, RLIM_INFINITY },
	{ RLIMIT_NICE, 0, 0 }, /* otherwise sandboxes could raise their priority */
	{ RLIMIT_RTPRIO, 0, 0 },
};

static void reset_limits(void)
{
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		struct rlimit l = { wanted[i].soft, wanted[i].hard }, is;

		if (setrlimit(wanted[i].what, &l) == 0 || getrlimit(wanted[i].what, &is) < 0)
			continue;
		/* Only CAP_SYS_RESOURCE raises a hard limit. */
		l.rlim_max = is.rlim_max;
		if (l.rlim_cur > l.rlim_max)
			l.rlim_cur = l.rlim_max;
		(void)setrlimit(wanted[i].what, &l);
	}
}

void inherited_open_files(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &l);
	}
}

int rlimit_lower(int what, rlim_t most)
{
	struct rlimit l;

	if (getrlimit(what, &l) < 0)
		return -errno;
	if (l.rlim_max > most)
		l.rlim_max = most;
	l.rlim_cur = l.rlim_max;
	return setrlimit(what, &l) < 0 ? -errno : 0;
}

bool inherited_core_pattern(void)
{
	char pattern[256];

	return file_read(AT_FDCWD, CORE_PATTERN, pattern, sizeof pattern) > 0 &&
	    (pattern[0] == '|' || pattern[0] == '@');
}

int inherited_core(struct err *e)
{
	struct rlimit l;

	if ((getrlimit(RLIMIT_CORE, &l) == 0 && l.rlim_max >= 1) || !inherited_core_pattern())
		return 0;
	return err_set(e, EPERM,
	    "the hard limit for core files is 0 and cannot be raised (no CAP_SYS_RESOURCE), and " CORE_PATTERN
	    " names a program or socket of the host, which would get every crash in a sandbox: start with a hard limit "
	    "of 1 or more");
}

/* --- power -------------------------------------------------------------------------------------------------- */

static void reset_ids(void)
{
	if (geteuid() != 0)
		return;
	(void)setgroups(0, NULL);
	if (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0)
		return; /* not possible in this user namespace, which then has no other ids */
}

static void reset_caps(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	(void)prctl(PR_SET_SECUREBITS, SECUREBITS_DEFAULT, 0, 0, 0);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capget, &head, data) < 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(data); i++)
		data[i].inheritable = 0;
	(void)syscall(SYS_capset, &head, data);
}

/* The keys of the login session (pam_keyinit) are not for sandboxes. */
static void reset_keyring(void)
{
	(void)syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
}

bool inherited_no_new_privs(void)
{
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
}

/* --- scheduling --------------------------------------------------------------------------------------------- */

static void reset_scheduling(void)
{
	struct sched_param none = { 0 };
	char z[16];

	if (sched_getscheduler(0) != SCHED_OTHER)
		(void)sched_setscheduler(0, SCHED_OTHER, &none);
	(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, 0);
	if (getpriority(PRIO_PROCESS, 0) > 0)
		(void)setpriority(PRIO_PROCESS, 0, 0);
	/* A negative value protects the daemon; sandboxes do not inherit it (limits_ordinary()). */
	if (file_read(AT_FDCWD, "/proc/self/oom_score_adj", z, sizeof z) > 0 && z[0] != '-' && z[0] != '0')
		(void)file_write(AT_FDCWD, "/proc/self/oom_score_adj", "0");
}

/* Otherwise sandboxes would inherit disabled address randomization (setarch -R) or a 32-bit personality. */
static void reset_personality(void)
{
	(void)personality(PER_LINUX);
}

/* --- environment -------------------------------------------------------------------------------------------- */

/* Variables that sudo keeps, proxy settings for package mirrors, and atoll's own. */
static const char *const kept[] = {
	"HOME=",
	"USER=",
	"LOGNAME=",
	"SHELL=",
	"TERM=",
	"COLORTERM=",
	"COLUMNS=",
	"LINES=",
	"NO_COLOR=",
	"LANG=",
	"LANGUAGE=",
	"LC_",
	"TZ=",
	"http_proxy=",
	"https_proxy=",
	"ftp_proxy=",
	"no_proxy=",
	"all_proxy=",
	"HTTP_PROXY=",
	"HTTPS_PROXY=",
	"NO_PROXY=",
	"ALL_PROXY=",
	"SSL_CERT_FILE=",
	"SSL_CERT_DIR=",
	"CURL_CA_BUNDLE=",
	"PATH=",
	"NOTIFY_SOCKET=",
	"ATOLL_",
	"ASAN_OPTIONS=",
	"UBSAN_OPTIONS=",
	"LSAN_OPTIONS=",
	"TSAN_OPTIONS=",
};

static bool is_kept(const char *variable)
{
	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		if (strncmp(variable, kept[i], strlen(kept[i])) == 0)
			return true;
	}
	return false;
}

/* su and cron omit the sbin directories, which contain mkfs and nft. */
static void complete_path(void)
{
	static const char *const places[] = { "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin",
		"/bin" };
	const char *is = getenv("PATH");
	char path[8192];
	size_t n = (size_t)snprintf(path, sizeof path, "%s", is ? is : "");

	for (size_t i = 0; n < sizeof path && i < ARRAY_LEN(places); i++) {
		struct str rest = str_of(is);
		bool there = false;

		while (is && rest.p && !there)
			there = str_is(str_cut(&rest, ':'), places[i]);
		if (!there)
			n += (size_t)snprintf(path + n, sizeof path - n, "%s%s", n ? ":" : "", places[i]);
	}
	if (n < sizeof path)
		(void)setenv("PATH", path, 1);
}

static void reset_environment(void)
{
	size_t n = 0;

	for (char **v = environ; v && *v; v++) {
		if (is_kept(*v))
			environ[n++] = *v;
	}
	if (environ)
		environ[n] = NULL;
	complete_path();
}

/* --- all of it ---------------------------------------------------------------------------------------------- */

void inherited_reset(void)
{
	reset_files();
	reset_signals();
	reset_limits();
	reset_ids();
	reset_caps();
	reset_keyring();
	reset_scheduling();
	reset_personality();
	reset_environment();
}

static pid_t main_child;

static void pass_on(int signo)
{
	(void)kill(main_child, signo);
}

static _Noreturn void reap_until(pid_t child)
{
	int status;
	pid_t pid;

	do
		pid = waitpid(-1, &status, 0);
	while (pid != child && (pid > 0 || errno == EINTR));
	_exit(pid == child && WIFEXITED(status) ? WEXITSTATUS(status)
		: pid == child                  ? 128 + WTERMSIG(status)
						: EXIT_FAILURE);
}

void inherited_pid_one(void)
{
	static const int passed[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
	sigset_t set, was;

	if (getpid() != 1)
		return;
	(void)sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(passed); i++)
		(void)sigaddset(&set, passed[i]);
	(void)sigprocmask(SIG_BLOCK, &set, &was); /* blocked until it is known which process they are for */
	main_child = fork();
	for (size_t i = 0; main_child > 0 && i < ARRAY_LEN(passed); i++)
		(void)signal(passed[i], pass_on);
	(void)sigprocmask(SIG_SETMASK, &was, NULL);
	if (main_child > 0)
		reap_until(main_child);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* spawn: starts one program with the user's identity, in a session of its own; nothing of init is inherited.
 *
 * The child runs on a stack of its own in init's memory. It calls nothing that allocates or keeps state in libc.
 * It changes its identity with raw system calls, because libc's wrappers would signal other threads. */
#include "init/process/spawn.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "init/text.h"

#define CHILD_STACK (64 * 1024)
#define CHILD_OOM_SCORE "500" /* the OOM killer takes the children first, so pid 1 outlives them */
#define PATHS_MAX 64          /* directories of PATH that are searched */

struct child {
	const struct spawn *sp;
	char **tries;       /* candidates for exec, NULL-terminated */
	char **script_argv; /* argv with two free entries in front, for scripts without "#!" */
	char *stack;        /* top of the stack of a program that leads no session */
	pid_t pid;          /* pid of that program */
	const char *step;   /* set by the child: the step before exec that failed, */
	int no;             /* and its errno */
};

static int fail(struct child *ch, const char *step)
{
	ch->step = step;
	ch->no = errno;
	_exit(127);
}

static void say(const char *a, const char *b)
{
	(void)!write(2, a, strlen(a));
	(void)!write(2, b, strlen(b));
}

static void default_signals(void)
{
	struct sigaction dfl = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int s = 1; s < NSIG; s++)
		(void)sigaction(s, &dfl, NULL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void raise_oom_score(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, CHILD_OOM_SCORE, strlen(CHILD_OOM_SCORE));
	(void)close(fd);
}

static void take_fds(struct child *ch)
{
	const struct spawn *sp = ch->sp;

	if (sp->tty && ioctl(sp->in, TIOCSCTTY, 0) < 0)
		fail(ch, "take the terminal");
	if (dup2(sp->in, 0) < 0 || dup2(sp->out, 1) < 0 || dup2(sp->err, 2) < 0)
		fail(ch, "take the standard streams");
	if (sp->ctl && dup2(sp->ctl, 3) < 0)
		fail(ch, "take the control socket");
}

static void take_identity(struct child *ch)
{
	const struct spawn *sp = ch->sp;

	if (syscall(SYS_setgroups, sp->n_groups, sp->groups) < 0)
		fail(ch, "setgroups");
	if (syscall(SYS_setresgid, sp->gid, sp->gid, sp->gid) < 0)
		fail(ch, "setgid");
	if (syscall(SYS_setresuid, sp->uid, sp->uid, sp->uid) < 0)
		fail(ch, "setuid");
}

/* Tries each candidate; returns only if none could be executed. */
static void exec_first(struct child *ch)
{
	const struct spawn *sp = ch->sp;
	const char *why = ": not found\n";
	int code = 127;

	for (char **t = ch->tries; *t; t++) {
		(void)execve(*t, sp->argv, sp->envp);
		if (errno == ENOEXEC) {
			ch->script_argv[0] = (char *)"/bin/sh";
			ch->script_argv[1] = *t;
			(void)execve("/bin/sh", ch->script_argv, sp->envp);
			errno = ENOEXEC;
		}
		if (errno == ENOENT || errno == ENOTDIR)
			continue;
		code = 126;
		why = errno == EACCES ? ": Permission denied\n"
		    : errno == E2BIG  ? ": Argument list too long\n"
				      : ": cannot be executed\n";
		if (errno != EACCES)
			break;
	}
	say("exec: ", sp->argv[0]);
	say(why, "");
	_exit(code);
}

static int become_program(void *arg)
{
	struct child *ch = arg;

	default_signals();
	raise_oom_score();
	take_fds(ch);
	(void)umask(022);
	take_identity(ch);
	if (chdir(ch->sp->cwd) < 0)
		fail(ch, "chdir");
	exec_first(ch);
	return 127;
}

static bool as_orphans;

void spawn_as_orphans(bool on)
{
	as_orphans = on;
}

/* A program that leads no session is cloned by a session leader that exits at once. */
static int child_main(void *arg)
{
	struct child *ch = arg;

	(void)setsid();
	if (ch->sp->leader)
		return become_program(ch);
	/* CLONE_PARENT_SETTID: the kernel stores the pid before the program runs. A program that first kills all
	 * others could kill this process before it stores the pid itself. */
	if (clone(become_program, ch->stack,
		CLONE_VM | CLONE_VFORK | CLONE_PARENT_SETTID | SIGCHLD | (as_orphans ? 0 : CLONE_PARENT), ch,
		&ch->pid) < 0)
		fail(ch, "clone");
	_exit(0);
}

static const char *env_path(char *const *envp)
{
	for (; *envp; envp++)
		if (strncmp(*envp, "PATH=", 5) == 0)
			return *envp + 5;
	return "/usr/bin:/bin";
}

/* The paths that argv[0] may refer to: one block to free(). */
static char **candidates(const struct spawn *sp)
{
	const char *cmd = sp->argv[0];
	struct str path = str_of(env_path(sp->envp));
	size_t len = strlen(cmd), n = 0;
	char **out = calloc(1, (PATHS_MAX + 1) * sizeof(char *) + path.n + PATHS_MAX * (len + 3));
	char *at = out ? (char *)(out + PATHS_MAX + 1) : NULL;

	if (!out)
		return NULL;
	if (strchr(cmd, '/') || len == 0) {
		out[0] = (char *)cmd;
		return out;
	}
	while (path.p && n < PATHS_MAX) {
		struct str dir = str_cut(&path, ':');

		if (dir.n == 0)
			dir = STR_LIT(".");
		out[n++] = at;
		memcpy(at, dir.p, dir.n);
		at[dir.n] = '/';
		memcpy(at + dir.n + 1, cmd, len + 1);
		at += dir.n + len + 2;
	}
	return out;
}

static char **script_args(char *const *argv)
{
	size_t n = 0;
	char **out;

	while (argv[n])
		n++;
	out = calloc(n + 2, sizeof(char *));
	for (size_t i = 1; out && i < n; i++) /* argv[0] is replaced by "/bin/sh" and the file's name */
		out[i + 1] = argv[i];
	return out;
}

int spawn(const struct spawn *sp, pid_t *ret_pid, struct err *e)
{
	static _Alignas(16) char stack[2 * CHILD_STACK];
	autofree char **tries = candidates(sp);
	autofree char **script = script_args(sp->argv);
	struct child ch = { .sp = sp, .tries = tries, .script_argv = script, .stack = stack + CHILD_STACK };
	sigset_t all, before;
	pid_t pid;
	int no;

	if (!tries || !script)
		return err_set(e, ENOMEM, "out of memory");
	/* None of init's signal handlers may run in the child before the child has reset them. */
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	pid = clone(child_main, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &ch);
	no = errno;
	if (pid > 0 && !sp->leader) {
		(void)waitpid(pid, NULL, 0);
		pid = ch.pid;
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0 && !ch.step)
		return err_set(e, no, "%s", text_errno(no));
	if (pid == 0 && !ch.step)
		return err_set(e, EAGAIN, "killed before it began");
	if (ch.step) /* the child has ended; the reaper collects its zombie */
		return err_set(e, ch.no, "%s%s%.150s: %s", ch.step, strcmp(ch.step, "chdir") == 0 ? " " : "",
		    strcmp(ch.step, "chdir") == 0 ? sp->cwd : "", text_errno(ch.no));
	*ret_pid = pid;
	return 0;
}

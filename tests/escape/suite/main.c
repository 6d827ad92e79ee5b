/* SPDX-License-Identifier: Apache-2.0 */
/* escape: attempts to get out of a sandbox, in C. A static program, so that it runs under any template.
 *
 *	escape run [GROUP]...	all attempts that make sense for this user; one line each, then "end COUNT"
 *	escape control		outside, as root: the attempts that must work there, each in namespaces of its own
 *	escape list		names and guarantees
 *	escape sweep TABLE	every system call number of every ABI, compared with the table
 *	escape sweep --print	the same, printed: "ABI NUMBER CLASS"
 *	escape touch ADDRESS	reaches a target there as neighbours try to: the control
 *	escape target		stands in a neighbour and listens; tells who came
 *	escape bomb NAME	takes all it can get of one thing, says so, and holds it until it is killed
 *
 * A line is RESULT, NAME, GUARANTEE and DETAIL with tabs between. RESULT: "held", "BROKEN", "unclear" or "skipped". */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "attempt.h"

#define LIMIT_S 20 /* that one attempt may take */

enum { HELD = -5000, UNCLEAR = -5001, SKIPPED = -5002 };

struct outcome {
	int r;
	char detail[200];
};

static const struct attempts *const groups[] = {
	&mounts_group,
	&spaces_group,
	&kernel_group,
	&proc_group,
	&sys_group,
	&dev_group,
	&program_group,
	&fds_group,
	&identity_group,
	&filter_group,
	&sockets_group,
	&netlink_group,
	&reach_group,
	&neighbour_group,
	&server_group,
};

static struct outcome mine; /* of the attempt that this process is */

#define SAY(fmt) \
	do { \
		va_list ap; \
		va_start(ap, fmt); \
		(void)vsnprintf(mine.detail, sizeof mine.detail, fmt, ap); \
		va_end(ap); \
	} while (0)

int held(const char *fmt, ...)
{
	SAY(fmt);
	return HELD;
}

int broken(const char *fmt, ...)
{
	SAY(fmt);
	return 0;
}

int unclear(const char *fmt, ...)
{
	SAY(fmt);
	return UNCLEAR;
}

int skip(const char *fmt, ...)
{
	SAY(fmt);
	return SKIPPED;
}

int refused(int no, const char *fmt, ...)
{
	SAY(fmt);
	return -no;
}

const char *errno_name(int no)
{
	const char *z = strerrorname_np(no);

	return z ? z : "?";
}

const char *setting(const char *name)
{
	const char *z = getenv(name);

	return z && *z ? z : NULL;
}

int slurp(const char *path, char *to, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t n = 0;

	if (fd < 0)
		return -errno;
	while (n < size - 1) {
		ssize_t r = read(fd, to + n, size - 1 - n);

		if (r < 0 && n == 0) {
			r = -errno;
			close(fd);
			return (int)r;
		}
		if (r <= 0)
			break;
		n += (size_t)r;
	}
	close(fd);
	to[n] = '\0';
	return (int)n;
}

int try_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);

	return fd < 0 ? refused(errno, "open %s", path) : broken("%s opened", path);
}

int try_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return refused(errno, "open %s", path);
	if (write(fd, text, strlen(text)) < 0)
		return refused(errno, "write %s", path);
	return broken("%s written", path);
}

int try_read(const char *path)
{
	char buf[4096];
	int n = slurp(path, buf, sizeof buf);

	if (n < 0)
		return refused(-n, "read %s", path);
	return n == 0 ? held("%s is empty", path) : broken("%d bytes of %s", n, path);
}

int each_process(int (*fn)(int, void *), void *user)
{
	DIR *d = opendir("/proc");
	struct dirent *de;
	int r = 0;

	if (!d)
		return -errno;
	while (r == 0 && (de = readdir(d)) != NULL) {
		int pid = atoi(de->d_name);

		if (pid > 0)
			r = fn(pid, user);
	}
	closedir(d);
	return r;
}

void report(const char *result, const char *name, const char *guarantee, const char *detail)
{
	(void)printf("%s\t%s\t%s\t%s\n", result, name, guarantee, detail);
	(void)fflush(stdout);
}

static int attempt_try(const struct attempt *a)
{
	if (a->run)
		return a->run();
	return SYS(a->nr, a->a[0], a->a[1], a->a[2], a->a[3], a->a[4], a->a[5]);
}

/* Things that attempts would change are made anew for the control, so that the host keeps its own. */
static int own_spaces(void)
{
	if (unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWCGROUP) < 0)
		return -1;
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ? -1 : mount("none", "/tmp", "tmpfs", 0, NULL);
}

static void attempt_child(const struct attempt *a, int to, bool control)
{
	(void)setsid();
	(void)signal(SIGALRM, SIG_DFL);
	(void)alarm(LIMIT_S);
	if (control && own_spaces() < 0)
		mine.r = unclear("no namespaces for the control: %s", errno_name(errno));
	else
		mine.r = attempt_try(a);
	(void)!write(to, &mine, sizeof mine);
	_exit(0);
}

/* 0, or the signal that ended it. */
static int attempt_run(const struct attempt *a, bool control, struct outcome *ret)
{
	int p[2], status = 0;

	*ret = (struct outcome) { UNCLEAR, "no process for it" };
	if (pipe2(p, O_CLOEXEC) < 0)
		return 0;
	pid_t pid = fork();

	if (pid == 0)
		attempt_child(a, p[1], control);
	close(p[1]);
	if (pid > 0) {
		struct outcome got;
		bool whole = read(p[0], &got, sizeof got) == (ssize_t)sizeof got;

		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		if (whole)
			*ret = got;
	}
	close(p[0]);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static bool expected(const struct attempt *a, int no)
{
	for (size_t i = 0; i < EXPECT_MAX && a->expect[i]; i++) {
		if (a->expect[i] == no)
			return true;
	}
	return false;
}

static void attempt_judge(const struct attempt *a)
{
	struct outcome o;
	int sig = attempt_run(a, false, &o);
	char text[260];

	if (sig == SIGSYS) {
		report("held", a->name, a->guarantee, "killed by the filter");
	} else if (sig) {
		(void)snprintf(text, sizeof text, "ended by signal %d", sig);
		report("unclear", a->name, a->guarantee, text);
	} else if (o.r >= 0) {
		report("BROKEN", a->name, a->guarantee, o.detail[0] ? o.detail : "it worked");
	} else if (o.r == HELD || o.r == SKIPPED || o.r == UNCLEAR) {
		report(o.r == HELD ? "held" : o.r == SKIPPED ? "skipped" : "unclear", a->name, a->guarantee, o.detail);
	} else {
		(void)snprintf(text, sizeof text, "%s%s%s", o.detail, o.detail[0] ? ": " : "", errno_name(-o.r));
		report(expected(a, -o.r) ? "held" : "unclear", a->name, a->guarantee, text);
	}
}

static bool wanted(const struct attempts *g, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], g->name) == 0)
			return true;
	}
	return argc == 0;
}

static int run_all(int argc, char **argv)
{
	unsigned not_ours = geteuid() == 0 ? BY_USER : BY_ROOT;
	size_t n = 0;

	for (size_t i = 0; i < COUNT(groups); i++) {
		const struct attempts *g = groups[i];

		for (size_t k = 0; wanted(g, argc, argv) && k < g->n; k++) {
			if (g->v[k].flags & not_ours)
				continue;
			attempt_judge(&g->v[k]);
			n++;
		}
	}
	(void)printf("end\t%zu\n", n);
	return 0;
}

static int run_control(void)
{
	size_t n = 0;

	if (geteuid() != 0) {
		(void)fprintf(stderr, "escape: the control needs root\n");
		return 2;
	}
	for (size_t i = 0; i < COUNT(groups); i++) {
		for (size_t k = 0; k < groups[i]->n; k++) {
			const struct attempt *a = &groups[i]->v[k];
			struct outcome o;
			int sig;

			if (!(a->flags & OUTSIDE))
				continue;
			sig = attempt_run(a, true, &o);
			report(sig == 0 && o.r >= 0 ? "works" : "refused", a->name, a->guarantee,
			    sig                         ? "a signal"
				: o.r < 0 && o.r > HELD ? errno_name(-o.r)
							: o.detail);
			n++;
		}
	}
	(void)printf("end\t%zu\n", n);
	return 0;
}

static int list_all(void)
{
	for (size_t i = 0; i < COUNT(groups); i++) {
		for (size_t k = 0; k < groups[i]->n; k++)
			(void)printf("%s\t%s\n", groups[i]->v[k].name, groups[i]->v[k].guarantee);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";
	const char *word = argc > 2 ? argv[2] : "";

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	(void)signal(SIGPIPE, SIG_IGN);
	if (strcmp(verb, "list") == 0)
		return list_all();
	if (strcmp(verb, "control") == 0)
		return run_control();
	if (strcmp(verb, "bombs") == 0)
		return bomb_list(), 0;
	/* All else does harm where nothing holds it. */
	char name[16];

	if (slurp("/proc/1/comm", name, sizeof name) <= 0 || strcmp(name, "init\n") != 0 ||
	    access("/dev/.atoll", F_OK) < 0) {
		(void)fprintf(stderr,
		    "usage: escape list|control|bombs; and in a sandbox: run [GROUP]..., sweep, target, bomb NAME\n");
		return 2;
	}
	if (strcmp(verb, "run") == 0)
		return run_all(argc - 2, argv + 2);
	if (strcmp(verb, "sweep") == 0)
		return sweep_run(word, strcmp(word, "--print") == 0);
	if (strcmp(verb, "target") == 0)
		return target_run();
	if (strcmp(verb, "touch") == 0)
		return target_touch(word);
	return strcmp(verb, "bomb") == 0 ? bomb_run(word) : 2;
}

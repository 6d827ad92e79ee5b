/* SPDX-License-Identifier: Apache-2.0 */
/* build_start: runs the template's start command, for sandboxes that start without the template's memory, and
 * waits until it is ready. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "http/json.h"
#include "init/build/build.h"
#include "init/init.h"
#include "init/process/untrace.h"
#include "init/template.h"
#include "init/users.h"

#define AGAIN_NS 200000000

static _Noreturn void become(const struct user *u, char *const *envp, const gid_t *groups, size_t n_groups,
    const char *cwd, const char *cmd)
{
	int null = open("/dev/null", O_RDWR);

	(void)setsid();
	if (setgroups(n_groups, groups) < 0 || setgid(u->gid) < 0 || setuid(u->uid) < 0)
		_exit(126);
	if (chdir(cwd) < 0 && chdir("/") < 0)
		_exit(126);
	for (int i = 0; i < 3 && null >= 0; i++)
		(void)dup2(null, i);
	(void)execve("/bin/bash", (char *const[]) { "/bin/bash", "-l", "-c", (char *)cmd, NULL }, envp);
	_exit(127);
}

static pid_t run_as(const struct userdb *db, const struct user *u, char *const *envp, const char *cwd, const char *cmd)
{
	gid_t groups[USER_GROUPS_MAX];
	size_t n = userdb_groups(db, u, groups, USER_GROUPS_MAX);
	pid_t pid = fork();

	if (pid == 0)
		become(u, envp, groups, n, cwd, cmd);
	return pid;
}

/* 1: the process has ended, with *ret_status. */
static int look(pid_t pid, int *ret_status)
{
	return pid > 0 && waitpid(pid, ret_status, WNOHANG) == pid && !untrace(pid, *ret_status) ? 1 : 0;
}

static bool ended_well(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The setting of the template that defined the start command, if it is inherited, else the own one; "" counts as
 * unset. */
static const char *context(const json_t *t, const char *own, const char *inherited)
{
	const char *v = json_string_value(json_object_get(t, inherited));

	if (!v)
		v = json_string_value(json_object_get(t, own));
	return v && *v ? v : NULL;
}

int build_start(const struct init *in, unsigned wait_s, struct err *e)
{
	autojson json_t *t = template_read();
	const char *start = json_string_value(json_object_get(t, "startCmd")),
		   *ready = json_string_value(json_object_get(t, "readyCmd"));
	const char *name = context(t, "user", "startUser"), *cwd = context(t, "workdir", "startWorkdir");
	struct userdb db autousers = { 0 };
	struct user u;
	uint64_t until = clock_mono_ms() + wait_s * 1000ull;
	int status;

	if (!start)
		return 0;
	userdb_load(&db);
	if (userdb_find(&db, str_of(name ? name : "user"), &u) < 0)
		return err_set(e, ENOENT, "there is no user '%s' for the start command", name ? name : "user");
	autofree char **envp = env_build(&in->env, &u, in->path, NULL);

	if (!envp)
		return err_set(e, ENOMEM, "out of memory");
	pid_t main_pid = run_as(&db, &u, envp, cwd ? cwd : u.home, start);

	if (main_pid < 0)
		return err_sys(e, "run the start command");
	while (ready) {
		pid_t pid = run_as(&db, &u, envp, cwd ? cwd : u.home, ready);

		while (pid > 0 && !look(pid, &status) && clock_mono_ms() < until)
			(void)nanosleep(&(struct timespec) { .tv_nsec = AGAIN_NS / 10 }, NULL);
		if (pid > 0 && clock_mono_ms() < until && ended_well(status))
			return 0;
		if (clock_mono_ms() >= until)
			return err_set(e, ETIMEDOUT, "the template is not ready %u seconds after its start command",
			    wait_s);
		if (look(main_pid, &status) && !ended_well(status))
			return err_set(e, ECHILD, "the start command failed");
		(void)nanosleep(&(struct timespec) { .tv_nsec = AGAIN_NS }, NULL);
	}
	return 0;
}

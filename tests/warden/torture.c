/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the warden everything that a taken-over front could send, and shows that it refuses and keeps serving.
 *
 *	torture ATOLLD EGRESS AGENT [INIT KEY]	as root: starts that atolld with itself as the front, reads its
 *						log, judges
 *	(started by atolld)			as the front: one step of the list per life
 *
 * The warden ends a front that breaks the rules, so a life notes which step it is about to take and the driver finds in
 * the log of the warden what came of it. ATOLL_TORTURE names the directory of notes. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "torture.h"

#define SKIP 77

/* --- the front ---------------------------------------------------------------------------------------------- */

static int front_main(void)
{
	char path[300], text[32768];
	size_t taken = 0;

	(void)snprintf(path, sizeof path, "%s/notes", notes);
	if (file_read(AT_FDCWD, path, text, sizeof text) < 0)
		return 9;
	for (const char *at = text; (at = strstr(at, "step ")); at += 5)
		taken++;
	if (strstr(text, "serve 2"))
		serve_again();
	if (taken >= n_steps)
		serve_first();
	char line[100];

	(void)snprintf(line, sizeof line, "step %s", steps[taken].name);
	note(line);
	steps[taken].send();
	char msg[MSG_MAX];
	int fd;

	if (in(msg, &fd) == -1)
		(void)pause(); /* closed, as it should be; the signal follows */
	wrong(steps[taken].name);
}

/* --- the driver --------------------------------------------------------------------------------------------- */

static bool notes_have(const char *what, char *text, size_t size)
{
	char path[300];

	(void)snprintf(path, sizeof path, "%s/notes", notes);
	return file_read(AT_FDCWD, path, text, size) >= 0 && strstr(text, what);
}

/* Each step must have been answered by ending the front, for the reason that belongs to it, in this order. */
static int judge(const char *log)
{
	int bad = 0;

	for (size_t i = 0; i < n_steps; i++) {
		char want[120];

		(void)snprintf(want, sizeof want, "dropping the front\",\"kv\":\"why=%s\"", steps[i].why);
		const char *drop = strstr(log, "dropping the front");
		bool ok = drop && strncmp(drop, want, strlen(want)) == 0;

		(void)printf("%s %s: %s\n", ok ? "ok" : "NOT OK", steps[i].name, steps[i].why);
		if (!ok)
			bad++;
		if (drop)
			log = drop + 1;
	}
	return bad;
}

static pid_t spawn(char *const argv[], const char *log)
{
	pid_t pid = fork();

	if (pid == 0) {
		int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);

		(void)dup2(fd, STDERR_FILENO);
		(void)dup2(fd, STDOUT_FILENO);
		(void)execv(argv[0], argv);
		_exit(127);
	}
	return pid;
}

static int finish(pid_t pid, const char *log_path)
{
	static char log[1 << 20], text[32768];
	int status = 0, bad = 0;

	(void)kill(pid, SIGTERM);
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
		(void)printf("NOT OK atolld ends with 0 after SIGTERM (status %x)\n", (unsigned)status);
		bad++;
	}
	if (file_read(AT_FDCWD, log_path, log, sizeof log) < 0)
		return 1;
	bad += judge(log);
	if (!notes_have("shutdown", text, sizeof text) || strstr(text, "WRONG")) {
		size_t n = strlen(log);

		(void)printf("NOT OK it keeps serving; notes:\n%s\nlog:\n%s\n", text, n > 3000 ? log + n - 3000 : log);
		bad++;
	} else {
		(void)printf("ok it keeps serving\n");
	}
	return bad ? 1 : 0;
}

static int drive(const char *atolld, const char *egress, const char *agent, const char *init, const char *key)
{
	char dir[] = "/tmp/atoll-torture-XXXXXX", self[300], log[300], state[300], run[300], tmpl[80], text[32768];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (geteuid() != 0) {
		(void)printf("skipped: needs root\n");
		return SKIP;
	}
	if (n < 0 || !mkdtemp(dir) || chmod(dir, 0755) < 0)
		return 1;
	self[n] = '\0';
	(void)snprintf(notes, sizeof notes, "%s", dir);
	(void)snprintf(log, sizeof log, "%s/notes", dir);
	fd_close(open(log, O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
	(void)chmod(log, 0666);
	(void)snprintf(log, sizeof log, "%s/log", dir);
	(void)snprintf(state, sizeof state, "%s/state", dir);
	(void)snprintf(run, sizeof run, "%s/run", dir);
	(void)snprintf(tmpl, sizeof tmpl, "base=%s", key);
	(void)setenv("ATOLL_TORTURE", dir, 1);
	char *argv[] = { (char *)atolld, "--listen", "127.0.0.1:0", "--state", state, "--run", run, "--egress",
		(char *)egress, "--agent", (char *)agent, "--init", (char *)init, "--template", tmpl, "--front", self,
		"--restart-max-ms", "1", "--max-sandboxes", "2", "--user", "nobody", "--egress-user", "nobody",
		"--pool-size-mb", "512", NULL };
	pid_t pid = spawn(argv, log);
	uint64_t end = clock_mono_ms() + 120000;

	while (clock_mono_ms() < end && waitpid(pid, NULL, WNOHANG) == 0 && !notes_have("done", text, sizeof text) &&
	    !notes_have("WRONG", text, sizeof text))
		(void)usleep(20000);
	int r = finish(pid, log);

	if (r == 0) {
		char cmd[300];

		(void)snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
		r = system(cmd) == 0 ? 0 : 1;
	}
	return r;
}

int main(int argc, char **argv)
{
	const char *dir = getenv("ATOLL_TORTURE");

	if (dir) {
		(void)snprintf(notes, sizeof notes, "%s", dir);
		return front_main();
	}
	if (argc != 4 && argc != 6) {
		(void)fprintf(stderr, "usage: torture ATOLLD EGRESS AGENT [INIT KEY]\n");
		return 2;
	}
	if (argc == 6)
		return drive(argv[1], argv[2], argv[3], argv[4], argv[5]);
	(void)setenv("ATOLL_TORTURE_FAKE", "1", 1);
	return drive(argv[1], argv[2], argv[3], "/proc/self/exe", "0123456789abcdef0123456789abcdef");
}

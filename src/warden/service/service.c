/* SPDX-License-Identifier: Apache-2.0 */
/* service: starts a program without privileges, watches it, restarts it. */
#include "warden/service/service.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/log.h"
#include "ipc/settings.h"
#include "loop/loop.h"

#define FIRST_FD 3
#define HIGH_FD 100        /* above every target fd, so that moving one never overwrites another */
#define LONG_LIFE_MS 10000 /* a life of this length clears the count of failures */
#define FIRST_DELAY_MS 50
/* that many short lives that served are restarted after FIRST_DELAY_MS each; then the delay grows */
#define SERVED_LIVES 16

struct service {
	struct loop *loop;
	struct service_spec spec;
	const char *argv[4];
	int options; /* sealed file */
	const struct service_ops *ops;
	void *user;
	pid_t pid;
	int pidfd;
	struct watch *watch;
	struct timer *timer;
	unsigned failed_lives, served_lives; /* short ones since the last long one */
	bool served;                         /* this life has served */
	uint64_t born_ms;
	bool stopping;
};

/* --- in the child, between fork and exec ------------------------------------------------------------------- */

static __attribute__((noreturn)) void child_fail(const struct service *s, const char *what)
{
	log_error("could not start a helper", "name=%s path=%s step=%s err=%s", s->spec.name, s->spec.exe, what,
	    strerror(errno));
	_exit(127);
}

/* Moves the link to 3, the options to 4, the listed fds after them, the program last, and closes everything else. */
static int child_place_fds(const struct service *s, int link)
{
	int high[SERVICE_FDS + 3], n = 0;

	_Static_assert(OPTIONS_FD == FIRST_FD + 1, "the options come after the link");
	high[n++] = fcntl(link, F_DUPFD_CLOEXEC, HIGH_FD);
	high[n++] = fcntl(s->options, F_DUPFD_CLOEXEC, HIGH_FD);
	for (size_t i = 0; i < s->spec.n_fds; i++)
		high[n++] = fcntl(s->spec.fds[i], F_DUPFD_CLOEXEC, HIGH_FD);
	high[n++] = fcntl(s->spec.exe_fd, F_DUPFD_CLOEXEC, HIGH_FD);
	for (int i = 0; i < n; i++) {
		bool last = i == n - 1;

		if (high[i] < 0 || dup3(high[i], FIRST_FD + i, last ? O_CLOEXEC : 0) < 0)
			child_fail(s, "place fds");
	}
	if (syscall(SYS_close_range, (unsigned)(FIRST_FD + n), ~0u, 0) < 0)
		child_fail(s, "close fds");
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0)
		child_fail(s, "stdin");
	return FIRST_FD + n - 1;
}

/* The order matters: reducing the bounding set needs CAP_SETPCAP, which is lost with the uid. */
static void child_drop_power(const struct service *s)
{
	cap_t none = cap_init();

	for (int c = 0; prctl(PR_CAPBSET_READ, c, 0, 0, 0) >= 0; c++) {
		if (prctl(PR_CAPBSET_DROP, c, 0, 0, 0) < 0)
			child_fail(s, "cut the bounding set");
	}
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (setgroups(0, NULL) < 0 || setresgid(s->spec.gid, s->spec.gid, s->spec.gid) < 0 ||
	    setresuid(s->spec.uid, s->spec.uid, s->spec.uid) < 0)
		child_fail(s, "change user");
	if (!none || cap_set_proc(none) < 0)
		child_fail(s, "drop capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		child_fail(s, "give up privileges");
}

static void child_reset(const struct service *s)
{
	struct rlimit no_core = { 0, 0 };
	sigset_t none;

	/* A session of its own: Ctrl-C on the terminal is for the warden, which then stops the helpers. */
	(void)setsid();
	(void)umask(077);
	(void)setrlimit(RLIMIT_CORE, &no_core);
	for (int i = 1; i < NSIG; i++)
		(void)signal(i, SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (chdir("/") < 0)
		child_fail(s, "change directory");
}

/* Passes on only variables of the warden's environment that are known to be harmless. */
static char **child_env(void)
{
	static const char *const keep[] = { "TZ=", "ATOLL_",
		"ASAN_OPTIONS=", "UBSAN_OPTIONS=", "LSAN_OPTIONS=", "TSAN_OPTIONS=" };
	static char *env[32] = { "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" };
	size_t n = 1;

	for (char **v = environ; v && *v && n < ARRAY_LEN(env) - 1; v++) {
		for (size_t i = 0; i < ARRAY_LEN(keep); i++) {
			if (strncmp(*v, keep[i], strlen(keep[i])) == 0) {
				env[n++] = *v;
				break;
			}
		}
	}
	env[n] = NULL;
	return env;
}

static __attribute__((noreturn)) void child_main(const struct service *s, int link)
{
	child_reset(s);
	int exe = child_place_fds(s, link);
	child_drop_power(s);
	(void)syscall(SYS_execveat, exe, "", s->argv, child_env(), AT_EMPTY_PATH);
	child_fail(s, "exec");
}

/* --- in the warden ----------------------------------------------------------------------------------------- */

uint64_t service_delay_ms(unsigned failed, unsigned served, uint64_t max_ms)
{
	unsigned n = failed + (served > SERVED_LIVES ? served - SERVED_LIVES : 0);
	uint64_t delay = n > 1 ? n > 16 ? max_ms : (uint64_t)FIRST_DELAY_MS << (n - 2) : 0;

	if (served > 1 && delay < FIRST_DELAY_MS)
		delay = FIRST_DELAY_MS;
	return delay > max_ms ? max_ms : delay;
}

static void service_retry(struct service *s)
{
	timer_arm(s->timer, service_delay_ms(s->failed_lives, s->served_lives, s->spec.delay_max_ms));
}

/* A long life resets the counts. */
static void count_life(struct service *s)
{
	if (loop_now_ms(s->loop) - s->born_ms >= LONG_LIFE_MS)
		s->failed_lives = s->served_lives = 0;
	if (s->served)
		s->served_lives++;
	else
		s->failed_lives++;
}

void service_serves(struct service *s)
{
	s->served = true;
	s->failed_lives = 0;
}

static void on_exit_of_child(void *user, int events)
{
	struct service *s = user;
	siginfo_t si = { 0 };
	char how[64];

	(void)events;
	if (waitid(P_PIDFD, (id_t)s->pidfd, &si, WEXITED | WNOHANG) < 0 || si.si_pid == 0)
		return;
	watch_free(take_ptr(&s->watch));
	fd_close(take_fd(&s->pidfd));
	s->pid = 0;
	(void)snprintf(how, sizeof how, "%s %d", si.si_code == CLD_EXITED ? "exit" : "signal", si.si_status);
	count_life(s);
	log_at(s->stopping ? LOG_LVL_DEBUG : LOG_LVL_WARN,
	    s->stopping ? "helper exited" : "helper exited, restarting it", "name=%s how=%s", s->spec.name, how);
	s->ops->on_down(s->user, how);
	if (!s->stopping)
		service_retry(s);
}

static void on_timer(void *user)
{
	struct service *s = user;
	struct err e = ERR_INIT;

	if (s->stopping || s->pid)
		return;
	if (service_start(s, &e) < 0) {
		log_error("could not start a helper, retrying", "name=%s err=%s", s->spec.name, e.text);
		s->failed_lives++;
		service_retry(s);
	}
}

int service_new(struct loop *l, const struct service_spec *spec, const struct service_ops *ops, void *user,
    struct service **ret, struct err *e)
{
	struct service *s = calloc(1, sizeof *s);

	if (!s)
		return err_set(e, ENOMEM, "start %s: out of memory", spec->name);
	*s = (struct service) { .loop = l,
		.spec = *spec,
		.argv = { spec->exe, "--run", spec->run },
		.options = -1,
		.ops = ops,
		.user = user,
		.pidfd = -1 };
	s->timer = timer_new(l, on_timer, s);
	if (!s->timer)
		(void)err_set(e, ENOMEM, "start %s: out of memory", spec->name);
	if (!s->timer || options_seal(spec->name, spec->options, spec->options_size, &s->options, e) < 0) {
		service_free(s);
		return -e->no;
	}
	*ret = s;
	return 0;
}

int service_start(struct service *s, struct err *e)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "make a socket for %s", s->spec.name);
	autoclose int ours = pair[0], theirs = pair[1];
	pid_t pid = fork();
	if (pid < 0)
		return err_sys(e, "fork for %s", s->spec.name);
	if (pid == 0)
		child_main(s, theirs);
	s->pid = pid;
	s->served = false;
	s->born_ms = loop_now_ms(s->loop);
	s->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	s->watch = s->pidfd < 0 ? NULL : watch_new(s->loop, s->pidfd, WATCH_IN, on_exit_of_child, s);
	if (!s->watch) {
		(void)err_sys(e, "watch %s", s->spec.name);
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		fd_close(take_fd(&s->pidfd));
		s->pid = 0;
		return -e->no;
	}
	s->ops->on_up(s->user, take_fd(&ours));
	return 0;
}

void service_restart(struct service *s)
{
	if (s->pid)
		(void)kill(s->pid, SIGKILL);
}

void service_stop(struct service *s, bool now)
{
	s->stopping = true;
	timer_disarm(s->timer);
	if (now)
		service_restart(s);
}

bool service_running(const struct service *s)
{
	return s && s->pid != 0;
}

pid_t service_pid(const struct service *s)
{
	return s->pid;
}

void service_free(struct service *s)
{
	if (!s)
		return;
	watch_free(s->watch);
	timer_free(s->timer);
	fd_close(s->pidfd);
	fd_close(s->options);
	free(s);
}

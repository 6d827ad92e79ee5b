/* SPDX-License-Identifier: Apache-2.0 */
/* pull: a program per image, with a socket to the front. */
#include "warden/service/pull.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "loop/loop.h"
#include "warden/aside.h"
#include "warden/front_send.h"
#include "warden/handlers.h"
#include "warden/layout.h"
#include "warden/link.h"
#include "warden/warden.h"

#define PULLS_MAX 8
#define TALK_FD 3
#define HIGH_FD 32
#define ARGS_MAX 16

static size_t put_what(const struct msg_pull *m, const char **argv, size_t n, char idle[24])
{
	if (m->what == PULL_UPLOAD) {
		argv[n++] = "--upload";
	} else if (m->what == PULL_IMAGE) {
		argv[n++] = "--";
		argv[n++] = m->ref;
	} else {
		argv[n++] = "--gc";
		argv[n++] = "--images";
		if (m->idle_s) {
			(void)snprintf(idle, 24, "%u", m->idle_s);
			argv[n++] = "--idle-s";
			argv[n++] = idle;
		}
	}
	return n;
}

/* Makes these fds the first ones of the program. -1: none. Returns the program's own. */
static int place_fds(const struct warden *w, int talk)
{
	int from[] = { talk, w->pull.options, w->pull.exe_fd };

	/* first above all targets, so that none overwrites another */
	for (size_t i = 0; i < ARRAY_LEN(from); i++) {
		if (from[i] >= 0 && (from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, HIGH_FD)) < 0)
			_exit(1);
	}
	if ((talk >= 0 && dup2(from[0], TALK_FD) < 0) || dup2(from[1], OPTIONS_FD) < 0)
		_exit(1);
	return from[2];
}

/* In the child. m: NULL if there is no image; what: "--check" or "--gc". talk: the fd that becomes TALK_FD; -1:
 * none. */
static __attribute__((noreturn)) void child_main(const struct warden *w, const struct msg_pull *m, const char *what,
    int talk, pid_t warden)
{
	static const char *argv[ARGS_MAX] = { "atoll-pull" };
	char idle[24];
	size_t n = 1;

	_Static_assert(TALK_FD == 3 && OPTIONS_FD == 4, "as the arguments say");
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0); /* it cleans up before it exits */
	if (getppid() != warden)
		_exit(1);
	aside_signals();
	if (m) { /* first: it is where an error with the settings is reported */
		argv[n++] = "--talk";
		argv[n++] = "3";
	}
	argv[n++] = "--settings";
	argv[n++] = "4";
	if (m)
		n = put_what(m, argv, n, idle);
	else
		argv[n++] = what;
	argv[n] = NULL;
	autoclose int null = m ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC); /* stdout is the operator's */

	if (null >= 0)
		(void)dup2(null, STDOUT_FILENO);
	int exe = place_fds(w, talk);
	char *const env[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL };

	(void)execveat(exe, "", (char *const *)(uintptr_t)argv, env, AT_EMPTY_PATH);
	_exit(1);
}

/* Opens the program once: its options are of the same build, also after an upgrade has replaced the file. */
static int find_program(struct warden *w, struct err *e)
{
	char path[PATH_MAX];

	if (w->pull.exe_fd >= 0)
		return 0;
	return layout_program(w->cfg.libexec, "atoll-pull", path, sizeof path, &w->pull.exe_fd, e);
}

int pull_open(struct warden *w, struct err *e)
{
	struct pull_options options;
	struct err none = ERR_INIT;
	pid_t self = getpid();
	int status = 0;

	config_for_pull(&w->cfg, &options);
	if (options_seal("atoll-pull", &options, sizeof options, &w->pull.options, e) < 0)
		return -e->no;
	bool found = find_program(w, &none) == 0; /* else each pull fails, and says why */

	if (!options.registry_mirrors[0] && !options.registries[0])
		return 0;
	if (!found)
		return err_set(e, none.no, "%s", none.text);
	pid_t pid = fork();

	if (pid == 0)
		child_main(w, NULL, "--check", -1, self);
	if (pid < 0)
		return err_sys(e, "fork for a check of registries");
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0 ? 0 : err_set(e, EINVAL, "registry_mirrors or registries: not as they should be, see above");
}

static void on_end(void *arg)
{
	struct warden *w = arg;

	w->pull.n--;
}

static int begin(struct warden *w, const struct msg_pull *m, int *ret_fd, struct err *e)
{
	autoclose int client = -1;
	pid_t self = getpid();
	int sock[2];

	if (w->pull.n == PULLS_MAX)
		return err_set(e, EBUSY, "%d images are being pulled already", PULLS_MAX);
	if (find_program(w, e) < 0)
		return -e->no;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock) < 0)
		return err_sys(e, "make a socket");
	client = sock[0];
	pid_t pid = fork();

	if (pid == 0)
		child_main(w, m, NULL, sock[1], self);
	(void)close(sock[1]);
	if (pid < 0)
		return err_sys(e, "fork for an image");
	if (aside_watch(w->loop, pid, on_end, w) < 0) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		return err_set(e, ENOMEM, "out of memory");
	}
	w->pull.n++;
	*ret_fd = take_fd(&client);
	return 0;
}

static bool has_entries(const char *cache, const char *name)
{
	char path[PATH_MAX + 64];
	bool found = false;

	(void)snprintf(path, sizeof path, "%s/images/%s", cache, name);
	DIR *d = opendir(path);

	for (struct dirent *de; d && !found && (de = readdir(d));)
		found = de->d_name[0] != '.';
	if (d)
		(void)closedir(d);
	return found;
}

void pull_tidy(struct warden *w)
{
	struct err e = ERR_INIT;
	pid_t self = getpid();

	if (!has_entries(w->cfg.cache, "trash") && !has_entries(w->cfg.cache, "work"))
		return;
	if (find_program(w, &e) < 0) {
		log_warn("could not delete the remains of images", "err=%s", e.text);
		return;
	}
	pid_t pid = fork();

	if (pid == 0)
		child_main(w, NULL, "--gc", -1, self);
	if (pid < 0)
		log_warn("could not delete the remains of images", "err=%s", strerror(errno));
	else
		aside_forget(w->loop, pid);
}

void op_pull(struct warden *w, const void *msg)
{
	const struct msg_pull *m = msg;
	struct msg_ok re = { .head = { MSG_VERSION, RE_OK, m->head.seq } };
	struct err e = ERR_INIT;
	int fd = -1;

	static const char *const whats[PULL_WHATS] = { "pull an image", "take an archive", "tidy the images" };

	log_info(whats[m->what], "ref=%s request=%s", m->ref, m->request);
	if (begin(w, m, &fd, &e) < 0)
		front_error(w, w->life, m->head.seq, e.no, e.text);
	else
		link_send(w->link, &re, sizeof re, fd);
}

int pull_check(const struct warden *w, const char *key, struct err *e)
{
	char path[PATH_MAX + 64], text[4096];

	(void)snprintf(path, sizeof path, "%s/templates/%s/info", w->cfg.cache, key);
	ssize_t n = file_read(AT_FDCWD, path, text, sizeof text);

	if (n <= 0 || strncmp(text, "image=", 6) != 0)
		return err_set(e, ENOENT, "no image '%s' in the cache", key);
	return 0;
}

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
#include "warden/front.h"
#include "warden/handlers.h"
#include "warden/layout.h"
#include "warden/link.h"
#include "warden/warden.h"

#define PULLS_MAX 8
#define TALK_FD 3
#define ARGS_MAX 32

static size_t put_args(const struct warden *w, const char **argv, char text[2][24])
{
	const struct config *c = &w->cfg;
	size_t n = 0;

	argv[n++] = "atoll-pull";
	argv[n++] = "--cache";
	argv[n++] = c->cache;
	argv[n++] = "--state";
	argv[n++] = c->state;
	(void)snprintf(text[0], sizeof text[0], "%llu", (unsigned long long)c->image_max_mb);
	(void)snprintf(text[1], sizeof text[1], "%llu", (unsigned long long)c->image_cache_mb);
	argv[n++] = "--max-mb";
	argv[n++] = text[0];
	argv[n++] = "--cache-mb";
	argv[n++] = text[1];
	if (c->registry_mirrors[0]) {
		argv[n++] = "--mirror";
		argv[n++] = c->registry_mirrors;
	}
	if (c->registries[0]) {
		argv[n++] = "--registry";
		argv[n++] = c->registries;
	}
	return n;
}

static size_t put_what(const struct msg_pull *m, const char **argv, size_t n, char idle[24])
{
	argv[n++] = "--talk";
	argv[n++] = "3";
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

/* In the child. m: NULL if there is no image; what: "--check" or "--gc". talk: the fd that becomes TALK_FD; -1:
 * none. */
static __attribute__((noreturn)) void child_main(const struct warden *w, const struct msg_pull *m, const char *what,
    int exe_fd, int talk, pid_t warden)
{
	static const char *argv[ARGS_MAX];
	char text[2][24], idle[24];
	size_t n = put_args(w, argv, text);

	(void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0); /* it cleans up before it exits */
	if (getppid() != warden)
		_exit(1);
	aside_signals();
	if (m)
		n = put_what(m, argv, n, idle);
	else
		argv[n++] = what;
	argv[n] = NULL;
	autoclose int null = m ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC); /* stdout is the operator's */

	if (null >= 0)
		(void)dup2(null, STDOUT_FILENO);
	int exe = fcntl(exe_fd, F_DUPFD_CLOEXEC, 32); /* must not collide with the fd that is passed on */

	if (exe < 0 || (talk >= 0 && talk != TALK_FD && dup2(talk, TALK_FD) < 0) ||
	    (talk == TALK_FD && fd_cloexec(talk, false) < 0))
		_exit(1);
	char *const env[] = { "PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL };

	(void)execveat(exe, "", (char *const *)(uintptr_t)argv, env, AT_EMPTY_PATH);
	_exit(1);
}

int pull_check_config(const struct warden *w, struct err *e)
{
	char path[PATH_MAX];
	autoclose int exe = -1;
	pid_t self = getpid();
	int status = 0;

	if (!w->cfg.registry_mirrors[0] && !w->cfg.registries[0])
		return 0;
	if (layout_program(w->cfg.libexec, "atoll-pull", path, sizeof path, &exe, e) < 0)
		return -e->no;
	pid_t pid = fork();

	if (pid == 0)
		child_main(w, NULL, "--check", exe, -1, self);
	if (pid < 0)
		return err_sys(e, "fork for a check of registries");
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0 ? 0 : err_set(e, EINVAL, "registry_mirrors or registries: not as they should be, see above");
}

static void on_end(void *arg)
{
	struct warden *w = arg;

	w->n_pulls--;
}

static int begin(struct warden *w, const struct msg_pull *m, int *ret_fd, struct err *e)
{
	char path[PATH_MAX];
	autoclose int exe = -1, client = -1;
	pid_t self = getpid();
	int sock[2];

	if (w->n_pulls == PULLS_MAX)
		return err_set(e, EBUSY, "%d images are being pulled already", PULLS_MAX);
	if (layout_program(w->cfg.libexec, "atoll-pull", path, sizeof path, &exe, e) < 0)
		return -e->no;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock) < 0)
		return err_sys(e, "make a socket");
	client = sock[0];
	pid_t pid = fork();

	if (pid == 0)
		child_main(w, m, NULL, exe, sock[1], self);
	(void)close(sock[1]);
	if (pid < 0)
		return err_sys(e, "fork for an image");
	if (aside_watch(w->loop, pid, on_end, w) < 0) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		return err_set(e, ENOMEM, "out of memory");
	}
	w->n_pulls++;
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
	char path[PATH_MAX];
	autoclose int exe = -1;
	struct err e = ERR_INIT;
	pid_t self = getpid();

	if (!has_entries(w->cfg.cache, "trash") && !has_entries(w->cfg.cache, "work"))
		return;
	if (layout_program(w->cfg.libexec, "atoll-pull", path, sizeof path, &exe, &e) < 0) {
		log_warn("could not delete the remains of images", "err=%s", e.text);
		return;
	}
	pid_t pid = fork();

	if (pid == 0)
		child_main(w, NULL, "--gc", exe, -1, self);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* ckpt: the helper process atoll-ckpt, and the engine's requests to it. */
#include "engine/ckpt/ckpt.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "engine/cgroup/impl.h"
#include "engine/ckpt/criu.h"
#include "engine/disk/storage.h"
#include "engine/net/nft.h"
#include "engine/ns.h"

#define STOP_MS 5000
#define GONE "atoll-ckpt has ended; restart the server"
#define AGAIN_NS 100000000 /* between the death of one helper and the start of the next */

enum op { OP_CHECKPOINT = 1, OP_RESTORE, OP_AHEAD };

struct request { /* sent with one fd: the socket for the reports */
	uint32_t op;
	bool brief; /* checkpoint only */
	char name[ENGINE_NAME_SIZE];
	struct engine_record record; /* restore: only its spec is set; ahead: only its template's key */
};

/* --- the helper --------------------------------------------------------------------------------------------- */

static void set_up(struct engine *en, int sock)
{
	const struct cgroup_tree *t = en->cgroups;
	int keep[2 * CGROUP_V1_MAX + 13] = {
		sock,
		en->private_fd,
		en->holders_fd,
		en->templates_fd,
		en->init_fd,
		en->netns_fd,
		en->tools_fd,
		en->criu_run_fd,
		t->v2_fd,
		storage_for_helper(en->storage),
		en->bases_fd,
		t->v2_root_fd,
		en->view.dir,
	};
	sigset_t none;
	struct err e = ERR_INIT;

	memcpy(keep + 13, t->v1_fd, sizeof t->v1_fd);
	memcpy(keep + 13 + CGROUP_V1_MAX, t->v1_root_fd, sizeof t->v1_root_fd);
	fd_close_others(keep, ARRAY_LEN(keep));
	(void)prctl(PR_SET_NAME, "atoll-ckpt", 0, 0, 0);
	(void)setsid();
	for (int s = 1; s < NSIG; s++)
		(void)signal(s, s == SIGPIPE ? SIG_IGN : SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	en->nft_fd = -1; /* it is the warden's: see work() */
	en->init_now.fd = en->init_fd;
	if (image_sum_init(&en->init_now, &e) < 0)
		log_warn("a restore has to compare init with that of its checkpoint", "why=%s", e.text);
}

static _Noreturn void work(struct engine *en, const struct request *rq, int answer)
{
	struct ckpt_report rp;

	(void)signal(SIGCHLD, SIG_DFL);
	memset(&rp, 0, sizeof rp);
	if (rq->op == OP_AHEAD) {
		ahead_run(en, rq->record.spec.template_key);
		_exit(0);
	}
	en->nft_fd = nft_open();                      /* of this process alone: another would read its replies */
	if (cgroup_tree_mend(en->cgroups, &rp.e) < 0) /* our fds are not the warden's */
		rp.how = CKPT_FAILED;
	else if (rq->op == OP_CHECKPOINT)
		rp.how = dump_run(en, &rq->record, rq->name, rq->brief, answer, &rp.image, &rp.e) == 0 ? CKPT_DONE
												       : CKPT_FAILED;
	else
		(void)restore_run(en, &rq->record.spec, answer, &rp.e);
	_exit(fd_send(answer, &rp, sizeof rp, NULL, 0) == (ssize_t)sizeof rp ? 0 : 1);
}

static void refuse(int answer, int no)
{
	struct ckpt_report rp = { 0 };

	(void)err_set(&rp.e, no, "fork: %s", strerror(no));
	(void)fd_send(answer, &rp, sizeof rp, NULL, 0);
}

/* Runs in a child, so that no request waits for it. A failure costs nothing: the first restore then does the
 * checks itself. */
static void learn(struct engine *en, int sock)
{
	struct err e = ERR_INIT;

	if (fork() != 0)
		return;
	(void)signal(SIGCHLD, SIG_DFL);
	fd_close(sock);
	if (criu_learn(en->tools_fd, en->criu_run_fd, en->stage_dir, &e) < 0)
		log_warn("criu could not check the kernel's features", "why=%s", e.text);
	_exit(0);
}

enum over { LAST_CLIENT, LAST_KEEPER };

/* Waits for a request, or for the exit of the keeper, which would start a successor of this process. Returns false
 * for the latter. */
static bool keeper_lives(int sock, int keeper)
{
	struct pollfd p[] = { { .fd = sock, .events = POLLIN }, { .fd = keeper, .events = POLLIN } };

	while (poll(p, ARRAY_LEN(p), -1) < 0 && errno == EINTR)
		;
	return !p[1].revents;
}

/* Returns with its last client, or its keeper. Requests in progress continue: see ckpt.h. */
static enum over serve(struct engine *en, int sock, int keeper)
{
	struct request rq;

	(void)signal(SIGCHLD, SIG_IGN); /* no wait() for them: they send their reports themselves */
	learn(en, sock);
	while (keeper_lives(sock, keeper)) {
		size_t n_fds = 0;
		autoclose int answer = -1;
		ssize_t n = fd_recv(sock, &rq, sizeof rq, &answer, 1, &n_fds);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return LAST_CLIENT;
		if (n != (ssize_t)sizeof rq || n_fds != 1)
			continue;
		pid_t pid = fork();

		if (pid == 0) {
			fd_close(sock);
			fd_close(keeper);
			work(en, &rq, answer);
		}
		if (pid < 0)
			refuse(answer, errno);
	}
	return LAST_KEEPER;
}

/* Waits for that child, and reaps others meanwhile: a process that took over has more than one. */
static int wait_for(pid_t pid)
{
	int status = 0;
	pid_t got;

	do
		got = waitpid(-1, &status, 0);
	while (got != pid && (got > 0 || errno == EINTR));
	return status;
}

/* The warden could not fork another helper: it has a seccomp filter by then. So one process, the keeper, waits
 * here to do that, and does nothing else. A request made meanwhile stays queued in the socket for the next helper,
 * and requests in progress continue, since they do not depend on their parent. If the keeper dies, the serving
 * process takes its place and forks another one to serve. */
static void keep_serving(struct engine *en, int sock)
{
	(void)signal(SIGCHLD, SIG_DFL);
	for (;;) {
		autoclose int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
		pid_t pid = self < 0 ? -1 : fork();

		if (pid == 0) {
			if (serve(en, sock, self) == LAST_CLIENT)
				_exit(0);
			log_error("the outer process of atoll-ckpt was killed, taking its place", "pid=%d",
			    (int)getpid());
			fd_close(take_fd(&self));
			keep_serving(en, sock);
			_exit(0);
		}
		int status = pid < 0 ? 0 : wait_for(pid);

		if (pid > 0 && WIFEXITED(status))
			return;
		log_error(pid < 0 ? "cannot fork atoll-ckpt, retrying" : "atoll-ckpt was killed, starting another",
		    "status=%d", status);
		(void)nanosleep(&(struct timespec) { .tv_nsec = AGAIN_NS }, NULL);
	}
}

/* --- the engine's side -------------------------------------------------------------------------------------- */

static void find_tools(struct engine *en, struct ckpt *c)
{
	char path[ENGINE_KEY_SIZE + 16];

	if (!en->cfg.tools_key || !en->cfg.tools_key[0]) {
		(void)snprintf(c->why_not, sizeof c->why_not, "CRIU is not installed ('atoll doctor' tells more)");
		return;
	}
	(void)snprintf(path, sizeof path, "%s/rootfs", en->cfg.tools_key);
	en->tools_fd = openat(en->templates_fd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (en->tools_fd < 0)
		(void)snprintf(c->why_not, sizeof c->why_not, "the tools' root '%s' is gone", en->cfg.tools_key);
}

int ckpt_start(struct engine *en, struct ckpt *ret, struct err *e)
{
	int sock[2];

	find_tools(en, ret);
	if (en->tools_fd < 0)
		return 0;
	if (mkdirat(en->private_fd, "criu", 0755) < 0)
		return err_sys(e, "make a directory for criu");
	en->criu_run_fd = openat(en->private_fd, "criu", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (en->criu_run_fd < 0)
		return err_sys(e, "open the directory for criu");
	if (criu_prepare(en->criu_run_fd, e) < 0)
		return -e->no;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0)
		return err_sys(e, "make a socket pair");
	pid_t pid = fork();

	if (pid == 0) {
		close(sock[0]);
		set_up(en, sock[1]);
		keep_serving(en, sock[1]);
		_exit(0);
	}
	close(sock[1]);
	if (pid < 0) {
		close(sock[0]);
		return err_sys(e, "fork atoll-ckpt");
	}
	ret->sock = sock[0];
	ret->pid = pid;
	ret->was_there = true;
	return 0;
}

static void reap(struct ckpt *c)
{
	int status;

	if (c->pid > 0 && waitpid(c->pid, &status, WNOHANG) == c->pid)
		c->pid = -1;
}

void ckpt_tick(struct ckpt *c)
{
	struct pollfd p = { .fd = c->sock, .events = POLLHUP };

	reap(c);
	if (c->sock < 0 || poll(&p, 1, 0) <= 0 || !(p.revents & POLLHUP))
		return;
	(void)snprintf(c->why_not, sizeof c->why_not, GONE);
	log_error("atoll-ckpt is gone: until the server restarts, the memory of sandboxes is neither written to disk "
		  "nor restored",
	    "pid=%d", (int)getpid());
	fd_close(c->sock);
	c->sock = -1;
}

/* All helpers exit once no client is left, and the other end of the socket closes with the last of them. */
void ckpt_stop(struct ckpt *c)
{
	struct pollfd p = { .fd = c->sock, .events = POLLIN };
	int status;

	if (c->sock >= 0 && shutdown(c->sock, SHUT_WR) == 0)
		(void)poll(&p, 1, STOP_MS);
	fd_close(c->sock);
	while (c->pid > 0 && waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	c->sock = -1;
	c->pid = -1;
}

/* Receives one report. -EPIPE: the other side has exited. */
static int hear(int sock, struct ckpt_report *ret, int *ret_fd, size_t want_fds, struct err *e)
{
	size_t n_fds = 0;
	ssize_t n = fd_recv(sock, ret, sizeof *ret, ret_fd, want_fds, &n_fds);

	if (n < 0)
		return err_set(e, (int)-n, "hear from atoll-ckpt: %s", strerror((int)-n));
	if (n != (ssize_t)sizeof *ret || n_fds != (ret->how == CKPT_DONE ? want_fds : 0)) {
		if (n_fds)
			fd_close(*ret_fd);
		return err_set(e, EPIPE, "atoll-ckpt ended without a word");
	}
	if (ret->how != CKPT_FAILED)
		return 0;
	ret->e.text[sizeof ret->e.text - 1] = '\0';
	*e = ret->e;
	return e->no > 0 ? -e->no : err_set(e, EIO, "atoll-ckpt failed without saying why");
}

/* Each request has its own socket for its reports, so that callers do not read each other's. */
static int ask(struct ckpt *c, const struct request *rq, int *ret_sock, struct err *e)
{
	int pair[2];

	if (c->sock < 0)
		return err_set(e, c->was_there ? ESHUTDOWN : ENOTSUP,
		    "the memory of a sandbox cannot be written to disk here: %s", c->why_not);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "make a socket pair");
	ssize_t n = fd_send(c->sock, rq, sizeof *rq, &pair[1], 1);

	close(pair[1]);
	if (n == -EPIPE || n == -ECONNRESET) {
		close(pair[0]);
		return err_set(e, ESHUTDOWN, GONE);
	}
	if (n < 0) {
		close(pair[0]);
		return err_set(e, (int)-n, "ask atoll-ckpt: %s", strerror((int)-n));
	}
	*ret_sock = pair[0];
	return 0;
}

int ckpt_checkpoint(struct engine *en, const struct engine_record *r, const char *name, bool brief,
    void (*released)(void *arg), void *arg, struct engine_image *ret, struct err *e)
{
	struct request rq = { .op = OP_CHECKPOINT, .brief = brief, .record = *r };
	struct ckpt_report rp;
	autoclose int sock = -1;

	if (!name[0] || !str_copy(rq.name, sizeof rq.name, str_of(name)))
		return err_set(e, EINVAL, "'%s' is no name for an image", name);
	uint64_t room;

	if (en->ckpt.sock >= 0 && (dump_room(en, r, &room, e) < 0 || storage_make_room(en->storage, room, e) < 0))
		return -e->no;
	if (ask(&en->ckpt, &rq, &sock, e) < 0)
		return -e->no;
	for (;;) {
		if (hear(sock, &rp, NULL, 0, e) < 0)
			return -e->no;
		if (rp.how == CKPT_DONE)
			break;
		released(arg);
	}
	*ret = rp.image;
	return 0;
}

void ckpt_ahead(struct engine *en, const char *template_key)
{
	struct request rq = { .op = OP_AHEAD };
	struct err ignored = ERR_INIT;
	autoclose int sock = -1;

	if (str_copy(rq.record.spec.template_key, sizeof rq.record.spec.template_key, str_of(template_key)))
		(void)ask(&en->ckpt, &rq, &sock, &ignored);
}

int ckpt_restore(struct engine *en, const struct engine_spec *spec, struct engine_record *ret, int *ret_pidfd,
    struct err *e)
{
	struct request rq = { .op = OP_RESTORE, .record = { .spec = *spec } };
	struct ckpt_report rp;
	autoclose int sock = -1;
	int fd = -1;

	if (ask(&en->ckpt, &rq, &sock, e) < 0 || hear(sock, &rp, &fd, 1, e) < 0)
		return -e->no;
	*ret = rp.record;
	*ret_pidfd = fd;
	return 0;
}

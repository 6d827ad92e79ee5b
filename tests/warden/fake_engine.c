/* SPDX-License-Identifier: Apache-2.0 */
/* An engine whose sandboxes are sleeping processes: shows what the warden does, without a kernel's help.
 *
 * Ids that begin with "fail" are refused, with "crash" the builder dies, with "half" it dies after it has
 * made the process. Its reap() wants to be asked more than once, as the real one does. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "engine/engine.h"

struct engine {
	int reaps;
	char dir[256]; /* a file per process, so that half-made ones are found again */
};

static void pid_path(const struct engine *en, const char *id, char out[300])
{
	(void)snprintf(out, 300, "%s/fake-%s", en->dir, id);
}

static pid_t pid_of(const struct engine *en, const char *id)
{
	char path[300], text[16];

	pid_path(en, id, path);
	return file_read(AT_FDCWD, path, text, sizeof text) > 0 ? (pid_t)atoi(text) : 0;
}

#define FAKE_SENT 4711 /* what every sandbox sends; torture.c knows it, too */

/* Not a zombie: who collects it is up to the host. */
static bool alive(pid_t pid)
{
	char path[32], text[512];

	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	if (pid <= 0 || file_read(AT_FDCWD, path, text, sizeof text) < 0)
		return false;
	const char *end = strrchr(text, ')');
	return end && end[2] != 'Z' && end[2] != 'X';
}

static int fake_open(const struct engine_config *cfg, const struct engine_record *live, size_t n, struct engine **ret,
    struct err *e)
{
	(void)live;
	(void)n;
	*ret = calloc(1, sizeof **ret);
	if (!*ret)
		return err_set(e, ENOMEM, "out of memory");
	(void)snprintf((*ret)->dir, sizeof(*ret)->dir, "%s", cfg->run_dir);
	return 0;
}

static int fake_restore(struct engine *en, const struct engine_spec *spec, struct engine_record *ret, int *ret_pidfd,
    struct err *e)
{
	char path[300], text[16];

	if (strncmp(spec->id, "fail", 4) == 0)
		return err_set(e, ENOSPC, "told to fail");
	if (strncmp(spec->id, "crash", 5) == 0)
		_exit(3);
	pid_t pid = fork();
	if (pid < 0)
		return err_sys(e, "fork");
	if (pid == 0) {
		(void)syscall(SYS_close_range, 3u, ~0u, 0u);
		for (;;)
			(void)pause();
	}
	pid_path(en, spec->id, path);
	(void)snprintf(text, sizeof text, "%d", (int)pid);
	autoclose int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0 || fd_write_all(fd, text, strlen(text)) < 0)
		return err_sys(e, "note the pid");
	if (strncmp(spec->id, "half", 4) == 0)
		_exit(3);
	ret->spec = *spec;
	ret->pid = pid;
	ret->started_wall_ms = clock_wall_ms();
	*ret_pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	return *ret_pidfd < 0 ? err_sys(e, "open the pidfd") : 0;
}

static int fake_start(struct engine *en, const struct engine_spec *spec, const struct engine_pair *pair,
    struct engine_record *ret, int *ret_pidfd, struct err *e)
{
	(void)pair;
	return fake_restore(en, spec, ret, ret_pidfd, e);
}

static int fake_adopt(struct engine *en, const struct engine_record *r, int *ret_pidfd, struct err *e)
{
	pid_t pid = pid_of(en, r->spec.id);

	if (!alive(pid) || pid != r->pid || (*ret_pidfd = (int)syscall(SYS_pidfd_open, pid, 0)) < 0)
		return err_set(e, ESRCH, "gone");
	return 0;
}

static int fake_connect(struct engine *en, const struct engine_record *r, int pidfd, int *ret_fd, struct err *e)
{
	int pair[2];

	(void)en;
	(void)r;
	(void)pidfd;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "socketpair");
	(void)!write(pair[0], "hi", 2);
	fd_close(pair[0]);
	*ret_fd = pair[1];
	return 0;
}

/* Its init rings all the time. */
static int fake_bell(struct engine *en, const struct engine_record *r, int pidfd, int *ret_fd, struct err *e)
{
	(void)en;
	(void)r;
	(void)pidfd;
	*ret_fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	return *ret_fd < 0 ? err_sys(e, "eventfd") : 0;
}

/* A seed that soon exits, of a maker that may still be at work when the sandbox is frozen or killed. */
static int fake_seed(struct engine *en, const struct engine_record *r, int pidfd, int bell,
    int (*made)(void *arg, int seed), void *arg, struct err *e)
{
	pid_t pid = fork();

	(void)en;
	if (pid < 0)
		return err_sys(e, "fork");
	if (pid == 0) {
		(void)usleep(5000);
		_exit(0);
	}
	int seed = fcntl(bell, F_GETFD) < 0 || fcntl(pidfd, F_GETFD) < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
	int no = seed < 0 ? errno : -made(arg, seed);

	(void)usleep((useconds_t)(r->pid % 7) * 1000);
	return no ? err_set(e, no, "report the seed") : 0;
}

static int fake_dial(struct engine *en, const struct engine_record *r, int pidfd, uint16_t port, bool v6, int *ret_fd,
    struct err *e)
{
	(void)v6;
	return port == 1 ? err_set(e, EADDRNOTAVAIL, "no such address") : fake_connect(en, r, pidfd, ret_fd, e);
}

static int fake_network(struct engine *en, const struct engine_record *r, bool no_internet,
    const struct engine_policy *p, struct err *e)
{
	(void)p;
	(void)en;
	(void)r;
	(void)no_internet;
	(void)e;
	return 0;
}

static int fake_limit(struct engine *en, const struct engine_record *r, const struct engine_limits *to, struct err *e)
{
	(void)en;
	(void)r;
	return to->pids == 13 ? err_set(e, EBUSY, "an unlucky number") : 0;
}

static int fake_oom_watch(struct engine *en, const struct engine_record *r, int *ret_fd, struct err *e)
{
	(void)en;
	(void)r;
	*ret_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return *ret_fd < 0 ? err_sys(e, "eventfd") : 0;
}

static int fake_hurry(struct engine *en, const struct engine_record *r, bool on)
{
	(void)en;
	(void)r;
	(void)on;
	return 0;
}

static int fake_freeze(struct engine *en, const struct engine_record *r, bool on, struct err *e)
{
	(void)en;
	return kill(r->pid, on ? SIGSTOP : SIGCONT) < 0 ? err_sys(e, "signal") : 0;
}

static int fake_kill(struct engine *en, const struct engine_record *r, int pidfd, struct err *e)
{
	pid_t pid = pid_of(en, r->spec.id);

	(void)pidfd;
	if (!alive(pid))
		return err_set(e, ESRCH, "gone");
	return kill(pid, SIGKILL) < 0 ? err_sys(e, "kill") : 0;
}

static int fake_usage(struct engine *en, const struct engine_record *r, struct engine_usage *ret, struct err *e)
{
	(void)e;
	*ret = (struct engine_usage) { .mem_bytes = 4096, .pids = 1 };
	if (alive(pid_of(en, r->spec.id))) /* as a link, which the kernel takes away with the last process */
		ret->sent_bytes = FAKE_SENT;
	return 0;
}

static int fake_warm(struct engine *en, const char *template_key, struct err *e)
{
	(void)en;
	(void)template_key;
	(void)e;
	return ENGINE_NEVER;
}

static int fake_reap(struct engine *en, const struct engine_record *r, struct err *e)
{
	char path[300];

	if (en->reaps++ % 3 != 2 || alive(pid_of(en, r->spec.id)))
		return err_set(e, EAGAIN, "not yet");
	pid_path(en, r->spec.id, path);
	(void)unlink(path);
	return 0;
}

static int fake_snapshot(struct engine *en, const struct engine_record *r, const char *name, struct err *e)
{
	(void)en;
	(void)r;
	return strcmp(name, "kfull") == 0 ? err_set(e, ENOSPC, "the disk is full") : 0;
}

/* Until the front of torture has noted that line: everything which must meet a checkpoint has reached the warden. */
static void wait_for(const char *line)
{
	const char *dir = getenv("ATOLL_TORTURE");
	char path[300], text[32768];

	(void)snprintf(path, sizeof path, "%s/notes", dir ? dir : "");
	while (file_read(AT_FDCWD, path, text, sizeof text) >= 0 && !strstr(text, line))
		(void)usleep(1000);
}

/* Needs it until it may go on; or ends without a word. */
static int fake_checkpoint(struct engine *en, const struct engine_record *r, const char *name, bool brief,
    void (*released)(void *arg), void *arg, struct engine_image *ret, struct err *e)
{
	(void)en;
	(void)r;
	(void)e;
	(void)brief;
	if (strcmp(name, "kcrash") == 0)
		_exit(1);
	wait_for("\ngo\n");
	released(arg);
	if (strcmp(name, "kslow") == 0)
		wait_for("\nkept meanwhile\n");
	if (strcmp(name, "ksync") == 0)
		wait_for("\ntaken over\n");
	*ret = (struct engine_image) { .bytes = 4096, .dump_us = 7 };
	return 0;
}

static int fake_forget(struct engine *en, const char *name, struct err *e)
{
	(void)en;
	return strcmp(name, "kbusy") == 0 ? err_set(e, EAGAIN, "busy") : 0;
}

static int fake_kept(struct engine *en, void (*fn)(void *arg, const char *name, bool disk, bool memory), void *arg,
    struct err *e)
{
	(void)en;
	(void)e;
	fn(arg, "kone", true, false);
	fn(arg, "ktwo", true, true);
	fn(arg, "not a name", true, true);
	return 0;
}

static int fake_volume_set(struct engine *en, const char *name, uint64_t bytes, struct err *e)
{
	(void)en;
	(void)bytes;
	if (strcmp(name, "vcrash") == 0)
		_exit(1);
	return strcmp(name, "vfull") == 0 ? err_set(e, ENOSPC, "the disk is full") : 0;
}

static int fake_volume_drop(struct engine *en, const char *name, struct err *e)
{
	(void)en;
	return strcmp(name, "vbusy") == 0 ? err_set(e, EAGAIN, "busy") : 0;
}

static int fake_volumes(struct engine *en, void (*fn)(void *arg, const char *name, uint64_t used_bytes), void *arg,
    struct err *e)
{
	(void)en;
	(void)e;
	fn(arg, "vone", 4096);
	fn(arg, "not a name", 0);
	return 0;
}

/* Says where it is, and waits for the end of the connection. */
static int fake_volume_serve(struct engine *en, const char *name, uint32_t place, int sock, struct err *e)
{
	char c = (char)place;

	(void)en;
	if (strcmp(name, "vnone") == 0)
		return err_set(e, ENOENT, "no such volume");
	int conn = dup2(sock, 3);

	(void)syscall(SYS_close_range, 4u, ~0u, 0u);
	(void)!write(conn, &c, 1);
	while (read(conn, &c, 1) > 0)
		;
	_exit(0);
}

static const char *fake_no_checkpoint(struct engine *en)
{
	(void)en;
	return NULL;
}

static void fake_tick(struct engine *en)
{
	(void)en;
}

static void fake_close(struct engine *en, bool all)
{
	(void)all;
	free(en);
}

static int fake_mend(struct engine *en, struct err *e)
{
	(void)en;
	(void)e;
	return 0;
}

const struct engine_ops engine_host = {
	.mend = fake_mend,
	.name = "fake",
	.open = fake_open,
	.start = fake_start,
	.adopt = fake_adopt,
	.connect = fake_connect,
	.bell = fake_bell,
	.seed = fake_seed,
	.dial = fake_dial,
	.freeze = fake_freeze,
	.network = fake_network,
	.limit = fake_limit,
	.oom_watch = fake_oom_watch,
	.hurry = fake_hurry,
	.restore = fake_restore,
	.snapshot = fake_snapshot,
	.checkpoint = fake_checkpoint,
	.forget = fake_forget,
	.kept = fake_kept,
	.no_checkpoint = fake_no_checkpoint,
	.volume_set = fake_volume_set,
	.volume_drop = fake_volume_drop,
	.volumes = fake_volumes,
	.volume_serve = fake_volume_serve,
	.kill = fake_kill,
	.usage = fake_usage,
	.reap = fake_reap,
	.warm = fake_warm,
	.tick = fake_tick,
	.close = fake_close,
};

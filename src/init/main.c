/* SPDX-License-Identifier: Apache-2.0 */
/* atoll-init: pid 1 of a sandbox. It reaps processes and serves the envd API on an abstract unix socket.
 *
 * The builder finishes everything around it (mounts, network, limits, capabilities, seccomp) before it is executed. Its
 * environment:
 *	PATH			of every command
 *	ATOLL_READY_FD=3	gets one byte when init listens, and is closed
 *	ATOLL_SEED_FD=N		a socket to a warm interpreter that joins the sandbox (init/interp/seed.h)
 *	ATOLL_TOKEN_FD=N	holds the 32 bytes of the sandbox's token: the kernel is not the host's, so the API is
 *				served behind the gate, on a TCP port (init/gate/gate.h)
 *	ATOLL_LISTEN_FD=N	a listening socket to use instead of its own (outside a sandbox: tests)
 *	ATOLL_INIT_TEST=1	with ATOLL_LISTEN_FD: any peer may call, not only those from outside the pid namespace
 *	ATOLL_RUN_DIR		with ATOLL_INIT_TEST: directory of the .E2B_* files
 *	ATOLL_VOLUME_FD=N	instead of all this: serve the files of "/" over that connection, see volume.h
 * Commands do not inherit any of these variables except PATH. */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "http/server.h"
#include "init/files/volume.h"
#include "init/init.h"
#include "init/interp/interp.h"
#include "init/process/process.h"
#include "init/process/spawn.h"
#include "init/routes.h"
#include "loop/loop.h"

#define SOCKET_NAME "atoll-init" /* abstract, in the sandbox's network namespace */
#define BACKLOG 512
#define QUEUE (512 * 1024) /* of answers; the kernel caps it at its limit */
#define RUN_DIR "/run/e2b"
#define LARGE (128 * 1024)
#define TMP_MARK "/tmp/.atoll" /* so that /tmp is not empty, over which runsc would mount its own */

static int env_fd(const char *name)
{
	const char *v = getenv(name);
	uint64_t fd;

	return v && str_to_u64(str_of(v), INT32_MAX, &fd) == 0 && fd > 2 ? (int)fd : -1;
}

/* Makes sure that 0, 1 and 2 are open and that no other fd survives an exec. */
static void settle_fds(void)
{
	struct stat st;
	int fd;

	do
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	while (fd >= 0 && fd <= 2);
	fd_close(fd);
	(void)syscall(SYS_close_range, 3u, ~0u, CLOSE_RANGE_CLOEXEC);
	/* A full log pipe must not block pid 1. */
	if (fstat(2, &st) == 0 && S_ISFIFO(st.st_mode))
		(void)fd_nonblock(2, true);
}

static int listen_socket(struct err *e)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	autoclose int fd = env_fd("ATOLL_LISTEN_FD");
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(SOCKET_NAME));

	if (fd >= 0) {
		if (fd_nonblock(fd, true) < 0)
			return err_sys(e, "use inherited listener %d", fd);
		return take_fd(&fd);
	}
	memcpy(sa.sun_path + 1, SOCKET_NAME, strlen(SOCKET_NAME));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, len) < 0 || listen(fd, BACKLOG) < 0)
		return err_sys(e, "listen on the abstract socket '%s'", SOCKET_NAME);
	return take_fd(&fd);
}

static void say_ready(void)
{
	autoclose int fd = env_fd("ATOLL_READY_FD");

	if (fd >= 0 && fd_write_all(fd, "1", 1) < 0)
		log_warn("cannot report readiness", "errno=%d", errno);
}

/* Processes of the sandbox have a pid in this namespace; peers from outside have none (0). */
static void on_conn(void *user, int fd, bool *ret_refuse)
{
	struct init *in = user;
	const int queue = QUEUE;
	struct ucred cred = { .pid = -1 };
	socklen_t len = sizeof(cred);

	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &queue, sizeof(queue));
	if (in->any_peer || in->is_gated)
		return;
	*ret_refuse = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0 || cred.pid != 0;
}

static void on_request(void *user, struct http_req *rq)
{
	routes_serve(user, rq);
}

static const struct http_server_ops server_ops = { .on_request = on_request, .on_conn = on_conn };

/* The server accepts on its own socket, or only what the gate passes on. */
static int open_server(struct init *in, struct err *e)
{
	uint8_t token[PREAMBLE_TOKEN];
	int fd = env_fd("ATOLL_TOKEN_FD");

	in->is_gated = fd >= 0;
	if (in->is_gated && gate_token(fd, token, e) < 0)
		return -e->no;
	fd = in->is_gated && env_fd("ATOLL_LISTEN_FD") < 0 ? -1 : listen_socket(e);
	if (fd < 0 && !in->is_gated)
		return fd;
	in->server = http_server_new(in->loop, in->is_gated ? -1 : fd, &server_ops, in);
	if (!in->server)
		return err_set(e, ENOMEM, "serve");
	if (in->is_gated && !in->any_peer)
		(void)rmdir(TMP_MARK);
	if (in->is_gated && gate_open(&in->gate, in->loop, in->server, fd, token, e) < 0)
		return -e->no;
	explicit_bzero(token, sizeof token);
	return 0;
}

static void on_child(void *user, int signo)
{
	(void)signo;
	procs_reap(user);
}

/* The kernel drops signals without a handler for pid 1 anyway; only SIGKILL from outside ends it. */
static void ignore_signals(void)
{
	static const int ignored[] = { SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGTERM, SIGTTIN, SIGTTOU, SIGTSTP };

	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
}

/* In a sandbox stderr is /dev/null, so log messages are sent to the front, if it listens, and reach the server's
 * log. */
static void on_log(void *user, const char *event, const char *kv)
{
	struct init *in = user;
	char text[256];

	(void)snprintf(text, sizeof text, "%s: %s", event, kv);
	events_note(&in->events, text);
}

/* A notice of the front, or the end of the wait for one, decides about ends that oom.c holds back. */
static void on_oom_judge(void *user, bool last)
{
	procs_judge(user, last);
	kernels_judge(user, last);
}

static int serve(struct init *in, struct err *e)
{
	const char *path = getenv("PATH"), *run_dir = getenv("ATOLL_RUN_DIR");
	struct sigwatch *child;

	in->path = strdup(path && *path ? path : ENV_DEFAULT_PATH);
	in->default_user = strdup("user");
	in->loop = loop_new();
	if (!in->path || !in->default_user || !in->loop || env_init(&in->env) < 0)
		return err_set(e, ENOMEM, "out of memory");
	in->any_peer = env_fd("ATOLL_LISTEN_FD") >= 0 && getenv("ATOLL_INIT_TEST");
	in->run_dir = in->any_peer && run_dir ? run_dir : RUN_DIR;
	child = sigwatch_new(in->loop, SIGCHLD, on_child, in);
	if (!child)
		return err_set(e, ENOMEM, "watch for children");
	if (open_server(in, e) < 0)
		return -e->no;
	say_ready();
	oom_open(&in->oom, in->loop, on_oom_judge, in);
	in->oom.is_ours = in->is_gated;
	spawn_as_orphans(in->is_gated && getpid() == 1);
	if (in->is_gated && !in->any_peer)
		pressure_open(&in->pressure, in->loop, &in->oom);
	log_listen(on_log, in);
	interp_open(in, env_fd("ATOLL_SEED_FD"));
	procs_reap(in); /* children that ended before the handler was installed */
	loop_run(in->loop);
	return 0;
}

int main(void)
{
	static struct init in;
	struct err e = ERR_INIT;

	/* Large bodies are short-lived: return their memory to the kernel, and turn off the adaptive threshold. */
	(void)mallopt(M_MMAP_THRESHOLD, LARGE);
	(void)mallopt(M_TRIM_THRESHOLD, LARGE);
	settle_fds();
	if (env_fd("ATOLL_VOLUME_FD") >= 0)
		return volume_main(env_fd("ATOLL_VOLUME_FD"));
	log_setup("atoll-init", LOG_LVL_WARN);
	if (getpid() == 1) {
		ignore_signals();
		/* Root of the sandbox must not be able to trace and stop us. The programs we execute are dumpable
		 * again. */
		(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	}
	(void)umask(022);
	if (chdir("/") < 0 || serve(&in, &e) < 0) {
		log_error("cannot serve", "err=%s", e.text);
		return 1;
	}
	return 0;
}

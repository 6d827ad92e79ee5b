/* SPDX-License-Identifier: Apache-2.0 */
/* server: the server's end of a sandbox: pid 1, its socket, its protocol with the interpreters. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "attempt.h"
#include "target.h"

static const char name[] = "\0atoll-init";

static socklen_t init_address(struct sockaddr_un *a)
{
	*a = (struct sockaddr_un) { .sun_family = AF_UNIX };
	memcpy(a->sun_path, name, sizeof name - 1);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof name - 1);
}

static int call_init(void)
{
	struct sockaddr_un a;
	socklen_t n = init_address(&a);
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return s >= 0 && connect(s, (struct sockaddr *)&a, n) == 0 ? s : -1;
}

/* Not answered, and closed: that is what everybody inside gets. */
static int talk(int s, const char *request)
{
	struct pollfd p = { .fd = s, .events = POLLIN };
	char b[256];

	if (send(s, request, strlen(request), MSG_NOSIGNAL) < 0)
		return errno == EPIPE || errno == ECONNRESET ? held("closed at once") : -errno;
	if (poll(&p, 1, 4000) == 0)
		return unclear("neither an answer nor an end");
	ssize_t n = recv(s, b, sizeof b - 1, 0);

	if (n <= 0)
		return held("closed without a word");
	b[n] = '\0';
	return broken("%.40s", b);
}

static int directly(const char *request)
{
	int s = call_init();

	return s < 0 ? unclear("connect: %s", errno_name(errno)) : talk(s, request);
}

static int health(void)
{
	return directly("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
}
static int start(void)
{
	return directly("POST /process.Process/List HTTP/1.1\r\nHost: x\r\nAuthorization: Basic "
			"cm9vdDo=\r\nContent-Type: application/json\r\n"
			"Content-Length: 2\r\n\r\n{}");
}
static int forged_init(void)
{
	return directly("POST /init HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "
			"31\r\n\r\n{\"envVars\":{\"FORGED\":\"yes\"}}   ");
}
static int tunnel(void)
{
	return directly("CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: x\r\n\r\n");
}

/* Whoever connected is dead, and its pid nobody's: that must not look like a caller from outside, who has no pid here
 * either. */
static int by_the_dead(void)
{
	int pair[2];
	struct iovec v = { (char[1]) { 0 }, 1 };
	union {
		struct cmsghdr h;
		char b[CMSG_SPACE(sizeof(int))];
	} u = { 0 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = u.b, .msg_controllen = sizeof u.b };

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return unclear("socketpair: %s", errno_name(errno));
	pid_t pid = fork();

	if (pid == 0) {
		int s = call_init();
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);

		*c = (struct cmsghdr) { .cmsg_len = CMSG_LEN(sizeof s),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(c), &s, sizeof s);
		_exit(s < 0 || sendmsg(pair[1], &m, 0) < 0);
	}
	(void)waitpid(pid, NULL, 0);
	int s = -1;

	if (recvmsg(pair[0], &m, 0) != 1 || !CMSG_FIRSTHDR(&m))
		return unclear("no socket came: %s", errno_name(errno));
	memcpy(&s, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof s);
	return talk(s, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
}

static int take_name(void)
{
	struct sockaddr_un a;
	socklen_t n = init_address(&a);
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return bind(s, (struct sockaddr *)&a, n) < 0 ? -errno : 0;
}

static int port(unsigned nr)
{
	int r = reach_tcp("127.0.0.1", nr, 2000);

	return r ? r : broken("port %u answers inside", nr);
}

static int envd_port(void)
{
	return port(49983);
}

/* The interpreter's port is there for programs that ask whether it is up. It runs no code, and tells of no file. */
static int interpreter_port(const char *request)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(49999) };
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char b[256];
	struct pollfd p = { .fd = s, .events = POLLIN };

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (s < 0 || connect(s, (struct sockaddr *)&a, sizeof a) < 0)
		return -errno;
	if (send(s, request, strlen(request), MSG_NOSIGNAL) < 0 || poll(&p, 1, 4000) == 0)
		return unclear("no answer");
	ssize_t n = recv(s, b, sizeof b - 1, 0);

	if (n <= 0)
		return held("closed without a word");
	b[n] = '\0';
	return strncmp(b, "HTTP/1.1 404", 12) == 0 || strncmp(b, "HTTP/1.1 40", 11) == 0 ? held("%.20s", b)
											 : broken("%.40s", b);
}

#define JSON "Host: x\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n{\"code\":\"1+1\"}"

static int port_execute(void)
{
	return interpreter_port("POST /execute HTTP/1.1\r\n" JSON);
}
static int port_contexts(void)
{
	return interpreter_port("GET /contexts HTTP/1.1\r\nHost: x\r\n\r\n");
}
static int port_init(void)
{
	return interpreter_port("POST /init HTTP/1.1\r\n" JSON);
}
static int port_files(void)
{
	return interpreter_port(
	    "GET /files?path=/etc/shadow&username=root HTTP/1.1\r\nHost: x\r\nE2b-Sandbox-Port: 49983\r\n\r\n");
}
static int port_tunnel(void)
{
	return interpreter_port("CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: x\r\n\r\n");
}

static int attach(void)
{
	return ptrace(PTRACE_ATTACH, 1, NULL, NULL) < 0 ? -errno : 0;
}
static int seize(void)
{
	return ptrace(PTRACE_SEIZE, 1, NULL, NULL) < 0 ? -errno : 0;
}

static int vm(bool write)
{
	char b[8] = "escape";
	struct iovec here = { b, 8 }, there = { (void *)0x400000, 8 };

	return SYS(write ? SYS_process_vm_writev : SYS_process_vm_readv, 1, &here, 1, &there, 1, 0);
}

static int vm_read(void)
{
	return vm(false);
}
static int vm_write(void)
{
	return vm(true);
}

static int state_of_init(void)
{
	char text[4096], *at;

	return slurp("/proc/1/status", text, sizeof text) > 0 && (at = strstr(text, "State:")) ? at[7] : '?';
}

/* Pid 1 takes no signal from inside that it has no handler for. */
static int signal_init(void)
{
	const int signals[] = { SIGSTOP, SIGKILL, SIGSEGV, SIGABRT, SIGTSTP, SIGQUIT, SIGILL, SIGSYS, SIGXCPU,
		SIGRTMIN };

	for (size_t i = 0; i < COUNT(signals); i++)
		(void)kill(1, signals[i]);
	(void)usleep(50000); /* what must not happen has had its time */
	int st = state_of_init();

	return st == 'S' || st == 'R' || st == 'D' ? held("%zu signals sent, it goes on", COUNT(signals))
						   : broken("its state is %c", st);
}

struct forge {
	int sockets, sent;
};

/* Sockets of the interpreters, as their own user: what pid 1 reads from them is what an attacker writes. */
static int forge_one(int pid, void *user)
{
	static char junk[65536];
	struct forge *f = user;
	int pidfd = pid == 1 || pid == getpid() || pid == getppid() ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);

	memset(junk, '{', sizeof junk);
	for (int fd = 3; pidfd >= 0 && fd < 24; fd++) {
		struct stat st;
		int got = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);

		if (got < 0)
			continue;
		if (fstat(got, &st) == 0 && S_ISSOCK(st.st_mode)) {
			static const char *const lines[] = { "\n", "{}\n", "{\"type\":1e999}\n",
				"{\"op\":\"ready\",\"id\":\"../../x\"}\n", "\xff\xfe\0\n", "[[[[[[[[\n" };

			f->sockets++;
			for (size_t i = 0; i < COUNT(lines); i++)
				f->sent += send(got, lines[i], strlen(lines[i]), MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
			f->sent += send(got, junk, sizeof junk, MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
		}
		close(got);
	}
	if (pidfd >= 0)
		close(pidfd);
	return 0;
}

static int forge(void)
{
	struct forge f = { 0, 0 };

	(void)each_process(forge_one, &f);
	(void)usleep(200000); /* what must not happen has had its time */
	int st = state_of_init();

	if (st != 'S' && st != 'R' && st != 'D')
		return broken("pid 1 is in state %c", st);
	return held("%d sockets of other processes, %d forged messages, pid 1 goes on", f.sockets, f.sent);
}

static const char outside[] = "pid 1 serves callers from outside only";
static const char pid1[] = "pid 1, which is the server's, cannot be looked into or changed";

static const struct attempt attempts[] = {
	{ "server/call-init", outside, health },
	{ "server/list-processes", outside, start },
	{ "server/forged-init", outside, forged_init },
	{ "server/tunnel", outside, tunnel },
	{ "server/call-by-the-dead", outside, by_the_dead },
	{ "server/take-its-name", outside, take_name, .expect = { EADDRINUSE } },
	{ "server/envd-port", outside, envd_port, .expect = { ECONNREFUSED } },
	{ "server/port-execute", outside, port_execute, .expect = { ECONNREFUSED } },
	{ "server/port-contexts", outside, port_contexts, .expect = { ECONNREFUSED } },
	{ "server/port-init", outside, port_init, .expect = { ECONNREFUSED } },
	{ "server/port-files", outside, port_files, .expect = { ECONNREFUSED } },
	{ "server/port-tunnel", outside, port_tunnel, .expect = { ECONNREFUSED } },
	{ "server/attach", pid1, attach, .expect = { EPERM } },
	{ "server/seize", pid1, seize, .expect = { EPERM } },
	{ "server/read-memory", pid1, vm_read, .expect = { EPERM } },
	{ "server/write-memory", pid1, vm_write, .expect = { EPERM } },
	{ "server/signals", pid1, signal_init },
	{ "server/forged-protocol", "what is forged inside does not break pid 1", forge },
};
GROUP(server, "server");

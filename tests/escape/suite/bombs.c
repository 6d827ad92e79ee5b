/* SPDX-License-Identifier: Apache-2.0 */
/* bombs: programs that take all they can get of one thing. Each says "taken" and how much when it gets no more (or
 * after GRAB_S: then nothing but its own slowness has bound it), and holds it until it is killed, so that the runner
 * can look how others fare. */
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "attempt.h"

#define GRAB_S 3
#define HOLD_S 120
#define FD_PROCESSES 400

struct bomb {
	const char *name, *guarantee;
	long (*take)(void); /* how many, with errno as the last one left it */
};

static time_t began;

static bool in_time(void)
{
	return time(NULL) - began < GRAB_S;
}

static void all_files(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0) {
		l.rlim_cur = l.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &l);
	}
}

static long take_fork(void)
{
	long n = 0;

	while (in_time()) {
		pid_t pid = fork();

		if (pid == 0) {
			(void)alarm(HOLD_S);
			for (;;) { /* and each goes on trying */
				if (fork() == 0)
					(void)alarm(HOLD_S);
				(void)usleep(20000);
			}
		}
		if (pid < 0)
			return n;
		n++;
	}
	errno = 0;
	return n;
}

static long take_zombies(void)
{
	long n = 0;

	(void)signal(SIGCHLD, SIG_DFL);
	while (in_time()) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		if (pid < 0)
			return n;
		n++;
	}
	errno = 0;
	return n;
}

static void *sleeper(void *arg)
{
	(void)sleep(HOLD_S);
	return arg;
}

static long take_threads(void)
{
	pthread_attr_t a;
	pthread_t t;
	long n = 0;

	(void)pthread_attr_init(&a);
	(void)pthread_attr_setstacksize(&a, 16384);
	while (in_time()) {
		int r = pthread_create(&t, &a, sleeper, NULL);

		if (r) {
			errno = r;
			return n;
		}
		n++;
	}
	errno = 0;
	return n;
}

static long take_cpu(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN) * 4;

	for (long i = 0; i < n; i++) {
		if (fork() == 0) {
			(void)alarm(HOLD_S);
			for (;;)
				;
		}
	}
	errno = 0;
	return n;
}

/* In a child, which the kernel kills when it has too much. */
static long take_memory(void)
{
	long *mib = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0;
	pid_t pid = mib == MAP_FAILED ? -1 : fork();

	if (pid == 0) {
		for (; in_time(); (*mib)++) {
			char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			if (p == MAP_FAILED)
				_exit(1);
			memset(p, 0x5a, 1 << 20);
		}
		_exit(2);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 0;
	errno = WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 1) ? ENOMEM : 0;
	return *mib;
}

static long fill(const char *path, bool stop_early)
{
	static char block[1 << 20];
	long n = 0;
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	memset(block, 0x5a, sizeof block);
	while (fd >= 0 && in_time()) {
		if (write(fd, block, sizeof block) != (ssize_t)sizeof block)
			return n;
		if (++n, stop_early && n >= 1 << 14)
			break;
	}
	errno = 0;
	return n;
}

static long take_disk(void)
{
	return fill("/tmp/escape-fill", false);
}

static long take_tmpfs(void)
{
	long *mib = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		*mib = fill("/dev/shm/escape-fill", true);
		_exit(errno ? 1 : 0);
	}
	(void)waitpid(pid, &status, 0);
	errno = WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status)) ? ENOSPC : 0;
	return *mib;
}

static long take_inodes_in(const char *dir)
{
	char path[200];
	long n = 0;

	(void)mkdir(dir, 0700);
	while (in_time()) {
		(void)snprintf(path, sizeof path, "%s/%ld", dir, n);
		int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

		if (fd < 0)
			return n;
		close(fd);
		n++;
	}
	errno = 0;
	return n;
}

static long take_inodes(void)
{
	return take_inodes_in("/tmp/escape-inodes");
}
static long take_tmpfs_inodes(void)
{
	return take_inodes_in("/dev/shm/escape-inodes");
}
static long take_dev_inodes(void)
{
	return take_inodes_in("/dev/escape-inodes");
}

/* Names that are not there stay in the kernel's memory too. */
static long take_names(void)
{
	char path[64];
	long n = 0;

	for (; in_time(); n++) {
		(void)snprintf(path, sizeof path, "/tmp/%ld-not-there", n);
		(void)access(path, F_OK);
	}
	errno = 0;
	return n;
}

/* Deeper than any path is long: whoever removes it must not recurse. */
static long take_depth(void)
{
	long n = 0;

	(void)mkdir("/tmp/escape-deep", 0700);
	if (chdir("/tmp/escape-deep") < 0)
		return 0;
	for (; n < 20000 && in_time(); n++) {
		if (mkdir("d", 0700) < 0 || chdir("d") < 0)
			return n;
	}
	errno = 0;
	return n;
}

/* As many as one process may have, in many processes: the host has a table of all open files, too. */
static long take_fds(void)
{
	struct {
		atomic_long n;
		atomic_int no;
	} *all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (all == MAP_FAILED)
		return 0;
	all_files();
	for (int i = 0; i < FD_PROCESSES && in_time(); i++) {
		if (fork() != 0)
			continue;
		(void)alarm(HOLD_S);
		while (open("/dev/null", O_RDONLY) >= 0)
			all->n++;
		all->no = errno;
		for (;;)
			(void)pause();
	}
	while (in_time())
		(void)usleep(50000);
	errno = all->no;
	return all->n;
}

static long take_pipes(void)
{
	static char block[4096];
	long n = 0;
	int p[2];

	all_files();
	for (; in_time(); n++) {
		if (pipe2(p, O_NONBLOCK) < 0)
			return n;
		(void)fcntl(p[1], F_SETPIPE_SZ, 1 << 20);
		while (write(p[1], block, sizeof block) > 0)
			;
	}
	errno = 0;
	return n;
}

static long take_terminals(void)
{
	long n = 0;

	all_files();
	for (; in_time(); n++) {
		if (open("/dev/ptmx", O_RDWR | O_NOCTTY) < 0)
			return n;
	}
	errno = 0;
	return n;
}

static long take_inotify(void)
{
	long n = 0;

	all_files();
	for (; in_time(); n++) {
		if (inotify_init() < 0)
			return n;
	}
	errno = 0;
	return n;
}

static long take_watches(void)
{
	char path[64];
	int fd = inotify_init();
	long n = 0;

	(void)mkdir("/tmp/escape-watch", 0700);
	for (; fd >= 0 && in_time(); n++) {
		(void)snprintf(path, sizeof path, "/tmp/escape-watch/%ld", n);
		(void)mkdir(path, 0700);
		if (inotify_add_watch(fd, path, IN_ALL_EVENTS) < 0)
			return n;
	}
	errno = 0;
	return n;
}

static long take_epoll(void)
{
	struct epoll_event ev = { .events = EPOLLIN };
	long n = 0;
	int p[2];

	all_files();
	if (pipe(p) < 0)
		return 0;
	for (; in_time(); n++) {
		int e = epoll_create1(0);

		if (e < 0 || epoll_ctl(e, EPOLL_CTL_ADD, p[0], &ev) < 0)
			return n;
	}
	errno = 0;
	return n;
}

static long take_timers(void)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN };
	struct itimerspec every = { { 0, 1000000 }, { 0, 1000000 } };
	timer_t t;
	long n = 0;

	(void)signal(SIGRTMIN, SIG_IGN);
	for (; in_time(); n++) {
		if (timer_create(CLOCK_MONOTONIC, &ev, &t) < 0)
			return n;
		if (n < 2000)
			(void)timer_settime(t, 0, &every, NULL);
	}
	errno = 0;
	return n;
}

static long take_signals(void)
{
	union sigval v = { .sival_int = 1 };
	sigset_t s;
	long n = 0;

	(void)sigemptyset(&s);
	(void)sigaddset(&s, SIGRTMIN + 1);
	(void)sigprocmask(SIG_BLOCK, &s, NULL);
	for (; in_time(); n++) {
		if (sigqueue(getpid(), SIGRTMIN + 1, v) < 0)
			return n;
	}
	errno = 0;
	return n;
}

static long take_shm(void)
{
	long n = 0;

	for (; in_time(); n++) {
		if (shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600) < 0)
			return n;
	}
	errno = 0;
	return n;
}

static long take_sem(void)
{
	long n = 0;

	for (; in_time(); n++) {
		if (semget(IPC_PRIVATE, 250, IPC_CREAT | 0600) < 0)
			return n;
	}
	errno = 0;
	return n;
}

static long take_msg(void)
{
	struct {
		long type;
		char text[8192];
	} m = { .type = 1 };
	long n = 0;

	while (in_time()) {
		int q = msgget(IPC_PRIVATE, IPC_CREAT | 0600);

		if (q < 0)
			return n;
		while (msgsnd(q, &m, sizeof m.text, IPC_NOWAIT) == 0)
			n++;
	}
	errno = 0;
	return n;
}

static long take_queues(void)
{
	struct mq_attr a = { .mq_maxmsg = 10, .mq_msgsize = 8192 };
	char name[32];
	long n = 0;

	for (; in_time(); n++) {
		(void)snprintf(name, sizeof name, "/escape-%ld", n);
		if (mq_open(name, O_CREAT | O_RDWR, 0600, &a) < 0)
			return n;
	}
	errno = 0;
	return n;
}

/* Descriptors in flight: in no table, held by messages that nobody reads. */
static long take_flight(void)
{
	struct iovec v = { "x", 1 };
	union {
		struct cmsghdr h;
		char b[CMSG_SPACE(200 * sizeof(int))];
	} u = { 0 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = u.b, .msg_controllen = sizeof u.b };
	int fds[200], pair[2], null = open("/dev/null", O_RDONLY);
	long n = 0;

	all_files();
	for (size_t i = 0; i < COUNT(fds); i++)
		fds[i] = null;
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	*c = (struct cmsghdr) { .cmsg_len = CMSG_LEN(sizeof fds), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(c), fds, sizeof fds);
	while (in_time()) {
		if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair) < 0)
			return n;
		while (sendmsg(pair[0], &m, MSG_DONTWAIT) > 0)
			n += (long)COUNT(fds);
		if (errno == ETOOMANYREFS)
			return n;
	}
	errno = 0;
	return n;
}

static long take_ports(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	long n = 0;

	all_files();
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (; in_time(); n++) {
		int s = socket(AF_INET, SOCK_STREAM, 0);

		if (s < 0 || bind(s, (struct sockaddr *)&a, sizeof a) < 0 || listen(s, 1) < 0)
			return n;
	}
	errno = 0;
	return n;
}

/* Connections to pid 1, which closes each: it must go on to serve those from outside. */
static long take_init(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	long n = 0;

	all_files();
	memcpy(a.sun_path, "\0atoll-init", 11);
	for (int i = 0; i < 3 && fork() != 0; i++)
		;
	while (in_time()) {
		int s = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

		if (s < 0)
			return n;
		if (connect(s, (struct sockaddr *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 11)) < 0)
			close(s);
		else
			n++;
	}
	errno = 0;
	return n;
}

/* More output than anybody can take. */
static long take_output(void)
{
	static char line[65536];
	long n = 0;

	memset(line, 'x', sizeof line);
	line[sizeof line - 1] = '\n';
	if (fork() == 0) {
		while (write(STDERR_FILENO, line, sizeof line) > 0)
			;
		_exit(0);
	}
	for (time_t end = time(NULL) + 3; time(NULL) < end; n++) {
		if (write(STDERR_FILENO, line, sizeof line) < 0)
			return n;
	}
	errno = 0;
	return n;
}

static const char limit[] = "what one sandbox takes is bound, and others do not miss it";

#define B(word) { #word, limit, take_##word }

static const struct bomb bombs[] = {
	B(fork),
	B(zombies),
	B(threads),
	B(cpu),
	B(memory),
	B(tmpfs),
	B(disk),
	B(inodes),
	B(tmpfs_inodes),
	B(dev_inodes),
	B(names),
	B(depth),
	B(fds),
	B(pipes),
	B(terminals),
	B(inotify),
	B(watches),
	B(epoll),
	B(timers),
	B(signals),
	B(shm),
	B(sem),
	B(msg),
	B(queues),
	B(flight),
	B(ports),
	B(init),
	B(output),
};

void bomb_list(void)
{
	for (size_t i = 0; i < COUNT(bombs); i++)
		(void)printf("%s\t%s\n", bombs[i].name, bombs[i].guarantee);
}

int bomb_run(const char *name)
{
	for (size_t i = 0; i < COUNT(bombs); i++) {
		if (strcmp(bombs[i].name, name) != 0)
			continue;
		began = time(NULL);
		long n = bombs[i].take();
		int no = errno;

		(void)printf("taken\t%ld, then %s\n", n, no ? errno_name(no) : "it was enough");
		(void)fflush(stdout);
		(void)alarm(HOLD_S);
		for (;;)
			(void)pause();
	}
	return 2;
}

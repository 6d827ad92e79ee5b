/* SPDX-License-Identifier: Apache-2.0 */
/* drive: one sandbox of the engine alone, moved by commands on standard input; for ckpt.test.mjs.
 *
 *	ckpt-drive --template KEY --tools KEY --init PROGRAM --cache DIR --state DIR --run DIR
 *
 * Says on which port of 127.0.0.1 it listens; connections to that are led to the sandbox's init. A command is a line;
 * the answer is a line that begins with "ok" or "error": warm (the template, so that Python starts by fork) | start |
 * freeze | thaw | kill | drop (all connections) | snapshot NAME | checkpoint NAME | restore NAME SLOT | forget NAME |
 * quit */
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/rand.h"
#include "base/str.h"
#include "engine/engine.h"
#include "warden/registry.h"

#define PUMPS_MAX 64

struct drive {
	struct engine_config cfg;
	const char *template_key;
	struct engine *en;
	struct engine_record rec;
	struct engine_image image; /* the last one */
	int pidfd;                 /* -1: nothing runs */
	int listener;
	pid_t pumps[PUMPS_MAX];
};

static struct engine_spec spec_of(const struct drive *d, uint32_t slot)
{
	struct engine_spec s = {
		.slot = slot,
		.limits = { .mem_bytes = 384ull << 20,
		    .disk_bytes = 1ull << 30,
		    .cpu_permille = 2000,
		    .pids = 512,
		    .open_files = 1024 },
	};

	s.id[0] = 'i';
	rand_label(s.id + 1, 19);
	(void)str_copy(s.template_key, sizeof s.template_key, str_of(d->template_key));
	return s;
}

/* --- connections -------------------------------------------------------------------------------------------- */

static bool pump_some(int from, int to)
{
	char buf[16384];
	ssize_t n = read(from, buf, sizeof buf);

	return n > 0 && fd_write_all(to, buf, (size_t)n) == 0;
}

static _Noreturn void pump(struct drive *d, int client)
{
	struct err e = ERR_INIT;
	int inside = -1;

	if (engine_host.connect(d->en, &d->rec, d->pidfd, &inside, &e) < 0)
		_exit(1);
	(void)fd_nonblock(inside, false);
	struct pollfd p[] = { { .fd = client, .events = POLLIN }, { .fd = inside, .events = POLLIN } };

	while (poll(p, 2, -1) > 0) {
		if ((p[0].revents && !pump_some(client, inside)) || (p[1].revents && !pump_some(inside, client)))
			break;
	}
	_exit(0);
}

static void on_client(struct drive *d)
{
	autoclose int fd = accept4(d->listener, NULL, NULL, SOCK_CLOEXEC);

	for (size_t i = 0; fd >= 0 && d->pidfd >= 0 && i < PUMPS_MAX; i++) {
		if (d->pumps[i] > 0 && waitpid(d->pumps[i], NULL, WNOHANG) == 0)
			continue;
		d->pumps[i] = fork();
		if (d->pumps[i] == 0)
			pump(d, fd);
		return;
	}
}

static void drop_all(struct drive *d)
{
	for (size_t i = 0; i < PUMPS_MAX; i++) {
		if (d->pumps[i] <= 0)
			continue;
		(void)kill(d->pumps[i], SIGKILL);
		(void)waitpid(d->pumps[i], NULL, 0);
		d->pumps[i] = 0;
	}
}

static int listen_somewhere(struct drive *d)
{
	struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t n = sizeof sa;

	d->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (d->listener < 0 || bind(d->listener, (struct sockaddr *)&sa, sizeof sa) < 0 ||
	    listen(d->listener, 64) < 0 || getsockname(d->listener, (struct sockaddr *)&sa, &n) < 0)
		return -1;
	return ntohs(sa.sin_port);
}

/* --- commands ----------------------------------------------------------------------------------------------- */

struct report {
	struct err e;
	struct engine_record rec;
};

/* As the warden does it: in a child, the record and the pidfd come back over a socket. */
static int begin(struct drive *d, const struct engine_spec *spec, bool restore, struct err *e)
{
	struct report m = { 0 };
	size_t n_fds = 0;
	int sock[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0)
		return err_sys(e, "socketpair");
	pid_t pid = fork();

	if (pid == 0) {
		int pidfd = -1,
		    r = restore ? engine_host.restore(d->en, spec, &m.rec, &pidfd, &m.e)
				: engine_host.start(d->en, spec, &ENGINE_PAIR_NONE, &m.rec, &pidfd, &m.e);

		(void)fd_send(sock[1], &m, sizeof m, &pidfd, r >= 0);
		_exit(0);
	}
	close(sock[1]);
	if (fd_recv(sock[0], &m, sizeof m, &d->pidfd, 1, &n_fds) != (ssize_t)sizeof m)
		(void)err_set(&m.e, EPIPE, "the builder said nothing");
	close(sock[0]);
	(void)waitpid(pid, NULL, 0);
	if (n_fds != 1) {
		d->pidfd = -1;
		*e = m.e;
		return -e->no;
	}
	d->rec = m.rec;
	return 0;
}

static int do_start(struct drive *d, char *a, char *b, struct err *e)
{
	struct engine_spec s = spec_of(d, 0);

	(void)a, (void)b;
	return begin(d, &s, false, e);
}

static int do_warm(struct drive *d, char *a, char *b, struct err *e)
{
	int status = 1;
	pid_t pid = fork();

	(void)a, (void)b;
	if (pid == 0)
		_exit(engine_host.warm(d->en, d->template_key, e) < 0 ? fprintf(stderr, "warm: %s\n", e->text) > 0 : 0);
	(void)waitpid(pid, &status, 0);
	return status ? err_set(e, EIO, "the template cannot be warmed") : 0;
}

static int do_restore(struct drive *d, char *name, char *slot, struct err *e)
{
	struct engine_spec s = spec_of(d, (uint32_t)atoi(slot));

	(void)str_copy(s.from, sizeof s.from, str_of(name));
	return begin(d, &s, true, e);
}

static int do_freeze(struct drive *d, char *a, char *b, struct err *e)
{
	int r;

	(void)a, (void)b;
	do {
		*e = ERR_INIT;
		r = engine_host.freeze(d->en, &d->rec, true, e);
	} while (r == -EAGAIN);
	return r;
}

static int do_thaw(struct drive *d, char *a, char *b, struct err *e)
{
	(void)a, (void)b;
	return engine_host.freeze(d->en, &d->rec, false, e);
}

static int do_kill(struct drive *d, char *a, char *b, struct err *e)
{
	struct pollfd p = { .fd = d->pidfd, .events = POLLIN };
	int r;

	(void)a, (void)b;
	if (engine_host.kill(d->en, &d->rec, d->pidfd, e) < 0)
		return -e->no;
	(void)poll(&p, 1, 10000);
	do {
		*e = ERR_INIT;
		r = engine_host.reap(d->en, &d->rec, e);
		(void)nanosleep(&(struct timespec) { .tv_nsec = 2000000 }, NULL);
	} while (r == -EAGAIN);
	close(d->pidfd);
	d->pidfd = -1;
	return r;
}

static int do_drop(struct drive *d, char *a, char *b, struct err *e)
{
	(void)a, (void)b, (void)e;
	drop_all(d);
	return 0;
}

static int do_snapshot(struct drive *d, char *name, char *b, struct err *e)
{
	(void)b;
	return engine_host.snapshot(d->en, &d->rec, name, e);
}

static void released(void *arg)
{
	(void)arg;
}

static int do_checkpoint(struct drive *d, char *name, char *b, struct err *e)
{
	(void)b;
	return engine_host.checkpoint(d->en, &d->rec, name, false, released, NULL, &d->image, e);
}

static int do_forget(struct drive *d, char *name, char *b, struct err *e)
{
	(void)b;
	return engine_host.forget(d->en, name, e);
}

static const struct {
	const char *name;
	int (*run)(struct drive *d, char *a, char *b, struct err *e);
} commands[] = {
	{ "warm", do_warm },
	{ "start", do_start },
	{ "restore", do_restore },
	{ "freeze", do_freeze },
	{ "thaw", do_thaw },
	{ "kill", do_kill },
	{ "drop", do_drop },
	{ "snapshot", do_snapshot },
	{ "checkpoint", do_checkpoint },
	{ "forget", do_forget },
};

static bool on_command(struct drive *d)
{
	char line[256], word[32] = "", a[64] = "", b[64] = "";
	struct err e = ERR_INIT;
	uint64_t t = clock_mono_us();

	if (!fgets(line, sizeof line, stdin) || sscanf(line, "%31s %63s %63s", word, a, b) < 1 ||
	    strcmp(word, "quit") == 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		if (strcmp(commands[i].name, word) != 0)
			continue;
		if (commands[i].run(d, a, b, &e) < 0)
			printf("error %s\n", e.text);
		else
			printf("ok us=%llu pid=%d id=%s bytes=%llu dump_us=%llu\n",
			    (unsigned long long)(clock_mono_us() - t), d->pidfd < 0 ? 0 : (int)d->rec.pid,
			    d->rec.spec.id, (unsigned long long)d->image.bytes, (unsigned long long)d->image.dump_us);
		return true;
	}
	printf("error unknown command '%s'\n", word);
	return true;
}

static void parse(int argc, char **argv, struct drive *d)
{
	static const struct option names[] = {
		{ "template", 1, 0, 't' },
		{ "tools", 1, 0, 'T' },
		{ "init", 1, 0, 'i' },
		{ "cache", 1, 0, 'c' },
		{ "state", 1, 0, 's' },
		{ "run", 1, 0, 'r' },
		{ 0 },
	};

	for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;) {
		switch (c) {
		case 't':
			d->template_key = d->cfg.own_keys[0] = optarg;
			break;
		case 'T':
			d->cfg.tools_key = optarg;
			break;
		case 'i':
			d->cfg.init_path = optarg;
			break;
		case 'c':
			d->cfg.cache_dir = optarg;
			break;
		case 's':
			d->cfg.state_dir = optarg;
			break;
		case 'r':
			d->cfg.run_dir = optarg;
			break;
		default:
			exit(2);
		}
	}
	if (!d->template_key || !d->cfg.init_path || !d->cfg.cache_dir || !d->cfg.state_dir || !d->cfg.run_dir) {
		fprintf(stderr, "drive: an option is missing\n");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct drive d = {
		.cfg = { .max_sandboxes = 16, .storage_bytes = 1ull << 30, .storage_max_bytes = 4ull << 30 },
		.pidfd = -1,
	};
	struct err e = ERR_INIT;
	int registry = -1;

	parse(argc, argv, &d);
	log_setup("drive", LOG_LVL_INFO);
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	int port = listen_somewhere(&d);

	if (port < 0 || registry_take(REGISTRY_DIR, d.cfg.state_dir, &d.cfg.instance, &registry, &e) < 0 ||
	    unshare(CLONE_NEWNS) < 0 || engine_host.open(&d.cfg, NULL, 0, &d.en, &e) < 0) {
		fprintf(stderr, "drive: %s\n", e.no ? e.text : strerror(errno));
		return 1;
	}
	printf("ok port=%d instance=%u\n", port, d.cfg.instance);
	struct pollfd p[] = { { .fd = 0, .events = POLLIN }, { .fd = d.listener, .events = POLLIN } };

	for (;;) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			break;
		if (p[0].revents && !on_command(&d))
			break;
		if (p[1].revents)
			on_client(&d);
	}
	drop_all(&d);
	if (d.pidfd >= 0)
		(void)do_kill(&d, NULL, NULL, &e);
	engine_host.close(d.en, true);
	registry_release(REGISTRY_DIR, d.cfg.instance);
	return 0;
}

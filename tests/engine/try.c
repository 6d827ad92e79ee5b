/* SPDX-License-Identifier: Apache-2.0 */
/* try: runs the engine alone, without daemon: starts sandboxes, talks to them, ends them, and counts what is left.
 *
 *	engine-try --template KEY --init PROGRAM [--cache DIR] [--instance N] [--state DIR] [--run DIR]
 *		[--count N] [--cycles M] [--exec TEXT] [--silent] [--keep | --adopt] [--plain] [--host-view]
 *		[--freeze | --frozen] [--linger SECONDS] [--slots N] [--parallel] [--blind] [--prepared]
 *
 * --exec sends TEXT on a connection to each sandbox's init and prints what comes back. --keep leaves the sandboxes
 * running and writes their records, --adopt finds them again; --blind kills without a pidfd. Prints times per stage and
 * the number of things that were not there before. --prepared: each start but the first gets a prepared network, which
 * is not part of its time. */
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/fd.h"
#include "base/inherited.h"
#include "base/log.h"
#include "base/rand.h"
#include "base/str.h"
#include "engine/ns.h"

#define COUNT_MAX 2000

struct box {
	struct engine_record rec;
	int pidfd;
};

struct options {
	struct engine_config cfg;
	const char *template_key, *text;
	unsigned count, cycles, linger;
	bool silent, keep, adopt, freeze, frozen, parallel, blind, prepared;
};

struct samples {
	double *v;
	size_t n;
};

static double now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void note(struct samples *s, double v)
{
	s->v = realloc(s->v, (s->n + 1) * sizeof *s->v);
	s->v[s->n++] = v;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print(const char *name, struct samples *s)
{
	if (s->n == 0)
		return;
	qsort(s->v, s->n, sizeof *s->v, by_value);
	printf("%-10s p50 %7.2f  p90 %7.2f  max %7.2f ms  (%zu)\n", name, s->v[s->n / 2], s->v[s->n * 9 / 10],
	    s->v[s->n - 1], s->n);
	free(s->v);
}

static _Noreturn void die(const char *what, const struct err *e)
{
	fprintf(stderr, "try: %s: %s\n", what, e->text);
	exit(1);
}

struct builder {
	pid_t pid;
	int sock;
	double began;
};

struct report {
	struct err e;
	struct engine_record rec;
};

/* As the warden does it: start() in a child, the record and the pidfd come back over a socket. */
static struct engine_pair prepare(struct engine *en, const struct options *o, uint32_t slot)
{
	struct engine_pair p = ENGINE_PAIR_NONE;
	struct err e = ERR_INIT;
	struct pollfd pf = { .events = POLLIN };

	if (engine_host.prepare(en, o->template_key, slot, &pf.fd, &e) < 0)
		die("prepare", &e);
	(void)poll(&pf, 1, 10000);
	if (engine_host.prepared(en, &p, &e) < 0)
		fprintf(stderr, "try: not prepared: %s\n", e.text);
	return p;
}

static void start_begin(struct engine *en, const struct options *o, uint32_t slot, struct builder *ret)
{
	struct engine_spec spec = {
		.slot = slot,
		.no_internet = o->silent,
		.limits = { .mem_bytes = 512ull << 20,
		    .disk_bytes = 1ull << 30,
		    .cpu_permille = 2000,
		    .pids = 512,
		    .open_files = 1024 },
	};
	struct engine_pair pair = o->prepared ? prepare(en, o, slot) : ENGINE_PAIR_NONE;
	struct report m = { 0 };
	int sock[2];

	spec.id[0] = 'i';
	rand_label(spec.id + 1, 19);
	(void)str_copy(spec.template_key, sizeof spec.template_key, str_of(o->template_key));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0)
		exit(1);
	ret->began = now_ms();
	ret->sock = sock[0];
	ret->pid = fork();
	if (ret->pid == 0) {
		int pidfd = -1, r = engine_host.start(en, &spec, &pair, &m.rec, &pidfd, &m.e);

		(void)fd_send(sock[1], &m, sizeof m, &pidfd, r >= 0);
		_exit(0);
	}
	close(sock[1]);
	fd_close(pair.user);
	fd_close(pair.net);
}

static void start_end(struct builder *bd, struct box *ret)
{
	struct report m = { 0 };
	size_t n_fds = 0;

	if (fd_recv(bd->sock, &m, sizeof m, &ret->pidfd, 1, &n_fds) != (ssize_t)sizeof m)
		(void)err_set(&m.e, EPIPE, "the builder said nothing");
	close(bd->sock);
	if (n_fds != 1)
		die("start", &m.e);
	ret->rec = m.rec;
}

static void talk(struct engine *en, const struct box *b, const char *text)
{
	struct err e = ERR_INIT;
	char buf[4096];
	ssize_t n;
	int fd;

	if (engine_host.connect(en, &b->rec, b->pidfd, &fd, &e) < 0)
		die("connect", &e);
	(void)fd_nonblock(fd, false);
	if (text && *text) {
		(void)fd_write_all(fd, text, strlen(text));
		(void)fd_write_all(fd, "\n", 1);
		(void)shutdown(fd, SHUT_WR);
		while ((n = read(fd, buf, sizeof buf)) > 0)
			(void)fd_write_all(1, buf, (size_t)n);
	}
	close(fd);
}

static void reap(struct engine *en, struct box *b)
{
	struct err e = ERR_INIT;

	while (engine_host.reap(en, &b->rec, &e) == -EAGAIN)
		(void)nanosleep(&(struct timespec) { .tv_nsec = 500000 }, NULL);
	if (e.no && e.no != EAGAIN)
		die("reap", &e);
	close(b->pidfd);
}

static void freeze_and_thaw(struct engine *en, struct box *b, bool stay, struct samples *s)
{
	struct err e = ERR_INIT;
	double t = now_ms();
	int r;

	do
		r = engine_host.freeze(en, &b->rec, true, &e);
	while (r == -EAGAIN);
	if (r < 0)
		die("freeze", &e);
	note(s, now_ms() - t);
	if (!stay && engine_host.freeze(en, &b->rec, false, &e) < 0)
		die("thaw", &e);
}

static unsigned count_of(const char *command)
{
	FILE *f = popen(command, "r");
	unsigned n = 0;

	if (!f || fscanf(f, "%u", &n) != 1)
		n = 0;
	if (f)
		(void)pclose(f);
	return n;
}

/* $N instance, $U its first uid, $S its state directory: only what is ours, so that several may run at once. */
static const struct {
	const char *what, *command;
} things[] = {
	{ "processes", "stat -c %u /proc/[0-9]* 2>/dev/null | awk -v u=$U '$1 >= u && $1 < u + 134217728' | wc -l" },
	{ "children", "pgrep -c -P $PPID atoll" },
	{ "cgroups", "find /sys/fs/cgroup -type d -name atoll$N -exec find {} -type d ';' 2>/dev/null | wc -l" },
	{ "mounts", "grep -c $S /proc/$PPID/mountinfo" },
	{ "links", "ls /sys/class/net | grep -c ^at${N}s" },
	{ "loops", "cat /sys/block/loop*/loop/backing_file 2>/dev/null | grep -c $S" },
	{ "subvols", "ls -d $R/private/pool/i* 2>/dev/null | wc -l" },
	{ "rules", "nft list tables | grep -c 'atoll'$N'$'" },
	{ "addresses", "ip -4 addr show lo | grep -c 10.$((200 + N))" },
	{ "fds", "ls /proc/$PPID/fd | wc -l" },
};

static void count_all(const struct options *o, unsigned n[ARRAY_LEN(things)])
{
	char z[32];

	(void)snprintf(z, sizeof z, "%u", o->cfg.instance);
	(void)setenv("N", z, 1);
	(void)snprintf(z, sizeof z, "%u", 0x10000000u + o->cfg.instance * 0x08000000u);
	(void)setenv("U", z, 1);
	(void)setenv("S", o->cfg.state_dir, 1);
	(void)setenv("R", o->cfg.run_dir, 1);
	for (size_t i = 0; i < ARRAY_LEN(things); i++)
		n[i] = count_of(things[i].command);
}

static void compare(const char *when, const unsigned was[], const unsigned is[])
{
	printf("%s:", when);
	for (size_t i = 0; i < ARRAY_LEN(things); i++)
		printf(" %s %+d", things[i].what, (int)is[i] - (int)was[i]);
	printf("\n");
}

/* Network namespaces and mounts go in the background: counts until all are as they were, or too long has passed. */
static void count_back(const struct options *o, const unsigned was[], unsigned is[ARRAY_LEN(things)])
{
	for (int i = 0; i < 100; i++) {
		count_all(o, is);
		if (memcmp(was, is, sizeof(unsigned) * ARRAY_LEN(things)) == 0)
			return;
		(void)nanosleep(&(struct timespec) { .tv_nsec = 100000000 }, NULL);
	}
}

static void keep(const struct options *o, const struct box *b, unsigned n)
{
	autofree char *path = str_fmt("%s/try.records", o->cfg.run_dir);
	autoclose int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	for (unsigned i = 0; i < n; i++)
		(void)fd_write_all(fd, &b[i].rec, sizeof b[i].rec);
	printf("kept %u\n", n);
}

static size_t load(const struct options *o, struct engine_record *rec)
{
	autofree char *path = str_fmt("%s/try.records", o->cfg.run_dir);
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;

	while (fd >= 0 && n < COUNT_MAX && read(fd, &rec[n], sizeof *rec) == (ssize_t)sizeof *rec)
		n++;
	(void)unlink(path);
	return n;
}

struct measured {
	struct samples stage[STAGE_COUNT], start, built, connect, freeze, killed, gone;
};

static void end_all(struct engine *en, const struct options *o, struct box *b, unsigned n, struct measured *m)
{
	struct err e = ERR_INIT;

	for (unsigned i = 0; i < n; i++) {
		struct pollfd p = { .fd = b[i].pidfd, .events = POLLIN };
		double t = now_ms();

		if (engine_host.kill(en, &b[i].rec, o->blind ? -1 : b[i].pidfd, &e) < 0)
			die("kill", &e);
		(void)poll(&p, 1, 5000);
		note(&m->killed, now_ms() - t);
		reap(en, &b[i]);
		note(&m->gone, now_ms() - t);
	}
}

static void met(struct engine *en, const struct options *o, struct box *b, const struct start_times *times,
    struct measured *m)
{
	double t = now_ms();

	for (int s = 0; !o->parallel && s < STAGE_COUNT; s++)
		note(&m->stage[s], (double)times->us[s] / 1e3);
	talk(en, b, NULL);
	note(&m->connect, now_ms() - t);
	if (o->text)
		talk(en, b, o->text);
	if (o->freeze)
		freeze_and_thaw(en, b, o->frozen, &m->freeze);
}

static void cycle(struct engine *en, const struct options *o, struct box *b, const struct start_times *times,
    unsigned slot0, struct measured *m)
{
	static struct builder bd[COUNT_MAX];

	for (unsigned i = 0; o->parallel && i < o->count; i++)
		start_begin(en, o, (slot0 + i) % o->cfg.max_sandboxes, &bd[i]);
	for (unsigned i = 0; i < o->count; i++) {
		if (!o->parallel)
			start_begin(en, o, (slot0 + i) % o->cfg.max_sandboxes, &bd[i]);
		start_end(&bd[i], &b[i]);
		note(&m->start, now_ms() - bd[i].began);
		(void)waitpid(bd[i].pid, NULL, 0);
		note(&m->built, now_ms() - bd[i].began);
		met(en, o, &b[i], times, m);
	}
}

static const struct option options[] = {
	{ "template", 1, 0, 't' },
	{ "init", 1, 0, 'i' },
	{ "cache", 1, 0, 'c' },
	{ "instance", 1, 0, 'n' },
	{ "state", 1, 0, 's' },
	{ "run", 1, 0, 'r' },
	{ "count", 1, 0, 'N' },
	{ "cycles", 1, 0, 'M' },
	{ "exec", 1, 0, 'e' },
	{ "silent", 0, 0, 'S' },
	{ "keep", 0, 0, 'k' },
	{ "adopt", 0, 0, 'a' },
	{ "plain", 0, 0, 'p' },
	{ "host-view", 0, 0, 'V' },
	{ "freeze", 0, 0, 'f' },
	{ "frozen", 0, 0, 'F' },
	{ "linger", 1, 0, 'l' },
	{ "slots", 1, 0, 'L' },
	{ "parallel", 0, 0, 'P' },
	{ "blind", 0, 0, 'B' },
	{ "prepared", 0, 0, 'R' },
	{ 0 },
};

static bool set_flag(struct options *o, int c)
{
	switch (c) {
	case 'S':
		o->silent = true;
		return true;
	case 'k':
		o->keep = true;
		return true;
	case 'a':
		o->adopt = true;
		return true;
	case 'p':
		o->cfg.no_storage = true;
		return true;
	case 'V':
		o->cfg.no_view = true;
		return true;
	case 'f':
		o->freeze = true;
		return true;
	case 'F':
		o->freeze = o->frozen = true;
		return true;
	case 'P':
		o->parallel = true;
		return true;
	case 'B':
		o->blind = true;
		return true;
	case 'R':
		o->prepared = true;
		return true;
	default:
		return false;
	}
}

static bool set_value(struct options *o, int c)
{
	switch (c) {
	case 't':
		o->template_key = optarg;
		return true;
	case 'i':
		o->cfg.init_path = optarg;
		return true;
	case 'c':
		o->cfg.cache_dir = optarg;
		return true;
	case 'n':
		o->cfg.instance = (uint32_t)atoi(optarg);
		return true;
	case 's':
		o->cfg.state_dir = optarg;
		return true;
	case 'r':
		o->cfg.run_dir = optarg;
		return true;
	case 'N':
		o->count = (unsigned)atoi(optarg);
		return true;
	case 'M':
		o->cycles = (unsigned)atoi(optarg);
		return true;
	case 'e':
		o->text = optarg;
		return true;
	case 'L':
		o->cfg.max_sandboxes = (uint32_t)atoi(optarg);
		return true;
	case 'l':
		o->linger = (unsigned)atoi(optarg);
		return true;
	default:
		return false;
	}
}

static void parse(int argc, char **argv, struct options *o)
{
	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;)
		if (!set_flag(o, c) && !set_value(o, c))
			exit(2);
	if (!o->template_key || !o->cfg.init_path || o->count > COUNT_MAX) {
		fprintf(stderr, "try: --template and --init are needed\n");
		exit(2);
	}
}

static void adopt_all(struct engine *en, const struct options *o, const struct engine_record *rec, size_t n,
    struct measured *m)
{
	struct err e = ERR_INIT;

	for (size_t i = 0; i < n; i++) {
		struct box b = { .rec = rec[i] };

		if (engine_host.adopt(en, &rec[i], &b.pidfd, &e) < 0)
			die("adopt", &e);
		talk(en, &b, o->text);
		end_all(en, o, &b, 1, m);
	}
	printf("adopted %zu\n", n);
}

int main(int argc, char **argv)
{
	struct options o = {
		.cfg = {
			.instance = 15,
			.max_sandboxes = 1000,
			.state_dir = "/tmp/engine-try/state",
			.run_dir = "/tmp/engine-try/run",
			.cache_dir = "/var/cache/atoll",
			.storage_bytes = 2ull << 30,
			.storage_max_bytes = 8ull << 30,
		},
		.count = 1, .cycles = 1,
	};
	static struct box boxes[COUNT_MAX];
	static struct engine_record rec[COUNT_MAX];
	struct measured m = { 0 };
	struct err e = ERR_INIT;
	struct engine *en;
	unsigned before[ARRAY_LEN(things)], open_now[ARRAY_LEN(things)], after[ARRAY_LEN(things)];

	inherited_reset();
	parse(argc, argv, &o);
	log_setup("try", LOG_LVL_INFO);
	struct start_times *times = mmap(NULL, sizeof *times, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	    0);

	count_all(&o, before);
	if (unshare(CLONE_NEWNS) < 0)
		return 1;
	size_t n_live = o.adopt ? load(&o, rec) : 0;
	double t = now_ms();

	if (engine_host.open(&o.cfg, rec, n_live, &en, &e) < 0)
		die("open", &e);
	printf("open       %.1f ms\n", now_ms() - t);
	engine_ns_measure(en, times);
	adopt_all(en, &o, rec, n_live, &m);
	for (unsigned i = 0; !o.adopt && i < o.cycles; i++) {
		if (i == 1)
			count_all(&o, open_now);
		cycle(en, &o, boxes, times, i * o.count, &m);
		if (o.keep) {
			keep(&o, boxes, o.count);
			engine_host.close(en, false);
			return 0;
		}
		end_all(en, &o, boxes, o.count, &m);
		engine_host.tick(en);
	}
	for (unsigned i = 0; i < o.linger; i++) {
		(void)nanosleep(&(struct timespec) { .tv_sec = 1 }, NULL);
		engine_host.tick(en);
	}
	if (o.cycles > 1) {
		count_back(&o, open_now, after);
		compare("after all cycles, since the first", open_now, after);
	}
	engine_host.close(en, true);
	count_back(&o, before, after);
	compare("after close", before, after);
	for (int s = 0; s < STAGE_COUNT; s++)
		print(start_stage_name[s], &m.stage[s]);
	print("start", &m.start);
	print("built", &m.built);
	print("connect", &m.connect);
	print("freeze", &m.freeze);
	print("killed", &m.killed);
	print("gone", &m.gone);
	return 0;
}

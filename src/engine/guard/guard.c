/* SPDX-License-Identifier: Apache-2.0 */
/* guard: reads /proc/PID/net of one process per sandbox. A sandbox has one network namespace, so any process will
 * do. */
#include "engine/guard/guard.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "engine/cgroup/impl.h"
#include "engine/helper.h"

#define LOOK_MS 500
#define REST 5
#define LOST_KIB (128u << 10)
#define FEW_SOCKETS 32 /* not worth a closer look */
#define FIELDS_MAX 6

static const struct {
	const char *file;
	enum guard_table table;
} tables[] = {
	{ "net/netlink", GUARD_NETLINK },
	{ "net/icmp", GUARD_PING },
	{ "net/icmp6", GUARD_PING },
	{ "net/udp", GUARD_UDP },
	{ "net/udp6", GUARD_UDP },
};

static size_t split(struct str line, struct str ret[FIELDS_MAX])
{
	size_t n = 0;

	while (n < FIELDS_MAX && line.p) {
		struct str word = str_cut(&line, ' ');

		if (word.n > 0)
			ret[n++] = word;
	}
	return n;
}

static uint64_t number(struct str s, unsigned base)
{
	uint64_t v = 0;

	for (size_t i = 0; i < s.n; i++) {
		const char *digits = "0123456789ABCDEF", *at = memchr(digits, s.p[i], base);

		if (!at || v > UINT32_MAX)
			return 0;
		v = v * base + (uint64_t)(at - digits);
	}
	return v;
}

/* netlink: sk Eth Pid Groups Rmem Wmem ...
 * udp, icmp: sl: local remote st TX:RX ... The kernel charges received data of a UDP socket, so that does not
 * count. */
uint64_t guard_line(enum guard_table table, const char *line, size_t n)
{
	struct str f[FIELDS_MAX];

	if (split((struct str) { line, n }, f) < FIELDS_MAX)
		return 0;
	if (table == GUARD_NETLINK)
		return number(f[4], 10) + number(f[5], 10);
	struct str rx = f[4], tx = str_cut(&rx, ':');

	return rx.p ? number(tx, 16) + (table == GUARD_PING ? number(rx, 16) : 0) : 0;
}

/* Sums all lines, or until the sum exceeds the limit. */
static uint64_t read_table(int proc, const char *file, enum guard_table table)
{
	char buf[16384];
	size_t have = 0;
	uint64_t sum = 0;
	autoclose int fd = openat(proc, file, O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && sum <= GUARD_MAX_BYTES) {
		ssize_t got = read(fd, buf + have, sizeof buf - have);

		if (got <= 0)
			break;
		have += (size_t)got;
		char *at = buf, *lf;

		while ((lf = memchr(at, '\n', have - (size_t)(at - buf)))) {
			sum += guard_line(table, at, (size_t)(lf - at));
			at = lf + 1;
		}
		have -= (size_t)(at - buf);
		memmove(buf, at, have);
		if (have == sizeof buf) /* no valid line is that long */
			break;
	}
	return sum;
}

static bool has_few_sockets(int proc)
{
	char z[1024];
	uint64_t used;

	if (file_read(proc, "net/sockstat", z, sizeof z) < 0 || !str_starts(str_of(z), "sockets: used "))
		return false;
	return str_to_u64((struct str) { z + 14, strcspn(z + 14, "\n") }, UINT64_MAX, &used) == 0 &&
	    used <= FEW_SOCKETS;
}

/* While a sandbox is being made, its cgroup may contain a helper that is still in the host's network namespace. */
static bool is_in_our_network(int proc)
{
	struct stat ours, its;

	return stat("/proc/self/ns/net", &ours) < 0 || fstatat(proc, "ns/net", &its, 0) < 0 ||
	    ours.st_ino == its.st_ino;
}

static void look(struct cgroup_tree *t, const char *id, int pid)
{
	char path[32];
	uint64_t sum = 0;

	(void)snprintf(path, sizeof path, "/proc/%d", pid);
	autoclose int proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (proc < 0 || has_few_sockets(proc) || is_in_our_network(proc))
		return;
	for (size_t i = 0; i < ARRAY_LEN(tables) && sum <= GUARD_MAX_BYTES; i++)
		sum += read_table(proc, tables[i].file, tables[i].table);
	if (sum <= GUARD_MAX_BYTES)
		return;
	log_warn("a sandbox holds too much memory in its sockets: killing it", "id=%s mib=%llu", id,
	    (unsigned long long)(sum >> 20));
	cgroup_kill(t, id);
}

static uint64_t cpu_us(void)
{
	struct timespec t;

	return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) < 0
	    ? 0
	    : (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static uint64_t available_kib(void)
{
	static const char field[] = "\nMemAvailable:";
	uint64_t kib;
	char z[4096];

	if (file_read(AT_FDCWD, "/proc/meminfo", z, sizeof z) < 0)
		return 0;
	const char *at = strstr(z, field);

	if (!at)
		return 0;
	at += sizeof field - 1;
	at += strspn(at, " ");
	return str_to_u64((struct str) { at, strcspn(at, " ") }, UINT64_MAX, &kib) == 0 ? kib : 0;
}

/* A round reads files of every sandbox, which would take a whole processor if there are thousands. So the next round
 * waits REST times as long as the last one worked, unless the host has lost memory since. */
static void look_at_sockets(struct cgroup_tree *t)
{
	static uint64_t next_ms, was_kib;

	if (clock_mono_ms() < next_ms && available_kib() + LOST_KIB > was_kib)
		return;
	uint64_t began = cpu_us();

	cgroup_each(t, look);
	next_ms = clock_mono_ms() + (cpu_us() - began) * REST / 1000;
	was_kib = available_kib();
}

static void guard_run(void *arg, int sock)
{
	struct cgroup_tree *t = arg;
	struct pollfd p = { .fd = sock, .events = POLLIN };

	for (;;) {
		int n = poll(&p, 1, LOOK_MS);

		if (n > 0) /* nothing is ever sent: the warden has exited */
			return;
		if (n == 0) {
			look_at_sockets(t);
			guard_filters(t);
			guard_locks(t);
		}
	}
}

int guard_start(struct cgroup_tree *t, struct helper *ret, struct err *e)
{
	int keep[CGROUP_V1_MAX + 1] = { t->v2_fd };

	memcpy(keep + 1, t->v1_fd, sizeof t->v1_fd);
	return helper_start("atoll-guard", keep, ARRAY_LEN(keep), guard_run, t, ret, e);
}

void guard_tick(struct cgroup_tree *t, struct helper *g)
{
	struct err e;

	if (helper_alive(g))
		return;
	if (guard_start(t, g, &e) < 0)
		log_error("atoll-guard is not running, retrying", "err=%s", e.text);
	else
		log_warn("atoll-guard exited and was restarted", "pid=%d", (int)g->pid);
}

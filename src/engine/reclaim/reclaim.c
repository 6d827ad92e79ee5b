/* SPDX-License-Identifier: Apache-2.0 */
/* reclaim: rounds over all sandboxes. A round looks at the processor time of each, then reclaims from those that are
 * due, in slices of some milliseconds with a rest after each. */
#include "engine/reclaim/reclaim.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "base/swaps.h"
#include "engine/cgroup/impl.h"
#include "engine/helper.h"
#include "engine/reclaim/idle.h"

#define NICE 10
#define ROUNDS 4 /* in the time after which a sandbox is idle, */
#define ROUND_MIN_MS 250
#define ROUND_MAX_MS 15000
#define SLICE_US 20000
#define VAIN_MAX 25          /* slices on end that have freed nothing: the compressed memory is full, say */
#define REST 9               /* times the processor time of the work: it takes a tenth of a processor, */
#define REST_SHORT 1         /* and half of one while the host is short of memory; then sandboxes are */
#define HASTE 8              /* idle so many times earlier */
#define SHORT_PART 8         /* less than this part of the host's memory is available */
#define SWAP_MIN (32u << 20) /* of free swap */

enum why { FINE, NO_SWAP, ON_DISK, FULL };

struct state {
	const struct reclaim *r;
	int sock;
	bool ended;
	struct idle_table table;
	enum why why; /* as last reported */
	uint64_t worked_us;
};

static void on_alarm(int signo)
{
	(void)signo; /* only interrupts a write */
}

static uint64_t cpu_us(void)
{
	struct timespec t;

	return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) < 0
	    ? 0
	    : (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static uint64_t meminfo(const char *text, const char *field)
{
	const char *at = strstr(text, field);
	uint64_t kib;

	if (!at)
		return 0;
	at += strlen(field);
	at += strspn(at, " ");
	return str_to_u64((struct str) { at, strcspn(at, " ") }, UINT64_MAX, &kib) == 0 ? kib : 0;
}

static bool is_short(void)
{
	char z[4096];

	if (file_read(AT_FDCWD, "/proc/meminfo", z, sizeof z) < 0)
		return false;
	return meminfo(z, "MemAvailable:") < meminfo(z, "MemTotal:") / SHORT_PART;
}

static void rest(struct state *s, uint64_t ms)
{
	struct pollfd p = { .fd = s->sock, .events = POLLIN };

	if (!s->ended && poll(&p, 1, (int)ms) > 0) /* nothing is ever sent: the warden has exited */
		s->ended = true;
}

static void see(void *arg, const char *id)
{
	struct state *s = arg;
	uint64_t cpu_ns;

	if (cgroup_cpu_used(s->r->cgroups, id, &cpu_ns) == 0)
		(void)idle_see(&s->table, id, clock_mono_ms(), cpu_ns);
}

/* False: it is busy, or gone. */
static bool still_idle(struct state *s, struct idle_unit *u)
{
	uint64_t cpu_ns;

	return cgroup_cpu_used(s->r->cgroups, u->id, &cpu_ns) == 0 && !idle_used(u, clock_mono_ms(), cpu_ns);
}

/* Rests after the work since the last time, in proportion. */
static void rest_from(struct state *s, uint64_t times)
{
	uint64_t now = cpu_us(), us = (now - s->worked_us) * times;

	s->worked_us = now;
	rest(s, us / 1000 + 1);
}

/* The kernel looks for a signal between some pages and the next. */
static int slice(struct state *s, const char *id)
{
	const struct itimerval each = { { 0, SLICE_US }, { 0, SLICE_US } }, off = { 0 };

	(void)setitimer(ITIMER_REAL, &each, NULL);
	int r = cgroup_reclaim(s->r->cgroups, id);

	(void)setitimer(ITIMER_REAL, &off, NULL);
	return r;
}

static void reclaim_one(struct state *s, struct idle_unit *u, bool hurried)
{
	uint64_t mem = 0, least = UINT64_MAX, cpu_ns = 0;
	unsigned vain = 0;
	int r = 1;

	while (r > 0 && vain < VAIN_MAX && !s->ended) {
		if (!still_idle(s, u))
			return; /* it has what is left, and is not idle for a while */
		r = slice(s, u->id);
		rest_from(s, hurried ? REST_SHORT : REST);
		if (cgroup_memory(s->r->cgroups, u->id, &mem) < 0)
			return;
		vain = mem < least ? 0 : vain + 1;
		least = mem < least ? mem : least;
	}
	if (cgroup_cpu_used(s->r->cgroups, u->id, &cpu_ns) < 0)
		return;
	log_debug("reclaimed the memory of an idle sandbox", "id=%s left_kib=%llu", u->id,
	    (unsigned long long)(mem >> 10));
	u->given_ms = clock_mono_ms();
	u->left_bytes = mem;
}

static enum why swap_fits(const struct reclaim *r)
{
	uint64_t bytes, left;
	enum swaps_kind kind = swaps_now(&bytes, &left);

	if (kind == SWAPS_NONE)
		return NO_SWAP;
	if (kind == SWAPS_DISK && !r->to_disk)
		return ON_DISK;
	return left < SWAP_MIN ? FULL : FINE;
}

static void report(struct state *s, enum why why)
{
	static const char *const text[] = {
		[FINE] = "the host has swap for them",
		[NO_SWAP] = "the host has no swap",
		[ON_DISK] = "swap of the host is on a disk, and idle_memory is compress",
		[FULL] = "the host's swap is full",
	};

	if (s->why != why)
		log_info(why == FINE ? "memory of idle sandboxes is reclaimed" : "idle sandboxes keep their memory",
		    "why=%s", text[why]);
	s->why = why;
}

/* For no longer than until the next look at all. */
static void reclaim_due(struct state *s, uint64_t until_ms)
{
	bool hurried = is_short();
	uint64_t after = s->r->after_ms / (hurried ? HASTE : 1);
	struct idle_unit *u;
	size_t at = 0;

	while (!s->ended && clock_mono_ms() < until_ms && (u = idle_next(&s->table, &at))) {
		uint64_t mem = UINT64_MAX;

		if (u->given_ms && clock_mono_ms() - u->given_ms >= after)
			(void)cgroup_memory(s->r->cgroups, u->id, &mem);
		if (idle_is_due(u, clock_mono_ms(), after, mem))
			reclaim_one(s, u, hurried);
	}
}

static void run(void *arg, int sock)
{
	struct state s = { .r = arg, .sock = sock };
	uint64_t round_ms = s.r->after_ms / ROUNDS;

	if (round_ms > ROUND_MAX_MS)
		round_ms = ROUND_MAX_MS;
	if (round_ms < ROUND_MIN_MS)
		round_ms = ROUND_MIN_MS;
	(void)setpriority(PRIO_PROCESS, 0, NICE);
	(void)sigaction(SIGALRM, &(struct sigaction) { .sa_handler = on_alarm }, NULL); /* without SA_RESTART */
	if (idle_open(&s.table, s.r->most) < 0) {
		log_error("out of memory: idle sandboxes keep their memory", "sandboxes=%u", s.r->most);
		return;
	}
	while (!s.ended) {
		uint64_t until = clock_mono_ms() + round_ms;

		report(&s, swap_fits(s.r));
		if (s.why == FINE || s.why == FULL) {
			idle_round(&s.table);
			cgroup_names(s.r->cgroups, see, &s);
			rest_from(&s, REST);
		}
		if (s.why == FINE)
			reclaim_due(&s, until);
		uint64_t now = clock_mono_ms();

		rest(&s, now < until ? until - now : 1);
	}
	idle_close(&s.table);
}

int reclaim_start(const struct reclaim *r, struct helper *ret, struct err *e)
{
	int keep[CGROUP_V1_MAX + 1] = { r->cgroups->v2_fd };

	memcpy(keep + 1, r->cgroups->v1_fd, sizeof r->cgroups->v1_fd);
	return helper_start("atoll-reclaim", keep, ARRAY_LEN(keep), run, (void *)r, ret, e);
}

void reclaim_tick(const struct reclaim *r, struct helper *h)
{
	struct err e = ERR_INIT;

	if (helper_alive(h))
		return;
	if (reclaim_start(r, h, &e) < 0)
		log_error("atoll-reclaim is not running, retrying", "err=%s", e.text);
	else
		log_warn("atoll-reclaim exited and was restarted", "pid=%d", (int)h->pid);
}

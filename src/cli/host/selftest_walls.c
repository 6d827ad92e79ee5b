/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/selftest_walls: runs the attempts, as user and as root, in sandboxes of several kinds. A neighbour and, if
 * the server is on this machine, a service on the host record any connection from them. That both are reachable at
 * all is checked first. */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/host/selftest.h"

#define HOSTS_MAX 8
#define GROUP_LIMIT_S 180

struct host { /* a service that listens on all addresses of this machine */
	int tcp, udp;
	char addresses[HOSTS_MAX * INET_ADDRSTRLEN + 1], ports[32];
};

struct walls {
	struct selftest *t;
	struct atoll_sandbox *neighbour;
	struct guest *target;
	char address[64];
	size_t touched; /* connections to the target after the control */
	struct host host;
	struct atoll_pair envs[4];
	size_t n_envs;
};

/* --- the host --- */

static int open_any(int type, uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	int s = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (s >= 0 && (bind(s, (struct sockaddr *)&a, sizeof a) < 0 || (type == SOCK_STREAM && listen(s, 64) < 0))) {
		close(s);
		s = -1;
	}
	return s;
}

static void list_addresses(struct host *h)
{
	struct ifaddrs *all = NULL;
	size_t n = 0;

	if (getifaddrs(&all) < 0)
		return;
	for (struct ifaddrs *i = all; i && n < HOSTS_MAX; i = i->ifa_next) {
		char z[INET_ADDRSTRLEN];
		const struct sockaddr_in *a = (const struct sockaddr_in *)i->ifa_addr;

		if (!a || a->sin_family != AF_INET || ntohl(a->sin_addr.s_addr) >> 24 == 127 ||
		    !inet_ntop(AF_INET, &a->sin_addr, z, sizeof z))
			continue;
		(void)snprintf(h->addresses + strlen(h->addresses), sizeof h->addresses - strlen(h->addresses), "%s%s",
		    n++ ? "," : "", z);
	}
	freeifaddrs(all);
}

/* Connects to our service from the host, to show that it is reachable in principle. */
static bool host_answers(const struct host *h, const char *first, uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	char z[INET_ADDRSTRLEN];

	(void)snprintf(z, sizeof z, "%.*s", (int)strcspn(first, ","), first);
	autoclose int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (s < 0 || inet_pton(AF_INET, z, &a.sin_addr) != 1 || connect(s, (struct sockaddr *)&a, sizeof a) < 0)
		return false;
	autoclose int c = accept(h->tcp, NULL, NULL);

	return c >= 0;
}

/* Only if the server is on this machine; the addresses of another host are unknown. */
static void host_open(struct walls *w, const char *api_url)
{
	struct host *h = &w->host;
	struct sockaddr_in a;
	socklen_t n = sizeof a;
	const char *colon = strrchr(api_url, ':');

	if (!strstr(api_url, "//127.") && !strstr(api_url, "//localhost") && !strstr(api_url, "//[::1]"))
		return;
	h->tcp = open_any(SOCK_STREAM, 0);
	if (h->tcp < 0 || getsockname(h->tcp, (struct sockaddr *)&a, &n) < 0)
		return;
	h->udp = open_any(SOCK_DGRAM, ntohs(a.sin_port));
	list_addresses(h);
	if (h->udp < 0 || !h->addresses[0] || !host_answers(h, h->addresses, ntohs(a.sin_port)))
		return;
	unsigned api = colon ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;

	(void)snprintf(h->ports, sizeof h->ports, api ? "%u,%u" : "%u", ntohs(a.sin_port), api);
	w->envs[w->n_envs++] = (struct atoll_pair) { "ESCAPE_HOST", h->addresses };
	w->envs[w->n_envs++] = (struct atoll_pair) { "ESCAPE_PORTS", h->ports };
}

static void host_judge(struct walls *w)
{
	static const char promise[] = "no service of the host is reachable";
	char b[64];
	size_t n = 0;

	if (!w->host.ports[0])
		return;
	for (int c; (c = accept(w->host.tcp, NULL, NULL)) >= 0; n++)
		close(c);
	while (recv(w->host.udp, b, sizeof b, 0) >= 0)
		n++;
	selftest_note(w->t, n ? BROKEN : HELD, "reach/seen-by-the-host", promise, "host",
	    "%zu connections arrived, over TCP or UDP", n);
}

/* --- the neighbour --- */

static int on_target(void *user, char *line)
{
	struct walls *w = user;

	w->touched += strncmp(line, "touched", 7) == 0;
	return strcmp(line, "ready") == 0 ? 1 : 0;
}

static int on_address(void *user, char *line)
{
	struct walls *w = user;

	(void)snprintf(w->address, sizeof w->address, "%.*s", (int)strcspn(line, " "), line);
	return 0;
}

/* Starts the target and checks that it is reachable from its own sandbox. */
static int neighbour_open(struct walls *w, struct err *e)
{
	const char *const target[] = { PLACE "/escape", "target", NULL }, *const name[] = { "hostname", "-I", NULL };
	const char *const touch[] = { PLACE "/escape", "touch", w->address, NULL };
	struct job stand = { .argv = target }, ask = { .argv = name, .limit_s = 30 },
		   control = { .argv = touch, .limit_s = 30 };

	w->neighbour = place_new(w->t, false, e);
	if (!w->neighbour)
		return -e->no;
	w->target = guest_start(w->neighbour, &stand, on_target, w, e);
	if (!w->target || guest_wait(w->target, 30, e) < 0)
		return err_wrap(e, "start the neighbour's target");
	if (job_run(w->neighbour, &ask, on_address, w, e) != 0 || !w->address[0])
		return err_set(e, EIO, "the neighbour did not report its address");
	if (job_run(w->neighbour, &control, on_address, &(struct walls) { 0 }, e) != 0)
		return err_set(e, EIO,
		    "the neighbour's target is not reachable from its own sandbox, so the test would prove nothing");
	guest_look(w->target);
	guest_look(w->target);
	w->touched = 0;
	w->envs[w->n_envs++] = (struct atoll_pair) { "ESCAPE_NEIGHBOUR", w->address };
	return 0;
}

static void neighbour_judge(struct walls *w)
{
	guest_look(w->target);
	guest_look(w->target);
	selftest_note(w->t, w->touched ? BROKEN : HELD, "neighbour/seen-by-it", "no sandbox reaches another",
	    "neighbour", "%zu connections arrived", w->touched);
}

/* --- attempts --- */

struct group { /* a run of one program */
	struct walls *w;
	const char *where;
	long end; /* count that it announced, or -1 */
};

static int on_line(void *user, char *line)
{
	struct group *g = user;

	if (strncmp(line, "end\t", 4) == 0)
		g->end = strtol(line + 4, NULL, 10);
	else
		(void)selftest_line(g->w->t, g->where, line);
	return 0;
}

/* Runs one program. If it does not report all its attempts, this is recorded as UNCLEAR. */
static void run_program(struct walls *w, struct atoll_sandbox *sb, const char *what, const char *user,
    const char *where, const char *const *argv)
{
	struct group g = { w, where, -1 };
	struct job j = { .argv = argv,
		.as_user = user,
		.envs = w->envs,
		.n_envs = w->n_envs,
		.limit_s = GROUP_LIMIT_S };
	struct err e = ERR_INIT;
	char name[64];

	w->t->recorded = 0;
	int status = job_run(sb, &j, on_line, &g, &e);

	if (g.end >= 0 && (size_t)g.end == w->t->recorded)
		return;
	(void)snprintf(name, sizeof name, "suite/%s", what);
	selftest_note(w->t, UNCLEAR, name, "the suite finishes", where, "%zu of %ld attempts reported, status %d%s%s",
	    w->t->recorded, g.end, status, e.text[0] ? ": " : "", e.text);
}

static void run_inside(struct walls *w, struct atoll_sandbox *sb, const char *kind)
{
	static const char *const users[] = { "user", "root" };
	const char *const c[] = { PLACE "/escape", "run", NULL },
			  *const sweep[] = { PLACE "/escape", "sweep", PLACE "/syscalls.tbl", NULL };
	const char *const py[] = { "python3", PLACE "/escape.py", NULL },
			  *const sh[] = { "bash", PLACE "/escape.sh", NULL };
	const char *const js[] = { "node", PLACE "/escape.js", NULL };

	for (size_t i = 0; i < ARRAY_LEN(users); i++) {
		char where[32];

		(void)snprintf(where, sizeof where, "%s/%s", kind, users[i]);
		run_program(w, sb, "syscalls", users[i], where, sweep);
		run_program(w, sb, "c", users[i], where, c);
		run_program(w, sb, "python", users[i], where, py);
		run_program(w, sb, "shell", users[i], where, sh);
		run_program(w, sb, "javascript", users[i], where, js);
	}
}

/* A resumed sandbox must have the same isolation. */
static void run_returned(struct walls *w, bool memory)
{
	const char *const c[] = { PLACE "/escape", "run", NULL };
	const char *kind = memory ? "resumed/root" : "booted/root";
	struct err e = ERR_INIT;
	struct atoll_error why = { 0 };
	struct atoll_sandbox *sb = place_new(w->t, false, &e);
	const char *id = sb ? atoll_sandbox_id(sb) : "";

	if (!sb)
		selftest_note(w->t, UNCLEAR, "suite/returned", "a resumed sandbox has the same confinement", kind, "%s",
		    e.text);
	else if ((memory ? atoll_pause(w->t->a, id, &why) : atoll_pause_disk(w->t->a, id, &why)) < 0 ||
	    (memory ? atoll_resume(w->t->a, id, 600, &why) : atoll_boot(w->t->a, id, 600, &why)) < 0)
		selftest_note(w->t, UNCLEAR, "suite/returned", "a resumed sandbox has the same confinement", kind, "%s",
		    why.text);
	else
		run_program(w, sb, "returned", "root", kind, c);
	place_end(w->t, sb);
}

static void run_offline(struct walls *w)
{
	const char *const c[] = { PLACE "/escape", "run", "reach", "neighbour", "netlink", NULL };
	struct err e = ERR_INIT;
	struct atoll_sandbox *sb = place_new(w->t, true, &e);

	w->envs[w->n_envs++] = (struct atoll_pair) { "ESCAPE_OFFLINE", "1" };
	if (sb)
		run_program(w, sb, "offline", "root", "offline/root", c);
	else
		selftest_note(w->t, UNCLEAR, "suite/offline", "the suite finishes", "offline/root", "%s", e.text);
	w->n_envs--;
	place_end(w->t, sb);
}

/* The sandbox must still respond to its owner after all attempts inside. */
static void still_serves(struct walls *w, struct atoll_sandbox *sb)
{
	const char *const argv[] = { "true", NULL };
	struct job j = { .argv = argv, .limit_s = 30 };
	struct err e = ERR_INIT;
	int status = job_run(sb, &j, on_address, &(struct walls) { 0 }, &e);

	selftest_note(w->t, status == 0 ? HELD : BROKEN, "server/serves-afterwards",
	    "what is forged inside does not break pid 1", "fresh", "%s", status == 0 ? "a command runs in it" : e.text);
}

static int run_all(struct walls *w, struct err *e)
{
	if (neighbour_open(w, e) < 0)
		return -e->no;
	struct atoll_sandbox *sb = place_new(w->t, false, e);

	if (!sb)
		return -e->no;
	run_inside(w, sb, "fresh");
	still_serves(w, sb);
	place_end(w->t, sb);
	run_offline(w);
	run_returned(w, true);
	run_returned(w, false);
	selftest_restore(w->t);
	neighbour_judge(w);
	host_judge(w);
	return 0;
}

int selftest_walls(struct selftest *t, struct err *e)
{
	struct walls w = { .t = t, .host = { .tcp = -1, .udp = -1 } };

	host_open(&w, t->api_url);
	int r = run_all(&w, e);

	guest_free(w.target);
	place_end(t, w.neighbour);
	fd_close(w.host.tcp);
	fd_close(w.host.udp);
	return r;
}

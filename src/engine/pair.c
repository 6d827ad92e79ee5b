/* SPDX-License-Identifier: Apache-2.0 */
/* pair: makes user and network namespaces in advance, in the helper atoll-pairs.
 *
 *	P0	the helper, root of the host: makes the link and what is inside, one pair after another
 *	P1	its child for one pair, in Z with the slot's own uid: clones N, writes N's id map, opens N's namespaces
 *	N	a process in the new namespaces that does nothing; P1 ends it once they are open
 *
 * P1 and N share the memory and the descriptors of P0, which waits for P1: a copy of them would cost as much as the
 * namespaces. P0 enters the new network namespace for its part and leaves it again. No other process is ever in a
 * pair. */
#include "engine/pair.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "engine/caps.h"
#include "engine/limits.h"
#include "engine/net/link.h"
#include "engine/ns.h"
#include "engine/slot.h"
#include "engine/userns.h"

#define SHARED (CLONE_VM | CLONE_FILES)
#define P1_STACK 65536
#define N_STACK 8192

struct maker {
	struct slot slot;
	struct holder holder;
	int proc; /* the host's /proc */
	pid_t p1;
	struct engine_pair made;
	struct err *e;
	_Alignas(16) char p1_stack[P1_STACK], n_stack[N_STACK];
};

struct request {
	char template_key[ENGINE_KEY_SIZE];
	uint32_t slot;
};

struct result {
	int32_t ok; /* two fds come with it */
	struct err e;
};

static int open_ns(int proc, pid_t pid, const char *type, struct err *e)
{
	char path[48];

	(void)snprintf(path, sizeof path, "%d/ns/%s", (int)pid, type);
	int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? err_sys(e, "open the new namespaces") : fd;
}

static void reap(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* No function of libc that could fail: errno is P1's. */
static int n_run(void *arg)
{
	const struct maker *m = arg;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	while (getppid() == m->p1) /* it may have been killed before that */
		(void)pause();
	return 0;
}

/* Writes the map of N and opens its namespaces. */
static int p1_open(struct maker *m, pid_t pid)
{
	if (userns_map_at(m->proc, pid, m->slot.first, SLOT_UIDS, m->e) < 0)
		return -m->e->no;
	m->made.user = open_ns(m->proc, pid, "user", m->e);
	if (m->made.user >= 0)
		m->made.net = open_ns(m->proc, pid, "net", m->e);
	return m->made.net < 0 ? -m->e->no : 0;
}

/* The kernel keeps the limits of the process that makes a user namespace as limits of that namespace, so they are set
 * as for a start. */
static int p1_run(void *arg)
{
	struct maker *m = arg;

	if (setns(m->holder.user, CLONE_NEWUSER) < 0)
		return err_sys(m->e, "join the template's namespaces");
	if (caps_keep_across_uids(m->e) < 0 || caps_become(m->slot.owner, m->slot.owner, m->e) < 0 ||
	    limits_user(m->e) < 0)
		return -m->e->no;
	m->p1 = getpid();
	pid_t pid = clone(n_run, m->n_stack + N_STACK, SHARED | CLONE_NEWUSER | CLONE_NEWNET | SIGCHLD, m);

	if (pid < 0)
		return err_sys(m->e, "make namespaces");
	(void)p1_open(m, pid);
	(void)kill(pid, SIGKILL);
	reap(pid);
	return 0;
}

static int clone_both(struct maker *m, struct err *e)
{
	m->e = e;
	pid_t pid = clone(p1_run, m->p1_stack + P1_STACK, SHARED | CLONE_VFORK | SIGCHLD, m);

	if (pid < 0)
		return err_sys(e, "fork");
	reap(pid);
	if (m->made.net >= 0)
		return 0;
	return e->no ? -e->no : err_set(e, EIO, "the process that makes namespaces was killed");
}

/* In the order of a start (child.c), which the kernel's lists of groups show. */
static int set_inside(const struct engine *en, const struct slot *s, int netns, struct err *e)
{
	if (setns(netns, CLONE_NEWNET) < 0)
		return err_sys(e, "join the new network");
	int r = link_inside(s, e);

	if (r == 0)
		r = link_sysctls(s->root, SLOT_UIDS, e);
	if (setns(en->netns_fd, CLONE_NEWNET) < 0) {
		log_error("could not leave a prepared network namespace, exiting", "errno=%d", errno);
		abort();
	}
	return r;
}

static int make(struct engine *en, struct maker *m, struct err *e)
{
	if (m->proc < 0)
		return err_sys(e, "open /proc");
	if (clone_both(m, e) < 0 || link_make(&m->slot, m->made.net, en->mtu, e) < 0)
		return -e->no;
	return set_inside(en, &m->slot, m->made.net, e);
}

int pair_make(struct engine *en, const char *template_key, uint32_t slot, struct engine_pair *ret, struct err *e)
{
	static struct maker m; /* too large for a stack; there is one process for it */

	m.made = ENGINE_PAIR_NONE;
	if (slot >= en->cfg.max_sandboxes)
		return err_set(e, EINVAL, "prepare a network: no slot %u", slot);
	if (holder_find(&en->holder, template_key, &m.holder) < 0)
		return err_set(e, ENOENT, "prepare a network: template '%.8s' has no holder", template_key);
	slot_fill(en->cfg.instance, slot, &m.slot);
	m.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = make(en, &m, e);

	fd_close(m.proc);
	holder_close(&m.holder);
	if (r < 0) { /* the link goes with its namespace */
		fd_close(m.made.user);
		fd_close(m.made.net);
		return err_wrap(e, "prepare a network for slot %u", slot);
	}
	*ret = m.made;
	return 0;
}

static bool is_same(int a, int b)
{
	struct stat sa, sb;

	return a >= 0 && b >= 0 && fstat(a, &sa) == 0 && fstat(b, &sb) == 0 && sa.st_ino == sb.st_ino &&
	    sa.st_dev == sb.st_dev;
}

bool pair_fits(const struct engine_pair *p, const struct slot *s, int z_fd)
{
	uid_t owner;

	if (p->user < 0 || p->net < 0 || ioctl(p->user, NS_GET_OWNER_UID, &owner) < 0 || owner != s->z_base + s->owner)
		return false;
	autoclose int of_net = ioctl(p->net, NS_GET_USERNS), above = ioctl(p->user, NS_GET_PARENT);

	return is_same(of_net, p->user) && is_same(above, z_fd);
}

/* --- the helper ----------------------------------------------------------------------------------------------- */

static void serve(void *arg, int sock)
{
	struct engine *en = arg;
	struct request rq;
	size_t n_fds;

	/* The next warden may use the slot for a sandbox, whose link must not be replaced then. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	/* As every process whose descendants have their maps written: see warden_let_go(). */
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	while (fd_recv(sock, &rq, sizeof rq, NULL, 0, &n_fds) == (ssize_t)sizeof rq) {
		struct engine_pair p = ENGINE_PAIR_NONE;
		struct result rs = { .e = ERR_INIT };

		rs.ok = pair_make(en, rq.template_key, rq.slot, &p, &rs.e) == 0;
		ssize_t n = fd_send(sock, &rs, sizeof rs, (int[]) { p.user, p.net }, rs.ok ? 2 : 0);

		fd_close(p.user);
		fd_close(p.net);
		if (n != (ssize_t)sizeof rs)
			return;
	}
}

/* The socket stays open for now: the caller watches it. */
static int is_over(struct engine *en, struct err *e)
{
	en->pairs_over = true;
	pair_kill(en);
	return err_set(e, EPIPE, "the process that prepares networks has ended");
}

int pair_prepare(struct engine *en, const char *template_key, uint32_t slot, int *ret_fd, struct err *e)
{
	struct request rq = { .slot = slot };

	if (!str_copy(rq.template_key, sizeof rq.template_key, str_of(template_key)))
		return err_set(e, EINVAL, "prepare a network: bad template key");
	if (en->pairs_over)
		pair_stop(en);
	if (en->pairs.pid < 0) {
		int keep[] = { en->holders_fd, en->netns_fd };

		if (helper_start("atoll-pairs", keep, ARRAY_LEN(keep), serve, en, &en->pairs, e) < 0)
			return -e->no;
		(void)fd_nonblock(en->pairs.sock, true);
	}
	if (fd_send(en->pairs.sock, &rq, sizeof rq, NULL, 0) != (ssize_t)sizeof rq)
		return is_over(en, e);
	*ret_fd = en->pairs.sock;
	return 0;
}

int pair_prepared(struct engine *en, struct engine_pair *ret, struct err *e)
{
	struct result rs;
	int fds[2] = { -1, -1 };
	size_t n_fds = 0;
	ssize_t n = fd_recv(en->pairs.sock, &rs, sizeof rs, fds, 2, &n_fds);

	if (n == -EAGAIN)
		return -EAGAIN;
	if (n != (ssize_t)sizeof rs || n_fds != (rs.ok ? 2u : 0u)) {
		for (size_t i = 0; n > 0 && i < n_fds; i++)
			fd_close(fds[i]);
		return is_over(en, e);
	}
	if (!rs.ok) {
		rs.e.text[sizeof rs.e.text - 1] = '\0';
		*e = rs.e;
		return rs.e.no > 0 ? -rs.e.no : -EIO;
	}
	*ret = (struct engine_pair) { .user = fds[0], .net = fds[1] };
	return 0;
}

/* Does not wait: the helper may be in the kernel for long. Its socket closes when it has left it. */
void pair_kill(struct engine *en)
{
	if (en->pairs.pid > 0)
		(void)kill(en->pairs.pid, SIGKILL);
}

void pair_stop(struct engine *en)
{
	pair_kill(en);
	helper_stop(&en->pairs);
	en->pairs_over = false;
}

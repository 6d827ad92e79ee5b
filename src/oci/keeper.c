/* SPDX-License-Identifier: Apache-2.0 */
/* oci/keeper: one event loop over the processes of a pull. */
#include "oci/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "engine/mounts.h"
#include "engine/userns.h"
#include "oci/blobs.h"
#include "oci/jail.h"
#include "oci/recipe.h"
#include "oci/report.h"

#define PROGRESS_MS 250

struct storer {        /* of one layer */
	pid_t pid;     /* 0: none */
	int result_fd; /* returns a struct stored */
	int file_fd;   /* the blob being written */
};

struct stored {
	struct err e;
	struct digest digest;
};

struct keeper {
	const struct keeper_spec *sp;
	struct place place;
	struct blobs blobs;
	int signals;
	pid_t fetcher, applier, recipe; /* 0: none */
	int fetch_sock, apply_sock;
	bool planned, fetched; /* fetched: the fetcher has ended */
	struct fetch_plan plan;
	int blob[MANIFEST_LAYERS_MAX];    /* complete and verified; -1: not yet */
	bool needed[MANIFEST_LAYERS_MAX]; /* requested, but no pipe has arrived yet */
	bool from_cache[MANIFEST_LAYERS_MAX];
	struct storer storer[MANIFEST_LAYERS_MAX];
	uint32_t next; /* the layer to apply next */
	bool laying;
	uint64_t told_ms;
	char key[PLACE_KEY_SIZE];
	bool done, cached;
};

/* --- processes --- */

/* In a child: closes all fds except these. */
static void keep_only(int a, int b, int c, int d)
{
	int keep[] = { a, b, c, d };

	fd_close_others(keep, ARRAY_LEN(keep));
}

static void unblock_signals(void)
{
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int start_fetcher(struct keeper *k, struct err *e)
{
	struct pull_spec *sp = k->sp->pull;
	uid_t uid = PLACE_UID_FETCH + k->place.slot;
	int sock[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0)
		return err_sys(e, "make a socket pair");
	k->fetcher = fork();
	if (k->fetcher == 0) {
		keep_only(sock[1], k->sp->talk, sp->source_fd, -1);
		unblock_signals();
		if ((sp->source == PULL_REGISTRY
			    ? jail_fetcher(uid, e)
			    : jail_reader(uid, sp->source == PULL_LAYOUT ? sp->source_fd : -1, e)) < 0) {
			struct fetch_msg m = { .kind = FETCH_FAIL };

			m.u.e = *e;
			(void)fd_send(sock[1], &m, sizeof m, NULL, 0);
			_exit(1);
		}
		fetch_main(sp, sock[1], k->sp->talk);
	}
	(void)close(sock[1]);
	k->fetch_sock = sock[0];
	return k->fetcher < 0 ? err_sys(e, "fork") : 0;
}

/* The image's directory as an idmapped mount: ids on disk are those of the image, whatever they are mapped to
 * outside the applier's user namespace. */
static int make_root(struct keeper *k, int *ret_fd, struct err *e)
{
	char path[48];
	autoclose int mnt = -1;

	(void)snprintf(path, sizeof path, "/proc/%d/ns/user", k->applier);
	autoclose int userns = open(path, O_RDONLY | O_CLOEXEC);

	if (userns < 0)
		return err_sys(e, "open a user namespace");
	if (mount_clone(k->place.dir_fd, "rootfs", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, &mnt, e) <
	    0)
		return -e->no;
	if (mount_idmap(mnt, userns, e) < 0)
		return err_wrap(e, "the file system of the cache cannot map ids");
	*ret_fd = take_fd(&mnt);
	return 0;
}

static int start_applier(struct keeper *k, struct err *e)
{
	const struct layer_totals limits = { .max_bytes = k->sp->pull->max_bytes,
		.max_entries = k->sp->pull->max_entries };
	const uint64_t flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS |
	    CLONE_NEWCGROUP;
	autoclose int pidfd = -1, root = -1;
	struct apply_reply r;
	size_t n_fds;
	int sock[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0)
		return err_sys(e, "make a socket pair");
	k->applier = userns_fork(flags, -1, &pidfd);
	if (k->applier == 0) {
		keep_only(sock[1], -1, -1, -1);
		unblock_signals();
		apply_main(sock[1], &limits);
	}
	(void)close(sock[1]);
	k->apply_sock = sock[0];
	if (k->applier < 0) {
		int no = -k->applier;

		k->applier = 0;
		return err_set(e, no, "make namespaces: %s", strerror(no));
	}
	if (userns_map(k->applier, PLACE_UID_APPLY + k->place.slot * PULL_IDS, PULL_IDS, e) < 0 ||
	    make_root(k, &root, e) < 0)
		return -e->no;
	ssize_t n = fd_send(k->apply_sock, "r", 1, &root, 1);

	/* An applier that has already ended may have sent the reason. */
	if ((n < 0 && n != -EPIPE) || fd_recv(k->apply_sock, &r, sizeof r, NULL, 0, &n_fds) != sizeof r)
		return err_set(e, EPIPE, "the applier died at its start");
	if (r.e.no) {
		*e = r.e;
		return err_wrap(e, "applier");
	}
	return 0;
}

static int start_storer(struct keeper *k, uint32_t i, int pipe_fd, struct err *e)
{
	const struct plan_layer *l = &k->plan.layer[i];
	uint64_t max = l->blob_known ? l->blob.size : k->sp->pull->max_bytes;
	struct storer *s = &k->storer[i];
	struct stored r = { 0 };
	int p[2];

	if (blobs_create(&k->blobs, &s->file_fd, e) < 0)
		return -e->no;
	if (pipe2(p, O_CLOEXEC) < 0)
		return err_sys(e, "make a pipe");
	s->pid = fork();
	if (s->pid == 0) {
		keep_only(p[1], pipe_fd, s->file_fd, k->blobs.dir_fd);
		(void)blobs_fill(&k->blobs, s->file_fd, pipe_fd, max, l->blob_known ? &l->blob.digest : NULL, &r.digest,
		    &r.e);
		(void)fd_write_all(p[1], &r, sizeof r);
		_exit(0);
	}
	(void)close(p[1]);
	s->result_fd = p[0];
	if (s->pid < 0) {
		s->pid = 0;
		return err_sys(e, "fork");
	}
	return 0;
}

static void reap(pid_t *pid, bool by_force)
{
	if (*pid <= 0)
		return;
	if (by_force)
		(void)kill(*pid, SIGKILL);
	while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
		;
	*pid = 0;
}

/* --- messages --- */

static int take_plan(struct keeper *k, const struct fetch_plan *plan, struct err *e)
{
	struct fetch_go go = { 0 };
	bool all_known = true;

	if (k->planned || plan->n_layers > MANIFEST_LAYERS_MAX)
		return err_set(e, EPROTO, "the fetcher is confused");
	k->plan = *plan;
	k->planned = true;
	for (uint32_t i = 0; i < plan->n_layers; i++)
		all_known = all_known && plan->layer[i].diff_known;
	place_key(&k->plan, k->key);
	int has = all_known ? place_has(&k->place, k->key, e) : 0;

	if (has != 0) {
		k->done = k->cached = has > 0;
		return has < 0 ? has : 0;
	}
	for (uint32_t i = 0; i < plan->n_layers; i++) {
		int rc = plan->layer[i].blob_known ? blobs_find(&k->blobs, &plan->layer[i].blob.digest, &k->blob[i], e)
						   : -ENOENT;

		if (rc < 0 && rc != -ENOENT)
			return rc;
		k->from_cache[i] = rc == 0;
		k->needed[i] = rc < 0;
		go.need[i] = rc < 0;
	}
	/* No layer is asked for before the keeper has dropped its power. */
	if (start_applier(k, e) < 0 || jail_keeper(e) < 0)
		return -e->no;
	return fd_send(k->fetch_sock, &go, sizeof go, NULL, 0) < 0 ? err_set(e, EPIPE, "the fetcher died") : 0;
}

static int on_fetch(struct keeper *k, struct err *e)
{
	static struct fetch_msg m;
	autoclose int fd = -1;
	size_t n_fds = 0;
	ssize_t n = fd_recv(k->fetch_sock, &m, sizeof m, &fd, 1, &n_fds);

	if (n == 0) {
		k->fetched = true;
		fd_close(take_fd(&k->fetch_sock));
		return k->planned ? 0 : err_set(e, EPIPE, "the fetcher died");
	}
	if (n != sizeof m)
		return err_set(e, EPROTO, "the fetcher is confused");
	if (n_fds == 0)
		fd = -1;
	switch (m.kind) {
	case FETCH_PLAN:
		return take_plan(k, &m.u.plan, e);
	case FETCH_FAIL:
		m.u.e.text[sizeof m.u.e.text - 1] = '\0';
		*e = m.u.e;
		return e->no > 0 ? -e->no : err_set(e, EPROTO, "the fetcher is confused");
	case FETCH_PIPE:
		if (fd < 0 || !k->planned || m.layer >= k->plan.n_layers || !k->needed[m.layer])
			return err_set(e, EPROTO, "the fetcher is confused");
		k->needed[m.layer] = false;
		return start_storer(k, m.layer, fd, e);
	default:
		return err_set(e, EPROTO, "the fetcher is confused");
	}
}

static int on_stored(struct keeper *k, uint32_t i, struct err *e)
{
	struct storer *s = &k->storer[i];
	struct stored r;
	int rc = fd_read_all(s->result_fd, &r, sizeof r);

	fd_close(take_fd(&s->result_fd));
	fd_close(take_fd(&s->file_fd));
	reap(&s->pid, false);
	if (rc < 0)
		return err_set(e, EPIPE, "a storer died");
	if (r.e.no) {
		*e = r.e;
		return err_wrap(e, "layer %u", i + 1);
	}
	k->plan.layer[i].blob.digest = r.digest;
	rc = blobs_find(&k->blobs, &r.digest, &k->blob[i], e);
	return rc == -ENOENT ? err_set(e, EIO, "a layer is gone from the cache") : rc;
}

static int on_laid(struct keeper *k, struct err *e)
{
	struct plan_layer *l = &k->plan.layer[k->next];
	struct apply_reply r;
	size_t n_fds;

	if (fd_recv(k->apply_sock, &r, sizeof r, NULL, 0, &n_fds) != sizeof r || !k->laying)
		return err_set(e, EPIPE, "the applier died");
	k->laying = false;
	if (r.e.no) {
		r.e.text[sizeof r.e.text - 1] = '\0';
		*e = r.e;
	} else if (l->diff_known && !digest_eq(&r.diff_id, &l->diff_id)) {
		(void)err_set(e, EBADMSG, "digest mismatch: it does not unpack to what the configuration says");
	} else {
		l->diff_id = r.diff_id;
		fd_close(k->blob[k->next]);
		k->blob[k->next++] = -1;
		return 0;
	}
	if (k->from_cache[k->next] && e->no == EBADMSG)
		blobs_drop(&k->blobs, &l->blob.digest);
	return err_wrap(e, "layer %u", k->next + 1);
}

/* --- transitions --- */

static int lay_next(struct keeper *k, struct err *e)
{
	const struct apply_msg m = { .layer = k->next };

	if (!k->planned || k->done || k->laying || k->next == k->plan.n_layers || k->blob[k->next] < 0)
		return 0;
	if (fd_send(k->apply_sock, &m, sizeof m, &k->blob[k->next], 1) < 0)
		return err_set(e, EPIPE, "the applier died");
	k->laying = true;
	return 0;
}

static int finish(struct keeper *k, struct err *e)
{
	if (k->recipe > 0 && recipe_end(&k->place, &k->recipe, e) < 0)
		return -e->no;
	fd_close(take_fd(&k->apply_sock)); /* tells the applier to exit */
	reap(&k->applier, false);
	place_key(&k->plan, k->key);
	if (place_finish(&k->place, k->key, k->sp->name, &k->plan, e) < 0)
		return -e->no;
	k->done = true;
	return 0;
}

static void tell(struct keeper *k)
{
	uint64_t now = clock_mono_ms();

	if (now - k->told_ms < PROGRESS_MS || !k->planned)
		return;
	k->told_ms = now;
	for (uint32_t i = 0; i < k->plan.n_layers; i++) {
		struct stat st;

		if (k->storer[i].pid > 0 && fstat(k->storer[i].file_fd, &st) == 0)
			report_progress(k->sp->talk, "download", i + 1, k->plan.n_layers, (uint64_t)st.st_size,
			    k->plan.layer[i].blob.size);
	}
	if (k->laying) { /* the expander shares our file offset */
		off_t at = lseek(k->blob[k->next], 0, SEEK_CUR);

		report_progress(k->sp->talk, "unpack", k->next + 1, k->plan.n_layers, at < 0 ? 0 : (uint64_t)at,
		    k->plan.layer[k->next].blob.size);
	}
}

/* Fails if a needed layer can no longer arrive. */
static int check_all_coming(const struct keeper *k, struct err *e)
{
	for (uint32_t i = 0; k->fetched && !k->done && i < k->plan.n_layers; i++) {
		if (k->needed[i])
			return err_set(e, EPIPE, "the fetcher died before layer %u", i + 1);
	}
	return 0;
}

static int turn(struct keeper *k, struct err *e)
{
	struct pollfd p[4 + MANIFEST_LAYERS_MAX] = {
		{ .fd = k->signals, .events = POLLIN },
		{ .fd = k->fetch_sock, .events = POLLIN },
		{ .fd = k->apply_sock, .events = POLLIN },
		{ .fd = k->sp->watch_talk ? k->sp->talk : -1, .events = POLLRDHUP },
	};

	for (size_t i = 0; i < MANIFEST_LAYERS_MAX; i++)
		p[4 + i] = (struct pollfd) { .fd = k->storer[i].pid > 0 ? k->storer[i].result_fd : -1,
			.events = POLLIN };
	if (poll(p, ARRAY_LEN(p), PROGRESS_MS) < 0 && errno != EINTR)
		return err_sys(e, "wait");
	if (p[0].revents || p[3].revents)
		return err_set(e, ECANCELED, "cancelled");
	/* The fetcher comes first: it knows why a transfer stopped, a storer only sees that it did. */
	if (p[1].revents && on_fetch(k, e) < 0)
		return -e->no;
	if (p[2].revents && k->apply_sock >= 0 && on_laid(k, e) < 0)
		return -e->no;
	for (uint32_t i = 0; i < MANIFEST_LAYERS_MAX; i++) {
		if (p[4 + i].revents && on_stored(k, i, e) < 0) {
			struct pollfd f = { .fd = k->fetch_sock, .events = POLLIN };

			if (poll(&f, 1, 0) == 1 && f.revents)
				(void)on_fetch(k, e);
			return -e->no;
		}
	}
	tell(k);
	if (lay_next(k, e) < 0 || check_all_coming(k, e) < 0)
		return -e->no;
	return k->planned && !k->done && k->next == k->plan.n_layers ? finish(k, e) : 0;
}

static void end(struct keeper *k)
{
	reap(&k->fetcher, true);
	reap(&k->applier, true);
	reap(&k->recipe, true);
	for (size_t i = 0; i < MANIFEST_LAYERS_MAX; i++) {
		reap(&k->storer[i].pid, true);
		fd_close(k->storer[i].result_fd);
		fd_close(k->storer[i].file_fd);
		fd_close(k->blob[i]);
	}
	fd_close(k->fetch_sock);
	fd_close(k->apply_sock);
	fd_close(k->signals);
	blobs_close(&k->blobs);
	place_close(&k->place);
}

static int set_up(struct keeper *k, struct err *e)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	k->signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (k->signals < 0)
		return err_sys(e, "watch signals");
	if (place_open(k->sp->cache, k->sp->state, &k->place, e) < 0 || place_take_slot(&k->place, e) < 0)
		return -e->no;
	return blobs_open(k->place.images_fd, &k->blobs, e);
}

int keeper_run(const struct keeper_spec *sp, struct err *e)
{
	static struct keeper k;
	struct err trim = ERR_INIT;
	uint64_t freed;

	k = (struct keeper) { .sp = sp,
		.place = PLACE_NONE,
		.blobs = BLOBS_NONE,
		.signals = -1,
		.fetch_sock = -1,
		.apply_sock = -1 };
	for (size_t i = 0; i < MANIFEST_LAYERS_MAX; i++) {
		k.blob[i] = -1;
		k.storer[i] = (struct storer) { .result_fd = -1, .file_fd = -1 };
	}
	if (set_up(&k, e) == 0 &&
	    (sp->pull->source != PULL_STREAM ||
		recipe_start(&k.place, sp->pull->recipe, &sp->pull->source_fd, &k.recipe, e) == 0) &&
	    start_fetcher(&k, e) == 0) {
		while (!k.done && turn(&k, e) == 0)
			;
	}
	if (k.done)
		*e = ERR_INIT;
	else if (k.recipe > 0 && e->no == EBADMSG)
		(void)recipe_end(&k.place, &k.recipe, e); /* the truncated archive is only a consequence */
	if (k.blobs.dir_fd >= 0)
		(void)blobs_trim(&k.blobs, sp->cache_bytes, &freed, &trim); /* over quota is not fatal */
	end(&k);
	if (k.done)
		report_done(sp->talk, k.key, k.cached);
	return k.done ? 0 : -e->no;
}

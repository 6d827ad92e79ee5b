/* SPDX-License-Identifier: Apache-2.0 */
/* volume: creates volumes, and starts the programs that serve them. */
#include "warden/volume.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "ipc/check.h"
#include "loop/loop.h"
#include "warden/aside.h"
#include "warden/front_send.h"
#include "warden/handlers.h"
#include "warden/link.h"
#include "warden/unit_state.h"
#include "warden/warden.h"

#define NO_PLACE UINT32_MAX
/* children that create or change volumes at the same time: a compromised front must not fork without end */
#define SETS_MAX 64

struct volume_job { /* a child, from the request on; for a serving program, until it exits */
	struct warden *w;
	uint32_t seq;   /* 0: the front has been answered */
	uint64_t life;  /* the front that asked */
	uint32_t place; /* of a serving program, otherwise NO_PLACE */
	uint64_t bytes; /* of a new volume */
	char name[ID_SIZE];
	pid_t pid;
	int client; /* the front's end of the connection, until it is sent */
	/* carries the result; from a serving program only a failure, as exec closes it */
	int sock;
	struct watch *watch;
};

/* --- in the child ------------------------------------------------------------------------------------------- */

static __attribute__((noreturn)) void child_main(const struct volume_job *j, int report, int conn, pid_t warden)
{
	struct warden *w = j->w;
	struct err e = ERR_INIT;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != warden)
		_exit(1);
	aside_signals();
	warden_let_go(w);
	int own = fcntl(report, F_DUPFD_CLOEXEC, 32); /* must not collide with the few fds that the program keeps */

	fd_close(report);
	int r = conn < 0 ? w->ops->volume_set(w->engine, j->name, j->bytes, &e)
			 : w->ops->volume_serve(w->engine, j->name, j->place, conn, &e);

	if (r < 0 || conn < 0)
		(void)fd_send(own, &e, sizeof e, NULL, 0);
	_exit(r < 0);
}

/* --- in the warden ------------------------------------------------------------------------------------------ */

static void job_free(void *arg)
{
	struct volume_job *j = arg;

	if (j->place != NO_PLACE)
		j->w->volume_jobs[j->place] = NULL;
	else
		j->w->n_volume_sets--;
	watch_free(j->watch);
	fd_close(j->sock);
	fd_close(j->client);
	free(j);
}

static void answer(struct volume_job *j, const struct err *e)
{
	struct warden *w = j->w;
	struct msg_ok re = { .head = { MSG_VERSION, RE_OK, j->seq } };

	if (e->no)
		log_warn("volume operation failed", "name=%s err=%s", j->name, e->text);
	if (e->no || j->client < 0) {
		if (e->no)
			front_error(w, j->life, j->seq, e->no, e->text);
		else
			front_ok(w, j->life, j->seq);
	} else if (w->link && j->life == w->life) {
		link_send(w->link, &re, sizeof re, take_fd(&j->client));
	}
	fd_close(take_fd(&j->client)); /* a program without a client exits when this is closed */
	j->seq = 0;
}

static void on_report(void *user, int events)
{
	struct volume_job *j = user;
	struct err e = ERR_INIT;
	size_t n_fds;
	ssize_t n = fd_recv(j->sock, &e, sizeof e, NULL, 0, &n_fds);

	(void)events;
	if (n == -EAGAIN)
		return;
	if (n == sizeof e)
		e.text[sizeof e.text - 1] = '\0';
	else if (n != 0 || j->place == NO_PLACE)
		(void)err_set(&e, EIO, "hear from a child: %s", n < 0 ? strerror((int)-n) : "it ended without a word");
	watch_free(take_ptr(&j->watch));
	answer(j, &e);
}

/* The child has exited, which may be seen before its report is read. job_free() follows. */
static void on_end(void *arg)
{
	struct volume_job *j = arg;

	if (j->seq)
		on_report(j, 0);
	if (j->seq)
		answer(j, &(struct err) { .no = EIO, .text = "the child ended without a word" });
	job_free(j);
}

static int job_fork(struct volume_job *j, bool serves, struct err *e)
{
	int report[2], conn[2] = { -1, -1 };
	pid_t self = getpid();

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, report) < 0)
		return err_sys(e, "make a socket");
	j->sock = report[0];
	if (serves && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, conn) < 0) {
		fd_close(report[1]);
		return err_sys(e, "make a socket");
	}
	j->client = conn[0];
	j->watch = watch_new(j->w->loop, j->sock, WATCH_IN, on_report, j);
	j->pid = j->watch ? fork() : -1;
	if (j->pid == 0) {
		fd_close(j->sock);
		fd_close(j->client);
		child_main(j, report[1], conn[1], self);
	}
	int no = errno;

	fd_close(report[1]);
	fd_close(conn[1]);
	errno = no;
	return j->pid < 0 ? err_sys(e, "fork for a volume") : 0;
}

static void job_begin(struct warden *w, const struct msg_head *head, const char *name, uint64_t bytes, uint32_t place)
{
	struct volume_job *j = calloc(1, sizeof *j);
	struct err e = ERR_INIT;

	if (!j) {
		front_error(w, w->life, head->seq, ENOMEM, "out of memory");
		return;
	}
	*j = (struct volume_job) { .w = w,
		.seq = head->seq,
		.life = w->life,
		.place = place,
		.bytes = bytes,
		.client = -1,
		.sock = -1 };
	memcpy(j->name, name, sizeof j->name);
	if (place != NO_PLACE)
		w->volume_jobs[place] = j;
	else
		w->n_volume_sets++;
	if (job_fork(j, place != NO_PLACE, &e) < 0) {
		answer(j, &e);
		job_free(j);
	} else if (aside_watch(w->loop, j->pid, on_end, j) < 0) {
		(void)kill(j->pid, SIGKILL);
		answer(j, &(struct err) { .no = ENOMEM, .text = "out of memory" });
		job_free(j);
	}
}

void op_volume(struct warden *w, const void *msg)
{
	const struct msg_volume *m = msg;

	if (w->n_volume_sets == SETS_MAX) {
		front_error(w, w->life, m->head.seq, EBUSY, "as many volumes are being made or changed as can be");
		return;
	}
	log_info("volume", "name=%s bytes=%llu request=%s", m->name, (unsigned long long)m->bytes, m->request);
	job_begin(w, &m->head, m->name, m->bytes, NO_PLACE);
}

void op_volume_connect(struct warden *w, const void *msg)
{
	const struct msg_name *m = msg;

	for (uint32_t i = 0; i < ENGINE_VOLUME_PLACES; i++) {
		if (w->volume_jobs[i])
			continue;
		log_debug("serve a volume", "name=%s place=%u request=%s", m->name, i, m->request);
		job_begin(w, &m->head, m->name, 0, i);
		return;
	}
	front_error(w, w->life, m->head.seq, EBUSY, "as many volumes are being served as can be");
}

static bool is_mounted(const struct warden *w, const char *name)
{
	const struct unit *sb;

	LIST_FOREACH(sb, &w->units, all)
	{
		const struct engine_spec *sp = &sb->er.spec;

		for (uint32_t k = 0; k < sp->n_volumes; k++) {
			if (strcmp(sp->volumes[k].name, name) == 0)
				return true;
		}
	}
	return false;
}

/* The front has better reasons for a refusal; this check is for a compromised front. */
void op_volume_drop(struct warden *w, const void *msg)
{
	const struct msg_name *m = msg;
	struct err e = ERR_INIT;

	log_info("drop volume", "name=%s request=%s", m->name, m->request);
	if (is_mounted(w, m->name))
		(void)err_set(&e, EBUSY, "volume '%s' is mounted in a sandbox", m->name);
	else
		(void)w->ops->volume_drop(w->engine, m->name, &e);
	if (e.no)
		front_error(w, w->life, m->head.seq, e.no, e.text);
	else
		front_ok(w, w->life, m->head.seq);
}

struct listing {
	struct warden *w;
	uint32_t seq;
};

static void send_item(void *arg, const char *name, uint64_t used_bytes)
{
	const struct listing *l = arg;
	struct msg_volume_item item;

	memset(&item, 0, sizeof item);
	item.head = (struct msg_head) { MSG_VERSION, RE_VOLUME_ITEM, l->seq };
	item.used_bytes = used_bytes;
	if (str_copy(item.name, sizeof item.name, str_of(name)) && check_id(item.name) && l->w->link)
		link_send(l->w->link, &item, sizeof item, -1);
}

void op_volumes(struct warden *w, const void *msg)
{
	const struct msg_list *m = msg;
	struct listing l = { w, m->head.seq };
	struct err e = ERR_INIT;

	if (w->ops->volumes(w->engine, send_item, &l, &e) < 0)
		front_error(w, w->life, m->head.seq, e.no, e.text);
	else
		front_ok(w, w->life, m->head.seq);
}

void warden_volumes_free(struct warden *w)
{
	for (uint32_t i = 0; i < ENGINE_VOLUME_PLACES; i++) {
		if (!w->volume_jobs[i])
			continue;
		if (w->volume_jobs[i]->pid > 0)
			(void)kill(w->volume_jobs[i]->pid, SIGKILL);
		job_free(w->volume_jobs[i]);
	}
}

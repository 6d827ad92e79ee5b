/* SPDX-License-Identifier: Apache-2.0 */
/* cli/packed/source: directories, and the parent's side of HTTP. */
#include "cli/packed/source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"
#include "cli/packed/source_http.h"

#define WORKERS 4

struct worker {
	pid_t pid; /* 0: not started */
	int fd;
	bool busy;
	size_t at; /* what it gets */
};

struct source {
	char *from;
	int dir; /* -1: HTTP */
	struct worker w[WORKERS];
};

int source_open(const char *from, struct source **ret, struct err *e)
{
	struct source *s = calloc(1, sizeof *s);
	struct str f = str_of(from);

	if (!s || !(s->from = str_dup(f))) {
		free(s);
		return err_set(e, ENOMEM, "out of memory");
	}
	s->dir = -1;
	if (!str_starts(f, "http://") && !str_starts(f, "https://")) {
		s->dir = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (s->dir < 0) {
			(void)err_sys(e, "open '%s'", from);
			source_free(s);
			return -e->no;
		}
	}
	*ret = s;
	return 0;
}

void source_free(struct source *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < WORKERS; i++) {
		if (s->w[i].pid <= 0)
			continue;
		fd_close(s->w[i].fd);
		(void)kill(s->w[i].pid, SIGKILL);
		(void)waitpid(s->w[i].pid, NULL, 0);
	}
	fd_close(s->dir);
	free(s->from);
	free(s);
}

/* --- a directory -------------------------------------------------------------------------------------------------- */

static int read_file(const struct source *s, const struct source_want *want, struct buf *to, struct err *e)
{
	autoclose int fd = openat(s->dir, want->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "'%s/%s'", s->from, want->path);
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > want->max)
		return err_set(e, EFBIG, "'%s/%s' is no file of at most %zu bytes", s->from, want->path, want->max);
	size_t n = (size_t)st.st_size;
	char *room = buf_room(to, n);

	if (!room)
		return err_set(e, ENOMEM, "out of memory");
	int r = fd_read_all(fd, room, n);

	if (r < 0)
		return err_set(e, -r, "read '%s/%s'", s->from, want->path);
	to->n += n;
	return 0;
}

static int get_files(struct source *s, const struct source_want *v, size_t n, source_sink *sink, void *user,
    struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		autobuf struct buf got = BUF_INIT(v[i].max + 1);

		if (read_file(s, &v[i], &got, e) < 0 || sink(user, i, got.p, got.n, e) != 0)
			return -e->no;
	}
	return 0;
}

/* --- HTTP --------------------------------------------------------------------------------------------------------- */

static int start(struct source *s, struct worker *w, struct err *e)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "create a socket");
	w->pid = fork();
	if (w->pid == 0) {
		fd_close(pair[0]);
		source_http_run(pair[1], s->from);
	}
	fd_close(pair[1]);
	w->fd = pair[0];
	if (w->pid < 0) {
		w->pid = 0;
		fd_close(pair[0]);
		return err_sys(e, "fork");
	}
	return 0;
}

static int ask(struct source *s, struct worker *w, const struct source_want *v, size_t at, struct err *e)
{
	if (w->pid == 0 && start(s, w, e) < 0)
		return -e->no;
	int r = fd_write_all(w->fd, &v[at], sizeof v[at]);

	if (r < 0)
		return err_set(e, -r, "the process that gets files from '%s' has ended", s->from);
	w->busy = true;
	w->at = at;
	return 0;
}

static int take_answer(struct source *s, struct worker *w, const struct source_want *v, source_sink *sink, void *user,
    struct err *e)
{
	struct source_answer a;
	autobuf struct buf got = BUF_INIT(v[w->at].max + 1);

	if (fd_read_all(w->fd, &a, sizeof a) < 0)
		return err_set(e, EPIPE, "the process that gets files from '%s' has ended", s->from);
	a.text[sizeof a.text - 1] = '\0';
	if (a.no != 0)
		return err_set(e, a.no > 0 && a.no < 4096 ? a.no : EIO, "'%s/%s': %s", s->from, v[w->at].path, a.text);
	char *room = a.n <= v[w->at].max ? buf_room(&got, a.n) : NULL;

	if (!room || fd_read_all(w->fd, room, a.n) < 0)
		return err_set(e, EPIPE, "the process that gets files from '%s' makes no sense", s->from);
	got.n += a.n;
	w->busy = false;
	return sink(user, w->at, got.p, got.n, e) == 0 ? 0 : -e->no;
}

static int get_urls(struct source *s, const struct source_want *v, size_t n, source_sink *sink, void *user,
    struct err *e)
{
	size_t next = 0, done = 0;

	while (done < n) {
		struct pollfd p[WORKERS];

		for (size_t i = 0; i < WORKERS; i++) {
			if (!s->w[i].busy && next < n && ask(s, &s->w[i], v, next++, e) < 0)
				return -e->no;
			p[i] = (struct pollfd) { .fd = s->w[i].busy ? s->w[i].fd : -1, .events = POLLIN };
		}
		if (poll(p, WORKERS, -1) < 0 && errno != EINTR)
			return err_sys(e, "poll");
		for (size_t i = 0; i < WORKERS; i++) {
			if (p[i].fd < 0 || !p[i].revents)
				continue;
			if (take_answer(s, &s->w[i], v, sink, user, e) < 0)
				return -e->no;
			done++;
		}
	}
	return 0;
}

int source_get(struct source *s, const struct source_want *v, size_t n, source_sink *sink, void *user, struct err *e)
{
	return s->dir >= 0 ? get_files(s, v, n, sink, user, e) : get_urls(s, v, n, sink, user, e);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* interp_kernel: one runtime process. */
#include "init/interp/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "http/json.h"
#include "init/init.h"
#include "init/interp/interp.h"
#include "init/interp/seed.h"
#include "init/process/spawn.h"
#include "init/users.h"
#include "loop/loop.h"
#include "loop/stream.h"

#define READ_SIZE (64 * 1024)
#define DRAIN_MAX (1024 * 1024) /* more than a pipe holds */
#define COMMAND_MAX (64 * 1024 * 1024)
#define ABOVE_CTL 10 /* lowest fd of the socket until it becomes fd 3 */

struct tap { /* an output pipe */
	struct kernel *k;
	enum kernel_stream which;
	int fd;
	struct watch *watch;
};

struct kernel {
	struct kernel *next; /* in interp.kernels */
	struct init *in;
	const struct kernel_ops *ops; /* NULL: no more callbacks */
	void *user;
	pid_t pid;         /* 0: unknown, or ended */
	struct seed *seed; /* it was requested from */
	uint32_t asked;    /* id of the outstanding request to it; 0: none */
	bool by_seed;
	bool lost;    /* its seed has ended before it was there */
	bool judging; /* it has ended; on_end waits for oom_judge() */
	int status;
	struct stream *ctl;
	struct buf line; /* an incomplete message */
	bool skipping;   /* dropping the rest of a message that is too long */
	struct tap tap[2];
};

/* Output. */

static void tap_close(struct tap *t)
{
	watch_free(take_ptr(&t->watch));
	fd_close(take_fd(&t->fd));
}

/* Bytes read; 0: no more data, for now or at the end. */
static size_t tap_read(struct tap *t)
{
	char data[READ_SIZE];
	ssize_t n = t->fd < 0 ? 0 : read(t->fd, data, sizeof(data));

	if (n > 0) {
		if (t->k->ops)
			t->k->ops->on_output(t->k->user, t->which, (struct str) { data, (size_t)n });
		return (size_t)n;
	}
	/* The pipe is closed at the other end. The process may still run and answer. */
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		tap_close(t);
	return 0;
}

static void on_tap(void *user, int events)
{
	(void)events;
	(void)tap_read(user);
}

/* Output printed before a message is in the pipes when the message arrives, so it is read first. */
static void drain(struct kernel *k)
{
	for (size_t i = 0; i < ARRAY_LEN(k->tap); i++)
		for (size_t got = 0, n; got < DRAIN_MAX && (n = tap_read(&k->tap[i])) > 0; got += n)
			;
}

/* Messages. */

static void take_line(struct kernel *k)
{
	autojson json_t *msg = NULL;
	json_error_t je;
	const char *type;

	drain(k);
	if (!k->ops)
		return;
	if (k->skipping || k->line.bad) {
		k->ops->on_too_long(k->user);
		return;
	}
	msg = json_loadb(k->line.p ? k->line.p : "", k->line.n, JSON_ALLOW_NUL, &je);
	type = json_string_value(json_object_get(msg, "type"));
	if (type)
		k->ops->on_message(k->user, type, msg);
	else
		log_warn("ignoring a malformed message from a runtime", "pid=%d", (int)k->pid);
}

static void on_data(void *user, struct str data)
{
	struct kernel *k = user;

	while (data.n) {
		const char *nl = memchr(data.p, '\n', data.n);
		size_t n = nl ? (size_t)(nl - data.p) : data.n;

		if (!k->skipping)
			buf_put(&k->line, data.p, n);
		if (k->line.bad && !k->skipping) {
			buf_done(&k->line);
			k->line = BUF_INIT(KERNEL_LINE_MAX);
			k->skipping = true;
		}
		str_skip(&data, nl ? n + 1 : n);
		if (!nl)
			return;
		take_line(k);
		k->skipping = false;
		if (k->line.cap > READ_SIZE) {
			buf_done(&k->line);
			k->line = BUF_INIT(KERNEL_LINE_MAX);
		}
		buf_clear(&k->line);
	}
}

static void signal_all(struct kernel *k, int signo)
{
	if (k->pid > 0) /* not reaped yet, so the pid is still its own */
		(void)kill(-k->pid, signo);
}

/* A runtime without its socket is useless. Its end is reported when it is reaped. */
static void on_eof(void *user)
{
	signal_all(user, SIGKILL);
}

static void on_error(void *user, int no)
{
	(void)no;
	on_eof(user);
}

static const struct stream_ops ctl_ops = { .on_data = on_data, .on_eof = on_eof, .on_error = on_error };

static void send_line(struct kernel *k, const json_t *msg)
{
	autobuf struct buf out = BUF_INIT(COMMAND_MAX);

	json_put(&out, msg);
	buf_ch(&out, '\n');
	if (!out.bad)
		stream_write(k->ctl, buf_view(&out));
	else
		on_eof(k); /* out of memory */
}

void kernel_execute(struct kernel *k, const struct kernel_cell *cell)
{
	autojson json_t *msg = json_pack("{s:s,s:I,s:I,s:O}", "op", "execute", "id", (json_int_t)cell->id, "count",
	    (json_int_t)cell->count, "code", cell->code);

	if (cell->env)
		(void)json_object_set(msg, "env", (json_t *)cell->env);
	send_line(k, msg);
}

void kernel_rehearse(struct kernel *k)
{
	autojson json_t *msg = json_pack("{s:s}", "op", "rehearse");

	send_line(k, msg);
}

void kernel_interrupt(struct kernel *k)
{
	signal_all(k, SIGINT);
}

void kernel_read(struct kernel *k, bool on)
{
	stream_read(k->ctl, on);
	for (size_t i = 0; i < ARRAY_LEN(k->tap); i++)
		if (k->tap[i].watch)
			watch_set(k->tap[i].watch, on ? WATCH_IN : 0);
}

/* The end. */

static void kernel_free(void *p)
{
	struct kernel *k = p;

	stream_close(k->ctl);
	tap_close(&k->tap[0]);
	tap_close(&k->tap[1]);
	buf_done(&k->line);
	free(k);
}

/* The process has ended, or was never made. */
static void finish(struct kernel **at, int status)
{
	struct kernel *k = *at;
	struct init *in = k->in;

	*at = k->next;
	if (in->interp.spare == k)
		in->interp.spare = NULL;
	if (k->ops)
		k->ops->on_end(k->user, status);
	k->ops = NULL;
	loop_defer(in->loop, kernel_free, k);
}

void kernel_kill(struct kernel *k)
{
	if (!k)
		return;
	k->ops = NULL;
	/* Without readers the process does not block on its output. */
	tap_close(&k->tap[0]);
	tap_close(&k->tap[1]);
	stream_read(k->ctl, false);
	signal_all(k, SIGKILL);
}

/* Reads its last messages. Its children may hold the socket open, so the end of file is not waited for. */
static void last_messages(struct kernel *k)
{
	char data[READ_SIZE];
	ssize_t n;

	while (k->ops && (n = recv(stream_fd(k->ctl), data, sizeof(data), MSG_DONTWAIT)) > 0)
		on_data(k, (struct str) { data, (size_t)n });
}

/* True: k is finished and *at is the next one. */
static bool judge(struct kernel **at, bool last)
{
	struct kernel *k = *at;
	enum oom_verdict v = k->ops ? oom_judge(&k->in->oom, k->status, last) : OOM_NO;

	k->judging = v == OOM_WAIT;
	if (!k->judging)
		finish(at, v == OOM_YES ? k->status | STATUS_OOM : k->status);
	return !k->judging;
}

void kernels_judge(struct init *in, bool last)
{
	for (struct kernel **at = &in->interp.kernels; *at;) {
		if (!(*at)->judging || !judge(at, last))
			at = &(*at)->next;
	}
}

bool interp_reaped(struct init *in, pid_t pid, int status)
{
	struct kernel **at = &in->interp.kernels;

	while (*at && (*at)->pid != pid)
		at = &(*at)->next;
	if (!*at)
		return false;
	(*at)->pid = 0;
	last_messages(*at);
	drain(*at);
	(*at)->status = status;
	(void)judge(at, false);
	return true;
}

/* Processes that are copies. */

static void on_forked(void *user, struct seed *s, uint32_t id, pid_t pid)
{
	struct init *in = user;
	struct kernel **at = &in->interp.kernels;

	while (*at && ((*at)->seed != s || (*at)->asked != id))
		at = &(*at)->next;
	if (id == 0 || !*at)
		return;
	(*at)->asked = 0;
	/* It may have ended before the answer came; it was then reaped as an unknown process. */
	if (pid <= 1 || kill(pid, 0) < 0) {
		finish(at, KERNEL_LOST);
		return;
	}
	(*at)->pid = pid;
	if (!(*at)->ops && in->interp.spare != *at)
		signal_all(*at, SIGKILL); /* killed by kernel_kill() meanwhile */
}

/* Their owners may ask for others at once, of which the new seed is in the same place. */
static void on_seed_end(void *user, struct seed *s)
{
	struct init *in = user;
	bool late = s->late;

	for (struct kernel *k = in->interp.kernels; k; k = k->next) {
		k->lost = k->asked && k->seed == s;
		k->asked = k->lost ? 0 : k->asked;
	}
	for (struct kernel **at = &in->interp.kernels; *at;) {
		if ((*at)->lost) {
			finish(at, late ? KERNEL_LATE : KERNEL_LOST);
			at = &in->interp.kernels;
		} else {
			at = &(*at)->next;
		}
	}
}

const struct seed_ops kernel_seed_ops = { .on_forked = on_forked, .on_end = on_seed_end };

/* Start. */

struct ends { /* ends of the new process; all above 3, close-on-exec */
	int in, out, err, ctl;
};

static void ends_cleanup(struct ends *x)
{
	fd_close(x->in);
	fd_close(x->out);
	fd_close(x->err);
	fd_close(x->ctl);
}

/* flags: O_DIRECT keeps writes separate, up to PIPE_BUF bytes each. */
static int open_tap(struct kernel *k, enum kernel_stream which, int flags, int *ret_wr)
{
	int fd[2];

	if (pipe2(fd, O_CLOEXEC | flags) < 0)
		return -errno;
	*ret_wr = fd[1];
	k->tap[which] = (struct tap) { .k = k, .which = which, .fd = fd[0] };
	if (fd_nonblock(fd[0], true) < 0)
		return -errno;
	k->tap[which].watch = watch_new(k->in->loop, fd[0], WATCH_IN, on_tap, &k->tap[which]);
	return k->tap[which].watch ? 0 : -ENOMEM;
}

static int open_ends(struct kernel *k, bool writes_apart, struct ends *x, struct err *e)
{
	int flags = writes_apart ? O_DIRECT : 0;
	int pair[2];

	x->in = open("/dev/null", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (x->in < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(e, "open the runtime's streams");
	x->ctl = fcntl(pair[1], F_DUPFD_CLOEXEC, ABOVE_CTL);
	fd_close(pair[1]);
	(void)fd_nonblock(pair[0], true);
	k->ctl = stream_new(k->in->loop, pair[0], &ctl_ops, k);
	if (x->ctl < 0 || !k->ctl || open_tap(k, KERNEL_STDOUT, flags, &x->out) < 0 ||
	    open_tap(k, KERNEL_STDERR, flags, &x->err) < 0)
		return err_set(e, EMFILE, "open the runtime's streams");
	return 0;
}

/* Converts NAME=VALUE strings to an object. */
static json_t *env_object(char *const *envp)
{
	json_t *o = json_object();

	for (; *envp; envp++) {
		struct str value = str_of(*envp);
		autofree char *name = str_dup(str_cut(&value, '='));

		if (name && value.p)
			(void)json_object_set_new(o, name, json_stringn(value.p, value.n));
	}
	return o;
}

static bool seedable(const struct runtime *rt)
{
	return strcmp(rt->language, "python") == 0;
}

/* From the first copy, from the seed if there is one, or from a new one: a seed ends by itself, and may just have. */
static int ask(struct kernel *k, const struct seed_request *rq)
{
	struct interp *ip = &k->in->interp;

	k->seed = &ip->first;
	if (seed_ask(k->seed, rq, &k->asked) == 0)
		return 0;
	k->seed = &ip->seed;
	if (seed_ask(k->seed, rq, &k->asked) == 0)
		return 0;
	if (ip->seed.fd >= 0)
		seed_close(&ip->seed);
	int r = seed_ring(&ip->seed, k->in->loop, &kernel_seed_ops, k->in);

	return r < 0 ? r : seed_ask(k->seed, rq, &k->asked);
}

/* Takes a copy if it can get one, else starts it by exec. */
static int make(struct kernel *k, const struct spawn *sp, bool by_seed, struct err *e)
{
	struct seed_request rq = {
		.uid = sp->uid,
		.gid = sp->gid,
		.groups = sp->groups,
		.n_groups = sp->n_groups,
		.fds = { sp->in, sp->out, sp->err, sp->ctl },
	};

	k->by_seed = by_seed && ask(k, &rq) == 0;
	return k->by_seed ? 0 : spawn(sp, &k->pid, e);
}

static void send_start(struct kernel *k, const struct runtime *rt, const char *cwd, char *const *envp)
{
	autojson json_t *msg = json_pack("{s:s,s:s,s:s,s:o}", "op", "start", "language", rt->language, "cwd", cwd,
	    "env", env_object(envp));

	send_line(k, msg);
}

int kernel_env(struct kernel *k, const struct runtime *rt, struct err *e)
{
	autousers struct userdb users;
	struct user u;

	userdb_load(&users);
	if (userdb_find(&users, str_of(rt->user), &u) < 0)
		return err_set(e, ENOENT, "the sandbox has no user '%.60s'", rt->user);
	autofree char **envp = env_build(&k->in->env, &u, k->in->path, NULL);

	if (!envp)
		return err_set(e, ENOMEM, "out of memory");
	autojson json_t *msg = json_pack("{s:s,s:o}", "op", "env", "env", env_object(envp));

	send_line(k, msg);
	return 0;
}

void kernel_reseed(struct kernel *k)
{
	autojson json_t *msg = json_pack("{s:s}", "op", "reseed");

	send_line(k, msg);
}

static struct kernel *kernel_new(struct init *in)
{
	struct kernel *k = calloc(1, sizeof(*k));

	if (k) {
		*k = (struct kernel) { .in = in, .tap = { { .fd = -1 }, { .fd = -1 } } };
		k->line = BUF_INIT(KERNEL_LINE_MAX);
	}
	return k;
}

/* Makes a process for that user; envp is used only without a seed. */
static int make_process(struct init *in, const struct runtime *rt, const struct spawn *like, bool by_seed,
    struct kernel **ret, struct err *e)
{
	__attribute__((cleanup(ends_cleanup))) struct ends x = { -1, -1, -1, -1 };
	struct kernel *k = kernel_new(in);
	struct spawn sp = *like;

	if (!k)
		return err_set(e, ENOMEM, "out of memory");
	if (open_ends(k, rt->writes_apart, &x, e) < 0) {
		kernel_free(k);
		return -e->no;
	}
	sp.in = x.in, sp.out = x.out, sp.err = x.err, sp.ctl = x.ctl;
	if (make(k, &sp, by_seed, e) < 0) {
		kernel_free(k);
		return -e->no;
	}
	k->next = in->interp.kernels;
	in->interp.kernels = k;
	stream_read(k->ctl, true);
	*ret = k;
	return 0;
}

bool kernel_is_fork(const struct kernel *k)
{
	return k->by_seed;
}

int kernel_start(struct init *in, const struct runtime *rt, const char *cwd, bool may_fork,
    const struct kernel_ops *ops, void *user, struct kernel **ret, struct err *e)
{
	autousers struct userdb users;
	gid_t groups[USER_GROUPS_MAX];
	struct kernel *k = NULL;
	struct user u;

	userdb_load(&users);
	if (userdb_find(&users, str_of(rt->user), &u) < 0)
		return err_set(e, ENOENT, "the sandbox has no user '%.60s'", rt->user);
	autofree char **envp = env_build(&in->env, &u, in->path, NULL);
	struct spawn sp = {
		.argv = rt->argv,
		.envp = envp,
		.cwd = cwd,
		.uid = u.uid,
		.gid = u.gid,
		.groups = groups,
		.n_groups = userdb_groups(&users, &u, groups, USER_GROUPS_MAX),
		.leader = true,
	};

	if (!envp)
		return err_set(e, ENOMEM, "out of memory");
	may_fork = may_fork && seedable(rt) && !env_read_at_start(&in->env);
	if (may_fork && in->interp.spare && in->interp.spare_uid == u.uid)
		k = take_ptr(&in->interp.spare);
	else if (make_process(in, rt, &sp, may_fork, &k, e) < 0)
		return -e->no;
	k->ops = ops;
	k->user = user;
	send_start(k, rt, cwd, envp);
	*ret = k;
	return 0;
}

void kernel_spare(struct init *in, const struct runtime *rt)
{
	autousers struct userdb users;
	gid_t groups[USER_GROUPS_MAX];
	struct err ignored = ERR_INIT;
	struct user u;

	userdb_load(&users);
	if (in->interp.first.fd < 0 || !seedable(rt) || userdb_find(&users, str_of(rt->user), &u) < 0)
		return;
	/* A dummy program: if the seed cannot take the request, there is no spare process. */
	struct spawn sp = {
		.argv = (char *[]) { "/bin/false", NULL },
		.envp = (char *[]) { NULL },
		.cwd = "/",
		.uid = u.uid,
		.gid = u.gid,
		.groups = groups,
		.n_groups = userdb_groups(&users, &u, groups, USER_GROUPS_MAX),
		.leader = true,
	};

	if (make_process(in, rt, &sp, true, &in->interp.spare, &ignored) == 0)
		in->interp.spare_uid = u.uid;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* view_serve: atoll-view, the process that answers the kernel for the files of all views.
 *
 * All of its input comes from the kernel: FUSE requests, and cgroup files. Node numbers follow from slot and file,
 * so lookups keep no state, and a later process continues with the same numbers. It serves one request at a time,
 * each in some microseconds: the usage of a sandbox is read from its cgroups at most every 10 ms, however often it
 * asks. The process runs at the priority of a daemon, so each slot has a share of its time: requests beyond that
 * share wait for the next window, and other slots go first. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/str.h"
#include "engine/view/text.h"

#define REQUEST_MAX (16 << 10)   /* the kernel requires at least 8 KiB */
#define WRITE_MAX 4096           /* there are no writes */
#define ANSWER_MAX (128 << 10)   /* of a read; the kernel requests no more */
#define FOREVER (365ull * 86400) /* names and attributes never change */
#define STEP 16                  /* node numbers per slot: its directory, then its files */
#define FIRST (FUSE_ROOT_ID + 1)
#define FRESH_MS 10
#define BEAT_MS 1000
#define WINDOW_MS 20
#define SHARE 100 /* requests of a slot per window; reading a file takes four */
#define HELD_MAX 8192
#define HELD_BYTES 112 /* longer than any request that a reader causes */
#define BATCH 64
#define TEXT_MAX (4 << 20)
#define SHOTS 256 /* files whose text is cached for readers that continue */

_Static_assert(VIEW_FILES < STEP, "each file has a number");

struct shot {                  /* the text of a file when its reader began */
	uint64_t handle, node; /* both, because each process numbers handles anew */
	struct buf text;
};

struct held { /* a request of a slot that has used up its share */
	size_t n;
	_Alignas(uint64_t) char bytes[HELD_BYTES];
};

struct history { /* per slot */
	uint64_t window;
	uint32_t asked; /* in that window */
	struct cgroup_detail use;
	uint64_t use_ms;         /* when it was read */
	char id[ENGINE_ID_SIZE]; /* of which sandbox */
	uint64_t load_ms, load_cpu_ns;
	double load[3];
};

struct server {
	const struct view *v;
	int device;
	struct history *past;
	struct shot shots[SHOTS];
	struct held *held; /* a ring */
	size_t first_held, n_held;
	uint64_t handles;
	uint64_t host_boot_s;
};

/* --- answers ------------------------------------------------------------------------------------------------------ */

static void answer(const struct server *s, uint64_t unique, int error, const void *p, size_t n)
{
	struct fuse_out_header h = { .len = (uint32_t)(sizeof h + (error ? 0 : n)), .error = error, .unique = unique };
	struct iovec v[] = { { &h, sizeof h }, { (void *)(uintptr_t)p, n } };

	(void)!writev(s->device, v, error || n == 0 ? 1 : 2); /* the reader may be gone */
}

static bool is_dir(uint64_t node)
{
	return node == FUSE_ROOT_ID || (node - FIRST) % STEP == 0;
}

static struct fuse_attr attr_of(uint64_t node)
{
	/* The size is 0, as in /proc: CRIU compares sizes. */
	return (struct fuse_attr) { .ino = node,
		.mode = is_dir(node) ? S_IFDIR | 0555 : S_IFREG | 0444,
		.nlink = 1,
		.blksize = 4096 };
}

static void lookup(const struct server *s, const struct fuse_in_header *h, const char *name)
{
	struct fuse_entry_out o = { .entry_valid = FOREVER, .attr_valid = FOREVER };
	uint64_t k;

	if (h->nodeid == FUSE_ROOT_ID) {
		if (str_to_u64(str_of(name), s->v->n_rows - 1, &k) == 0)
			o.nodeid = FIRST + k * STEP;
	} else if (is_dir(h->nodeid)) {
		for (uint64_t i = 0; i < VIEW_FILES; i++) {
			if (strcmp(name, view_names[i]) == 0)
				o.nodeid = h->nodeid + 1 + i;
		}
	}
	o.attr = attr_of(o.nodeid);
	answer(s, h->unique, o.nodeid ? 0 : -ENOENT, &o, sizeof o);
}

/* Lists all files of a slot at once, so that the builder need not look up each. */
static void list(const struct server *s, const struct fuse_in_header *h, const struct fuse_read_in *in)
{
	static _Alignas(uint64_t) char out[VIEW_FILES * (FUSE_NAME_OFFSET_DIRENTPLUS + 16)];
	size_t n = 0;

	memset(out, 0, sizeof out);
	for (uint64_t i = in->offset; i < VIEW_FILES && h->nodeid != FUSE_ROOT_ID && is_dir(h->nodeid); i++) {
		uint64_t node = h->nodeid + 1 + i;
		uint32_t len = (uint32_t)strlen(view_names[i]);
		struct fuse_direntplus d = {
			.entry_out = { .nodeid = node,
			    .entry_valid = FOREVER,
			    .attr_valid = FOREVER,
			    .attr = attr_of(node) },
			.dirent = { .ino = node, .off = i + 1, .namelen = len, .type = S_IFREG >> 12 },
		};

		if (n + FUSE_DIRENTPLUS_SIZE(&d) > in->size)
			break;
		memcpy(out + n, &d, FUSE_NAME_OFFSET_DIRENTPLUS);
		memcpy(out + n + FUSE_NAME_OFFSET_DIRENTPLUS, view_names[i], len);
		n += FUSE_DIRENTPLUS_SIZE(&d);
	}
	answer(s, h->unique, 0, out, n);
}

static void init(const struct server *s, const struct fuse_in_header *h, const struct fuse_init_in *in)
{
	struct fuse_init_out o = {
		.major = FUSE_KERNEL_VERSION,
		.minor = in->minor < FUSE_KERNEL_MINOR_VERSION ? in->minor : FUSE_KERNEL_MINOR_VERSION,
		.flags = FUSE_DO_READDIRPLUS | (in->flags & FUSE_NO_OPENDIR_SUPPORT),
		.max_write = WRITE_MAX,
		.max_background = 16,
		.congestion_threshold = 12,
		.time_gran = 1,
	};

	answer(s, h->unique, 0, &o, sizeof o);
}

/* --- what is in the files ----------------------------------------------------------------------------------------- */

/* Reads a row that another process may write at any time. */
static bool read_row(const struct view_row *row, struct view_row *ret)
{
	for (int i = 0; i < 1000; i++) {
		uint32_t before = __atomic_load_n(&row->version, __ATOMIC_ACQUIRE);

		*ret = *row;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (!(before & 1) && before == __atomic_load_n(&row->version, __ATOMIC_RELAXED))
			break;
	}
	ret->id[sizeof ret->id - 1] = '\0';
	return ret->id[0] && !strchr(ret->id, '/') && ret->id[0] != '.';
}

static void look(const struct server *s, struct history *past, const struct view_row *row, uint64_t now)
{
	struct cgroup_detail d;

	if (strcmp(past->id, row->id) != 0) {
		*past = (struct history) { .load_ms = row->born_ms, .window = past->window, .asked = past->asked };
		memcpy(past->id, row->id, sizeof past->id);
	} else if (now - past->use_ms < FRESH_MS) {
		return;
	}
	if (cgroup_detail(s->v->cgroups, row->id, &d) < 0)
		return;
	past->use = d;
	past->use_ms = now;
	uint64_t cpu_ns = d.cpu_user_ns + d.cpu_system_ns;

	if (now - past->load_ms < 1000)
		return;
	view_load(past->load, now - past->load_ms, cpu_ns > past->load_cpu_ns ? cpu_ns - past->load_cpu_ns : 0);
	past->load_ms = now;
	past->load_cpu_ns = cpu_ns;
}

static int make_text(const struct server *s, uint64_t node, struct buf *out)
{
	uint64_t k = (node - FIRST) / STEP, now = view_now();
	static struct view_facts f;

	if (k >= s->v->n_rows || !read_row(&s->v->rows[k], &f.row))
		return -EIO;
	look(s, &s->past[k], &f.row, now);
	f.use = s->past[k].use;
	memcpy(f.load, s->past[k].load, sizeof f.load);
	f.age_ms = now > f.row.born_ms ? now - f.row.born_ms : 0;
	f.host_boot_s = s->host_boot_s;
	f.cpuinfo = s->v->cpuinfo;
	cpus_choose(&s->v->cpus, f.row.slot, f.row.cpu_permille, &f.cpus);
	view_text((enum view_file)((node - FIRST) % STEP - 1), &f, out);
	return out->bad ? -ENOMEM : 0;
}

/* A read from offset 0 formats the file anew, as the kernel does; later reads get the rest of that text. */
static void read_file(struct server *s, const struct fuse_in_header *h, const struct fuse_read_in *in)
{
	struct shot *shot = &s->shots[in->fh % SHOTS];
	int r = 0;

	if (in->offset == 0 || shot->handle != in->fh || shot->node != h->nodeid) {
		buf_clear(&shot->text);
		r = make_text(s, h->nodeid, &shot->text);
		shot->handle = in->fh;
		shot->node = h->nodeid;
	}
	struct str rest = buf_view(&shot->text);
	uint64_t skip = in->offset < rest.n ? in->offset : rest.n;

	rest.p += skip;
	rest.n -= skip;
	if (rest.n > in->size)
		rest.n = in->size;
	answer(s, h->unique, r, rest.p, rest.n > ANSWER_MAX ? ANSWER_MAX : rest.n);
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static void open_file(struct server *s, const struct fuse_in_header *h, const struct fuse_open_in *in)
{
	struct fuse_open_out o = { .fh = ++s->handles, .open_flags = FOPEN_DIRECT_IO };
	bool fine = (in->flags & O_ACCMODE) == O_RDONLY && !is_dir(h->nodeid);

	answer(s, h->unique, fine ? 0 : -EACCES, &o, sizeof o);
}

static void serve_one(struct server *s, const struct fuse_in_header *h, const void *arg)
{
	switch (h->opcode) {
	case FUSE_INIT:
		init(s, h, arg);
		break;
	case FUSE_LOOKUP:
		lookup(s, h, arg);
		break;
	case FUSE_GETATTR: {
		struct fuse_attr_out o = { .attr_valid = FOREVER, .attr = attr_of(h->nodeid) };

		answer(s, h->unique, 0, &o, sizeof o);
		break;
	}
	case FUSE_OPEN:
		open_file(s, h, arg);
		break;
	case FUSE_READDIRPLUS:
		list(s, h, arg);
		break;
	case FUSE_READ:
		read_file(s, h, arg);
		break;
	case FUSE_STATFS: {
		struct fuse_statfs_out o = { .st = { .bsize = 4096, .namelen = 255 } };

		answer(s, h->unique, 0, &o, sizeof o);
		break;
	}
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		answer(s, h->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break; /* these have no reply */
	default:
		answer(s, h->unique, -ENOSYS, NULL, 0); /* FUSE_OPENDIR too: the kernel then works without it */
	}
}

/* Returns true if the slot of this node has used up its share; otherwise counts the request. */
static bool is_beyond(struct server *s, uint64_t node, uint64_t window)
{
	uint64_t k = node < FIRST ? s->v->n_rows : (node - FIRST) / STEP;
	struct history *past = k < s->v->n_rows ? &s->past[k] : NULL;

	if (!past)
		return false;
	if (past->window != window) {
		past->window = window;
		past->asked = 0;
	}
	if (past->asked >= SHARE)
		return true;
	past->asked++;
	return false;
}

static bool hold(struct server *s, const void *p, size_t n)
{
	struct held *h = &s->held[(s->first_held + s->n_held) % HELD_MAX];

	if (n >= HELD_BYTES || s->n_held == HELD_MAX)
		return false;
	h->n = n;
	memcpy(h->bytes, p, n);
	memset(h->bytes + n, 0, HELD_BYTES - n); /* as in take_request(): a name is terminated, whatever was sent */
	s->n_held++;
	return true;
}

static uint64_t window_now(void)
{
	return clock_mono_ms() / WINDOW_MS;
}

/* Serves held requests in order of arrival, for slots that have a share again. */
static void serve_held(struct server *s)
{
	uint64_t window = window_now();

	for (size_t left = s->n_held; left > 0; left--) {
		struct held h = s->held[s->first_held];
		const struct fuse_in_header *head = (const struct fuse_in_header *)h.bytes;

		s->first_held = (s->first_held + 1) % HELD_MAX;
		s->n_held--;
		if (is_beyond(s, head->nodeid, window))
			(void)hold(s, h.bytes, h.n);
		else
			serve_one(s, head, h.bytes + sizeof *head);
	}
}

/* Reads one request. The kernel sends whole requests, and a name ends with a NUL. 1: there may be more; 0: none;
 * -1: no process needs us. */
static int take_request(struct server *s, uint64_t window)
{
	static _Alignas(uint64_t) char buf[REQUEST_MAX];
	const struct fuse_in_header *h = (const struct fuse_in_header *)buf;
	ssize_t n = read(s->device, buf, sizeof buf - 1);

	if (n < 0)
		return errno == EAGAIN ? 0 : errno == EINTR || errno == ENOENT ? 1 : -1;
	if ((size_t)n < sizeof *h)
		return -1;
	memset(buf + n, 0, (size_t)n + 64 < sizeof buf ? 64 : sizeof buf - (size_t)n);
	bool waits = h->opcode != FUSE_FORGET && h->opcode != FUSE_BATCH_FORGET && h->opcode != FUSE_INTERRUPT;

	if (!waits || !is_beyond(s, h->nodeid, window) || !hold(s, buf, (size_t)n))
		serve_one(s, h, buf + sizeof *h);
	return 1;
}

static bool take_some(struct server *s)
{
	uint64_t window = window_now();
	int r = 1;

	for (int i = 0; i < BATCH && r > 0; i++)
		r = take_request(s, window);
	return r >= 0;
}

/* Passes the file system to a new warden, which starts the next atoll-view. */
static bool hand_over(const struct view *v)
{
	autoclose int fd = accept4(v->listener, NULL, NULL, SOCK_CLOEXEC);

	return fd >= 0 && fd_send(fd, "v", 1, (int[]) { v->device, v->mount }, 2) == 1;
}

/* Whether any of the known sandboxes still runs. */
static bool is_needed(const struct server *s)
{
	struct cgroup_detail d;
	struct view_row row;

	for (size_t k = 0; k < s->v->n_rows; k++) {
		if (s->v->rows[k].id[0] && read_row(&s->v->rows[k], &row) &&
		    cgroup_detail(s->v->cgroups, row.id, &d) == 0)
			return true;
	}
	return false;
}

_Noreturn void view_serve(const struct view *v, int device)
{
	static struct server s;
	pid_t warden = getppid();
	struct pollfd p[] = { { .fd = device, .events = POLLIN }, { .fd = v->listener, .events = POLLIN } };

	s = (struct server) { .v = v, .device = device, .past = calloc(v->n_rows, sizeof *s.past) };
	s.held = calloc(HELD_MAX, sizeof *s.held);
	s.host_boot_s = (clock_wall_ms() - view_now()) / 1000;
	for (size_t i = 0; i < SHOTS; i++)
		s.shots[i].text = BUF_INIT(TEXT_MAX);
	while (s.past && s.held) {
		__atomic_store_n(&v->rows[v->n_rows].born_ms, view_now(), __ATOMIC_RELAXED);
		p[0].revents = p[1].revents = 0;
		if (poll(p, ARRAY_LEN(p), s.n_held ? WINDOW_MS / 2 : BEAT_MS) < 0 && errno != EINTR)
			break;
		if (p[0].revents && !take_some(&s))
			break;
		serve_held(&s);
		/* The warden is gone: until another takes over, we serve the sandboxes that it has left. */
		if (!p[0].revents && !p[1].revents && s.n_held == 0 && getppid() != warden && !is_needed(&s))
			_exit(0);
		if (p[1].revents && hand_over(v))
			_exit(0);
	}
	_exit(1);
}

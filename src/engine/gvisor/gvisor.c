/* SPDX-License-Identifier: Apache-2.0 */
/* gvisor: finds runsc; the backend's table and its short functions. */
#include "engine/gvisor/gvisor.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/guest.h"
#include "base/log.h"
#include "base/str.h"
#include "engine/backend.h"
#include "engine/dev.h"
#include "engine/greet.h"
#include "engine/ns.h"
#include "engine/proc.h"
#include "engine/slot.h"

#define RUNSC "engines/gvisor/runsc"
#define INIT_DIR "init.d" /* in RUN/private: a directory that holds init alone */

/* The processes of the host that serve one of the sandbox, and those of the sentry itself. */
#define PIDS_EACH 4
#define PIDS_MORE 128

/* A dynamically linked runsc cannot execute itself in the sentry's empty root, and would fail at the first start. */
static int check_static(int fd, struct err *e)
{
	Elf64_Ehdr h;
	Elf64_Phdr p;

	if (pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
	    h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_phentsize != sizeof p)
		return err_set(e, EINVAL, "it is not a 64-bit program");
	for (unsigned i = 0; i < h.e_phnum; i++) {
		if (pread(fd, &p, sizeof p, (off_t)(h.e_phoff + i * sizeof p)) != (ssize_t)sizeof p)
			return err_set(e, EINVAL, "it is damaged");
		if (p.p_type == PT_INTERP)
			return err_set(e, EINVAL, "it is dynamically linked: build it with CGO_ENABLED=0");
	}
	return 0;
}

static int open_runsc(struct engine *en, int *ret_fd, struct err *e)
{
	char path[512];
	struct stat st;

	(void)snprintf(path, sizeof path, "%s/" RUNSC, en->cfg.cache_dir);
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return err_set(e, ENOENT, "runsc is not installed ('atoll engine install gvisor')");
	if (fd < 0)
		return err_sys(e, "open '%s'", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != 0 || (st.st_mode & 022))
		return err_set(e, EPERM, "'%s' must be a file of root that nobody else can write", path);
	if (check_static(fd, e) < 0)
		return err_wrap(e, "'%s'", path);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* init must be alone in a directory, which is what runsc mounts. */
static int make_init_dir(struct engine *en, struct err *e)
{
	if (mkdirat(en->private_fd, INIT_DIR, 0711) < 0 && errno != EEXIST)
		return err_sys(e, "make a directory for init");
	if (linkat(en->private_fd, "init", en->private_fd, INIT_DIR "/init", 0) < 0 && errno != EEXIST)
		return err_sys(e, "link init");
	return 0;
}

/* The gofer reaches its root by a path, as the slot's uid: every directory on it must let that uid pass, which those of
 * the server do not. So it is a directory of any host, and a tmpfs covers it in the builder's mount namespace. It must
 * not cover RUN. */
static int find_place(struct engine *en, struct err *e)
{
	static const char *const places[] = { "/mnt", "/srv", "/media" };

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		size_t n = strlen(places[i]);
		struct stat st;

		if (lstat(places[i], &st) == 0 && S_ISDIR(st.st_mode) &&
		    (strncmp(en->cfg.run_dir, places[i], n) != 0 ||
			(en->cfg.run_dir[n] != '/' && en->cfg.run_dir[n]))) {
			en->gvisor->place = places[i];
			return 0;
		}
	}
	return err_set(e, ENOENT, "it needs a directory '/mnt', '/srv' or '/media'");
}

static int open_all(struct engine *en, struct err *e)
{
	struct gvisor *g = en->gvisor;

	g->dir = str_fmt("%s/gvisor", en->cfg.run_dir);
	if (!g->dir)
		return err_set(e, ENOMEM, "out of memory");
	if (strpbrk(g->dir, "\"\\") || strlen(g->dir) + ENGINE_ID_SIZE + 1 >= sizeof((struct bundle *)0)->dir)
		return err_set(e, EINVAL, "the path '%s' is too long or has quotes", g->dir);
	if (mkdir(g->dir, 0711) < 0 && errno != EEXIST)
		return err_sys(e, "make '%s'", g->dir);
	g->dir_fd = open(g->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (g->dir_fd < 0)
		return err_sys(e, "open '%s'", g->dir);
	return find_place(en, e) < 0 || make_init_dir(en, e) < 0 ? -e->no : open_runsc(en, &g->exe, e);
}

static bool is_live(const char *id, const struct engine_record *live, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (live[i].spec.kind == ENGINE_GVISOR && strcmp(live[i].spec.id, id) == 0)
			return true;
	}
	return false;
}

static void remove_stale(struct engine *en, const struct engine_record *live, size_t n)
{
	int fd = en->gvisor->dir_fd < 0 ? -1 : openat(en->gvisor->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d) {
		fd_close(fd);
		return;
	}
	for (struct dirent *de; (de = readdir(d));) {
		if (de->d_name[0] != '.' && !is_live(de->d_name, live, n))
			bundle_remove(en, de->d_name);
	}
	(void)closedir(d);
}

/* Finds runsc, and removes the directories of sandboxes that are gone. */
static void open_engine(struct engine *en, const struct engine_record *live, size_t n_live)
{
	struct err e = ERR_INIT;

	en->gvisor = calloc(1, sizeof *en->gvisor);
	if (!en->gvisor)
		return;
	en->gvisor->exe = en->gvisor->dir_fd = -1;
	if (open_all(en, &e) < 0) {
		(void)snprintf(en->gvisor->why_not, sizeof en->gvisor->why_not, "%.150s", e.text);
		log_info("the engine 'gvisor' is not available", "why=%s", e.text);
	}
	remove_stale(en, live, n_live);
}

static void close_engine(struct engine *en, bool all)
{
	struct gvisor *g = en->gvisor;

	if (!g)
		return;
	if (all && g->dir) {
		remove_stale(en, NULL, 0);
		(void)rmdir(g->dir);
	}
	fd_close(g->exe);
	fd_close(g->dir_fd);
	free(g->dir);
	free(g);
	en->gvisor = NULL;
}

struct engine_limits gvisor_limits(const struct engine_limits *l)
{
	struct engine_limits own = *l;

	if (own.mem_bytes)
		own.mem_bytes += GUEST_RESERVE_BYTES;
	if (own.pids)
		own.pids = own.pids * PIDS_EACH + PIDS_MORE;
	return own;
}

static const char *why_not(struct engine *en)
{
	return !en->gvisor ? "out of memory" : en->gvisor->exe < 0 ? en->gvisor->why_not : NULL;
}

static int adopt(struct engine *en, const struct engine_record *r, int *ret_pidfd, struct err *e)
{
	if (strncmp(r->boot_id, en->boot_id, sizeof en->boot_id) != 0 || proc_open(r->pid, r->pid_start, ret_pidfd) < 0)
		return err_set(e, ESRCH, "sandbox '%s' is gone", r->spec.id);
	return 0;
}

static int connect_init(struct engine *en, const struct engine_record *r, int pidfd, int *ret_fd, struct err *e)
{
	struct slot s;

	(void)pidfd;
	slot_fill(en->cfg.instance, r->spec.slot, &s);
	return greet_begin(&s, ret_fd, e) < 0 ? err_wrap(e, "connect to init of sandbox '%s'", r->spec.id)
					      : ENGINE_GREET;
}

static int dial(struct engine *en, const struct engine_record *r, int pidfd, uint16_t port, bool v6, int *ret_fd,
    struct err *e)
{
	(void)port; /* greet_next() says it to init, which tries both families */
	(void)v6;
	return connect_init(en, r, pidfd, ret_fd, e);
}

static int greet(struct engine *en, const struct engine_record *r, int fd, uint16_t port, bool *sent, struct err *e)
{
	(void)en;
	return greet_next(r, fd, port, sent, e);
}

static int limit(struct engine *en, const struct engine_record *r, const struct engine_limits *to, struct err *e)
{
	struct engine_record own = *r;
	struct engine_limits l = gvisor_limits(to);

	own.spec.limits = gvisor_limits(&r->spec.limits);
	return ns_limit(en, &own, &l, e);
}

/* The gofer and the sentry's helpers end with the sentry; but if it was the sentry that died, nobody has told them. */
static int reap(struct engine *en, const struct engine_record *r, struct err *e)
{
	int no = ns_reap(en, r, e);

	if (no == -EAGAIN)
		(void)cgroup_after_kill(en->cgroups, r->spec.id);
	if (no == 0)
		bundle_remove(en, r->spec.id);
	return no;
}

static int restore(struct engine *en, const struct engine_spec *spec, struct engine_record *ret, int *ret_pidfd,
    struct err *e)
{
	(void)en;
	(void)spec;
	(void)ret;
	(void)ret_pidfd;
	return err_set(e, ENOTSUP, "the engine 'gvisor' cannot restore the memory of a sandbox");
}

static int checkpoint(struct engine *en, const struct engine_record *r, const char *name, bool brief,
    void (*released)(void *arg), void *arg, struct engine_image *ret, struct err *e)
{
	(void)en;
	(void)r;
	(void)name;
	(void)brief;
	(void)released;
	(void)arg;
	(void)ret;
	return err_set(e, ENOTSUP, "the engine 'gvisor' cannot save the memory of a sandbox");
}

const struct engine_backend backend_gvisor = {
	.open = open_engine,
	.close = close_engine,
	.why_not = why_not,
	.start = gvisor_start,
	.restore = restore,
	.adopt = adopt,
	.connect = connect_init,
	.dial = dial,
	.greet = greet,
	.limit = limit,
	.usage = ns_usage,
	.kill = ns_kill,
	.reap = reap,
	.checkpoint = checkpoint,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/engine_store: which version, and what is in the cache. */
#include "cli/host/engine_store.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

#define PROGRAM_BYTES_MAX (1024u * 1024 * 1024)
#define LOCK_FILE ".lock"
#define LATEST_NEW ".latest"

static const char *const gvisor_sums[] = {
	"0efbb8d353e673af9c2ef60fb89b422897edaffd9fa5916ed0726dea1d95bc1c", /* go1.26.8 */
	"4eb8e9b95ce92689a2963c1f76c5688f5169ace77b0b53140dd7001d7f89941b", /* go1.26.6, the wheel */
	NULL,
};

static const struct engine_pin pins[] = {
	{ "gvisor", "runsc", "gvisor.dev/gvisor/runsc", "gvisor.dev/gvisor", "v0.0.0-20260905035102-160fafc42237",
	    "h1:AU5+CtCvnBnxdZRNcZt1NfSLqgkXZVT3N/u6u1aXg44=", gvisor_sums },
};

const struct engine_pin *engine_pin_next(const struct engine_pin *p)
{
	p = p ? p + 1 : pins;
	return p < pins + ARRAY_LEN(pins) ? p : NULL;
}

const struct engine_pin *engine_pin_of(const char *engine)
{
	const struct engine_pin *p = NULL;

	while ((p = engine_pin_next(p)) && strcmp(p->engine, engine) != 0)
		continue;
	return p;
}

bool engine_sum_known(const struct engine_pin *p, const char *hex)
{
	for (const char *const *s = p->file_sums; *s; s++)
		if (strcmp(*s, hex) == 0)
			return true;
	return false;
}

/* --- the program itself --- */

/* fd is a file that nobody but root can write to: it cannot shrink below the map. */
static int examine(int fd, const struct engine_pin *p, struct gobinary *ret, struct err *e)
{
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "read it");
	if (st.st_size == 0 || st.st_size > PROGRAM_BYTES_MAX)
		return err_set(e, ENOEXEC, "it has %lld bytes", (long long)st.st_size);
	void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

	if (at == MAP_FAILED)
		return err_sys(e, "read it");
	r = gobinary_read((struct str) { at, (size_t)st.st_size }, p->module, ret, e);
	(void)munmap(at, (size_t)st.st_size);
	return r;
}

static int check(const struct gobinary *g, const struct engine_pin *p, struct err *e)
{
	if (g->machine != EM_X86_64)
		return err_set(e, ENOEXEC, "it is for another processor (ELF machine %u, not x86_64)", g->machine);
	if (strcmp(g->path, p->package) != 0)
		return err_set(e, EBADMSG, "it is '%s', not '%s'", g->path, p->package);
	if (g->needs_loader)
		return err_set(e, EBADMSG,
		    "it is dynamically linked, and %s executes itself where no loader is: build "
		    "it with CGO_ENABLED=0",
		    p->program);
	if (!g->version[0])
		return err_set(e, EBADMSG, "its build info names no version of %s", p->module);
	if (strcmp(g->version, p->version) != 0)
		return err_set(e, EBADMSG, "it is version %s; this atoll works with %s", g->version, p->version);
	if (strcmp(g->sum, p->source_sum) != 0)
		return err_set(e, EBADMSG, "it was built from changed sources (checksum '%s', not '%s')", g->sum,
		    p->source_sum);
	return 0;
}

/* --- the directory --- */

static int open_own_dir(int at, const char *name, bool make, struct err *e)
{
	struct stat st;

	if (make && mkdirat(at, name, 0755) < 0 && errno != EEXIST)
		return err_sys(e, "create directory '%s'", name);
	autoclose int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (at == AT_FDCWD ? 0 : O_NOFOLLOW));

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open '%s'", name);
	if (st.st_uid != 0 || (st.st_mode & 022))
		return err_set(e, EPERM, "directory '%s' must belong to root and be writable by root alone", name);
	return take_fd(&fd);
}

static int open_place(const char *cache, const struct engine_pin *p, bool make, struct err *e)
{
	autoclose int c = open_own_dir(AT_FDCWD, cache, make, e);
	autoclose int all = c < 0 ? -1 : open_own_dir(c, "engines", make, e);

	return all < 0 ? -e->no : open_own_dir(all, p->engine, make, e);
}

static int file_name(const struct engine_pin *p, const char *version, char *z, size_t size)
{
	return (size_t)snprintf(z, size, "%s-%s", p->program, version) < size ? 0 : -ENAMETOOLONG;
}

static int lock(int dir, struct err *e)
{
	autoclose int fd = openat(dir, LOCK_FILE, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return err_sys(e, "lock the directory of the engine");
	return take_fd(&fd);
}

/* The link is replaced at once: who opens it gets the old program or the new one. */
static int point_to(int dir, const struct engine_pin *p, const char *name, struct err *e)
{
	(void)unlinkat(dir, LATEST_NEW, 0);
	if (symlinkat(name, dir, LATEST_NEW) < 0 || renameat(dir, LATEST_NEW, dir, p->program) < 0 || fsync(dir) < 0)
		return err_sys(e, "link '%s'", p->program);
	return 0;
}

static int fill(int fd, int from, const struct engine_pin *p, const char *want, char sum[SUMS_HEX_SIZE],
    struct gobinary *g, struct err *e)
{
	if (sums_hash(from, fd, sum, e) < 0)
		return -e->no;
	if (want && strcmp(want, sum) != 0)
		return err_set(e, EBADMSG, "its SHA-256 is %s, not %s", sum, want);
	if (examine(fd, p, g, e) < 0 || check(g, p, e) < 0)
		return -e->no;
	if (fchmod(fd, 0755) < 0 || fsync(fd) < 0)
		return err_sys(e, "write it");
	return 0;
}

int engine_place(const char *cache, const struct engine_pin *p, int from, const char *want, char ret_sum[SUMS_HEX_SIZE],
    struct err *e)
{
	static const char tmp[] = ".new";
	autoclose int dir = open_place(cache, p, true, e);
	autoclose int held = dir < 0 ? -1 : lock(dir, e);
	struct gobinary g;
	char name[GOBINARY_TEXT + 32];

	if (held < 0)
		return -e->no;
	(void)unlinkat(dir, tmp, 0); /* of an install that was killed */
	autoclose int fd = openat(dir, tmp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return err_sys(e, "create a file in '%s/engines/%s'", cache, p->engine);
	if (fill(fd, from, p, want, ret_sum, &g, e) == 0 && file_name(p, g.version, name, sizeof name) == 0 &&
	    renameat(dir, tmp, dir, name) == 0)
		return point_to(dir, p, name, e);
	if (!e->no)
		(void)err_sys(e, "put it into '%s/engines/%s'", cache, p->engine);
	(void)unlinkat(dir, tmp, 0);
	return -e->no;
}

void engine_look(const char *cache, const struct engine_pin *p, struct engine_found *ret)
{
	struct gobinary g;
	struct err e = ERR_INIT;
	struct stat st;

	*ret = (struct engine_found) { 0 };
	(void)snprintf(ret->path, sizeof ret->path, "%s/engines/%s/%s", cache, p->engine, p->program);
	autoclose int fd = open(ret->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	ret->is_there = fd >= 0 || errno != ENOENT;
	if (!ret->is_there)
		return;
	if (fd < 0 || fstat(fd, &st) < 0)
		(void)err_sys(&e, "open it");
	else if (!S_ISREG(st.st_mode) || st.st_uid != 0 || (st.st_mode & 022))
		(void)err_set(&e, EPERM, "it must be a file of root that root alone can write");
	else if (examine(fd, p, &g, &e) == 0) {
		(void)str_copy(ret->version, sizeof ret->version, str_of(g.version));
		(void)check(&g, p, &e);
	}
	(void)snprintf(ret->problem, sizeof ret->problem, "%s", e.no ? e.text : "");
}

static bool is_ours(const struct engine_pin *p, const char *name)
{
	size_t n = strlen(p->program);

	return strncmp(name, p->program, n) == 0 && (name[n] == '\0' || name[n] == '-');
}

int engine_remove(const char *cache, const struct engine_pin *p, struct err *e)
{
	autoclose int dir = open_place(cache, p, false, e);
	autoclose int held = dir < 0 ? -1 : lock(dir, e);
	DIR *d = held < 0 ? NULL : fdopendir(dup(dir));
	bool any = false;

	if (!d)
		return e->no ? -e->no : err_sys(e, "read '%s/engines/%s'", cache, p->engine);
	for (struct dirent *f; (f = readdir(d));)
		if (is_ours(p, f->d_name))
			any = unlinkat(dir, f->d_name, 0) == 0 || any;
	(void)closedir(d);
	return any ? 0 : err_set(e, ENOENT, "%s is not installed", p->engine);
}

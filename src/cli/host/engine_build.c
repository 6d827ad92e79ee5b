/* SPDX-License-Identifier: Apache-2.0 */
/* cli/host/engine_build: a directory of its own, a user id of its own, and the recipe of the engine. */
#include "cli/host/engine_build.h"

#include <dirent.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "cli/child.h"
#include "cli/host/engine_store.h"

#define PLACE "/var/tmp"
#define PLACE_MB 3072 /* sources, Go, and what it has compiled */
#define UID_FIRST 64000
#define UID_COUNT 500
#define ARGS_MAX 64

/* Of our environment, what a build needs to reach the packages of Go and of PyPI. */
static const char *const passed[] = {
	"GOPROXY",
	"PIP_INDEX_URL",
	"PIP_CERT",
	"PIP_PROXY",
	"HTTP_PROXY",
	"HTTPS_PROXY",
	"NO_PROXY",
	"http_proxy",
	"https_proxy",
	"no_proxy",
	"SSL_CERT_FILE",
	"SSL_CERT_DIR",
	"REQUESTS_CA_BUNDLE",
};

static bool has_process(unsigned uid)
{
	DIR *d = opendir("/proc");
	bool any = false;
	struct stat st;

	for (struct dirent *f; d && !any && (f = readdir(d));)
		any = f->d_name[0] >= '0' && f->d_name[0] <= '9' && fstatat(dirfd(d), f->d_name, &st, 0) == 0 &&
		    st.st_uid == uid;
	if (d)
		(void)closedir(d);
	return any;
}

/* Begins at a place of its own, so that two builds at once find two. */
static int choose_uid(unsigned *ret, struct err *e)
{
	for (unsigned i = 0; i < UID_COUNT; i++) {
		unsigned uid = UID_FIRST + ((unsigned)getpid() + i) % UID_COUNT;

		if (!getpwuid(uid) && !has_process(uid)) {
			*ret = uid;
			return 0;
		}
	}
	return err_set(e, EAGAIN, "no user id from %u on is free", UID_FIRST);
}

/* Runs a program as the user id of the build, in its directory, without rights and almost without an environment. */
static int run_as(const struct engine_build *b, const char *const *program, int *ret_status, struct err *e)
{
	const char *argv[ARGS_MAX] = { "setpriv" };
	char *mine[ARRAY_LEN(passed)] = { 0 };
	autofree char *uid = str_fmt("--reuid=%u", b->uid), *gid = str_fmt("--regid=%u", b->uid);
	const char *const fixed[] = { uid, gid, "--clear-groups", "--no-new-privs", "--inh-caps=-all",
		"--bounding-set=-all", "--", "env", "-i", "-C", b->dir, "PATH=/usr/local/bin:/usr/bin:/bin",
		"LC_ALL=C" };
	size_t n = 1, n_mine = 0;
	int rc;

	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		argv[n++] = fixed[i];
	for (size_t i = 0; i < ARRAY_LEN(passed); i++) {
		const char *v = getenv(passed[i]);

		if (v && (mine[n_mine] = str_fmt("%s=%s", passed[i], v)))
			argv[n++] = mine[n_mine++];
	}
	while (*program && n < ARGS_MAX - 1)
		argv[n++] = *program++;
	rc = uid && gid ? cli_child_run(argv, false, ret_status, e) : err_set(e, ENOMEM, "out of memory");
	while (n_mine > 0)
		free(mine[--n_mine]);
	return rc;
}

static int check_room(struct err *e)
{
	struct statvfs fs;

	if (statvfs(PLACE, &fs) < 0)
		return err_sys(e, "read the free space of '%s'", PLACE);
	uint64_t mb = (uint64_t)fs.f_bavail * fs.f_frsize >> 20;

	return mb >= PLACE_MB ? 0
			      : err_set(e, ENOSPC, "a build needs %d MB in %s, and %llu MB are free", PLACE_MB, PLACE,
				    (unsigned long long)mb);
}

static int copy_one(const char *from_dir, int to_dir, const char *name, unsigned uid, struct err *e)
{
	autofree char *path = str_fmt("%s/%s", from_dir, name);
	char sum[SUMS_HEX_SIZE];
	autoclose int from = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (from < 0)
		return err_sys(e, "read '%s/%s'", from_dir, name);
	autoclose int to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (to < 0 || fchown(to, uid, uid) < 0)
		return err_sys(e, "write '%s'", name);
	return sums_hash(from, to, sum, e);
}

static int make_dir(const char *recipes, struct engine_build *b, struct err *e)
{
	static const char *const files[] = { "build", "go.mod", "go.sum", "tools.go" };
	char dir[] = PLACE "/atoll-engine-XXXXXX";

	if (!mkdtemp(dir))
		return err_sys(e, "create a directory in '%s'", PLACE);
	(void)str_copy(b->dir, sizeof b->dir, str_of(dir));
	autoclose int to = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (to < 0)
		return err_sys(e, "open '%s'", dir);
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (copy_one(recipes, to, files[i], b->uid, e) < 0)
			return -e->no;
	/* From here on the directory is the build's. */
	return fchown(to, b->uid, b->uid) < 0 ? err_sys(e, "give '%s' to the build", dir) : 0;
}

/* The build's own file, and no link of it to another. */
static int open_result(const struct engine_build *b, const char *program, int *ret_fd, struct err *e)
{
	autoclose int dir = open(b->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	autoclose int fd = dir < 0 ? -1 : openat(dir, program, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "read what was built");
	if (!S_ISREG(st.st_mode) || st.st_uid != b->uid)
		return err_set(e, EBADMSG, "what was built is not a file of the build");
	*ret_fd = take_fd(&fd);
	return 0;
}

int engine_build(const char *engines, const struct engine_pin *p, struct engine_build *b, int *ret_fd, struct err *e)
{
	static const char *const build[] = { "nice", "sh", "./build", NULL };
	autofree char *recipes = str_fmt("%s/%s", engines, p->engine);
	int status;

	*b = (struct engine_build) { .dir = "" };
	if (!recipes)
		return err_set(e, ENOMEM, "out of memory");
	if (check_room(e) < 0 || choose_uid(&b->uid, e) < 0 || make_dir(recipes, b, e) < 0 ||
	    run_as(b, build, &status, e) < 0)
		return -e->no;
	if (status != 0)
		return err_set(e, EIO, "the build failed with status %d", status);
	return open_result(b, p->program, ret_fd, e);
}

void engine_build_done(struct engine_build *b)
{
	/* As the build's own user id, which no other process has: root walks no tree that somebody else made. */
	static const char *const clean[] = { "sh", "-c", "kill -9 -1 2>/dev/null; find . -xdev -mindepth 1 -delete",
		NULL };
	struct err ignored = ERR_INIT;
	int status;

	if (!b->dir[0])
		return;
	(void)run_as(b, clean, &status, &ignored);
	(void)rmdir(b->dir);
	b->dir[0] = '\0';
}

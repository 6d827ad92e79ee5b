/* SPDX-License-Identifier: Apache-2.0 */
/* layout: directories, the key, listeners, programs. */
#include "warden/layout.h"

#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/rand.h"
#include "warden/config.h"
#include "warden/registry.h"

#define KEY_PREFIX "e2b_"
#define KEY_DIGITS 40
#define KEY_MAX 160
#define COPY_CHUNK (64 << 20)

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

int user_find(const char *name, uid_t *ret_uid, gid_t *ret_gid, struct err *e)
{
	struct passwd *pw = getpwnam(name);

	if (!pw)
		return err_set(e, ENOENT,
		    "user '%s' does not exist: the set-up creates it (adduser --system --group %s)", name, name);
	if (pw->pw_uid == 0)
		return err_set(e, EINVAL, "user '%s' is root: helpers must run without power", name);
	*ret_uid = pw->pw_uid;
	*ret_gid = pw->pw_gid;
	return 0;
}

/* mkdir -p; parent directories get the default mode, the last one gets `mode`. */
static int make_path(const char *path, mode_t mode, struct err *e)
{
	char part[PATH_MAX];

	for (const char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		(void)snprintf(part, sizeof part, "%.*s", (int)(at - path), path);
		if (mkdir(part, 0755) < 0 && errno != EEXIST)
			return err_sys(e, "make directory '%s'", part);
	}
	if (mkdir(path, mode) < 0 && errno != EEXIST)
		return err_sys(e, "make directory '%s'", path);
	return 0;
}

static int without_links(char path[PATH_MAX], struct err *e)
{
	char real[PATH_MAX];

	if (!realpath(path, real))
		return err_sys(e, "resolve '%s'", path);
	memcpy(path, real, sizeof real);
	return 0;
}

int layout_dirs(struct config *c, struct err *e)
{
	/* These directories hold lock files, so they must not be open to others: everyone who can open a file
	 * can lock it. */
	if (make_path(c->state, 0700, e) < 0 || make_path(c->run, 0755, e) < 0 ||
	    make_path(REGISTRY_DIR, 0700, e) < 0 || without_links(c->state, e) < 0 || without_links(c->run, e) < 0)
		return -e->no;
	return 0;
}

int layout_pid_file(const struct config *c, int *ret_fd, struct err *e)
{
	autoclose int dir = open(c->run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autoclose int fd = dir < 0 ? -1 : openat(dir, "warden.pid", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	char text[16];

	if (fd < 0)
		return err_sys(e, "open '%s/warden.pid'", c->run);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return err_set(e, EBUSY, "run directory '%s' is in use by another atolld", c->run);
	int n = snprintf(text, sizeof text, "%d\n", (int)getpid());
	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)n, 0) != n)
		return err_sys(e, "write '%s/warden.pid'", c->run);
	*ret_fd = take_fd(&fd);
	return 0;
}

int layout_records_dir(const struct config *c, int *ret_fd, struct err *e)
{
	autoclose int dir = open(c->run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0 || (mkdirat(dir, "sandboxes", 0700) < 0 && errno != EEXIST))
		return err_sys(e, "make directory '%s/sandboxes'", c->run);
	int fd = openat(dir, "sandboxes", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return err_sys(e, "open '%s/sandboxes'", c->run);
	*ret_fd = fd;
	return 0;
}

void layout_remove_run(const struct config *c)
{
	static const char *const ours[] = { "holders", "zygotes", "private", "pool", "sandboxes", "tls" };
	/* `atoll serve` may have put them there */
	static const char *const public_files[] = { "tls/ca.pem", "tls/bundle.pem" };
	autoclose int dir = open(c->run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(public_files); i++)
		(void)unlinkat(dir, public_files[i], 0);
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		(void)unlinkat(dir, ours[i], AT_REMOVEDIR);
	(void)rmdir(c->run);
}

/* Replaces whatever has that name by a new file. The directory may belong to another user, so symbolic links are
 * not followed. */
static int put_file(int dirfd, const char *name, const char *text, uid_t uid, gid_t gid, struct err *e)
{
	char tmp[32];

	(void)snprintf(tmp, sizeof tmp, ".%s.new", name);
	(void)unlinkat(dirfd, tmp, 0);
	autoclose int fd = openat(dirfd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(e, "create '%s'", name);
	int r = fd_write_all(fd, text, strlen(text));
	if (r < 0) {
		errno = -r;
		return err_sys(e, "write '%s'", name);
	}
	if (fchown(fd, uid, gid) < 0 || fsync(fd) < 0 || renameat(dirfd, tmp, dirfd, name) < 0)
		return err_sys(e, "put '%s' in place", name);
	return 0;
}

static bool key_is_sound(const char *key)
{
	size_t n = strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");

	return n >= 16 && (key[n] == '\0' || strcmp(key + n, "\n") == 0);
}

/* Reads a key of the instance, which is created on the first start. */
static int load_key(int state, const char *name, char key[KEY_MAX], struct err *e)
{
	ssize_t n = file_read(state, name, key, KEY_MAX);

	if (n == -ENOENT) {
		char digits[KEY_DIGITS + 1];

		rand_hex(digits, KEY_DIGITS);
		(void)snprintf(key, KEY_MAX, "%s%s\n", KEY_PREFIX, digits);
		return put_file(state, name, key, 0, 0, e);
	}
	if (n < 0) {
		errno = (int)-n;
		return err_sys(e, "read '%s' in the state directory", name);
	}
	if (!key_is_sound(key))
		return err_set(e, EINVAL,
		    "'%s' in the state directory is not a key: want e2b_ and hex digits; remove it to get a new one",
		    name);
	return 0;
}

int layout_note(const struct config *c, const char *name, const char *line, struct err *e)
{
	autoclose int state = open(c->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char text[256];

	if (state < 0)
		return err_sys(e, "open state directory '%s'", c->state);
	if (!line[0])
		return unlinkat(state, name, 0) < 0 && errno != ENOENT ? err_sys(e, "remove '%s/%s'", c->state, name)
								       : 0;
	(void)snprintf(text, sizeof text, "%s\n", line);
	return put_file(state, name, text, 0, 0, e);
}

/* An earlier server may have created the parent directory with a umask of 077, so that helpers cannot pass
 * through it. */
static int let_pass(const char *path, struct err *e)
{
	char above[PATH_MAX];
	struct stat st;

	(void)snprintf(above, sizeof above, "%.*s", (int)(strrchr(path, '/') - path), path);
	if (stat(above, &st) < 0)
		return err_sys(e, "look at '%s'", above);
	if ((st.st_mode & 0555) != 0555 && chmod(above, (st.st_mode & 07777) | 0555) < 0)
		return err_sys(e, "let helpers pass through '%s' (chmod 755 would do)", above);
	return 0;
}

/* Mounts a directory of the state at a fixed path for a helper, which may not be able to pass the directories
 * above. */
static int give_state(const struct config *c, int state, const char *name, const char *place, int *ret_fd,
    struct err *e)
{
	uid_t uid;
	gid_t gid;
	char from[64];

	if (user_find(c->user, &uid, &gid, e) < 0)
		return -e->no;
	if (mkdirat(state, name, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make '%s/%s'", c->state, name);
	autoclose int dir = openat(state, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir < 0 || fchown(dir, uid, gid) < 0 || fchmod(dir, 0700) < 0)
		return err_sys(e, "set up '%s/%s'", c->state, name);
	(void)snprintf(from, sizeof from, "/proc/self/fd/%d", dir);
	if (make_path(place, 0755, e) < 0 || let_pass(place, e) < 0)
		return -e->no;
	if (mount(from, place, NULL, MS_BIND, NULL) < 0 ||
	    mount(NULL, place, NULL, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return err_sys(e, "mount '%s/%s' for a helper", c->state, name);
	*ret_fd = take_fd(&dir);
	return 0;
}

int layout_helper_states(const struct config *c, struct err *e)
{
	autoclose int state = open(c->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC), front = -1, agent = -1;
	char key[KEY_MAX], sdk_key[KEY_MAX];
	uid_t uid;
	gid_t gid;

	if (state < 0)
		return err_sys(e, "open state directory '%s'", c->state);
	if (user_find(c->user, &uid, &gid, e) < 0 || load_key(state, "key", key, e) < 0 ||
	    load_key(state, "sdk-key", sdk_key, e) < 0 || give_state(c, state, "front", FRONT_STATE, &front, e) < 0 ||
	    give_state(c, state, "agent", AGENT_STATE, &agent, e) < 0)
		return -e->no;
	if (put_file(front, "key", key, uid, gid, e) < 0 || put_file(front, "sdk-key", sdk_key, uid, gid, e) < 0)
		return err_wrap(e, "the front's copies of the keys, in '%s/front'", c->state);
	return 0;
}

/* Makes a copy in memory that everyone may execute. It is reopened read-only, because a program that is open for
 * writing cannot be executed. */
static int copy_program(int from, const char *path, int *ret_fd, struct err *e)
{
	char self[48];
	int made = memfd_create(strrchr(path, '/') + 1, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

	if (made < 0 && errno == EINVAL) /* the kernel does not know MFD_EXEC */
		made = memfd_create(strrchr(path, '/') + 1, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	autoclose int to = made;
	ssize_t n = to < 0 ? -1 : 1;

	while (n > 0)
		n = sendfile(to, from, NULL, COPY_CHUNK);
	(void)snprintf(self, sizeof self, "/proc/self/fd/%d", to);
	if (n < 0 || fchmod(to, 0555) < 0 ||
	    fcntl(to, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) < 0 ||
	    (*ret_fd = open(self, O_RDONLY | O_CLOEXEC)) < 0)
		return err_sys(e,
		    "'%s' may not be executed by the users that helpers run as (chmod o+x would do), and copying it "
		    "failed",
		    path);
	return 0;
}

int layout_open_program(const char *path, int *ret_fd, struct err *e)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open program '%s'", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, EACCES, "program '%s' is no regular file", path);
	if (!(st.st_mode & S_IXOTH)) /* built or installed with a umask of 077 or 027 */
		return copy_program(fd, path, ret_fd, e);
	*ret_fd = take_fd(&fd);
	return 0;
}

/* Returns the directory of a build tree that holds a program: front for atoll-front. */
static const char *folder_of(const char *name)
{
	const char *part = strchr(name, '-');

	if (strcmp(name, "atoll-pull") == 0)
		return "oci";
	return part ? part + 1 : name;
}

/* The directory of our own program, or the configured one of the others. */
static int libexec_dir(const char *given, char ret[PATH_MAX], struct err *e)
{
	ssize_t n;

	if (given[0]) {
		(void)snprintf(ret, PATH_MAX, "%s", given);
		return 0;
	}
	n = readlink("/proc/self/exe", ret, PATH_MAX - 1);
	if (n < 0)
		return err_sys(e, "find out where this program is");
	ret[n] = '\0';
	*strrchr(ret, '/') = '\0';
	return 0;
}

int layout_console(const struct config *c, int *ret_fd, struct err *e)
{
	/* PREFIX/libexec/atoll and BUILD/src/warden are where this program is */
	static const char *const places[] = { "../../share/atoll/console", "../../console" };
	char dir[PATH_MAX], path[PATH_MAX + 32];

	*ret_fd = -1;
	if (c->console_dir[0]) {
		*ret_fd = open(c->console_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		return *ret_fd < 0 ? err_sys(e, "open the console's files in '%s'", c->console_dir) : 0;
	}
	if (libexec_dir(c->libexec, dir, e) < 0)
		return -e->no;
	for (size_t i = 0; i < ARRAY_LEN(places) && *ret_fd < 0; i++) {
		(void)snprintf(path, sizeof path, "%s/%s", dir, places[i]);
		*ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	}
	return 0;
}

/* Looks for NAME in libexec and in the sibling directories of a build tree. */
int layout_program(const char *libexec, const char *name, char *ret_path, size_t size, int *ret_fd, struct err *e)
{
	char self[PATH_MAX];

	if (libexec_dir(libexec, self, e) < 0)
		return -e->no;
	libexec = self;
	for (int i = 0; i < 3; i++) {
		if (i == 0)
			(void)snprintf(ret_path, size, "%s/%s", libexec, name);
		else
			(void)snprintf(ret_path, size, "%s%s/%s/%s", libexec, i == 1 ? "" : "/..", folder_of(name),
			    name);
		if (access(ret_path, F_OK) == 0)
			return layout_open_program(ret_path, ret_fd, e);
	}
	return err_set(e, ENOENT, "program '%s' not found in '%s'", name, libexec);
}

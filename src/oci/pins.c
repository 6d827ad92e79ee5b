/* SPDX-License-Identifier: Apache-2.0 */
/* oci/pins: files in directories, and one lock. */
#include "oci/pins.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/str.h"
#include "engine/disk/tree.h"
#include "oci/digest.h"

#define STATE_FILE "state"
/* device and inode of the parents of the state directory, nearest first */
#define ABOVE_FILE "above"
#define USER_SIZE 33
#define STRAY_S (7 * 24 * 3600) /* a disk may be unmounted for a while */
#define ABOVE_MAX 4096

static int open_dir(int at, const char *name, int *ret, struct err *e)
{
	if (mkdirat(at, name, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make the directory '%s'", name);
	*ret = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret < 0 ? err_sys(e, "open the directory '%s'", name) : 0;
}

static int put_file(int at, const char *name, const char *text, struct err *e)
{
	autoclose int fd = openat(at, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int rc = fd < 0 ? -errno : fd_write_all(fd, text, strlen(text));

	return rc < 0 ? err_set(e, -rc, "note who needs an image: %s", strerror(-rc)) : 0;
}

/* Removes the last component. false: the path was the root. */
static bool go_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || strcmp(path, "/") == 0)
		return false;
	slash[slash == path] = '\0';
	return true;
}

/* Records the parents of the state directory, to tell later whether it was removed or is only not visible: its
 * disk may be unmounted, or another server may not have its mounts. */
static int note_above(int at, const char *state, struct err *e)
{
	autobuf struct buf text = BUF_INIT(ABOVE_MAX);
	char path[PATH_MAX];
	struct stat st;

	if (state[0] != '/' || !str_copy(path, sizeof path, str_of(state)) || stat(path, &st) < 0)
		return 0;
	while (go_up(path)) {
		if (stat(path, &st) < 0)
			return 0;
		buf_fmt(&text, "%llx:%llx\n", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	}
	buf_ch(&text, '\0');
	return text.bad ? 0 : put_file(at, ABOVE_FILE, text.p, e);
}

/* If the nearest existing parent is the recorded directory, the state directory below it was removed. */
static bool is_removed(const char *state, const char *above)
{
	struct str lines = str_of(above);
	char path[PATH_MAX], here[64];
	struct stat st;

	if (!str_copy(path, sizeof path, str_of(state)))
		return false;
	while (go_up(path)) {
		struct str was = str_cut(&lines, '\n');

		if (stat(path, &st) < 0) {
			if (errno == ENOENT)
				continue;
			return false;
		}
		(void)snprintf(here, sizeof here, "%llx:%llx", (unsigned long long)st.st_dev,
		    (unsigned long long)st.st_ino);
		return was.n > 0 && str_is(was, here);
	}
	return false;
}

static int open_own(struct pins *p, const char *user, const char *state, struct err *e)
{
	if (open_dir(p->users_fd, user, &p->own_fd, e) < 0)
		return -e->no;
	(void)futimens(p->own_fd, NULL); /* marks it as in use */
	return put_file(p->own_fd, STATE_FILE, state, e) < 0 ? -e->no : note_above(p->own_fd, state, e);
}

int pins_open(int images_fd, const char *state, struct pins *ret, struct err *e)
{
	char hex[DIGEST_HEX_SIZE], user[USER_SIZE];
	struct digest d;

	*ret = (struct pins)PINS_NONE;
	if (open_dir(images_fd, "users", &ret->users_fd, e) < 0 || !state)
		return e->no ? -e->no : 0;
	digest_of(str_of(state), &d);
	digest_hex(&d, hex);
	(void)str_copy(user, sizeof user, (struct str) { hex, USER_SIZE - 1 });
	if (pins_lock(ret, e) < 0) /* otherwise it could be taken for a stray while it is created */
		return -e->no;
	int rc = open_own(ret, user, state, e);

	pins_unlock(ret);
	return rc;
}

void pins_close(struct pins *p)
{
	fd_close(p->users_fd);
	fd_close(p->own_fd);
	*p = (struct pins)PINS_NONE;
}

int pins_lock(const struct pins *p, struct err *e)
{
	while (flock(p->users_fd, LOCK_EX) < 0) {
		if (errno != EINTR)
			return err_sys(e, "lock the images");
	}
	return 0;
}

void pins_unlock(const struct pins *p)
{
	(void)flock(p->users_fd, LOCK_UN);
}

int pins_add(const struct pins *p, const char *key, struct err *e)
{
	return p->own_fd < 0 ? 0 : put_file(p->own_fd, key, "", e);
}

/* Calls fn(at, name) for each entry and stops at the first true. -errno: the directory cannot be read. */
static int each(int dir_fd, bool (*fn)(int at, const char *name, const void *user), const void *user)
{
	int own = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), found = 0;
	DIR *d = own < 0 ? NULL : fdopendir(own);

	if (!d) {
		found = -errno;
		fd_close(own);
		return found;
	}
	for (struct dirent *de; found == 0 && (de = readdir(d));) {
		if (de->d_name[0] != '.')
			found = fn(own, de->d_name, user);
	}
	(void)closedir(d);
	return found;
}

struct wanted {
	char *const *keys;
	size_t n;
};

static bool drop_unwanted(int at, const char *name, const void *user)
{
	const struct wanted *w = user;
	bool keep = strcmp(name, STATE_FILE) == 0 || strcmp(name, ABOVE_FILE) == 0;

	for (size_t i = 0; !keep && i < w->n; i++)
		keep = strcmp(name, w->keys[i]) == 0;
	if (!keep)
		(void)unlinkat(at, name, 0);
	return false;
}

int pins_set(const struct pins *p, char *const *keys, size_t n, struct err *e)
{
	if (p->own_fd < 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (pins_add(p, keys[i], e) < 0)
			return -e->no;
	}
	(void)each(p->own_fd, drop_unwanted, &(struct wanted) { keys, n }); /* a superfluous pin does no harm */
	return 0;
}

static bool is_stray(int at, const char *name)
{
	char path[NAME_MAX + 16], state[PATH_MAX], above[ABOVE_MAX];
	struct stat st;

	(void)snprintf(path, sizeof path, "%s/" STATE_FILE, name);
	ssize_t n = file_read(at, path, state, sizeof state);

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    (n > 0 && (faccessat(AT_FDCWD, state, F_OK, 0) == 0 || errno != ENOENT)))
		return false;
	if (st.st_mtime <= time(NULL) - STRAY_S)
		return true;
	(void)snprintf(path, sizeof path, "%s/" ABOVE_FILE, name);
	return n > 0 && file_read(at, path, above, sizeof above) > 0 && is_removed(state, above);
}

static bool drop_stray(int at, const char *name, const void *user)
{
	(void)user;
	if (is_stray(at, name))
		(void)tree_remove(at, name);
	return false;
}

int pins_drop_strays(const struct pins *p, struct err *e)
{
	if (pins_lock(p, e) < 0)
		return -e->no;
	(void)each(p->users_fd, drop_stray, NULL);
	pins_unlock(p);
	return 0;
}

static bool has_pin(int at, const char *name, const void *user)
{
	char path[2 * NAME_MAX];

	(void)snprintf(path, sizeof path, "%s/%s", name, (const char *)user);
	return faccessat(at, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

bool pins_any(const struct pins *p, const char *key)
{
	return each(p->users_fd, has_pin, key) != 0;
}

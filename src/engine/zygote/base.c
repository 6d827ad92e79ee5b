/* SPDX-License-Identifier: Apache-2.0 */
/* base: creates, finds and saves the files with the memory of zygotes. */
#include "engine/zygote/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/rand.h"
#include "base/str.h"
#include "engine/cgroup/cgroup.h"

#define NUMBER_DIGITS 16
#define FEW_PROCS 64 /* an interpreter is among the first, and has it in its first mappings */
#define FEW_LINES 3000

int base_create(int dir, const char *key, char ret_name[BASE_NAME_SIZE], int *ret_fd, struct err *e)
{
	char number[NUMBER_DIGITS + 1];

	rand_hex(number, NUMBER_DIGITS);
	(void)snprintf(ret_name, BASE_NAME_SIZE, "%s-%s", key, number);
	*ret_fd = openat(dir, ret_name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	return *ret_fd < 0 ? err_sys(e, "make a file for the zygote's memory") : 0;
}

bool base_name_ok(const char *name)
{
	return name[0] && strlen(name) < BASE_NAME_SIZE && strspn(name, "0123456789abcdef-") == strlen(name);
}

void base_remove(int dir, const char *name)
{
	(void)unlinkat(dir, name, 0);
}

/* Processes that have a file mapped keep it. */
static void remove_if(int dir, bool (*goes)(const char *name, const void *arg), const void *arg)
{
	int own = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = own < 0 ? NULL : fdopendir(own);

	if (!d) {
		fd_close(own);
		return;
	}
	for (struct dirent *de; (de = readdir(d));) {
		if (de->d_name[0] != '.' && goes(de->d_name, arg))
			(void)unlinkat(dir, de->d_name, 0);
	}
	(void)closedir(d);
}

struct kept {
	const char *key, *name;
};

static bool is_older(const char *name, const void *arg)
{
	const struct kept *k = arg;

	return strncmp(name, k->key, strlen(k->key)) == 0 && strcmp(name, k->name) != 0;
}

void base_keep(int dir, const char *key, const char *name)
{
	remove_if(dir, is_older, &(struct kept) { key, name });
}

static bool is_any(const char *name, const void *arg)
{
	(void)name;
	(void)arg;
	return true;
}

void base_remove_all(int dir)
{
	remove_if(dir, is_any, NULL);
}

struct keys {
	const char *const *v;
	size_t n;
};

static bool is_others(const char *name, const void *arg)
{
	const struct keys *k = arg;

	for (size_t i = 0; i < k->n; i++) {
		if (strncmp(name, k->v[i], strlen(k->v[i])) == 0)
			return false;
	}
	return true;
}

void base_remove_others(int dir, const char *const *keys, size_t n)
{
	remove_if(dir, is_others, &(struct keys) { keys, n });
}

/* --- finding ------------------------------------------------------------------------------------------------ */

/* The last component of a path, without the kernel's suffix for a deleted file. */
static bool take_name(const char *path, char ret[BASE_NAME_SIZE])
{
	const char *at = strstr(path, BASE_PLACE);

	if (!at)
		return false;
	struct str s = str_of(at + strlen(BASE_PLACE));

	return str_copy(ret, BASE_NAME_SIZE, str_cut(&s, ' ')) && base_name_ok(ret);
}

static int mount_id(int fd, unsigned *ret)
{
	char path[48], z[512];

	(void)snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
	autoclose int info = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = info < 0 ? -1 : read(info, z, sizeof z - 1);

	z[n > 0 ? n : 0] = '\0';
	const char *at = strstr(z, "mnt_id:");

	return at && sscanf(at, "mnt_id: %u", ret) == 1 ? 0 : -EIO;
}

/* The sandbox can choose a path, but not the file system that the file is on, so that is checked. */
static int take_mapping(int dir, int pid, const char *range, const char *name, struct base_found *ret)
{
	char path[96];
	struct stat st, at;
	unsigned mount;

	(void)snprintf(path, sizeof path, "/proc/%d/map_files/%s", pid, range);
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || fstat(fd, &st) < 0 || fstat(dir, &at) < 0 || st.st_dev != at.st_dev || !S_ISREG(st.st_mode))
		return 0;
	if (mount_id(fd, &mount) < 0)
		return -EIO;
	(void)str_copy(ret->name, sizeof ret->name, str_of(name));
	(void)snprintf(ret->label, sizeof ret->label, "file[%x:%" PRIx64 "]", mount, (uint64_t)st.st_ino);
	ret->fd = take_fd(&fd);
	return 1;
}

/* 1: found; -E2BIG: not among so many lines. */
static int look_at(int dir, int pid, size_t *lines, struct base_found *ret)
{
	char path[32], *line = NULL;
	size_t size = 0;
	int r = 0;

	(void)snprintf(path, sizeof path, "/proc/%d/maps", pid);
	FILE *f = fopen(path, "re");

	while (f && r == 0 && getline(&line, &size, f) > 0) {
		char name[BASE_NAME_SIZE];

		if (*lines == 0) {
			r = -E2BIG;
			break;
		}
		(*lines)--;
		char *end = strchr(line, ' ');

		line[strcspn(line, "\n")] = '\0';
		if (!end || !take_name(end, name))
			continue;
		*end = '\0';
		r = take_mapping(dir, pid, line, name, ret);
	}
	free(line);
	if (f)
		(void)fclose(f);
	return r;
}

int base_find(int dir, int cgroup_fd, struct base_found *ret, struct err *e)
{
	FILE *f = cgroup_procs(cgroup_fd);
	size_t lines = SIZE_MAX;
	int pid, r = 0;

	*ret = BASE_NONE;
	if (!f)
		return err_sys(e, "list its processes");
	while (r == 0 && fscanf(f, "%d", &pid) == 1)
		r = look_at(dir, pid, &lines, ret);
	(void)fclose(f);
	return r < 0 ? err_set(e, -r, "find what it shares with the zygote: %s", strerror(-r)) : 0;
}

/* 1: found, 0: there is none, or an error if it would be too much to look at. */
static int look_at_few(int dir, int cgroup_fd, ino_t *ret)
{
	struct base_found b = BASE_NONE;
	FILE *f = cgroup_procs(cgroup_fd);
	struct stat st = { 0 };
	size_t lines = FEW_LINES;
	int pid, n = 0, r = f ? 0 : -errno;

	while (r == 0 && fscanf(f, "%d", &pid) == 1)
		r = n++ < FEW_PROCS ? look_at(dir, pid, &lines, &b) : -E2BIG;
	if (f)
		(void)fclose(f);
	if (r > 0 && fstat(b.fd, &st) < 0)
		r = -errno;
	fd_close(b.fd);
	*ret = st.st_ino;
	return r;
}

bool base_agrees(int dir, int a, int b)
{
	ino_t of_a, of_b;
	int r = look_at_few(dir, a, &of_a);

	return r == 0 || (r > 0 && look_at_few(dir, b, &of_b) > 0 && of_a == of_b);
}

/* --- saving ------------------------------------------------------------------------------------------------- */

int base_save(int image, const struct base_found *b, struct err *e)
{
	if (b->fd < 0)
		return 0;
	autoclose int to = openat(image, BASE_COPY, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	autoclose int note = openat(image, BASE_NOTE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);

	if (to < 0 || note < 0 || ioctl(to, FICLONE, b->fd) < 0 || dprintf(note, "%s %s", b->name, b->label) < 0)
		return err_sys(e, "keep what it shares with the zygote");
	return 0;
}

/* Returns 1 if there is one. */
static int read_note(int image, struct base_found *ret, struct err *e)
{
	char z[BASE_NAME_SIZE + BASE_LABEL_SIZE + 1];
	autoclose int fd = openat(image, BASE_NOTE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(e, "read '" BASE_NOTE "'");
	ssize_t n = read(fd, z, sizeof z);
	struct str label = { z, n > 0 ? (size_t)n : 0 };
	struct str name = str_cut(&label, ' ');

	if (!str_copy(ret->name, sizeof ret->name, name) || !base_name_ok(ret->name) || !label.n ||
	    !str_copy(ret->label, sizeof ret->label, label) || strncmp(ret->label, "file[", 5) != 0)
		return err_set(e, EBADMSG, "'" BASE_NOTE "' of the image is damaged");
	return 1;
}

/* The file has another name until it is complete. */
static int put_back(int dir, int image, const char *name, struct err *e)
{
	char tmp[BASE_NAME_SIZE];
	autoclose int from = openat(image, BASE_COPY, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	(void)snprintf(tmp, sizeof tmp, ".new-%d", (int)getpid());
	autoclose int to = from < 0 ? -1 : openat(dir, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0444);

	if (to < 0 || ioctl(to, FICLONE, from) < 0 || (linkat(dir, tmp, dir, name, 0) < 0 && errno != EEXIST))
		(void)err_sys(e, "put back what it shared with the zygote");
	(void)unlinkat(dir, tmp, 0);
	return -e->no;
}

int base_open(int dir, int image, struct base_found *ret, struct err *e)
{
	*ret = BASE_NONE;
	int r = read_note(image, ret, e);

	for (int i = 0; r > 0 && i < 2; i++) {
		ret->fd = openat(dir, ret->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (ret->fd >= 0)
			return 0;
		if (i == 0 && put_back(dir, image, ret->name, e) < 0)
			return -e->no;
		ret->cold = true;
	}
	return r > 0 ? err_sys(e, "open what it shared with the zygote") : r;
}

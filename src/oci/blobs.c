/* SPDX-License-Identifier: Apache-2.0 */
/* oci/blobs: files named by the digest of their content. */
#include "oci/blobs.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

#define PIECE (256u << 10)

int blobs_open(int images_fd, struct blobs *ret, struct err *e)
{
	autoclose int dir = -1, lock = -1;

	if (mkdirat(images_fd, "blobs", 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make the cache of layers");
	dir = openat(images_fd, "blobs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	lock = openat(images_fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (dir < 0 || lock < 0 || flock(lock, LOCK_SH) < 0)
		return err_sys(e, "open the cache of layers");
	*ret = (struct blobs) { take_fd(&dir), take_fd(&lock) };
	return 0;
}

void blobs_close(struct blobs *b)
{
	fd_close(b->dir_fd);
	fd_close(b->lock_fd);
	*b = (struct blobs)BLOBS_NONE;
}

static int hash_all(int fd, struct digest *ret)
{
	autofree char *piece = malloc(PIECE);
	struct digest_run *run = digest_run_new();
	ssize_t n = -1;

	while (piece && run && (n = read(fd, piece, PIECE)) > 0)
		digest_run_put(run, piece, (size_t)n);
	if (n == 0)
		digest_run_end(run, ret);
	digest_run_free(run);
	return n == 0 && lseek(fd, 0, SEEK_SET) == 0 ? 0 : -EIO;
}

static bool is_of_this_boot(const struct stat *st)
{
	struct timespec up, now;

	(void)clock_gettime(CLOCK_BOOTTIME, &up);
	(void)clock_gettime(CLOCK_REALTIME, &now);
	return st->st_mtim.tv_sec > now.tv_sec - up.tv_sec && st->st_mtim.tv_sec <= now.tv_sec;
}

int blobs_find(const struct blobs *b, const struct digest *d, int *ret_fd, struct err *e)
{
	char name[DIGEST_HEX_SIZE];
	struct digest got;
	struct stat st;

	digest_hex(d, name);
	autoclose int fd = openat(b->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == ENOENT ? -ENOENT : err_sys(e, "open a layer in the cache");
	if (!is_of_this_boot(&st) && (hash_all(fd, &got) < 0 || !digest_eq(&got, d))) {
		blobs_drop(b, d);
		return -ENOENT;
	}
	(void)futimens(fd, NULL); /* marks it as used */
	*ret_fd = take_fd(&fd);
	return 0;
}

int blobs_create(const struct blobs *b, int *ret_fd, struct err *e)
{
	int fd = openat(b->dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0400);

	if (fd < 0)
		return err_sys(e, "make a file in the cache of layers");
	*ret_fd = fd;
	return 0;
}

static int give_name(const struct blobs *b, int fd, const struct digest *d, struct err *e)
{
	char name[DIGEST_HEX_SIZE], path[32];

	digest_hex(d, name);
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, path, b->dir_fd, name, AT_SYMLINK_FOLLOW) < 0 && errno != EEXIST)
		return err_sys(e, "put a layer into the cache");
	return 0;
}

int blobs_fill(const struct blobs *b, int fd, int from, uint64_t max, const struct digest *want, struct digest *ret,
    struct err *e)
{
	autofree char *piece = malloc(PIECE);
	struct digest_run *run = digest_run_new();
	uint64_t left = max;
	ssize_t n = -1;
	int rc = piece && run ? 0 : -ENOMEM;

	while (rc == 0 && (n = read(from, piece, PIECE)) > 0) {
		if ((uint64_t)n > left) {
			rc = -EFBIG;
			break;
		}
		left -= (uint64_t)n;
		digest_run_put(run, piece, (size_t)n);
		rc = fd_write_all(fd, piece, (size_t)n);
	}
	if (rc == 0 && n < 0)
		rc = -errno;
	if (rc == 0)
		digest_run_end(run, ret);
	digest_run_free(run);
	if (rc == -EFBIG)
		return err_set(e, EFBIG, "a layer is larger than %llu bytes", (unsigned long long)max);
	if (rc < 0)
		return err_set(e, -rc, "store a layer: %s", strerror(-rc));
	if (want && !digest_eq(ret, want))
		return err_set(e, EBADMSG, "digest mismatch: a layer is not what its digest says");
	return give_name(b, fd, ret, e);
}

void blobs_drop(const struct blobs *b, const struct digest *d)
{
	char name[DIGEST_HEX_SIZE];

	digest_hex(d, name);
	(void)unlinkat(b->dir_fd, name, 0);
}

/* --- quota --- */

struct item {
	char name[DIGEST_HEX_SIZE];
	uint64_t bytes;
	time_t used;
};

static int by_use(const void *a, const void *b)
{
	time_t x = ((const struct item *)a)->used, y = ((const struct item *)b)->used;

	return x < y ? -1 : x > y;
}

/* Lists all blobs with their sizes; *ret is malloc'ed. */
static int list_all(int dir_fd, struct item **ret, size_t *ret_n, uint64_t *ret_bytes)
{
	int own = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = own < 0 ? NULL : fdopendir(own);
	struct item *v = NULL;
	size_t n = 0, cap = 0;
	struct stat st;
	int rc = 0;

	*ret_bytes = 0;
	if (!d) {
		fd_close(own);
		return -errno;
	}
	for (struct dirent *de; rc == 0 && (de = readdir(d));) {
		if (strlen(de->d_name) != DIGEST_HEX_SIZE - 1 ||
		    fstatat(dir_fd, de->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (n == cap) {
			struct item *more = reallocarray(v, cap = cap ? 2 * cap : 64, sizeof *v);

			if (!more) {
				rc = -ENOMEM;
				break;
			}
			v = more;
		}
		v[n] = (struct item) { .bytes = (uint64_t)st.st_blocks * 512, .used = st.st_mtime };
		memcpy(v[n].name, de->d_name, DIGEST_HEX_SIZE);
		*ret_bytes += v[n++].bytes;
	}
	(void)closedir(d);
	if (rc < 0)
		free(v);
	*ret = rc < 0 ? NULL : v;
	*ret_n = n;
	return rc;
}

int blobs_trim(const struct blobs *b, uint64_t max_bytes, uint64_t *ret_freed, struct err *e)
{
	autofree struct item *v = NULL;
	uint64_t bytes = 0;
	size_t n = 0;

	*ret_freed = 0;
	if (flock(b->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? 0 : err_sys(e, "lock the cache of layers");
	int rc = list_all(b->dir_fd, &v, &n, &bytes);

	if (rc == 0 && n > 0)
		qsort(v, n, sizeof *v, by_use);
	for (size_t i = 0; rc == 0 && i < n && bytes > max_bytes; i++) {
		if (unlinkat(b->dir_fd, v[i].name, 0) < 0)
			continue;
		bytes -= v[i].bytes;
		*ret_freed += v[i].bytes;
	}
	(void)flock(b->lock_fd, LOCK_SH);
	return rc < 0 ? err_set(e, -rc, "look through the cache of layers: %s", strerror(-rc)) : 0;
}

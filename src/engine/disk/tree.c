/* SPDX-License-Identifier: Apache-2.0 */
/* tree: deletes a directory tree whose contents are not trusted.
 *
 * It may be as deep as its writer liked, so there is no recursion and no path: the walk descends by openat() and
 * ascends by "..", and restarts in a directory after each deleted child. That is safe because no other process
 * uses the tree any more. */
#include "engine/disk/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"

/* Unlinks everything in fd that is not a directory. 1: a non-empty directory is left, its name is in sub; 0: empty
 * now. */
static int clear_files(int fd, char sub[256])
{
	int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = own < 0 ? NULL : fdopendir(own);
	int r = 0;

	if (!d) {
		fd_close(own);
		return -errno;
	}
	for (struct dirent *de; r == 0 && (de = readdir(d));) {
		if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
			continue;
		if (unlinkat(fd, de->d_name, 0) == 0 || errno == ENOENT)
			continue;
		if (errno != EISDIR && errno != EPERM)
			r = -errno;
		else if (unlinkat(fd, de->d_name, AT_REMOVEDIR) == 0)
			continue;
		else if (errno != ENOTEMPTY && errno != EEXIST)
			r = -errno;
		else
			r = str_copy(sub, 256, str_of(de->d_name)) ? 1 : -ENAMETOOLONG;
	}
	(void)closedir(d);
	return r;
}

int tree_remove(int dirfd, const char *name)
{
	char sub[256];
	size_t depth = 0;
	autoclose int fd = -1;

	if (unlinkat(dirfd, name, 0) == 0)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (;;) {
		int r = clear_files(fd, sub);

		if (r < 0)
			return r;
		if (r == 0 && depth == 0)
			break;
		int next = openat(fd, r ? sub : "..", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (next < 0)
			return -errno;
		depth += r ? 1 : (size_t)-1;
		fd_close(fd);
		fd = next;
	}
	return unlinkat(dirfd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

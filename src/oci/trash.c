/* SPDX-License-Identifier: Apache-2.0 */
/* oci/trash: a directory, and the lock of the process that empties it. */
#include "oci/trash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "engine/disk/tree.h"

#define NAMES_MAX 10000 /* for one image */

int trash_open(int images_fd, int *ret_fd, struct err *e)
{
	if (mkdirat(images_fd, "trash", 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make the directory 'trash'");
	*ret_fd = openat(images_fd, "trash", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? err_sys(e, "open the directory 'trash'") : 0;
}

int trash_put(int trash_fd, int at, const char *name)
{
	char to[NAME_MAX + 1];

	for (unsigned i = 0; i < NAMES_MAX; i++) {
		(void)snprintf(to, sizeof to, "%.200s.%u", name, i);
		if (renameat2(at, name, trash_fd, to, RENAME_NOREPLACE) == 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* Counts the entries, or with remove the entries that were removed. */
static unsigned walk(int trash_fd, bool remove)
{
	int own = openat(trash_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = own < 0 ? NULL : fdopendir(own);
	unsigned n = 0;

	if (!d) {
		fd_close(own);
		return 0;
	}
	for (struct dirent *de; (de = readdir(d));) {
		if (de->d_name[0] != '.' && (!remove || tree_remove(own, de->d_name) == 0))
			n++;
	}
	(void)closedir(d);
	return n;
}

void trash_empty(int trash_fd)
{
	/* Repeats while there are entries, because one may have been added after the last scan and before the lock
	 * was released; stops if nothing can be removed. */
	while (walk(trash_fd, false) > 0) {
		if (flock(trash_fd, LOCK_EX | LOCK_NB) < 0)
			return;
		unsigned gone = walk(trash_fd, true);

		(void)flock(trash_fd, LOCK_UN);
		if (gone == 0)
			return;
	}
}

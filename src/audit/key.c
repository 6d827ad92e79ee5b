/* SPDX-License-Identifier: Apache-2.0 */
/* audit/key: 32 random bytes in a file. */
#include "audit/key.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/rand.h"

#define NEW AUDIT_KEY_FILE ".new"

static int key_of(int fd, const char *name, uint8_t ret[AUDIT_KEY_SIZE], struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_sys(e, "open '%s'", name);
	if (!S_ISREG(st.st_mode) || st.st_size != AUDIT_KEY_SIZE || (st.st_mode & 077))
		return err_set(e, EINVAL, "'%s' is not a key of %d bytes for its owner alone", name, AUDIT_KEY_SIZE);
	int r = fd_read_all(fd, ret, AUDIT_KEY_SIZE);

	return r < 0 ? err_set(e, -r, "read '%s': %s", name, strerror(-r)) : 0;
}

/* Atomically: a crash must not leave a truncated key. */
static int make_key(int dir, uint8_t ret[AUDIT_KEY_SIZE], struct err *e)
{
	autoclose int fd = openat(dir, NEW, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_sys(e, "make '" AUDIT_KEY_FILE "'");
	rand_bytes(ret, AUDIT_KEY_SIZE);

	int r = fd_write_all(fd, ret, AUDIT_KEY_SIZE);

	if (r < 0 || fsync(fd) < 0 || linkat(dir, NEW, dir, AUDIT_KEY_FILE, 0) < 0) {
		errno = r < 0 ? -r : errno;
		return err_sys(e, "write '" AUDIT_KEY_FILE "'");
	}
	(void)unlinkat(dir, NEW, 0);
	(void)fsync(dir);
	return 0;
}

int audit_key_read(const char *dir, bool make, uint8_t ret[AUDIT_KEY_SIZE], struct err *e)
{
	autoclose int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autoclose int fd = dirfd < 0 ? -1
				     : openat(dirfd, AUDIT_KEY_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (dirfd < 0)
		return err_sys(e, "open '%s'", dir);
	if (fd < 0 && errno == ENOENT && make)
		return make_key(dirfd, ret, e);
	if (fd < 0)
		return err_sys(e, "open '%s/" AUDIT_KEY_FILE "'", dir);
	return key_of(fd, AUDIT_KEY_FILE, ret, e);
}

int audit_key_read_file(const char *path, uint8_t ret[AUDIT_KEY_SIZE], struct err *e)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return err_sys(e, "open '%s'", path);
	return key_of(fd, path, ret, e);
}

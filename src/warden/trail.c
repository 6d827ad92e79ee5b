/* SPDX-License-Identifier: Apache-2.0 */
/* trail: STATE/audit/NNNNNNNN.jsonl. */
#include "warden/trail.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "warden/config.h"

#define NAME_SIZE 32
#define DIGITS 8
#define SUFFIX ".jsonl"
#define N_MAX 99999999u

struct survey {
	uint32_t first, last;		/* 0: there is none; last: that is not empty */
	uint64_t bytes;			/* of all */
	uint64_t last_bytes;
};

static void name_of(uint32_t n, char ret[NAME_SIZE])
{
	(void)snprintf(ret, NAME_SIZE, "%08u" SUFFIX, n);
}

static uint32_t number_of(const char *name)
{
	struct str s = str_of(name);
	uint64_t n;

	if (s.n != DIGITS + sizeof SUFFIX - 1 || !str_ends(s, SUFFIX) || str_to_u64((struct str) { s.p, DIGITS }, N_MAX, &n) < 0)
		return 0;
	return (uint32_t)n;
}

static int open_dir(const struct config *c, struct err *e)
{
	char path[PATH_MAX + 16];

	(void)snprintf(path, sizeof path, "%s/" TRAIL_DIR, c->state);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make '%s'", path);

	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? err_sys(e, "open '%s'", path) : fd;
}

static int look(int dirfd, struct survey *ret, struct err *e)
{
	int copy = fcntl(dirfd, F_DUPFD_CLOEXEC, 3);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct survey sv = { 0 };
	struct dirent *en;
	struct stat st;

	if (!d) {
		(void)err_sys(e, "read the directory of the audit trail");
		fd_close(copy);
		return -e->no;
	}
	rewinddir(d);
	while ((en = readdir(d))) {
		uint32_t n = number_of(en->d_name);

		if (!n || fstatat(dirfd, en->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
			continue;
		if (!sv.first || n < sv.first)
			sv.first = n;
		if (n > sv.last) {
			sv.last = n;
			sv.last_bytes = (uint64_t)st.st_size;
		}
		sv.bytes += (uint64_t)st.st_size;
	}
	(void)closedir(d);
	*ret = sv;
	return 0;
}

int trail_open(const struct config *c, uint32_t n, struct msg_trail_file *re, int *ret_fd, struct err *e)
{
	autoclose int dir = open_dir(c, e);
	char name[NAME_SIZE];
	struct survey sv;
	struct stat st;

	if (dir < 0 || look(dir, &sv, e) < 0)
		return -e->no;
	if (n && n != sv.last + 1)
		return err_set(e, EINVAL, "segment %u of the audit trail is not the next one", n);
	if (!n)
		n = sv.last ? sv.last : 1;
	if (n > N_MAX)
		return err_set(e, EOVERFLOW, "the audit trail has no more numbers for segments");
	name_of(n, name);

	autoclose int fd = openat(dir, name, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open '%s' of the audit trail", name);
	if (!S_ISREG(st.st_mode))
		return err_set(e, EINVAL, "'%s' of the audit trail is not a file", name);
	(void)fsync(dir);		/* the name, too, outlives a crash of the host */
	re->n = n;
	re->first = sv.first ? sv.first : n;
	re->bytes = n == sv.last ? sv.bytes - sv.last_bytes : sv.bytes;
	*ret_fd = take_fd(&fd);
	return 0;
}

int trail_drop(const struct config *c, uint32_t n, struct err *e)
{
	autoclose int dir = open_dir(c, e);
	char name[NAME_SIZE];
	struct survey sv;
	struct stat st;
	time_t now = time(NULL);

	if (dir < 0 || look(dir, &sv, e) < 0)
		return -e->no;
	if (n != sv.first || n == sv.last)
		return err_set(e, EINVAL, "segment %u of the audit trail is not the first of several", n);
	name_of(n, name);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, "look at '%s' of the audit trail", name);

	bool is_old = c->audit_kept_s && now > st.st_mtime && (uint64_t)(now - st.st_mtime) >= c->audit_kept_s;

	if (!is_old && sv.bytes <= c->audit_max_mb << 20)
		return err_set(e, EPERM, "segment %u of the audit trail is not to be dropped yet", n);
	if (unlinkat(dir, name, 0) < 0)
		return err_sys(e, "remove '%s' of the audit trail", name);
	log_info("segment of the audit trail dropped", "segment=%u why=%s", n, is_old ? "age" : "size");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* audit: STATE/audit/NNNNNNNN.jsonl. */
#include "warden/audit.h"

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
#define AGE_S 86400 /* age of a segment that is not full before the next one may begin */

struct survey {
	uint32_t first, last; /* 0: none; last: the last one ever written to */
	uint64_t bytes;       /* of all segments */
	uint64_t last_bytes;
	int64_t last_born_s;
};

struct segment {
	uint64_t bytes;
	int64_t born_s;
	bool unused;
};

static void name_of(uint32_t n, char ret[NAME_SIZE])
{
	(void)snprintf(ret, NAME_SIZE, "%08u" SUFFIX, n);
}

static uint32_t number_of(const char *name)
{
	struct str s = str_of(name);
	uint64_t n;

	if (s.n != DIGITS + sizeof SUFFIX - 1 || !str_ends(s, SUFFIX) ||
	    str_to_u64((struct str) { s.p, DIGITS }, N_MAX, &n) < 0)
		return 0;
	return (uint32_t)n;
}

static int open_dir(const struct config *c, struct err *e)
{
	char path[PATH_MAX + 16];

	(void)snprintf(path, sizeof path, "%s/" AUDIT_DIR, c->state);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_sys(e, "make '%s'", path);

	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? err_sys(e, "open '%s'", path) : fd;
}

/* The front can extend its file without filling it, so only allocated blocks count. It can also truncate it, so
 * an empty file is unused only if it was never modified since its creation. (Only the owner of a file can set
 * its times, and that is root.) */
static bool segment_look(int dirfd, const char *name, struct segment *ret)
{
	struct statx st;

	if (statx(dirfd, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &st) < 0 || !S_ISREG(st.stx_mode))
		return false;

	bool has_birth = st.stx_mask & STATX_BTIME;

	ret->bytes = st.stx_size < st.stx_blocks * 512 ? st.stx_size : st.stx_blocks * 512;
	ret->born_s = has_birth ? st.stx_btime.tv_sec : st.stx_ctime.tv_sec;
	ret->unused = st.stx_size == 0 && has_birth && st.stx_mtime.tv_sec == st.stx_btime.tv_sec &&
	    st.stx_mtime.tv_nsec == st.stx_btime.tv_nsec;
	return true;
}

static int look(int dirfd, struct survey *ret, struct err *e)
{
	int copy = fcntl(dirfd, F_DUPFD_CLOEXEC, 3);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct survey sv = { 0 };
	struct segment sg;
	struct dirent *en;

	if (!d) {
		(void)err_sys(e, "read the directory of the audit trail");
		fd_close(copy);
		return -e->no;
	}
	rewinddir(d);
	while ((en = readdir(d))) {
		uint32_t n = number_of(en->d_name);

		if (!n || !segment_look(dirfd, en->d_name, &sg) || sg.unused)
			continue;
		if (!sv.first || n < sv.first)
			sv.first = n;
		if (n > sv.last) {
			sv.last = n;
			sv.last_bytes = sg.bytes;
			sv.last_born_s = sg.born_s;
		}
		sv.bytes += sg.bytes;
	}
	(void)closedir(d);
	*ret = sv;
	return 0;
}

static uint64_t segment_bytes(const struct config *c)
{
	return c->audit_segment_kb << 10;
}

/* Otherwise a front could create files without end. Because a compressing file system may store a segment in a
 * fraction of its size, an eighth of the segment size is enough. */
static bool may_follow(const struct config *c, const struct survey *sv)
{
	uint64_t age_s = c->audit_kept_s && c->audit_kept_s / 4 < AGE_S ? c->audit_kept_s / 4 : AGE_S;
	time_t now = time(NULL);

	return !sv->last || sv->last_bytes >= segment_bytes(c) / 8 ||
	    (now > sv->last_born_s && (uint64_t)(now - sv->last_born_s) >= age_s);
}

int audit_open(const struct config *c, uint32_t n, struct msg_audit_file *re, int *ret_fd, struct err *e)
{
	autoclose int dir = open_dir(c, e);
	char name[NAME_SIZE];
	struct survey sv;
	struct stat st;

	if (dir < 0 || look(dir, &sv, e) < 0)
		return -e->no;
	if (n && n != sv.last + 1)
		return err_set(e, EINVAL, "segment %u of the audit trail is not the next one", n);
	if (n && !may_follow(c, &sv))
		return err_set(e, EPERM, "segment %u of the audit trail is neither full nor old enough for another one",
		    sv.last);
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
	(void)fsync(dir); /* the directory entry survives a crash of the host, too */
	re->n = n;
	re->first = sv.first ? sv.first : n;
	re->bytes = n == sv.last ? sv.bytes - sv.last_bytes : sv.bytes;
	*ret_fd = take_fd(&fd);
	return 0;
}

int audit_drop(const struct config *c, uint32_t n, struct err *e)
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

	uint64_t bytes = sv.bytes - (sv.last_bytes > segment_bytes(c) ? sv.last_bytes - segment_bytes(c) : 0);

	if (!is_old &&
	    bytes <= c->audit_max_mb << 20) /* without the excess of the last one, which the front controls */
		return err_set(e, EPERM, "segment %u of the audit trail is not to be dropped yet", n);
	if (unlinkat(dir, name, 0) < 0)
		return err_sys(e, "remove '%s' of the audit trail", name);
	log_info("segment of the audit trail dropped", "segment=%u why=%s", n, is_old ? "age" : "size");
	return 0;
}

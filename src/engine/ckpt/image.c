/* SPDX-License-Identifier: Apache-2.0 */
/* image: the record, init program and ids of a checkpoint. */
#include "engine/ckpt/image.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/str.h"
#include "engine/zygote/base.h"

#define MAGIC "atollimg"
#define VERSION 1
#define OLD_INITS_MAX 64
#define CRIU_SUFFIX ".img"
#define AHEAD_MAX (256 << 20) /* per file: more would evict what was read first on a small machine */
#define INIT_SUM "init.sum"
#define IDS_PREFIX "userns-" /* CRIU's file of the user namespace; a number follows */

_Static_assert(sizeof(struct image_spec) == 120 && sizeof(struct image_record) == 160,
    "images of earlier versions stay readable");

/* FNV-1a, to detect a torn file. It is no protection against tampering: only root can write there. */
static uint64_t checksum(const void *p, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (const unsigned char *at = p; n > 0; n--)
		h = (h ^ *at++) * 0x100000001b3u;
	return h;
}

int image_write_record(int image, bool durable, uint32_t instance, uint32_t root, uint64_t extra_bytes,
    const struct engine_spec *spec, struct err *e)
{
	struct image_record r;

	memset(&r, 0, sizeof r);
	memcpy(r.magic, MAGIC, sizeof r.magic);
	r.version = VERSION;
	r.size = sizeof r;
	r.instance = instance;
	r.root = root;
	r.extra_bytes = extra_bytes;
	memcpy(r.spec.id, spec->id, sizeof r.spec.id);
	memcpy(r.spec.template_key, spec->template_key, sizeof r.spec.template_key);
	memcpy(r.spec.from, spec->from, sizeof r.spec.from);
	r.spec.slot = spec->slot;
	r.spec.no_internet = spec->no_internet;
	r.spec.ruled = spec->ruled;
	r.spec.limits.mem_bytes = spec->limits.mem_bytes;
	r.spec.limits.disk_bytes = spec->limits.disk_bytes;
	r.spec.limits.cpu_permille = spec->limits.cpu_permille;
	r.spec.limits.pids = spec->limits.pids;
	r.sum = checksum(&r, offsetof(struct image_record, sum));
	autoclose int fd = openat(image, "record", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_sys(e, "create the record of the image");
	int w = fd_write_all(fd, &r, sizeof r);

	if (w < 0)
		return err_set(e, -w, "write the record of the image: %s", strerror(-w));
	return durable && (fsync(fd) < 0 || fsync(image) < 0) ? err_sys(e, "write the record of the image") : 0;
}

int image_check_record(const void *p, size_t n, struct image_record *ret)
{
	struct image_record r;

	if (n != sizeof r)
		return -EBADMSG;
	memcpy(&r, p, sizeof r);
	if (memcmp(r.magic, MAGIC, sizeof r.magic) != 0 || r.version != VERSION || r.size != sizeof r ||
	    r.sum != checksum(&r, offsetof(struct image_record, sum)))
		return -EBADMSG;
	*ret = r;
	return 0;
}

int image_read_record(int image, struct image_record *ret, struct err *e)
{
	char bytes[sizeof *ret + 1];
	autoclose int fd = openat(image, "record", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n = fd < 0 ? -1 : read(fd, bytes, sizeof bytes);

	if (n < 0)
		return err_sys(e, "read the record of the image");
	if (image_check_record(bytes, (size_t)n, ret) < 0)
		return err_set(e, EBADMSG, "the record of the image is damaged, or of another version");
	return 0;
}

/* --- pid 1's program ---------------------------------------------------------------------------------------- */

/* init_fd is an O_PATH fd. */
static int reopen(int fd)
{
	char path[32];

	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void *map(int fd, size_t n)
{
	void *p = n > 0 ? mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;

	return p == MAP_FAILED ? NULL : p;
}

static int copy_bytes(int from, int to)
{
	struct stat st;

	if (fstat(from, &st) < 0)
		return -errno;
	for (off_t left = st.st_size; left > 0;) {
		ssize_t n = sendfile(to, from, NULL, (size_t)left);

		if (n <= 0)
			return n < 0 ? -errno : -EPIPE;
		left -= n;
	}
	return 0;
}

int image_sum_init(struct image_init *in, struct err *e)
{
	struct stat st;
	autoclose int fd = reopen(in->fd);

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, "open init");
	void *p = map(fd, (size_t)st.st_size);

	if (!p)
		return err_sys(e, "map init");
	in->sum = checksum(p, (size_t)st.st_size);
	(void)munmap(p, (size_t)st.st_size);
	return 0;
}

/* Only a hint: without it, a restore compares the programs. */
static void save_sum(int image, int init_fd, const struct image_init *now)
{
	struct stat its, ours;

	if (!now->sum || fstat(init_fd, &its) < 0 || fstat(now->fd, &ours) < 0 || its.st_dev != ours.st_dev ||
	    its.st_ino != ours.st_ino)
		return;
	autoclose int fd = openat(image, INIT_SUM, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);

	if (fd >= 0 && fd_write_all(fd, &now->sum, sizeof now->sum) < 0)
		(void)unlinkat(image, INIT_SUM, 0);
}

static bool has_sum(int image, uint64_t sum)
{
	uint64_t its = 0;
	autoclose int fd = openat(image, INIT_SUM, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	return sum && fd >= 0 && read(fd, &its, sizeof its) == (ssize_t)sizeof its && its == sum;
}

int image_save_init(int image, int init_fd, const struct image_init *now, struct err *e)
{
	autoclose int from = reopen(init_fd), to = openat(image, "init", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0555);

	if (from < 0 || to < 0)
		return err_sys(e, "copy init into the image");
	int r = copy_bytes(from, to);

	if (r < 0)
		return err_set(e, -r, "copy init into the image: %s", strerror(-r));
	save_sum(image, init_fd, now);
	return 0;
}

static bool same_bytes(int a, int b)
{
	struct stat sa, sb;

	if (fstat(a, &sa) < 0 || fstat(b, &sb) < 0 || sa.st_size != sb.st_size)
		return false;
	size_t n = (size_t)sa.st_size;
	void *p = map(a, n), *q = map(b, n);
	bool same = p && q && memcmp(p, q, n) == 0;

	if (p)
		(void)munmap(p, n);
	if (q)
		(void)munmap(q, n);
	return same;
}

int image_open_init(int image, const struct image_init *now, bool *ret_same, int *ret_fd, struct err *e)
{
	if (has_sum(image, now->sum)) {
		*ret_same = true;
		return 0;
	}
	autoclose int ours = reopen(now->fd), its = openat(image, "init", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (ours < 0 || its < 0)
		return err_sys(e, "open the program of the image");
	*ret_same = same_bytes(ours, its);
	if (!*ret_same)
		*ret_fd = take_fd(&its);
	return 0;
}

/* The copy is complete before it has its name, so that another process that finds it can use it. */
static int put_copy(int from, int dir, const char *name)
{
	char tmp[32];

	(void)snprintf(tmp, sizeof tmp, "new-init-%d", getpid());
	autoclose int to = openat(dir, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0555);
	int r = to < 0 ? -errno : copy_bytes(from, to);

	if (r == 0 && linkat(dir, tmp, dir, name, 0) < 0 && errno != EEXIST)
		r = -errno;
	(void)unlinkat(dir, tmp, 0);
	return r < 0 ? r : (int)lseek(from, 0, SEEK_SET);
}

/* Checkpoints of one earlier version have the same program, so there are few copies; they stay until the warden
 * exits. */
int image_copy_init(int from, int dir, int *ret_fd, struct err *e)
{
	char name[24];

	for (unsigned i = 0; i < OLD_INITS_MAX; i++) {
		(void)snprintf(name, sizeof name, "old-init-%u", i);
		int r = faccessat(dir, name, F_OK, 0) < 0 ? put_copy(from, dir, name) : 0;

		if (r < 0)
			return err_set(e, -r, "copy the program of the image: %s", strerror(-r));
		autoclose int there = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

		if (there < 0 || !same_bytes(from, there))
			continue;
		*ret_fd = openat(dir, name, O_PATH | O_CLOEXEC | O_NOFOLLOW);
		return *ret_fd < 0 ? err_sys(e, "open the copy of init") : 0;
	}
	return err_set(e, ENOSPC, "there are images of too many versions of init");
}

/* --- ids ---------------------------------------------------------------------------------------------------- */

static size_t put_varint(unsigned char *at, uint32_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		at[n++] = (unsigned char)(v | 0x80);
	at[n++] = (unsigned char)v;
	return n;
}

/* Encodes one extent as protobuf: first = 0, lower_first = root, count; as field number `field`. */
static size_t put_extent(unsigned char *at, unsigned char field, uint32_t root, uint32_t count)
{
	unsigned char body[24];
	size_t n = 0;

	body[n++] = 1 << 3;
	body[n++] = 0;
	body[n++] = 2 << 3;
	n += put_varint(body + n, root);
	body[n++] = 3 << 3;
	n += put_varint(body + n, count);
	at[0] = (unsigned char)(field << 3 | 2);
	at[1] = (unsigned char)n;
	memcpy(at + 2, body, n);
	return n + 2;
}

/* CRIU's file format: two magic numbers, then a length and a message, all in the machine's byte order. */
size_t image_encode_ids(uint32_t root, uint32_t count, unsigned char out[64])
{
	static const uint32_t magic[] = { 0x54564319, 0x55474906 };
	size_t head = sizeof magic + sizeof(uint32_t);
	size_t n = put_extent(out + head, 1, root, count);

	n += put_extent(out + head + n, 2, root, count);
	uint32_t len = (uint32_t)n;

	memcpy(out, magic, sizeof magic);
	memcpy(out + sizeof magic, &len, sizeof len);
	return head + n;
}

int image_ids_file(int image, char ret[IMAGE_FILE_SIZE], struct err *e)
{
	int own = openat(image, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), found = 0;
	DIR *d = own < 0 ? NULL : fdopendir(own);

	if (!d) {
		fd_close(own);
		return err_sys(e, "read the image");
	}
	for (struct dirent *de; (de = readdir(d));) {
		if (strncmp(de->d_name, IDS_PREFIX, strlen(IDS_PREFIX)) == 0 &&
		    str_copy(ret, IMAGE_FILE_SIZE, str_of(de->d_name)))
			found++;
	}
	(void)closedir(d);
	return found == 1 ? 0 : err_set(e, EBADMSG, "the image has %d user namespaces instead of 1", found);
}

static int sync_dir(int dirfd, const char *name, bool durable, uint64_t *sum)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), r = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d) {
		fd_close(fd);
		return -errno;
	}
	for (struct dirent *de; r == 0 && (de = readdir(d));) {
		struct stat st;

		if (de->d_type == DT_DIR && strcmp(de->d_name, ".") != 0 && strcmp(de->d_name, "..") != 0)
			r = sync_dir(fd, de->d_name, durable, sum);
		if (de->d_type != DT_REG)
			continue;
		autoclose int file = openat(fd, de->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

		if (file < 0 || fstat(file, &st) < 0 || (durable && fsync(file) < 0))
			r = -errno;
		else if (strcmp(de->d_name, BASE_COPY) != 0) /* shared with other checkpoints */
			*sum += (uint64_t)st.st_size;
	}
	if (r == 0 && durable && fsync(fd) < 0)
		r = -errno;
	(void)closedir(d);
	return r;
}

int image_sync(int image, bool durable, uint64_t *ret_bytes, struct err *e)
{
	*ret_bytes = 0;
	int r = sync_dir(image, ".", durable, ret_bytes);

	return r < 0 ? err_set(e, -r, "write the image to disk: %s", strerror(-r)) : 0;
}

/* --- reading ahead ------------------------------------------------------------------------------------------ */

void image_read_ahead(int image)
{
	int own = openat(image, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = own < 0 ? NULL : fdopendir(own);

	if (!d) {
		fd_close(own);
		return;
	}
	for (struct dirent *de; (de = readdir(d));) {
		size_t n = strlen(de->d_name), suffix = strlen(CRIU_SUFFIX);

		if (de->d_type != DT_REG || n < suffix || strcmp(de->d_name + n - suffix, CRIU_SUFFIX) != 0)
			continue;
		autoclose int file = openat(image, de->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

		if (file >= 0)
			(void)posix_fadvise(file, 0, AHEAD_MAX, POSIX_FADV_WILLNEED);
	}
	(void)closedir(d);
}

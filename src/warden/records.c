/* SPDX-License-Identifier: Apache-2.0 */
/* records: fixed binary files with a checksum, replaced by rename. */
#include "warden/records.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "ipc/check.h"
#include "warden/policy.h"

#define RECORD_MAGIC "atollrec"
#define RECORD_VERSION 3
#define SLOTS_MAX 2000

struct file {
	char magic[8];
	uint32_t version, size;
	uint32_t stage, frozen;
	struct engine_record er;
	uint64_t sum;			/* over all that stands before it, and the policy behind it */
};

_Static_assert(sizeof(struct file) + POLICY_MAX <= RECORD_FILE_MAX, "a record fits its buffer");
_Static_assert(ENGINE_ID_SIZE == ID_SIZE && ENGINE_KEY_SIZE == TEMPLATE_KEY_SIZE, "engine and messages agree");

/* FNV-1a: finds a torn or foreign file. It is no defence: only root can write there. */
static uint64_t checksum(uint64_t h, const void *p, size_t n)
{
	for (const unsigned char *at = p; n > 0; n--)
		h = (h ^ *at++) * 0x100000001b3u;
	return h;
}

static uint64_t file_sum(const struct file *f, const void *policy, size_t n)
{
	return checksum(checksum(0xcbf29ce484222325u, f, offsetof(struct file, sum)), policy, n);
}

size_t record_encode(const struct record *r, char out[RECORD_FILE_MAX])
{
	size_t n = r->policy ? r->policy->n : 0;
	struct file f;

	memset(&f, 0, sizeof f);
	memcpy(f.magic, RECORD_MAGIC, sizeof f.magic);
	f.version = RECORD_VERSION;
	f.size = (uint32_t)(sizeof f + n);
	f.stage = r->stage;
	f.frozen = r->frozen;
	f.er = r->er;
	f.sum = file_sum(&f, r->policy ? r->policy->bytes : NULL, n);
	memcpy(out, &f, sizeof f);
	if (n)
		memcpy(out + sizeof f, r->policy->bytes, n);
	return sizeof f + n;
}

/* NULL and 0 without one. */
static int decode_policy(const void *bytes, size_t n, struct held_policy **ret)
{
	struct policy *p = NULL;

	*ret = NULL;
	if (n == 0)
		return 0;
	if (policy_decode(bytes, n, &p) < 0)
		return -EBADMSG;
	policy_free(p);
	*ret = held_policy_new(bytes, n);
	return *ret ? 0 : -ENOMEM;
}

int record_decode(const void *p, size_t n, struct record *ret)
{
	const char *policy = (const char *)p + sizeof(struct file);
	struct file f;

	if (n < sizeof f || n > RECORD_FILE_MAX)
		return -EBADMSG;
	memcpy(&f, p, sizeof f);
	if (memcmp(f.magic, RECORD_MAGIC, sizeof f.magic) != 0 || f.version != RECORD_VERSION || f.size != n ||
	    f.sum != file_sum(&f, policy, n - sizeof f))
		return -EBADMSG;
	if ((f.stage != RECORD_STARTING && f.stage != RECORD_LIVE) || f.frozen > 1)
		return -EBADMSG;
	const struct engine_spec *sp = &f.er.spec;

	if (!check_id(sp->id) || !check_template_key(sp->template_key) || sp->slot >= SLOTS_MAX ||
	    !check_text(f.er.boot_id, sizeof f.er.boot_id) || (f.stage == RECORD_LIVE && f.er.pid <= 1) ||
	    sp->ruled != (n > sizeof f))
		return -EBADMSG;
	*ret = (struct record) { .stage = (enum record_stage)f.stage, .frozen = f.frozen, .er = f.er };
	return decode_policy(policy, n - sizeof f, &ret->policy);
}

int record_write(int dirfd, const struct record *r, struct err *e)
{
	char bytes[RECORD_FILE_MAX], tmp[ENGINE_ID_SIZE + 8];
	size_t n = record_encode(r, bytes);

	(void)snprintf(tmp, sizeof tmp, ".%s.new", r->er.spec.id);
	autoclose int fd = openat(dirfd, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_sys(e, "create record '%s'", r->er.spec.id);
	int w = fd_write_all(fd, bytes, n);
	if (w < 0 || renameat(dirfd, tmp, dirfd, r->er.spec.id) < 0) {
		errno = w < 0 ? -w : errno;
		(void)err_sys(e, "write record '%s'", r->er.spec.id);
		(void)unlinkat(dirfd, tmp, 0);
		return -e->no;
	}
	return 0;
}

void record_remove(int dirfd, const char *id)
{
	(void)unlinkat(dirfd, id, 0);
}

static int load_one(int dirfd, const char *name, struct record *ret)
{
	autoclose int fd = openat(dirfd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char bytes[RECORD_FILE_MAX + 1];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != 0 || (st.st_mode & 022))
		return -EBADMSG;
	ssize_t n = read(fd, bytes, sizeof bytes);
	if (n < 0 || record_decode(bytes, (size_t)n, ret) < 0)
		return -EBADMSG;
	if (strcmp(ret->er.spec.id, name) == 0)
		return 0;
	free(take_ptr(&ret->policy));
	return -EBADMSG;
}

static bool slot_seen(const struct record *list, size_t n, uint32_t slot)
{
	for (size_t i = 0; i < n; i++) {
		if (list[i].er.spec.slot == slot)
			return true;
	}
	return false;
}

int records_load(int dirfd, struct record **ret, size_t *ret_n, struct err *e)
{
	struct record *list = calloc(SLOTS_MAX, sizeof *list);
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	size_t n = 0;

	if (!list || !d) {
		free(list);
		fd_close(fd);
		return err_set(e, ENOMEM, "read the records of sandboxes");
	}
	for (struct dirent *de; (de = readdir(d)); ) {
		if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
			continue;
		bool sound = n < SLOTS_MAX && load_one(dirfd, de->d_name, &list[n]) == 0;

		if (sound && !slot_seen(list, n, list[n].er.spec.slot)) {
			n++;
			continue;
		}
		if (sound)
			free(take_ptr(&list[n].policy));
		if (de->d_name[0] != '.')	/* those are writes that were cut short */
			log_error("unsound record, removing it", "name=%s", de->d_name);
		(void)unlinkat(dirfd, de->d_name, 0);
	}
	(void)closedir(d);
	*ret = list;
	*ret_n = n;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* records: files of tagged fields with a checksum, replaced by rename.
 *
 * A warden must be able to read the records of the one before it, even of another version: a sandbox whose
 * record it cannot read is lost. So a file is a header, then fields in any order, each with a tag and a length,
 * then a checksum of all of it. A later version adds tags and never changes existing ones. A field that an
 * earlier version must not ignore is marked NEEDED. Files of version 3, the last before this format, are read,
 * too. */
#include "warden/records.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "engine/slot.h"
#include "ipc/check.h"
#include "warden/policy.h"
#include "warden/records_v3.h"

#define RECORD_MAGIC "atollrec"
#define RECORD_VERSION 4
#define ALIGN 8u

struct file_head {
	char magic[8];
	uint32_t version, size; /* size: of the whole file */
};

enum tag { /* never renumber */
	TAG_STAGE = 1,
	TAG_FROZEN,
	TAG_ID,
	TAG_TEMPLATE,
	TAG_FROM,
	TAG_SLOT,
	TAG_NO_INTERNET,
	TAG_MEM_BYTES,
	TAG_DISK_BYTES,
	TAG_CPU_PERMILLE,
	TAG_PIDS,
	TAG_PID,
	TAG_PID_START,
	TAG_BOOT_ID,
	TAG_STARTED_MS,
	TAG_EXTRA_BYTES,
	TAG_POLICY,
	TAG_VOLUME, /* two strings, its name and its mount path; once per volume, in order */
	TAG_SWAP_BYTES,
	TAG_IO_BYTES_S,
	TAG_IO_OPS_S,
	TAG_EGRESS_BYTES,
	TAG_EGRESS_BYTES_S,
	TAG_OPEN_FILES,
	TAG_FAR,   /* its slot is beyond those that earlier versions know, which must not take the record for damaged */
	TAG_KIND,  /* enum engine_kind; absent: namespaces */
	TAG_TOKEN, /* absent: zeros */
	TAG_END,   /* not a tag: higher ones are of a later version */
};

#define NEEDED 1u /* flag of a field: a reader that does not know it must not use the record */

struct field { /* followed by n bytes, then zeros up to a multiple of ALIGN */
	uint16_t tag, flags;
	uint32_t n;
};

_Static_assert(ENGINE_ID_SIZE == ID_SIZE && ENGINE_KEY_SIZE == TEMPLATE_KEY_SIZE, "engine and messages agree");
_Static_assert(ENGINE_VOLUMES_MAX == MOUNTS_MAX && ENGINE_PATH_SIZE == MOUNT_PATH_SIZE, "engine and messages agree");

/* FNV-1a: detects a torn or foreign file. It is not a defence: only root can write there. */
uint64_t record_sum(uint64_t h, const void *p, size_t n)
{
	for (const unsigned char *at = p; n > 0; n--)
		h = (h ^ *at++) * 0x100000001b3u;
	return h;
}

/* --- writing ------------------------------------------------------------------------------------------------ */

struct out {
	char *p;
	size_t n; /* counts what does not fit as well, without writing it */
};

static void put(struct out *o, const void *p, size_t n)
{
	if (o->n + n <= RECORD_FILE_MAX)
		memcpy(o->p + o->n, p, n);
	o->n += n;
}

static void put_field(struct out *o, enum tag tag, unsigned flags, const void *p, size_t n)
{
	static const char zero[ALIGN];
	struct field f = { .tag = (uint16_t)tag, .flags = (uint16_t)flags, .n = (uint32_t)n };

	put(o, &f, sizeof f);
	put(o, p, n);
	put(o, zero, -n & (ALIGN - 1));
}

static void put_number(struct out *o, enum tag tag, uint64_t v)
{
	put_field(o, tag, NEEDED, &v, sizeof v);
}

static void put_text(struct out *o, enum tag tag, const char *z)
{
	put_field(o, tag, NEEDED, z, strlen(z) + 1);
}

static void put_volume(struct out *o, const struct engine_volume *v)
{
	char both[sizeof v->name + sizeof v->path];
	size_t n = strlen(v->name) + 1, m = strlen(v->path) + 1;

	memcpy(both, v->name, n);
	memcpy(both + n, v->path, m);
	put_field(o, TAG_VOLUME, NEEDED, both, n + m);
}

/* Limits that a warden of the first versions does not know. It can ignore them, because the kernel enforces
 * them. */
static void put_more_limits(struct out *o, const struct engine_limits *l)
{
	const struct {
		enum tag tag;
		uint64_t v;
	} more[] = {
		{ TAG_SWAP_BYTES, l->swap_bytes },
		{ TAG_IO_BYTES_S, l->io_bytes_s },
		{ TAG_IO_OPS_S, l->io_ops_s },
		{ TAG_EGRESS_BYTES, l->egress_bytes },
		{ TAG_EGRESS_BYTES_S, l->egress_bytes_s },
		{ TAG_OPEN_FILES, l->open_files },
	};

	for (size_t i = 0; i < ARRAY_LEN(more); i++) {
		if (more[i].v)
			put_field(o, more[i].tag, 0, &more[i].v, sizeof more[i].v);
	}
}

size_t record_encode(const struct record *r, char bytes[RECORD_FILE_MAX])
{
	const struct engine_spec *sp = &r->er.spec;
	struct out o = { bytes, sizeof(struct file_head) };
	struct file_head h = { .magic = RECORD_MAGIC, .version = RECORD_VERSION };

	put_number(&o, TAG_STAGE, r->stage);
	put_number(&o, TAG_FROZEN, r->frozen);
	put_text(&o, TAG_ID, sp->id);
	put_text(&o, TAG_TEMPLATE, sp->template_key);
	put_text(&o, TAG_FROM, sp->from);
	put_number(&o, TAG_SLOT, sp->slot);
	if (sp->slot >= SLOT_HOME)
		put_number(&o, TAG_FAR, 1);
	put_number(&o, TAG_NO_INTERNET, sp->no_internet);
	put_number(&o, TAG_MEM_BYTES, sp->limits.mem_bytes);
	put_number(&o, TAG_DISK_BYTES, sp->limits.disk_bytes);
	put_number(&o, TAG_CPU_PERMILLE, sp->limits.cpu_permille);
	put_number(&o, TAG_PIDS, sp->limits.pids);
	put_more_limits(&o, &sp->limits);
	put_number(&o, TAG_PID, (uint64_t)r->er.pid);
	put_number(&o, TAG_PID_START, r->er.pid_start);
	put_text(&o, TAG_BOOT_ID, r->er.boot_id);
	put_number(&o, TAG_STARTED_MS, r->er.started_wall_ms);
	put_number(&o, TAG_EXTRA_BYTES, r->er.extra_bytes);
	if (sp->kind != ENGINE_NAMESPACES) {
		put_number(&o, TAG_KIND, sp->kind);
		put_field(&o, TAG_TOKEN, NEEDED, r->er.token, sizeof r->er.token);
	}
	for (uint32_t i = 0; i < sp->n_volumes; i++)
		put_volume(&o, &sp->volumes[i]);
	if (r->policy)
		put_field(&o, TAG_POLICY, NEEDED, r->policy->bytes, r->policy->n);
	h.size = (uint32_t)(o.n + sizeof(uint64_t));
	memcpy(bytes, &h, sizeof h);
	uint64_t sum = record_sum(RECORD_SUM_BEGIN, bytes, o.n);

	put(&o, &sum, sizeof sum);
	return o.n;
}

/* --- reading ------------------------------------------------------------------------------------------------ */

struct in { /* a field */
	struct field f;
	const char *p;
};

static bool number(const struct in *i, uint64_t max, uint64_t *ret)
{
	if (i->f.n != sizeof *ret)
		return false;
	memcpy(ret, i->p, sizeof *ret);
	return *ret <= max;
}

static bool text(const char *p, size_t n, char *ret, size_t size)
{
	if (n == 0 || n > size || p[n - 1] != '\0' || memchr(p, '\0', n - 1))
		return false;
	memcpy(ret, p, n);
	return true;
}

static bool volume(const struct in *i, struct engine_spec *sp)
{
	size_t n = strnlen(i->p, i->f.n) + 1;
	struct engine_volume *v = &sp->volumes[sp->n_volumes];

	if (sp->n_volumes == ENGINE_VOLUMES_MAX || n >= i->f.n || !text(i->p, n, v->name, sizeof v->name) ||
	    !text(i->p + n, i->f.n - n, v->path, sizeof v->path) || !check_id(v->name) || !check_mount_path(v->path))
		return false;
	sp->n_volumes++;
	return true;
}

/* NULL and 0 if there is none. */
int record_policy(const void *bytes, size_t n, struct held_policy **ret)
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

/* Stores the field in the record; false: it is malformed. */
static bool take_text(const struct in *i, struct record *r)
{
	struct engine_spec *sp = &r->er.spec;

	switch ((enum tag)i->f.tag) {
	case TAG_ID:
		return text(i->p, i->f.n, sp->id, sizeof sp->id);
	case TAG_TEMPLATE:
		return text(i->p, i->f.n, sp->template_key, sizeof sp->template_key);
	case TAG_FROM:
		return text(i->p, i->f.n, sp->from, sizeof sp->from);
	case TAG_BOOT_ID:
		return text(i->p, i->f.n, r->er.boot_id, sizeof r->er.boot_id);
	case TAG_VOLUME:
		return volume(i, sp);
	case TAG_TOKEN:
		if (i->f.n != sizeof r->er.token)
			return false;
		memcpy(r->er.token, i->p, sizeof r->er.token);
		return true;
	case TAG_POLICY:
		return !r->policy && i->f.n > 0 && record_policy(i->p, i->f.n, &r->policy) == 0;
	default:
		return false;
	}
}

static bool take(const struct in *i, struct record *r)
{
	struct engine_limits *l = &r->er.spec.limits;
	uint64_t v = 0;

	switch ((enum tag)i->f.tag) {
	case TAG_MEM_BYTES:
		return number(i, UINT64_MAX, &l->mem_bytes);
	case TAG_DISK_BYTES:
		return number(i, UINT64_MAX, &l->disk_bytes);
	case TAG_SWAP_BYTES:
		return number(i, UINT64_MAX, &l->swap_bytes);
	case TAG_IO_BYTES_S:
		return number(i, UINT64_MAX, &l->io_bytes_s);
	case TAG_EGRESS_BYTES:
		return number(i, UINT64_MAX, &l->egress_bytes);
	case TAG_EGRESS_BYTES_S:
		return number(i, UINT64_MAX, &l->egress_bytes_s);
	case TAG_PID_START:
		return number(i, UINT64_MAX, &r->er.pid_start);
	case TAG_STARTED_MS:
		return number(i, UINT64_MAX, &r->er.started_wall_ms);
	case TAG_EXTRA_BYTES:
		return number(i, UINT64_MAX, &r->er.extra_bytes);
	case TAG_STAGE:
	case TAG_FROZEN:
	case TAG_SLOT:
	case TAG_NO_INTERNET:
	case TAG_CPU_PERMILLE:
	case TAG_PIDS:
	case TAG_PID:
	case TAG_IO_OPS_S:
	case TAG_OPEN_FILES:
	case TAG_FAR:
	case TAG_KIND:
		if (!number(i, INT32_MAX, &v))
			return false;
		break;
	default:
		return take_text(i, r);
	}
	switch ((enum tag)i->f.tag) {
	case TAG_STAGE:
		r->stage = (enum record_stage)v;
		break;
	case TAG_FROZEN:
		r->frozen = v;
		break;
	case TAG_SLOT:
		r->er.spec.slot = (uint32_t)v;
		break;
	case TAG_NO_INTERNET:
		r->er.spec.no_internet = v;
		break;
	case TAG_CPU_PERMILLE:
		l->cpu_permille = (uint32_t)v;
		break;
	case TAG_PIDS:
		l->pids = (uint32_t)v;
		break;
	case TAG_IO_OPS_S:
		l->io_ops_s = (uint32_t)v;
		break;
	case TAG_OPEN_FILES:
		l->open_files = (uint32_t)v;
		break;
	case TAG_KIND:
		r->er.spec.kind = (uint32_t)v;
		break;
	case TAG_FAR:
		break;
	default:
		r->er.pid = (int32_t)v;
	}
	return true;
}

static int take_all(const char *p, size_t n, struct record *r)
{
	while (n > 0) {
		struct in i;

		if (n < sizeof i.f)
			return -EBADMSG;
		memcpy(&i.f, p, sizeof i.f);
		i.p = p + sizeof i.f;
		size_t whole = sizeof i.f + ((size_t)i.f.n + ALIGN - 1) / ALIGN * ALIGN;

		if (i.f.n > RECORD_FILE_MAX || whole > n)
			return -EBADMSG;
		if (i.f.tag >= TAG_END ? i.f.flags & NEEDED : !take(&i, r))
			return i.f.tag >= TAG_END ? -EPROTO : -EBADMSG;
		p += whole;
		n -= whole;
	}
	return 0;
}

/* Checks the fields that a sandbox is found and ended by. */
bool record_is_sound(const struct record *r)
{
	const struct engine_spec *sp = &r->er.spec;

	return (r->stage == RECORD_STARTING || r->stage == RECORD_LIVE) && check_id(sp->id) &&
	    check_template_key(sp->template_key) && sp->slot < SLOT_MAX && sp->kind < ENGINE_KINDS &&
	    check_text(r->er.boot_id, sizeof r->er.boot_id) && (r->stage != RECORD_LIVE || r->er.pid > 1);
}

int record_decode(const void *p, size_t n, struct record *ret)
{
	struct file_head h;
	uint64_t sum;

	if (n < sizeof h + sizeof sum || n > RECORD_FILE_MAX)
		return -EBADMSG;
	memcpy(&h, p, sizeof h);
	memcpy(&sum, (const char *)p + n - sizeof sum, sizeof sum);
	if (memcmp(h.magic, RECORD_MAGIC, sizeof h.magic) != 0)
		return -EBADMSG;
	if (h.version == RECORD_V3)
		return record_decode_v3(p, n, ret);
	if (h.version < RECORD_VERSION || h.size != n || sum != record_sum(RECORD_SUM_BEGIN, p, n - sizeof sum))
		return -EBADMSG;
	if (h.version > RECORD_VERSION) /* header and checksum are the same in all versions */
		return -EPROTO;
	struct record r = { .stage = 0 };
	int no = take_all((const char *)p + sizeof h, n - sizeof h - sizeof sum, &r);

	if (no < 0 || !record_is_sound(&r)) {
		free(r.policy);
		return no < 0 ? no : -EBADMSG;
	}
	r.er.spec.ruled = r.policy;
	*ret = r;
	return 0;
}

/* --- files -------------------------------------------------------------------------------------------------- */

int record_write(int dirfd, const struct record *r, struct err *e)
{
	char bytes[RECORD_FILE_MAX], tmp[ENGINE_ID_SIZE + 8];
	size_t n = record_encode(r, bytes);

	if (n > sizeof bytes)
		return err_set(e, E2BIG, "record '%s' is too large", r->er.spec.id);
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
	int r = n < 0 ? -EBADMSG : record_decode(bytes, (size_t)n, ret);

	if (r < 0)
		return r == -EPROTO ? r : -EBADMSG;
	if (strcmp(ret->er.spec.id, name) == 0)
		return 0;
	free(take_ptr(&ret->policy));
	return -EBADMSG;
}

void records_free(struct record *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(list[i].policy);
	free(list);
}

/* Adds the valid records to the list and removes invalid ones. A record of a later version stays and stops the
 * load. */
static int load_all(int dirfd, DIR *d, struct record *list, size_t *ret_n, struct err *e)
{
	bool seen[SLOT_MAX] = { false };

	for (struct dirent *de; (de = readdir(d));) {
		size_t n = *ret_n;

		if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
			continue;
		int r = n < SLOT_MAX ? load_one(dirfd, de->d_name, &list[n]) : -EBADMSG;

		if (r == -EPROTO)
			return err_set(e, EPROTO,
			    "sandbox '%s' was started by a newer atoll, which this one does not understand: start that "
			    "one, "
			    "or end its sandboxes first",
			    de->d_name);
		if (r == 0 && !seen[list[n].er.spec.slot]) {
			seen[list[n].er.spec.slot] = true;
			(*ret_n)++;
			continue;
		}
		if (r == 0)
			free(take_ptr(&list[n].policy));
		if (de->d_name[0] != '.') /* names with a dot are unfinished writes */
			log_error("malformed record, removing it", "name=%s", de->d_name);
		(void)unlinkat(dirfd, de->d_name, 0);
	}
	return 0;
}

int records_load(int dirfd, struct record **ret, size_t *ret_n, struct err *e)
{
	struct record *list = calloc(SLOT_MAX, sizeof *list);
	int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	size_t n = 0;

	if (!list || !d) {
		free(list);
		fd_close(fd);
		return err_set(e, ENOMEM, "read the records of sandboxes");
	}
	int r = load_all(dirfd, d, list, &n, e);

	(void)closedir(d);
	if (r < 0) {
		records_free(list, n);
		return r;
	}
	*ret = list;
	*ret_n = n;
	return 0;
}

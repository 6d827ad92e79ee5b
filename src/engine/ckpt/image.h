/* SPDX-License-Identifier: Apache-2.0 */
/* image: what a checkpoint holds besides CRIU's own files.
 *
 *	NAME+m/record		struct image_record: the specification of the sandbox
 *	NAME+m/init		its init program; the server may have another version by the time of the restore
 *	NAME+m/init.sum		its checksum, if it was the server's own at the time of the dump
 *	NAME+m/dev/		files that it has created in its /dev
 *	NAME+m/base, base.name	if it shares memory with a zygote: a reflink of the base file, and its name
 *	NAME+m/base.use		which pages of that file it had in use
 *
 * The record is written last: a checkpoint without one is incomplete. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "engine/engine.h"

struct slot;

/* The part of engine_spec that is stored in a record. Never change it: checkpoints outlive versions. */
struct image_spec {
	char id[24], template_key[33], from[24];
	uint32_t slot;
	bool no_internet, ruled;
	struct {
		uint64_t mem_bytes, disk_bytes;
		uint32_t cpu_permille, pids;
	} limits; /* the limits of the first version; unused by a restore, which has its own */
};

struct image_record {
	char magic[8];
	uint32_t version, size;
	uint32_t instance;
	uint32_t root; /* its uid 0 on the host; 0: an earlier version wrote it, and the slot says */
	/* Bytes of its memory that were charged to others: pages shared with a zygote. */
	uint64_t extra_bytes;
	struct image_spec spec;
	uint64_t sum; /* checksum of everything before it */
};

int image_write_record(int image, bool durable, uint32_t instance, uint32_t root, uint64_t extra_bytes,
    const struct engine_spec *spec, struct err *e);
/* -EBADMSG: torn, or of another version. */
int image_read_record(int image, struct image_record *ret, struct err *e);
int image_check_record(const void *p, size_t n, struct image_record *ret); /* -EBADMSG */

/* The program that sandboxes get now. The sum is that of its bytes: with it, no restore needs to read and compare
 * the three megabytes of the checkpoint's copy. */
struct image_init {
	int fd;       /* O_PATH */
	uint64_t sum; /* 0: not known */
};

int image_sum_init(struct image_init *in, struct err *e); /* fills in sum */

/* init_fd: the program that the sandbox has. */
int image_save_init(int image, int init_fd, const struct image_init *now, struct err *e);

/* Opens the checkpoint's init program. If it is the one in use now, *ret_same is set and nothing is opened. */
int image_open_init(int image, const struct image_init *now, bool *ret_same, int *ret_fd, struct err *e);

/* Copies that program to dir (our own tmpfs) and returns it as an O_PATH fd; an existing copy is reused. */
int image_copy_init(int from, int dir, int *ret_fd, struct err *e);

/* Saves and loads what the /dev of a frozen sandbox contains besides what dev_make() created. */
int image_save_dev(int image, int dev_fd, struct err *e);
int image_load_dev(int image, int dev_fd, uid_t from_root, uid_t to_root, struct err *e);

/* CRIU stores the id map of the dumped sandbox in a file of its own. The sandbox may be restored in another slot,
 * with other ids. Several sandboxes may be restored from one checkpoint at once, so the file is never changed:
 * each restore mounts another file over it. */
#define IMAGE_FILE_SIZE 64

int image_ids_file(int image, char ret[IMAGE_FILE_SIZE], struct err *e); /* its name */
size_t image_encode_ids(uint32_t root, uint32_t count, unsigned char out[64]);

/* Starts reading all that CRIU is going to read into the page cache; does not wait for it. */
void image_read_ahead(int image);

/* Writes all of it to disk if durable is set; returns its size. */
int image_sync(int image, bool durable, uint64_t *ret_bytes, struct err *e);

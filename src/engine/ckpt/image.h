/* SPDX-License-Identifier: Apache-2.0 */
/* image: what the image of a sandbox's memory holds besides CRIU's own files.
 *
 *	NAME+m/record	struct image_record: what the sandbox was
 *	NAME+m/init	the program that is its pid 1, which may be another one by the time it is restored
 *	NAME+m/dev/	what it has put into its /dev beside our nodes
 *	NAME+m/base, base.name	a clone of the memory that it shares with a warm interpreter, if it does, and whose
 *				that is
 *	NAME+m/base.use	which pages of that it had in use
 *
 * A record is written last: an image without one is half an image. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "engine/engine.h"

struct slot;

/* what of an engine_spec is in a record: never change it, images outlive versions */
struct image_spec {
	char id[24], template_key[33], from[24];
	uint32_t slot;
	bool no_internet, ruled;
	struct {
		uint64_t mem_bytes, disk_bytes;
		uint32_t cpu_permille, pids;
	} limits; /* those that there were in the first version; of no use to a restore, which is told its own */
};

struct image_record {
	char magic[8];
	uint32_t version, size;
	uint32_t instance, pad;
	/* of the memory was on the account of others: pages shared with a warm interpreter */
	uint64_t extra_bytes;
	struct image_spec spec;
	uint64_t sum; /* over all that stands before it */
};

int image_write_record(int image, bool durable, uint32_t instance, uint64_t extra_bytes, const struct engine_spec *spec,
    struct err *e);
/* -EBADMSG: torn, or of another version */
int image_read_record(int image, struct image_record *ret, struct err *e);
int image_check_record(const void *p, size_t n, struct image_record *ret); /* -EBADMSG */

int image_save_init(int image, int init_fd, struct err *e);

/* The program of the image: same tells that it is the one in use now, and then nothing is opened. */
int image_open_init(int image, int init_fd, bool *ret_same, int *ret_fd, struct err *e);

/* A copy of that program in dir (a tmpfs of ours), as an O_PATH fd; one that is there already is taken. */
int image_copy_init(int from, int dir, int *ret_fd, struct err *e);

/* What is in that /dev (of a frozen sandbox) beside what dev_make() put there; and back. */
int image_save_dev(int image, int dev_fd, struct err *e);
int image_load_dev(int image, int dev_fd, uid_t from_root, uid_t to_root, struct err *e);

/* CRIU writes the map of ids it found, in a file of its own; the sandbox may come back in another slot, with other ids.
 * Several may come back at once from one image, so that is never changed: who restores one shows CRIU another file in
 * that place. */
#define IMAGE_FILE_SIZE 64

int image_ids_file(int image, char ret[IMAGE_FILE_SIZE], struct err *e); /* its name */
size_t image_encode_ids(uint32_t root, uint32_t count, unsigned char out[64]);

/* Has the kernel fetch what CRIU is going to read, all of it at once; returns before it is there. */
void image_read_ahead(int image);

/* all of it is on the disk; how much that is */
int image_sync(int image, bool durable, uint64_t *ret_bytes, struct err *e);

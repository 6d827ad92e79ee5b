/* SPDX-License-Identifier: Apache-2.0 */
/* oci/tape: a streaming reader for the tar archive of a layer: ustar, pax and GNU, with owners, extended
 * attributes and all forms of sparse files. No I/O.
 *
 * The reader of `atoll cp` supports less on purpose, see base/tar_head.h. All limits are checked here; whether a
 * name may be used is up to the caller that creates files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "base/tar.h"

#define TAPE_BLOCK TAR_BLOCK
#define TAPE_NAME_MAX TAR_NAME_MAX /* including the NUL */
#define TAPE_XATTRS_MAX 32         /* of one entry */

enum tape_type { TAPE_FILE = 1, TAPE_DIR, TAPE_SYMLINK, TAPE_HARDLINK, TAPE_CHAR, TAPE_BLOCKDEV, TAPE_FIFO };

struct tape_xattr {
	struct str name, value; /* borrowed for the call */
};

struct tape_entry {
	enum tape_type type;
	const char *name, *target; /* target: of links, else "" */
	uint64_t size;             /* of a file: its size on disk */
	bool sparse;               /* there are holes between the pieces of on_data() */
	uint32_t mode;             /* permissions with set-uid, set-gid and sticky */
	uint64_t uid, gid;
	int64_t mtime_s;
	uint32_t mtime_ns;
	const struct tape_xattr *xattrs;
	size_t n_xattrs;
};

struct tape_ops { /* a non-zero return stops the reader */
	int (*on_entry)(void *user, const struct tape_entry *entry);
	int (*on_data)(void *user, uint64_t at, const void *p, size_t n); /* content of the last entry */
	int (*on_end)(void *user);                                        /* the file is complete */
};

struct tape;
struct tape *tape_new(const struct tape_ops *ops, void *user); /* NULL: out of memory */
void tape_free(struct tape *t);                                /* NULL is fine */

/* Feeds bytes, split anywhere. 0, -EBADMSG (malformed; tape_why() says why), -ENOMEM or what a callback returned.
 * Bytes after the end mark are skipped. */
int tape_put(struct tape *t, const void *p, size_t n);
const char *tape_why(const struct tape *t);

/* True if the end mark was seen, or the archive ends where an entry could begin (some writers omit the mark). */
bool tape_complete(const struct tape *t);

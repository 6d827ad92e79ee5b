/* SPDX-License-Identifier: Apache-2.0 */
/* oci/tape: the tape archive of a layer, byte by byte as it comes: ustar, pax and GNU, with owners, extended attributes
 * and all forms of sparse files. No I/O.
 *
 * The reader of `atoll cp` knows less on purpose, see base/tar_head.h. Everything that is bounded is bounded here;
 * whether a name may be used is decided by who makes files of it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "base/tar.h"

#define TAPE_BLOCK TAR_BLOCK
#define TAPE_NAME_MAX TAR_NAME_MAX /* with the NUL */
#define TAPE_XATTRS_MAX 32         /* of one entry */

enum tape_type { TAPE_FILE = 1, TAPE_DIR, TAPE_SYMLINK, TAPE_HARDLINK, TAPE_CHAR, TAPE_BLOCKDEV, TAPE_FIFO };

struct tape_xattr {
	struct str name, value; /* borrowed for the call */
};

struct tape_entry {
	enum tape_type type;
	const char *name, *target; /* target: of links, else "" */
	uint64_t size;             /* of a file, as it will be on disk */
	bool sparse;               /* there are holes between what on_data() brings */
	uint32_t mode;             /* permissions with set-uid, set-gid and sticky */
	uint64_t uid, gid;
	int64_t mtime_s;
	uint32_t mtime_ns;
	const struct tape_xattr *xattrs;
	size_t n_xattrs;
};

struct tape_ops { /* non-zero ends the reading */
	int (*on_entry)(void *user, const struct tape_entry *entry);
	int (*on_data)(void *user, uint64_t at, const void *p, size_t n); /* content of the file before */
	int (*on_end)(void *user);                                        /* the file is complete */
};

struct tape;
struct tape *tape_new(const struct tape_ops *ops, void *user); /* NULL: memory */
void tape_free(struct tape *t);                                /* NULL is fine */

/* Bytes in any cut. 0, -EBADMSG (not an archive; tape_why() says why), -ENOMEM or what a callback returned. What
 * comes after the end mark is skipped. */
int tape_put(struct tape *t, const void *p, size_t n);
const char *tape_why(const struct tape *t);

/* The end mark was seen, or the archive stops where an entry could begin (some writers leave the mark out). */
bool tape_complete(const struct tape *t);

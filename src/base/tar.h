/* SPDX-License-Identifier: Apache-2.0 */
/* base/tar: the tape archive format: what a tar of any kind writes (ustar, pax, GNU long names) and what every tar
 * reads. No I/O.
 *
 * What is read comes out of a sandbox, so it may be anything: sizes and names are bounded here, and names are checked
 * by tar_name_ok() before anybody makes a path of them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define TAR_BLOCK 512
#define TAR_NAME_MAX 4096

enum tar_type { TAR_FILE = 1, TAR_DIR, TAR_SYMLINK, TAR_HARDLINK, TAR_OTHER };

struct tar_entry {
	enum tar_type type;
	const char *name, *target; /* target: of links */
	uint64_t size;             /* of a file */
	unsigned mode;             /* permissions */
	int64_t mtime_s;
};

/* --- reading --- */

struct tar_reader_ops { /* non-zero ends the reading */
	int (*on_entry)(void *user, const struct tar_entry *entry);
	int (*on_data)(void *user, const void *p, size_t n); /* content of the file before */
	int (*on_end)(void *user);                           /* the file is complete */
};

struct tar_reader;
struct tar_reader *tar_reader_new(const struct tar_reader_ops *ops, void *user); /* NULL: memory */
void tar_reader_free(struct tar_reader *r);

/* Bytes in any cut. 0, -EBADMSG (not an archive) or what a callback returned. What comes after the archive's end is
 * skipped. */
int tar_reader_put(struct tar_reader *r, const void *p, size_t n);
bool tar_reader_done(const struct tar_reader *r); /* the end mark was seen */

/* Relative, without "..", without control over anything but what is below; "./" in front is fine. */
bool tar_name_ok(const char *name);

/* Whether a link of this name leads to something in the same tree, by its words alone. */
bool tar_link_inside(const char *name, const char *target);

/* --- writing --- */

/* Header blocks of an entry, with a pax header before it where ustar is too small. -ENAMETOOLONG. */
int tar_put_entry(struct buf *out, const struct tar_entry *entry);
size_t tar_padding(uint64_t size);   /* zero bytes behind the content */
#define TAR_END_SIZE (2 * TAR_BLOCK) /* zero bytes behind all */

/* SPDX-License-Identifier: Apache-2.0 */
/* base/tar: the tar format: reads what the common tars write (ustar, pax, GNU long names) and writes what every
 * tar reads. No I/O.
 *
 * Archives come from sandboxes and may contain anything. Sizes and names are bounded here, and callers check
 * names with tar_name_ok() before they use them as paths. */
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

struct tar_reader_ops { /* a non-zero return value stops the reader */
	int (*on_entry)(void *user, const struct tar_entry *entry);
	int (*on_data)(void *user, const void *p, size_t n); /* content of the last entry */
	int (*on_end)(void *user);                           /* the file is complete */
};

struct tar_reader;
struct tar_reader *tar_reader_new(const struct tar_reader_ops *ops, void *user); /* NULL: memory */
void tar_reader_free(struct tar_reader *r);

/* Takes the archive in pieces of any size. 0, -EBADMSG (not an archive) or the return value of a callback. Data
 * after the end of the archive is skipped. */
int tar_reader_put(struct tar_reader *r, const void *p, size_t n);
bool tar_reader_done(const struct tar_reader *r); /* the end mark was seen */

/* Relative, without "..", so that it names only what is below; a leading "./" is allowed. */
bool tar_name_ok(const char *name);

/* Returns whether a link of this name points into the same tree, by its text alone. */
bool tar_link_inside(const char *name, const char *target);

/* --- writing --- */

/* Appends the header blocks of an entry, with a pax header before it if ustar cannot hold the values.
 * -ENAMETOOLONG. */
int tar_put_entry(struct buf *out, const struct tar_entry *entry);
size_t tar_padding(uint64_t size);   /* zero bytes after the content */
#define TAR_END_SIZE (2 * TAR_BLOCK) /* zero bytes at the end of the archive */

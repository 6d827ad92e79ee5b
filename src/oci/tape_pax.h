/* SPDX-License-Identifier: Apache-2.0 */
/* oci/tape_pax: extended headers of an entry: pax records, GNU's long names, maps of sparse files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "oci/tape.h"

#define PAX_TEXT_MAX (1u << 20) /* of one header */
#define PAX_SEGMENTS_MAX 65536  /* of one sparse file */

struct tape_segment {
	uint64_t at, n;
};

struct tape_map { /* the segments of a sparse file */
	struct tape_segment *v;
	size_t n, cap;
};

int tape_map_add(struct tape_map *m, uint64_t at, uint64_t n); /* -EBADMSG: overlaps, or too many; -ENOMEM */
void tape_map_clear(struct tape_map *m);

struct pax {                     /* for the next entry only; reset by pax_clear() */
	struct buf name, target; /* empty: not given */
	int64_t size, uid, gid;  /* -1: not given */
	bool has_mtime;
	int64_t mtime_s;
	uint32_t mtime_ns;
	struct buf text; /* the records that xattrs point into */
	struct tape_xattr xattrs[TAPE_XATTRS_MAX];
	size_t n_xattrs;
	/* Sparse files: formats 0.0 and 0.1 have the map in records, 1.0 has it before the data. */
	bool sparse, map_in_data;
	int64_t real_size;
	bool has_pending;
	uint64_t pending_at; /* format 0.0: an offset whose length has not come yet */
	struct tape_map map;
};

void pax_init(struct pax *p);
void pax_done(struct pax *p);
void pax_clear(struct pax *p);

/* Parses records "27 path=...\n". global: a header for all entries, which must not contain records that determine
 * what an entry is. */
int pax_read(struct pax *p, struct str records, bool global);

/* Parses the map before the data in format 1.0: 1 if complete, 0: more bytes are needed, -EBADMSG. */
int pax_read_map(struct tape_map *m, struct str text);

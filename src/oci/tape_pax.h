/* SPDX-License-Identifier: Apache-2.0 */
/* oci/tape_pax: what the headers before an entry say about it: pax records, GNU's long names, maps of sparse files. */
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

struct tape_map { /* where the content of a sparse file goes */
	struct tape_segment *v;
	size_t n, cap;
};

int tape_map_add(struct tape_map *m, uint64_t at, uint64_t n); /* -EBADMSG: overlaps, or too many; -ENOMEM */
void tape_map_clear(struct tape_map *m);

struct pax {                     /* for the next entry only; pax_clear() forgets */
	struct buf name, target; /* empty: not given */
	int64_t size, uid, gid;  /* -1: not given */
	bool has_mtime;
	int64_t mtime_s;
	uint32_t mtime_ns;
	struct buf text; /* the records that xattrs point into */
	struct tape_xattr xattrs[TAPE_XATTRS_MAX];
	size_t n_xattrs;
	/* sparse files: 0.0 and 0.1 have the map in records, 1.0 has it before the data */
	bool sparse, map_in_data;
	int64_t real_size;
	bool has_pending;
	uint64_t pending_at; /* of form 0.0: an offset that waits for its length */
	struct tape_map map;
};

void pax_init(struct pax *p);
void pax_done(struct pax *p);
void pax_clear(struct pax *p);

/* "27 path=...\n", one after the other. global: of all entries, where nothing may stand that decides what an entry
 * is. */
int pax_read(struct pax *p, struct str records, bool global);

/* The map before the data of form 1.0: 1 when it is whole, 0 for more bytes, -EBADMSG. */
int pax_read_map(struct tape_map *m, struct str text);

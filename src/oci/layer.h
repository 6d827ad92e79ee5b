/* SPDX-License-Identifier: Apache-2.0 */
/* oci/layer: applies the archive of one layer to the directory tree made by the layers below it.
 *
 * It works through a directory fd only: names are split and each component is opened below the previous one. Links
 * are never followed, so nothing outside the tree can be reached, even without a jail. It refuses absolute names,
 * "..", names that lead through a symbolic link (except merged links, see layer_walk.c), device nodes outside dev/
 * (those in dev/ are skipped), and hard links to anything but a file of the tree. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct layer_totals {                    /* of all layers of an image; zero it before the first */
	uint64_t max_bytes, max_entries; /* limits */
	uint64_t bytes, entries;         /* so far */
	uint64_t devices;                /* skipped */
	uint64_t foreign_owners;         /* outside the 65536 ids of a sandbox: replaced by nobody */
	uint64_t attributes;             /* extended attributes, skipped */
};

struct layer;
struct layer *layer_new(int root_fd, struct layer_totals *totals); /* NULL: out of memory; borrows both */
void layer_free(struct layer *l);                                  /* NULL is fine */

int layer_put(struct layer *l, const void *p, size_t n, struct err *e);
/* Called after all bytes: checks that the archive is complete, and sets the times of directories. */
int layer_end(struct layer *l, struct err *e);

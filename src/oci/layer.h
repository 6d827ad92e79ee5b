/* SPDX-License-Identifier: Apache-2.0 */
/* oci/layer: lays the archive of one layer over a directory tree that the layers below it have made.
 *
 * Works through a directory fd alone: names are taken apart and each part is opened below the one before, no link is
 * ever followed, so that nothing outside the tree can be reached even where no jail is around it. What is refused:
 * absolute names, "..", names that lead through a symbolic link (but see merged links in layer.c), device nodes outside
 * dev/, which are left out there, hard links to anything but a file of the tree. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct layer_totals {                    /* of all layers of an image; zero it before the first */
	uint64_t max_bytes, max_entries; /* limits */
	uint64_t bytes, entries;         /* used up */
	uint64_t devices;                /* left out */
	uint64_t foreign_owners;         /* beyond the 65536 ids of a sandbox: given to nobody */
	uint64_t attributes;             /* extended ones, left out */
};

struct layer;
struct layer *layer_new(int root_fd, struct layer_totals *totals); /* NULL: memory; both must outlive it */
void layer_free(struct layer *l);                                  /* NULL is fine */

int layer_put(struct layer *l, const void *p, size_t n, struct err *e);
/* all bytes were put: checks that it is whole, sets times of directories */
int layer_end(struct layer *l, struct err *e);

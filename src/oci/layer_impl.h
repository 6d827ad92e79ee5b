/* SPDX-License-Identifier: Apache-2.0 */
/* oci/layer_impl: shared by the files that implement oci/layer. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "oci/inoset.h"
#include "oci/layer.h"
#include "oci/tape.h"

#define LAYER_DEPTH_MAX 256 /* components of a name */
#define LAYER_OWNERS 65536  /* ids of a sandbox */
#define LAYER_NOBODY 65534

struct layer {
	int root;
	struct layer_totals *totals;
	struct tape *tape;
	/* Inodes that this layer has created or passed through: whiteouts only apply to others. */
	struct inoset mine;
	struct buf times;        /* of directories, set when they are complete */
	struct buf parent_path;  /* the path of parent_fd */
	int parent_fd;           /* -1: none */
	int file;                /* being written; -1: its content is skipped */
	uint64_t file_at;        /* current offset */
	struct tape_entry entry; /* of that file; names and attributes are no longer valid */
	bool has_caps;           /* set after the content, because a write clears them */
	uint8_t caps[24];
	size_t n_caps;
	struct err e;
};

/* A name split into components, which point into text. */
struct layer_path {
	char text[TAPE_NAME_MAX + 64]; /* with room for what a merged link adds */
	const char *part[LAYER_DEPTH_MAX + 2];
	size_t n; /* 0: the root itself */
};

/* "./a//b/" becomes a, b. Refuses names that lead outside. */
int layer_path_parse(const char *name, struct layer_path *ret, struct err *e);

/* layer_walk.c: opens the directory that holds part n - 1. The fd is owned by the layer and valid until the next
 * call. make: missing directories are created; otherwise they are -ENOENT. */
int layer_walk(struct layer *l, struct layer_path *p, bool make, int *ret_fd, struct err *e);
void layer_forget_parent(struct layer *l);

/* Removes dirfd/name, whatever it is; removes what a directory has from lower layers. */
int layer_remove(struct layer *l, int dirfd, const char *name, struct err *e);
int layer_clear_lower(struct layer *l, int dirfd, unsigned depth, struct err *e);

/* layer_meta.c: whether an attribute may be kept. Capabilities that the sandbox's root cannot have are dropped,
 * because they would only prevent the program from starting. */
bool layer_xattr_ok(const struct tape_xattr *x);
